/*
 * form.h: the canonical form of a graph: a place for every node that depends
 * neither on names nor on the order of independent nodes. Private to core.
 *
 * What the output reads, directly or not, is told apart by how it is read: a
 * walk from the output through arguments in order gives the places (form.c).
 * What is left has no way to the output: unused inputs, dead code, writes. Its
 * parts are ordered by colours refined from both sides, and what looks the same
 * then, in document order (form_rest.c). Nodes of a part that look the same and
 * cannot be exchanged all the same (regular graphs of nodes that nothing reads)
 * may get places that another order of the document does not give them.
 */
#ifndef REMAT_FORM_H
#define REMAT_FORM_H

#include "facets.h"

struct remat_form {
    struct remat_job *job;
    const struct remat_graph *g;
    bool with_modules;
    struct remat_print *local; /* by node: remat_facets_print */
    /* by node: what it refers to, in the order of its tokens, with repetitions;
     * last its alias_of */
    struct remat_rows refs;
    struct remat_rows
        symbols;     /* by node: those its value mentions, by number */
    uint32_t *binds; /* by node: a symbol's number or REMAT_NONE */
    uint32_t n_symbols;
    uint32_t *place;   /* by node; REMAT_NONE: not yet */
    remat_node *order; /* by place */
    uint32_t n_placed;
    uint32_t n_read; /* the first places: what the output reads */
    uint64_t *part;  /* by node behind them: the print of its part */
};

/* Everything in the job's arena; the caller rewinds. O(nodes + references), and
 * the rest as form_rest.c says. */
REMAT_NODISCARD enum remat_status remat_form_find(struct remat_job *job,
                                                  bool with_modules,
                                                  struct remat_form *form,
                                                  struct remat_error *err);
/* The print of the whole form; equal for the same structure. */
REMAT_NODISCARD enum remat_status
remat_form_print(const struct remat_form *form, struct remat_print *print,
                 struct remat_error *err);
/* Prints of the symbols by number: who mentions and who binds each; NULL
 * without room. What a node mentions and binds, all together. */
struct remat_print *remat_form_symbols(const struct remat_form *form);
struct remat_print remat_form_mentions(const struct remat_form *form,
                                       remat_node v,
                                       const struct remat_print *symbols);

/* form_rest.c: places for all nodes that have none. */
REMAT_NODISCARD enum remat_status
remat_form_place_rest(struct remat_form *form, struct remat_error *err);

#endif
