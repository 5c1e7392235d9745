/*
 * limit_exact.c: all sets of values to pass on, for graphs with few choices.
 *
 * Depth first over the values that the backward may want, those first that are
 * most work. Until a value is decided it counts as saved where that is good
 * (work) and as not saved where that is good (peak), so both are bounds for all
 * sets below; a branch whose bound is no better than what is known is cut off.
 */
#include "limit.h"

#include "knapsack.h"
#include "sort.h"

#include <string.h>

enum {
    MOST_CHOICES = 64
};

struct tree {
    struct remat_limit *l;
    remat_node *choices; /* in the order in which they are decided */
    uint32_t n;
    struct remat_set set; /* undecided values are in it */
    bool *decided;        /* always, or decided to be saved */
};

/* Values that an operator of the backward wants, or that lead to one. */
static void mark_wanted(const struct remat_limit *l, bool *wanted)
{
    const struct remat_work *w = l->w;

    for (uint32_t i = 0; i < l->n_steps; i++)
        wanted[l->steps[i]] = true;
    for (uint32_t i = 0; i < w->g->bwd_outputs.n; i++)
        if (w->g->bwd_outputs.at[i] != REMAT_NONE)
            wanted[w->g->bwd_outputs.at[i]] = true;
    for (remat_node v = w->g->n; v-- > 0;)
        if (w->live[v] && (wanted[v] || w->closure[v]))
            REMAT_FOR_INPUTS (w->g, v, i)
                wanted[w->g->inputs.items[i]] = true;
}

static bool list_choices(struct tree *t)
{
    struct remat_limit *l = t->l;
    struct remat_arena *arena = &l->w->job->arena;
    bool *wanted = REMAT_NEW_ARRAY(arena, bool, l->w->g->n);
    remat_node *all = REMAT_NEW_ARRAY(arena, remat_node, l->w->g->n);
    double *keys = REMAT_NEW_ARRAY(arena, double, l->w->g->n);
    uint32_t *order;

    t->choices = REMAT_NEW_ARRAY(arena, remat_node, l->w->g->n);
    t->decided = REMAT_NEW_ARRAY(arena, bool, l->w->g->n);
    if (!remat_set_init(l, &t->set))
        return false;
    mark_wanted(l, wanted);
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (wanted[v] && l->is_candidate[v]) {
            keys[t->n] = (double)l->flops[v] * 1e6 +
                         (double)l->sim.bytes[l->sim.root[v]];
            all[t->n++] = v;
        }
    order = remat_sort_descending(arena, keys, t->n);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        t->choices[i] = all[order[i]];
    return true;
}

static bool may_improve(const struct tree *t)
{
    const struct remat_limit *l = t->l;

    if (l->any_will_do && l->best.verdict.valid)
        return false;
    return t->set.verdict.may_be_valid &&
           (!l->best.verdict.valid ||
            t->set.verdict.least_flops < l->best.verdict.flops);
}

static enum remat_status save(struct tree *t, uint32_t depth, bool *open)
{
    struct remat_limit *l = t->l;
    uint64_t steps = l->cost / 8 + 1;

    t->decided[t->choices[depth]] = true;
    *open = remat_limit_bound(l, t->decided) <= l->limit;
    l->n_left -= steps < l->n_left ? steps : l->n_left;
    return remat_job_spend(l->w->job, steps, "memory limit", l->err);
}

/* The verdict before this choice is that of the set with it; after `drop` it
 * has to be weighed again when the walk comes back. */
static enum remat_status drop(struct tree *t, uint32_t depth, bool *open)
{
    enum remat_status status;

    t->decided[t->choices[depth]] = false;
    t->set.in[t->choices[depth]] = false;
    status = remat_limit_weigh(t->l, &t->set);
    *open = may_improve(t);
    return status;
}

static enum remat_status walk(struct tree *t, bool *complete)
{
    enum {
        FRESH,
        SAVED,
        DROPPED
    } state[MOST_CHOICES + 1] = {FRESH};
    struct remat_verdict verdict[MOST_CHOICES + 1];
    enum remat_status status = remat_limit_weigh(t->l, &t->set);
    uint32_t depth = 0;

    verdict[0] = t->set.verdict;
    *complete = false;
    while (status == REMAT_OK && !remat_limit_is_over(t->l)) {
        bool open = false;

        t->set.verdict = verdict[depth];
        if (depth < t->n && state[depth] == FRESH && may_improve(t)) {
            state[depth] = SAVED;
            status = save(t, depth, &open);
        } else if (depth < t->n && state[depth] == SAVED && may_improve(t)) {
            state[depth] = DROPPED;
            status = drop(t, depth, &open);
        } else {
            if (depth < t->n) {
                t->set.in[t->choices[depth]] = true;
                t->decided[t->choices[depth]] = false;
            }
            if (depth == 0) {
                *complete = true;
                return REMAT_OK;
            }
            depth--;
            continue;
        }
        if (open) {
            depth++;
            verdict[depth] = t->set.verdict;
            state[depth] = FRESH;
        }
    }
    return status;
}

enum remat_status remat_limit_enumerate(struct remat_limit *l)
{
    struct remat_mark mark = remat_arena_mark(&l->w->job->arena);
    struct tree t = {.l = l};
    enum remat_status status = REMAT_OK;

    l->is_exact = false;
    if (!list_choices(&t))
        return remat_job_no_memory(l->w->job, l->err);
    if (t.n <= MOST_CHOICES && l->n_steps > 0) {
        for (remat_node v = 0; v < l->w->g->n; v++) {
            t.decided[v] = l->always[v];
            t.set.in[v] = l->always[v] || l->is_candidate[v];
        }
        t.set.budget = 1.0;
        status = walk(&t, &l->is_exact);
    }
    remat_arena_rewind(&l->w->job->arena, mark);
    return status;
}
