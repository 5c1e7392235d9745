/*
 * facets.h: what a node is by itself, whatever it is called and wherever it
 * stands. Private to core.
 *
 * Structure: the operator, the role of a placeholder, what kind of value comes
 * out (type, number of dimensions, storage), tags and regions as the document
 * has them, placement, traits, hooks, annotations. Not structure: names, sizes
 * and hints, the producer's runtime, the source line; the module only where a
 * pass reads it. One list serves fingerprint and comparison.
 */
#ifndef REMAT_FACETS_H
#define REMAT_FACETS_H

#include "job.h"
#include "print.h"

enum {
    REMAT_MOST_FACETS = 24,
    REMAT_FACET_BYTES = 96
};

struct remat_facet {
    const char *what;
    const char *word; /* NULL: the number says it */
    int64_t number;   /* of a real: its bits */
    bool is_real;
};

/* Fills in all facets but the value's and the arguments', the same number and
 * order for every node. */
uint32_t remat_facets(const struct remat_graph *g, remat_node v,
                      bool with_modules,
                      struct remat_facet facets[REMAT_MOST_FACETS]);
/* A facet in words: "aten.mm.default", "2", "none". */
void remat_facet_words(const struct remat_facet *facet,
                       char words[REMAT_FACET_BYTES]);

/* All of a node but its references: facets, value, shape of the arguments.
 * Takes scratch; false without room. O(size of the spec). */
REMAT_NODISCARD bool remat_facets_print(struct remat_arena *arena,
                                        const struct remat_graph *g,
                                        remat_node v, bool with_modules,
                                        struct remat_print *print);

/* One side of a comparison. */
struct remat_facet_side {
    const struct remat_graph *g;
    remat_node node;
};
/* Whether two nodes differ by themselves; then says in words how ("operator
 * aten.mm.default against aten.bmm.default"). Takes scratch from `arena`, and
 * says that they do not differ when there is no room. */
bool remat_facets_differ(struct remat_arena *arena, struct remat_facet_side a,
                         struct remat_facet_side b, bool with_modules,
                         char *words, size_t n_bytes);

#endif
