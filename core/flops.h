/*
 * flops.h: floating-point operations of an operator, from shapes and arguments
 * (semantics 8.14). Private to core.
 */
#ifndef REMAT_FLOPS_H
#define REMAT_FLOPS_H

#include "graph.h"

/* As PyTorch's counter gives them with hinted shapes; 0 for what it does not
 * count, and for a call whose arguments are not what the operator takes. Sticks
 * at 2^63 - 1. O(dimensions). */
int64_t remat_flops(const struct remat_graph *g, remat_node v);

#endif
