/*
 * remat_frontier.h: all plans worth having. Part of remat.h.
 */
#ifndef REMAT_PUBLIC_FRONTIER_H
#define REMAT_PUBLIC_FRONTIER_H

#include "remat.h"

enum remat_point_kind {
    REMAT_POINT_HULL,  /* a corner or a side of the lower convex hull */
    REMAT_POINT_BUDGET /* what an activation-memory budget gives */
};

/* A plan that no other plan of its frontier betters in both numbers. */
struct remat_frontier_point {
    int64_t saved_bytes;            /* of the plan */
    int64_t recomputed_flops;       /* of the plan */
    double budget;                  /* of a budget's plan; else -1 */
    enum remat_knapsack solver;     /* of a budget's plan: how it was filled */
    enum remat_estimator estimator; /* likewise */
    enum remat_point_kind kind;
    bool knee; /* farthest below the line through both ends; one at most */
    /* lists, totals and facts, but no cuts, diagnostics, memory or weights */
    const struct remat_plan *plan;
};

struct remat_frontier {
    enum remat_outcome outcome;                /* no points unless REMAT_PLAN */
    const struct remat_frontier_point *points; /* by FLOPs, least first */
    uint32_t n_points;
    const struct remat_diagnostic *diagnostics;
    uint32_t n_diagnostics;
    const struct remat_remedy *remedy; /* of the plan, see struct remat_plan */
};

/* The trade of saved bytes (static inputs included, every name counted) against
 * recomputed FLOPs: the convex hull of all plans that keep must_save, random,
 * seeded and effectful values, every corner and up to 64 points on each side;
 * and the plans of the budgets 0.05 to 0.95, compat false, where they lie in a
 * dent of it: by dp and FLOPs, by dp with equal runtimes ("testing"), and by
 * greedy. Attention without dropout counts as seeded nowhere here. Of the
 * options, those about budgets and memory_limit_bytes are not read. Every plan
 * has passed the independent verifier. A graph without a plan is no error, as
 * in remat_plan_solve. REMAT_E_WEIGHT: bytes or FLOPs add up to 2^61. Costs 58
 * plans, a flow on ever smaller parts of the network for each point, and
 * O(nodes + edges) for the plan of each. */
REMAT_NODISCARD enum remat_status
remat_frontier_solve(struct remat_job *job, const struct remat_options *options,
                     const struct remat_frontier **frontier,
                     struct remat_error *err);

#endif
