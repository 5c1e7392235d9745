/*
 * knapsack.c: the dynamic programs over quantised memory, and the greedy
 * choice.
 *
 * Arithmetic is part of the specification here: float32 sums lose small
 * addends, so that cheap items can look worthless, and equal decisions need
 * equal losses.
 */
#include "knapsack.h"
#include "sort.h"

#include <string.h>

enum {
    PARTS = 10000
}; /* memory is counted in ten-thousandths */

/* ---- quantities -------------------------------------------------------- */

/* x >= 0 to the nearest integer, halves to the even one; at most `most`. */
static uint32_t round_half_even(double x, uint32_t most)
{
    uint32_t floor;
    double rest;

    if (!(x < (double)most))
        return most;
    floor = (uint32_t)x;
    rest = x - (double)floor;
    if (rest > 0.5 || (rest == 0.5 && floor % 2 == 1))
        floor++;
    return floor;
}

/* What does not fit into any budget is one more than the largest. */
static uint32_t quantised(double memory)
{
    return round_half_even(memory * PARTS, PARTS + 1);
}

static uint32_t capacity_of(const struct remat_items *items)
{
    return round_half_even(items->budget * PARTS, PARTS);
}

/* ---- dp ---------------------------------------------------------------- */

static void set_bit(unsigned char *bits, size_t i)
{
    bits[i / 8] = (unsigned char)(bits[i / 8] | 1u << (i % 8));
}

static bool get_bit(const unsigned char *bits, size_t i)
{
    return ((unsigned)bits[i / 8] >> (i % 8) & 1u) != 0;
}

/* One row of the table from the one before it, in place; notes where they
 * differ. Downwards, so that row[j - memory] is still the old one. */
static void add_item(float *row, uint32_t capacity, uint32_t memory,
                     float runtime, unsigned char *changed)
{
    for (uint32_t j = capacity + 1; j-- > memory;) {
        float with = row[j - memory] + runtime;

        if (memory == 0 ? with != row[j] : with > row[j]) {
            row[j] = with;
            set_bit(changed, j);
        }
    }
}

enum remat_status remat_knapsack_dp(struct remat_job *job,
                                    const struct remat_items *items, bool *keep,
                                    struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&job->arena);
    uint32_t capacity = capacity_of(items);
    size_t row_bytes = capacity / 8 + 1;
    float *row = REMAT_NEW_ARRAY(&job->arena, float, (size_t)capacity + 1);
    unsigned char *changed =
        remat_arena_alloc(&job->arena, items->n, row_bytes);
    uint32_t j = capacity;

    if (row == NULL || changed == NULL)
        return remat_job_no_memory(job, err);
    for (uint32_t i = 0; i < items->n; i++) {
        enum remat_status status =
            remat_job_spend(job, capacity / 8 + 1, "knapsack", err);

        if (status != REMAT_OK)
            return status;
        add_item(row, capacity, quantised(items->memory[i]),
                 (float)items->runtime[i], changed + i * row_bytes);
    }
    for (uint32_t i = items->n; i-- > 0;) {
        keep[i] = get_bit(changed + i * row_bytes, j);
        if (keep[i])
            j -= quantised(items->memory[i]);
    }
    remat_arena_rewind(&job->arena, mark);
    return REMAT_OK;
}

/* ---- greedy ------------------------------------------------------------ */

enum remat_status remat_knapsack_greedy(struct remat_job *job,
                                        const struct remat_items *items,
                                        bool *keep, bool *divides_by_zero,
                                        struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&job->arena);
    double *ratio = REMAT_NEW_ARRAY(&job->arena, double, items->n);
    const double infinite = 1e308 * 10;
    uint32_t *order;
    double used = 0.0;

    *divides_by_zero = false;
    if (ratio == NULL)
        return remat_job_no_memory(job, err);
    for (uint32_t i = 0; i < items->n; i++) {
        bool is_free = items->memory[i] == 0.0;

        ratio[i] = is_free ? infinite : items->runtime[i] / items->memory[i];
        *divides_by_zero = *divides_by_zero || is_free;
    }
    order = remat_sort_descending(&job->arena, ratio, items->n);
    if (order == NULL)
        return remat_job_no_memory(job, err);
    for (uint32_t i = 0; i < items->n; i++) {
        uint32_t item = order[i];

        keep[item] = used + items->memory[item] <= items->budget;
        if (keep[item])
            used += items->memory[item];
    }
    remat_arena_rewind(&job->arena, mark);
    return remat_job_spend(job, items->n, "knapsack", err);
}

/* ---- sliding rows, halving (Hirschberg, CACM 18(6), 1975) --------------- */

