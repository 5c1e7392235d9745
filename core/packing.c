/*
 * packing.c: what a knapsack chose, in the order and with the sum of PyTorch's
 * solver: whoever compares decisions looks at these.
 */
#include "choose.h"
#include "sort.h"

/* The positions in the order in which the solver looks at them; NULL without
 * memory. */
static const uint32_t *order_of(struct remat_job *job,
                                enum remat_knapsack solver,
                                const struct remat_packing *packing)
{
    const double infinite = 1e308 * 10;
    uint32_t n = packing->offered.n;
    uint32_t *order = REMAT_NEW_ARRAY(&job->arena, uint32_t, n);
    double *ratio = REMAT_NEW_ARRAY(&job->arena, double, n);

    if (order == NULL || ratio == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        ratio[i] = packing->memory[i] == 0.0
                       ? infinite
                       : packing->runtime[i] / packing->memory[i];
    }
    if (solver == REMAT_KNAPSACK_GREEDY)
        return remat_sort_descending(&job->arena, ratio, n);
    return order;
}

/* The dynamic program adds in float32, the others in double. */
static double add(enum remat_knapsack solver, double sum, double runtime)
{
    if (solver == REMAT_KNAPSACK_DP)
        return (double)((float)sum + (float)runtime);
    return sum + runtime;
}

static void reverse(uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t other = at[n - 1 - i];

        at[n - 1 - i] = at[i];
        at[i] = other;
    }
}

enum remat_status remat_packing_list(struct remat_job *job,
                                     enum remat_knapsack solver,
                                     struct remat_packing *packing,
                                     struct remat_error *err)
{
    uint32_t n = packing->offered.n;
    const uint32_t *order = order_of(job, solver, packing);
    uint32_t *saved = REMAT_NEW_ARRAY(&job->arena, uint32_t, n);
    uint32_t *recomputed = REMAT_NEW_ARRAY(&job->arena, uint32_t, n);

    if (order == NULL || saved == NULL || recomputed == NULL)
        return remat_job_no_memory(job, err);
    packing->saved = saved;
    packing->recomputed = recomputed;
    packing->n_saved = packing->n_recomputed = 0;
    packing->saved_runtime = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = order[i];

        if (!packing->keep[at]) {
            recomputed[packing->n_recomputed++] = at;
            continue;
        }
        saved[packing->n_saved++] = at;
        packing->saved_runtime =
            add(solver, packing->saved_runtime, packing->runtime[at]);
    }
    if (solver == REMAT_KNAPSACK_DP || solver == REMAT_KNAPSACK_HIRSCHBERG)
        reverse(recomputed, packing->n_recomputed);
    return REMAT_OK;
}
