/*
 * limit_wander.c: from a set of values to better ones, through worse ones.
 *
 * Where descents end, another set may be far better, behind sets that are over
 * the limit or more work. This walk takes any change that is worse by less than
 * a threshold, which falls to nothing on the way (threshold accepting: without
 * an exponential, so that it ends the same on every machine). Bytes over the
 * limit are charged as work, at a price that rises while the walk stays over
 * the limit and falls while it stays under it.
 *
 *   propose   one value more or less, often with a neighbour the other way
 *   charge    what a set is worth at the present price
 *   walk      from a threshold down to none
 */
#include "limit.h"

#include <string.h>

/* How far down each round goes for a better end, as part of what one value
 * comes to: some graphs want small steps, others large ones. */
static const double reaches[] = {0.25, 1.0, 0.0625, 0.25};

enum {
    ROUNDS = REMAT_ARRAY_LEN(reaches),
    PATIENCE = 12, /* sets of one kind in a row before the price moves */
    MOST_IDLE = 64 /* draws in vain, for each value, before it gives up */
};

struct wanderer {
    struct remat_limit *l;
    enum remat_wander_goal goal;
    struct remat_set now;
    struct remat_set trial;
    bool *is_saved; /* of now */
    bool *is_recomputed;
    remat_node *candidates;
    uint32_t n;
    uint64_t random; /* state of the generator: never 0 */
    double price;    /* of a byte over the limit at one step, in FLOPs */
    uint32_t n_over; /* sets in a row */
    uint32_t n_under;
};

static bool allocate(struct wanderer *w)
{
    struct remat_arena *arena = &w->l->w->job->arena;
    size_t n = w->l->w->g->n;

    w->is_saved = REMAT_NEW_ARRAY(arena, bool, n);
    w->is_recomputed = REMAT_NEW_ARRAY(arena, bool, n);
    w->candidates = REMAT_NEW_ARRAY(arena, remat_node, n);
    if (!remat_set_init(w->l, &w->now) || !remat_set_init(w->l, &w->trial) ||
        arena->status != REMAT_OK)
        return false;
    for (remat_node v = 0; v < n; v++)
        if (w->l->is_candidate[v])
            w->candidates[w->n++] = v;
    return true;
}

/* Marsaglia's xorshift, for a number below n. */
static uint32_t draw(struct wanderer *w, uint32_t n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)((w->random >> 32) * n >> 32);
}

static void settle(struct wanderer *w)
{
    const struct remat_limit *l = w->l;

    remat_set_copy(l, &w->now, &w->trial);
    memcpy(w->is_saved, l->is_saved, l->w->g->n);
    memcpy(w->is_recomputed, l->is_recomputed, l->w->g->n);
    for (remat_node v = 0; v < l->w->g->n; v++)
        w->now.in[v] = l->always[v] || w->is_saved[v];
}

/* ---- changes ----------------------------------------------------------- */

static bool may_change(const struct wanderer *w, remat_node v)
{
    return w->is_saved[v] ? !w->l->always[v] : w->is_recomputed[v];
}

/* A candidate that v is computed from or that is computed from v. */
static remat_node draw_neighbour(struct wanderer *w, remat_node v)
{
    const struct remat_graph *g = w->l->w->g;
    uint32_t n_inputs = g->inputs.begin[v + 1] - g->inputs.begin[v];
    const struct remat_rows *users = &w->l->w->users;
    uint32_t n_users = users->begin[v + 1] - users->begin[v];
    uint32_t i;

    if (n_inputs + n_users == 0)
        return v;
    i = draw(w, n_inputs + n_users);
    return i < n_inputs ? g->inputs.items[g->inputs.begin[v] + i]
                        : users->items[users->begin[v] + i - n_inputs];
}

/* Sets w->trial to something near w->now; false: it came out the same. */
static bool propose(struct wanderer *w)
{
    remat_node v = w->candidates[draw(w, w->n)];

    if (!may_change(w, v))
        return false;
    remat_set_copy(w->l, &w->trial, &w->now);
    w->trial.in[v] = !w->trial.in[v];
    if (draw(w, 2) == 0) {
        remat_node other = draw_neighbour(w, v);

        if (w->l->is_candidate[other])
            w->trial.in[other] = !w->trial.in[v];
    }
    return true;
}

/* ---- worth ------------------------------------------------------------- */

static double charge(const struct wanderer *w, const struct remat_set *set)
{
    if (w->goal == REMAT_WANDER_LOWER)
        return set->verdict.excess;
    return (double)set->verdict.flops + w->price * set->verdict.excess;
}