struct segment {
    uint32_t start;
    uint32_t end;
    uint32_t capacity;
};

struct halving {
    struct remat_job *job;
    const struct remat_items *items;
    bool off_by_one;
    bool *keep;
    float *later;   /* best runtime by capacity, items of the later half */
    float *earlier; /* and of the earlier half */
    struct segment *stack;
    uint32_t n_stack;
    struct remat_error *err;
};

/* The best runtime for each capacity below n_capacities. */
static enum remat_status profile(struct halving *h, uint32_t start,
                                 uint32_t end, uint32_t n_capacities,
                                 float *row)
{
    memset(row, 0, n_capacities * sizeof(*row));
    for (uint32_t i = start; i < end; i++) {
        uint32_t memory = quantised(h->items->memory[i]);
        float runtime = (float)h->items->runtime[i];
        enum remat_status status =
            remat_job_spend(h->job, n_capacities / 8 + 1, "knapsack", h->err);

        if (status != REMAT_OK)
            return status;
        for (uint32_t j = n_capacities; j-- > memory;) {
            float with = row[j - memory] + runtime;

            if (memory == 0 || with > row[j])
                row[j] = with;
        }
    }
    return REMAT_OK;
}

static void push(struct halving *h, uint32_t start, uint32_t end,
                 uint32_t capacity)
{
    h->stack[h->n_stack++] = (struct segment){start, end, capacity};
}

static enum remat_status halve(struct halving *h, struct segment s,
                               uint32_t most)
{
    uint32_t middle = s.start + (s.end - s.start) / 2;
    uint32_t n = s.capacity + 1;
    uint32_t best = 0;
    uint32_t rest;
    enum remat_status status = profile(h, middle, s.end, n, h->later);

    if (status == REMAT_OK)
        status = profile(h, s.start, middle, n, h->earlier);
    if (status != REMAT_OK)
        return status;
    for (uint32_t j = 1; j < n; j++)
        if (h->later[j] + h->earlier[n - 1 - j] >
            h->later[best] + h->earlier[n - 1 - best])
            best = j;
    rest = s.capacity - best + (h->off_by_one ? 1 : 0);
    push(h, s.start, middle, rest < most ? rest : most);
    push(h, middle, s.end, best);
    return REMAT_OK;
}

/* Rounding may have let in a little too much: gives up what saves the least
 * runtime for its memory. */
static enum remat_status fit(struct halving *h)
{
    const struct remat_items *items = h->items;
    double *ratio = REMAT_NEW_ARRAY(&h->job->arena, double, items->n);
    double used = 0.0;
    uint32_t *order;

    if (ratio == NULL)
        return remat_job_no_memory(h->job, h->err);
    for (uint32_t i = 0; i < items->n; i++) {
        if (items->memory[i] > 0.0)
            ratio[i] = -items->runtime[i] / items->memory[i];
        else
            ratio[i] = -1e308;
        if (h->keep[i])
            used += items->memory[i];
    }
    order = remat_sort_descending(&h->job->arena, ratio, items->n);
    if (order == NULL)
        return remat_job_no_memory(h->job, h->err);
    for (uint32_t i = 0; i < items->n && used > items->budget; i++) {
        if (!h->keep[order[i]])
            continue;
        h->keep[order[i]] = false;
        used -= items->memory[order[i]];
    }
    return REMAT_OK;
}

enum remat_status remat_knapsack_hirschberg(struct remat_job *job,
                                            const struct remat_items *items,
                                            bool off_by_one, bool *keep,
                                            struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&job->arena);
    struct halving h = {.job = job,
                        .items = items,
                        .off_by_one = off_by_one,
                        .keep = keep,
                        .err = err};
    uint32_t most = capacity_of(items);
    enum remat_status status = REMAT_OK;

    h.later = REMAT_NEW_ARRAY(&job->arena, float, (size_t)most + 1);
    h.earlier = REMAT_NEW_ARRAY(&job->arena, float, (size_t)most + 1);
    h.stack =
        REMAT_NEW_ARRAY(&job->arena, struct segment, (size_t)items->n + 2);
    if (job->arena.status != REMAT_OK)
        return remat_job_no_memory(job, err);
    push(&h, 0, items->n, most);
    while (h.n_stack > 0 && status == REMAT_OK) {
        struct segment s = h.stack[--h.n_stack];

        if (s.end - s.start > 1)
            status = halve(&h, s, most);
        else if (s.end - s.start == 1)
            keep[s.start] = quantised(items->memory[s.start]) <= s.capacity &&
                            items->runtime[s.start] > 0.0;
    }
    if (status == REMAT_OK && !off_by_one)
        status = fit(&h);
    remat_arena_rewind(&job->arena, mark);
    return status;
}
