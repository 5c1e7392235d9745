/*
 * marks.h: what stands in a template for a name of a node or for a digest.
 * Private to proto.
 *
 * A mark begins with a byte that UTF-8 never has, so no text of a document, not
 * even a part of one, looks like it:
 *
 *   FF + 5 bytes of 80..FF            the name of a node, by number
 *   FE d                              the digest of the request
 *   FE b + 16 hex digits + 2 letters  the digest of the request with another
 *                                     budget: its bits, solver, estimator
 */
#ifndef PROTO_MARKS_H
#define PROTO_MARKS_H

#include "remat.h"

enum {
    PROTO_MARK_BYTES = 6,
    PROTO_BUDGET_MARK_BYTES = 20
};
#define PROTO_DIGEST_MARK \
    "\xFE"                \
    "d"

/* The mark of a node and a NUL: PROTO_MARK_BYTES + 1 bytes. */
void proto_mark_name(uint32_t node, char *mark);
/* The number of a node from its mark; REMAT_NONE: not one. */
uint32_t proto_mark_node(const char *mark);
/* The mark of a budget and a NUL: PROTO_BUDGET_MARK_BYTES + 1 bytes. */
void proto_mark_budget(double budget, enum remat_knapsack solver,
                       enum remat_estimator estimator, char *mark);
/* Lays what the mark of a budget says over options; false: nonsense. */
bool proto_mark_options(const char *mark, struct remat_options *options);
/* The length of the mark that begins with byte `at`, 0 when there is none. */
size_t proto_mark_length(const char *at, size_t left);

#endif