/* Keeps the walk along the limit. */
static void adjust_price(struct wanderer *w)
{
    bool is_over = w->now.verdict.excess > 0.0;

    w->n_over = is_over ? w->n_over + 1 : 0;
    w->n_under = is_over ? 0 : w->n_under + 1;
    if (w->n_over >= PATIENCE) {
        w->price *= 1.25;
        w->n_over = 0;
    } else if (w->n_under >= PATIENCE) {
        w->price *= 0.8;
        w->n_under = 0;
    }
}

/* A price at which what saving all is over the limit costs as much as running
 * all of it again. *step: what one value comes to, on average. */
static enum remat_status find_price(struct wanderer *w, double *step)
{
    struct remat_limit *l = w->l;
    enum remat_status status;
    double work = 0.0;

    for (uint32_t i = 0; i < w->n; i++)
        work += (double)l->flops[w->candidates[i]];
    for (remat_node v = 0; v < l->w->g->n; v++)
        w->trial.in[v] = l->always[v] || l->is_candidate[v];
    status = remat_limit_weigh(l, &w->trial);
    w->price =
        w->trial.verdict.excess > 0.0 ? work / w->trial.verdict.excess : 1.0;
    *step = w->goal == REMAT_WANDER_LOWER ? w->trial.verdict.excess / 8 : work;
    *step /= (double)w->n;
    return status;
}

/* ---- the walk ---------------------------------------------------------- */

static enum remat_status begin_at(struct wanderer *w,
                                  const struct remat_set *set)
{
    enum remat_status status;

    remat_set_copy(w->l, &w->trial, set);
    status = remat_limit_weigh(w->l, &w->trial);
    if (status == REMAT_OK)
        settle(w);
    return status;
}

static bool is_done(const struct wanderer *w)
{
    const struct remat_limit *l = w->l;

    if (w->goal == REMAT_WANDER_LOWER)
        return l->best.verdict.valid || l->lowest.verdict.peak <= l->floor;
    return l->best.verdict.valid && l->best.verdict.flops <= l->least_flops;
}

/* One change, taken or not. A peak that was reached is no aim any more. */
static enum remat_status step(struct wanderer *w, double threshold)
{
    struct remat_limit *l = w->l;
    enum remat_status status = remat_limit_weigh(l, &w->trial);

    if (status != REMAT_OK || !w->trial.verdict.valid)
        return status;
    if (charge(w, &w->trial) < charge(w, &w->now) + threshold)
        settle(w);
    adjust_price(w);
    if (w->goal != REMAT_WANDER_LOWER || l->lowest.verdict.peak > l->target)
        return REMAT_OK;
    l->target = l->lowest.verdict.peak - 1;
    return begin_at(w, &l->lowest);
}

/* Down to no threshold at all within a share of the steps. */
static enum remat_status walk(struct wanderer *w, double threshold,
                              uint64_t share)
{
    struct remat_limit *l = w->l;
    const uint64_t end = l->n_left > share ? l->n_left - share : 0;
    const double whole = (double)(l->n_left - end) + 1.0;
    enum remat_status status = REMAT_OK;
    uint32_t n_idle = 0;

    while (status == REMAT_OK && l->n_left > end + l->cost && !is_done(w) &&
           !remat_limit_is_over(l) && n_idle < MOST_IDLE * w->n) {
        double rest = (double)(l->n_left - end) / whole;

        n_idle = propose(w) ? 0 : n_idle + 1;
        if (n_idle == 0)
            status = step(w, threshold * rest * rest);
    }
    return status;
}

static enum remat_status wander(struct wanderer *w, uint64_t share)
{
    struct remat_limit *l = w->l;
    double threshold;
    enum remat_status status = find_price(w, &threshold);

    for (int i = 0; i < ROUNDS && status == REMAT_OK && !is_done(w); i++) {
        status = begin_at(w, l->best.verdict.valid ? &l->best : &l->lowest);
        if (status == REMAT_OK)
            status = walk(w, threshold * reaches[i], share / ROUNDS);
    }
    l->random = w->random;
    return status;
}

enum remat_status remat_limit_wander(struct remat_limit *l,
                                     enum remat_wander_goal goal,
                                     uint64_t share)
{
    struct remat_mark mark = remat_arena_mark(&l->w->job->arena);
    struct wanderer w = {.l = l, .goal = goal, .random = l->random};
    enum remat_status status = REMAT_OK;

    if (!allocate(&w))
        return remat_job_no_memory(l->w->job, l->err);
    l->target =
        goal == REMAT_WANDER_LOWER ? l->lowest.verdict.peak - 1 : l->limit;
    if (w.n > 0)
        status = wander(&w, share);
    l->target = l->limit;
    remat_arena_rewind(&l->w->job->arena, mark);
    return status;
}
