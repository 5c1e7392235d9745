/*
 * maxflow.h: the solver. The only code that moves flow. Private to core.
 */
#ifndef REMAT_MAXFLOW_H
#define REMAT_MAXFLOW_H

#include "residual.h"

struct remat_flow {
    int64_t value;
    uint64_t n_paths;  /* augmenting paths */
    uint64_t n_sweeps; /* exact distance computations */
};

/* A maximum flow in r, which must be freshly built and not infinite; afterwards
 * the flow on edge e is r->residual[r->twin[r->arc[e]]]. Linear memory, no
 * recursion. Time: see maxflow.c; bounded by the job's step limit
 * (REMAT_E_STEPS, REMAT_E_STOPPED). */
REMAT_NODISCARD enum remat_status remat_maxflow(struct remat_job *job,
                                                struct remat_residual *r,
                                                struct remat_flow *flow,
                                                struct remat_error *err);

#endif
