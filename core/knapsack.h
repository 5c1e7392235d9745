/*
 * knapsack.h: which values to keep under an activation-memory budget (semantics
 * 8.10 - 8.12). Private to core.
 */
#ifndef REMAT_KNAPSACK_H
#define REMAT_KNAPSACK_H

#include "job.h"

/* Items in the order of 8.8. Memory in parts of what may be saved beyond the
 * inputs, 0 or more; runtime in the estimator's unit, 0 or more. */
struct remat_items {
    const double *memory;
    const double *runtime;
    uint32_t n;
    double budget; /* 0 to 1 */
};

/* Each sets keep[i] for the items to save; the others may be recomputed. */

/* PyTorch's dynamic program: memory in ten-thousandths, rounded half to even,
 * runtimes added in float32. O(n) space of 10^4 bits, O(10^4 n) time. */
REMAT_NODISCARD enum remat_status
remat_knapsack_dp(struct remat_job *job, const struct remat_items *items,
                  bool *keep, struct remat_error *err);
/* By runtime over memory, skipping what does not fit. Items without memory come
 * first; *divides_by_zero says whether there are any (PyTorch fails then).
 * O(n log n). */
REMAT_NODISCARD enum remat_status
remat_knapsack_greedy(struct remat_job *job, const struct remat_items *items,
                      bool *keep, bool *divides_by_zero,
                      struct remat_error *err);
/* The dynamic program in linear space, halving the items. `off_by_one` gives
 * each half one unit too many, as PyTorch does, and may then exceed the budget;
 * without it the budget is kept. O(10^4 n log n) time. */
REMAT_NODISCARD enum remat_status
remat_knapsack_hirschberg(struct remat_job *job,
                          const struct remat_items *items, bool off_by_one,
                          bool *keep, struct remat_error *err);
/* Exact, in double arithmetic: branch and bound over undominated selections.
 * Bounded by the step limit. */
REMAT_NODISCARD enum remat_status
remat_knapsack_exact(struct remat_job *job, const struct remat_items *items,
                     bool *keep, struct remat_error *err);

#endif
