/*
 * classify.h: which half of the step needs a node, and how far it is from the
 * backward (semantics 3 and 4). Private to core.
 */
#ifndef REMAT_CLASSIFY_H
#define REMAT_CLASSIFY_H

#include "subgraph.h"

/* Sets closure, bw, fw, order, dist and has_backward. A forward output that
 * depends on a tangent is left in forward->invalid: the graph has no plan. */
REMAT_NODISCARD enum remat_status remat_classify(struct remat_work *w,
                                                 struct remat_subgraph *forward,
                                                 struct remat_error *err);
/* The first steps of every decision: dead code, tags, classes. O(nodes +
 * edges). */
REMAT_NODISCARD enum remat_status remat_prepare(struct remat_work *w,
                                                struct remat_subgraph *forward,
                                                struct remat_error *err);

#endif
