/*
 * knapsack_exact.c: the best selection under a budget, exactly.
 *
 * Items are taken by runtime over memory. A state is a selection among the
 * items so far; one that needs no less memory than another and saves no more
 * runtime is dominated (Nemhauser & Ullmann, Management Science 15(9), 1969). A
 * state is dropped too when even the best fractional completion does not beat
 * the best selection known (Dantzig, Operations Research 5(2), 1957). States
 * are kept in a list with increasing memory and runtime, so dominance is a
 * merge; equal items of repeated layers fall together.
 */
#include "knapsack.h"
#include "sort.h"

#include <string.h>

#define NOTHING UINT32_MAX

struct state {
    double memory;
    double runtime;
    uint32_t taken; /* last entry in the chain of choices */
};

struct choice {
    uint32_t item;
    uint32_t before; /* previous entry, or NOTHING */
};

struct exact {
    struct remat_job *job;
    const struct remat_items *items;
    struct remat_error *err;
    const uint32_t *order;
    double *memory_before; /* of the first i items in that order */
    double *runtime_before;

    struct state *states;
    struct state *next;
    uint32_t n;
    uint32_t capacity;

    struct choice *choices;
    uint32_t n_choices;
    uint32_t choices_capacity;

    double best; /* runtime of the best selection known */
    uint32_t best_taken;
};

/* ---- growing arrays ---------------------------------------------------- */

/* Room for `wanted` entries; old contents are copied. */
static void *grown(struct exact *x, const void *old, uint32_t n,
                   uint32_t *capacity, uint32_t wanted, size_t size)
{
    uint32_t larger = *capacity == 0 ? 256 : *capacity;
    void *memory;

    while (larger < wanted && larger < UINT32_MAX / 2)
        larger *= 2;
    memory = remat_arena_alloc(&x->job->arena, larger, size);
    if (memory != NULL && n > 0)
        memcpy(memory, old, n * size);
    *capacity = larger;
    return memory;
}

static bool make_room(struct exact *x)
{
    uint32_t wanted = 2 * x->n + 2;

    if (wanted > x->capacity) {
        uint32_t capacity = x->capacity;

        x->states =
            grown(x, x->states, x->n, &capacity, wanted, sizeof(*x->states));
        x->next = grown(x, NULL, 0, &x->capacity, wanted, sizeof(*x->next));
        if (x->states == NULL || x->next == NULL)
            return false;
    }
    if (x->n_choices + x->n + 1 > x->choices_capacity)
        x->choices = grown(x, x->choices, x->n_choices, &x->choices_capacity,
                           x->n_choices + x->n + 1, sizeof(*x->choices));
    return x->choices != NULL;
}

/* ---- bounds ------------------------------------------------------------ */

/* What a state can still reach: the items from `from` on, the last one in part.
 * Sums over items are differences of running sums, found by bisection. */
