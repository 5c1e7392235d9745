/*
 * extract.h: from the nodes of a cut to what the two halves pass on (semantics
 * 9). Private to core.
 */
#ifndef REMAT_EXTRACT_H
#define REMAT_EXTRACT_H

#include "subgraph.h"

/* Lists in PyTorch's order. */
struct remat_extraction {
    struct remat_nodes saved;
    struct remat_nodes sym;
    struct remat_nodes opaque;
    struct remat_nodes scripted; /* FakeScriptObject: passed on, not listed */
    struct remat_nodes recomputed;
    struct remat_subgraph forward; /* the halves themselves (9.5) */
    struct remat_subgraph backward;
    /* an output that one half cannot compute: failed.invalid names it */
    bool is_invalid;
    struct remat_subgraph failed;
};

/* `chosen` may stand in any order, which the lists keep. O(nodes + edges +
 * symbols log symbols). */
REMAT_NODISCARD enum remat_status remat_extract(struct remat_work *w,
                                                struct remat_nodes chosen,
                                                struct remat_extraction *x,
                                                struct remat_error *err);

#endif
