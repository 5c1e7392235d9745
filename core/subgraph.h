/*
 * subgraph.h: one half of the joint graph, computed from given inputs
 * (semantics 3.4, 3.5). Private to core. Used to classify, and to extract a
 * plan.
 */
#ifndef REMAT_SUBGRAPH_H
#define REMAT_SUBGRAPH_H

#include "work.h"

struct remat_subgraph {
    bool *is_input;
    bool *valid;       /* can be computed from the inputs on this side */
    bool *kept;        /* call_function or get_attr that survives */
    bool *is_output;   /* an output, after replacement (3.5) */
    uint32_t *n_users; /* surviving users; being an output counts once */
    bool backward;
    remat_node invalid; /* the first output that is not valid, or REMAT_NONE */
};

/* Arrays for a subgraph, all clear; inputs are to be marked in is_input. */
REMAT_NODISCARD enum remat_status
remat_subgraph_init(const struct remat_work *w, struct remat_subgraph *s,
                    struct remat_error *err);
/* Finds what is valid and what survives dead-code elimination with `outputs`
 * (lists of nodes, REMAT_NONE entries ignored) as roots. When an output is
 * neither valid nor replaceable, s->invalid is the first such and the rest of
 * s, except valid, says nothing. O(nodes + edges). */
void remat_subgraph_extract(const struct remat_work *w,
                            struct remat_subgraph *s, bool backward,
                            const struct remat_nodes *outputs,
                            unsigned n_lists);
/* Whether v may not be computed on this side wherever its inputs come from:
 * pinned to the other side, or a placeholder that is no input. */
bool remat_subgraph_is_blocked(const struct remat_work *w,
                               const struct remat_subgraph *s, remat_node v);

#endif
