/*
 * conflict_flow.h: as many paths as possible that share no node, as short as
 * possible together. Private to core.
 */
#ifndef REMAT_CONFLICT_FLOW_H
#define REMAT_CONFLICT_FLOW_H

#include "job.h"

/* A directed graph whose paths lead from a start to an end. */
struct remat_path_graph {
    uint32_t n; /* nodes; below 2^30 */
    struct remat_rows next;
    struct remat_rows previous;
    const uint8_t *length; /* what a node adds to a path: 1 or 2 */
    const bool *is_start;
    const bool *is_end;
};

/* Path i is nodes[begin[i] .. begin[i + 1]). */
struct remat_path_set {
    uint32_t n;
    const uint32_t *begin;
    const uint32_t *nodes;
};

/* A largest set of paths that share no node and avoid those in `blocked` (NULL:
 * none), and among the largest sets one of least total length, in no particular
 * order. In the job's arena. O(n + rows), for each connected part once more
 * for each length at which paths are found and each time the search has to
 * begin again, at most one time a path. */
REMAT_NODISCARD enum remat_status
remat_disjoint_paths(struct remat_job *job, const struct remat_path_graph *g,
                     const bool *blocked, struct remat_path_set *set,
                     struct remat_error *err);

#endif