static double fractional(const struct exact *x, struct state s, uint32_t from)
{
    double limit = x->items->budget - s.memory + x->memory_before[from];
    uint32_t low = from;
    uint32_t high = x->items->n;
    uint32_t item;
    double runtime;

    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (x->memory_before[middle] <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    runtime = s.runtime + x->runtime_before[low] - x->runtime_before[from];
    if (low == x->items->n)
        return runtime;
    item = x->order[low];
    return runtime +
           x->items->runtime[item] *
               ((limit - x->memory_before[low]) / x->items->memory[item]);
}

static void learn_best(struct exact *x, struct state s)
{
    if (s.runtime > x->best || x->best_taken == NOTHING) {
        x->best = s.runtime;
        x->best_taken = s.taken;
    }
}

/* The value of a good selection, so that bounds bite from the start. */
static double greedy_value(const struct exact *x)
{
    double used = 0.0;
    double runtime = 0.0;

    for (uint32_t i = 0; i < x->items->n; i++) {
        uint32_t item = x->order[i];

        if (used + x->items->memory[item] > x->items->budget)
            continue;
        used += x->items->memory[item];
        runtime += x->items->runtime[item];
    }
    return runtime;
}

/* ---- one item ---------------------------------------------------------- */

static void append(struct exact *x, uint32_t *n, struct state s)
{
    if (*n > 0 && s.runtime <= x->next[*n - 1].runtime)
        return; /* dominated: it needs no less memory */
    if (*n > 0 && s.memory == x->next[*n - 1].memory)
        --*n;
    x->next[(*n)++] = s;
}

static struct state take(struct exact *x, struct state s, uint32_t item)
{
    x->choices[x->n_choices] = (struct choice){item, s.taken};
    s.memory += x->items->memory[item];
    s.runtime += x->items->runtime[item];
    s.taken = x->n_choices++;
    return s;
}

/* Merges the states without and with an item, both by memory. */
static void merge(struct exact *x, uint32_t item)
{
    double memory = x->items->memory[item];
    uint32_t without = 0;
    uint32_t with = 0;
    uint32_t n = 0;

    while (without < x->n || with < x->n) {
        bool second =
            without == x->n || (with < x->n && x->states[with].memory + memory <
                                                   x->states[without].memory);

        if (!second) {
            append(x, &n, x->states[without++]);
            continue;
        }
        if (x->states[with].memory + memory > x->items->budget) {
            with = x->n;
            continue;
        }
        append(x, &n, take(x, x->states[with++], item));
    }
    x->n = n;
}

/* Keeps the states that may still lead to `floor` and to the best known; a
 * little less is let through, for the rounding of the running sums. */
static void prune(struct exact *x, uint32_t from, double floor)
{
    const double slack = 1.0 + 1e-9;
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->n; i++) {
        struct state s = x->next[i];

        double bound = fractional(x, s, from) * slack;

        learn_best(x, s);
        if (bound >= floor && bound >= x->best)
            x->states[n++] = s;
    }
    x->n = n;
}

static enum remat_status run(struct exact *x)
{
    double floor = greedy_value(x);

    if (!make_room(x))
        return remat_job_no_memory(x->job, x->err);
    x->states[0] = (struct state){0.0, 0.0, NOTHING};
    x->n = 1;
    for (uint32_t i = 0; i < x->items->n; i++) {
        enum remat_status status;

        if (!make_room(x))
            return remat_job_no_memory(x->job, x->err);
        merge(x, x->order[i]);
        prune(x, i + 1, floor);
        status =
            remat_job_spend(x->job, 4 * (uint64_t)x->n + 1, "knapsack", x->err);
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

enum remat_status remat_knapsack_exact(struct remat_job *job,
                                       const struct remat_items *items,
                                       bool *keep, struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&job->arena);
    struct exact x = {
        .job = job, .items = items, .err = err, .best_taken = NOTHING};
    double *ratio = REMAT_NEW_ARRAY(&job->arena, double, items->n);
    enum remat_status status;

    if (ratio == NULL)
        return remat_job_no_memory(job, err);
    for (uint32_t i = 0; i < items->n; i++)
        ratio[i] = items->memory[i] > 0.0 ? items->runtime[i] / items->memory[i]
                                          : 1e308;
    x.order = remat_sort_descending(&job->arena, ratio, items->n);
    if (x.order == NULL)
        return remat_job_no_memory(job, err);
    x.memory_before = REMAT_NEW_ARRAY(&job->arena, double, items->n + 1);
    x.runtime_before = REMAT_NEW_ARRAY(&job->arena, double, items->n + 1);
    if (job->arena.status != REMAT_OK)
        return remat_job_no_memory(job, err);
    for (uint32_t i = 0; i < items->n; i++) {
        x.memory_before[i + 1] = x.memory_before[i] + items->memory[x.order[i]];
        x.runtime_before[i + 1] =
            x.runtime_before[i] + items->runtime[x.order[i]];
    }
    status = run(&x);
    memset(keep, 0, items->n * sizeof(*keep));
    for (uint32_t i = x.best_taken; status == REMAT_OK && i != NOTHING;
         i = x.choices[i].before)
        keep[x.choices[i].item] = true;
    remat_arena_rewind(&job->arena, mark);
    return status;
}
