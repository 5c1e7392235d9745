/*
 * limit_search.c: from a set of values to better ones, by adding and taking
 * away single values and weighing each result.
 *
 *   repair    brings a set under the target: the move that gains most bytes
 *             over the target for the work it costs, again and again
 *   improve   saves more under the limit: the move that spares most work for
 *             the bytes it needs
 *   exchange  saves one value more although it does not fit, repairs, and keeps
 *             that where it costs less work
 *
 * Scores are kept from round to round and only the best is weighed again before
 * it is believed: mostly it still is the best.
 */
#include "limit.h"

#include <float.h>
#include <string.h>

enum goal {
    REPAIR,
    IMPROVE,
    N_GOALS
};

struct search {
    struct remat_limit *l;
    struct remat_set now;
    struct remat_set trial;
    bool *is_saved; /* of now */
    bool *is_recomputed;
    double *score[N_GOALS]; /* by node; DBL_MAX: not known */
    bool free_only;         /* only moves that cost no work */
    remat_node held;        /* must stay as it is; REMAT_NONE: none */
};

static bool allocate(struct search *s)
{
    struct remat_arena *arena = &s->l->w->job->arena;
    size_t n = s->l->w->g->n;

    s->is_saved = REMAT_NEW_ARRAY(arena, bool, n);
    s->is_recomputed = REMAT_NEW_ARRAY(arena, bool, n);
    s->score[REPAIR] = REMAT_NEW_ARRAY(arena, double, n);
    s->score[IMPROVE] = REMAT_NEW_ARRAY(arena, double, n);
    s->held = REMAT_NONE;
    return remat_set_init(s->l, &s->now) && remat_set_init(s->l, &s->trial);
}

/* Makes the set just weighed the present one, without what it does not pass
 * on. */
static void settle(struct search *s, const struct remat_set *set)
{
    const struct remat_limit *l = s->l;

    if (set != &s->now)
        remat_set_copy(l, &s->now, set);
    memcpy(s->is_saved, l->is_saved, l->w->g->n);
    memcpy(s->is_recomputed, l->is_recomputed, l->w->g->n);
    for (remat_node v = 0; v < l->w->g->n; v++)
        s->now.in[v] = l->always[v] || s->is_saved[v];
}

static void forget_scores(struct search *s, enum goal goal)
{
    for (remat_node v = 0; v < s->l->w->g->n; v++)
        s->score[goal][v] = DBL_MAX;
}

/* ---- moves ------------------------------------------------------------- */

static enum remat_status try_move(struct search *s, remat_node v)
{
    remat_set_copy(s->l, &s->trial, &s->now);
    s->trial.in[v] = !s->trial.in[v];
    return remat_limit_weigh(s->l, &s->trial);
}

/* How much the trial is worth for a goal; 0 and less: nothing. */
static double score_of(const struct search *s, enum goal goal, remat_node v)
{
    const struct remat_verdict *before = &s->now.verdict;
    const struct remat_verdict *after = &s->trial.verdict;
    double work = (double)after->flops - (double)before->flops;
    double gain = before->excess - after->excess;
    double n_bytes = (double)s->l->sim.bytes[s->l->sim.root[v]] + 1.0;

    if (!after->valid)
        return -1.0;
    if (goal == IMPROVE)
        return after->peak <= s->l->limit && work < 0.0 ? -work / n_bytes
                                                        : -1.0;
    if (gain <= 0.0 || (s->free_only && work > 0.0))
        return -1.0;
    return work <= 0.0 ? gain * 1e30 : gain / work;
}

static bool is_a_move(const struct search *s, enum goal goal, remat_node v)
{
    if (v == s->held)
        return false;
    if (s->is_saved[v])
        return goal == REPAIR && !s->l->always[v];
    return s->is_recomputed[v] && s->l->is_candidate[v];
}

/* The move of the greatest score that may still be good, or REMAT_NONE. */
static remat_node most_promising(const struct search *s, enum goal goal)
{
    remat_node best = REMAT_NONE;

    for (remat_node v = 0; v < s->l->w->g->n; v++)
        if (s->score[goal][v] > 0.0 && is_a_move(s, goal, v) &&
            (best == REMAT_NONE || s->score[goal][v] > s->score[goal][best]))
            best = v;
    return best;
}

/* Whether v, weighed again, is at least as good as all others promise. */
static bool still_leads(const struct search *s, enum goal goal, remat_node v)
{
    remat_node best = most_promising(s, goal);

    return best != REMAT_NONE && s->score[goal][best] <= s->score[goal][v];
}

/* One move towards a goal. *moved: there was one. */
static enum remat_status step(struct search *s, enum goal goal, bool *moved)
{
    remat_node v;

    *moved = false;
    while (!remat_limit_is_over(s->l) &&
           (v = most_promising(s, goal)) != REMAT_NONE) {
        enum remat_status status = try_move(s, v);

        if (status != REMAT_OK)
            return status;
        s->score[goal][v] = score_of(s, goal, v);
        if (s->score[goal][v] <= 0.0 || !still_leads(s, goal, v))
            continue;
        settle(s, &s->trial);
        *moved = true;
        return REMAT_OK;
    }
    return REMAT_OK;
}

/* ---- descents ---------------------------------------------------------- */

static bool is_reached(const struct search *s, enum goal goal)
{
    return goal == REPAIR && s->now.verdict.excess <= 0.0;
}

/* Moves until the goal is reached or no score is good. */
static enum remat_status descend_quickly(struct search *s, enum goal goal)
{
    bool moved = true;

    while (moved && !is_reached(s, goal) && !remat_limit_is_over(s->l)) {
        enum remat_status status = step(s, goal, &moved);

        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

/* The same, until fresh scores are no good either. */
static enum remat_status descend(struct search *s, enum goal goal)
{
    double excess;
    int64_t flops;

    do {
        enum remat_status status;

        excess = s->now.verdict.excess;
        flops = s->now.verdict.flops;
        forget_scores(s, goal);
        status = descend_quickly(s, goal);
        if (status != REMAT_OK)
            return status;
    } while (!is_reached(s, goal) && !remat_limit_is_over(s->l) &&
             (s->now.verdict.excess < excess || s->now.verdict.flops < flops));
    return REMAT_OK;
}

/* Excess is counted over another target from here on. */
static enum remat_status aim(struct search *s, int64_t target)
{
    enum remat_status status;

    s->l->target = target;
    status = remat_limit_weigh(s->l, &s->now);
    if (status == REMAT_OK)
        settle(s, &s->now);
    return status;
}

/* Makes room without work: lowers what is near the limit, then saves more. */
static enum remat_status make_room(struct search *s)
{
    int64_t limit = s->l->limit;
    enum remat_status status = aim(s, limit - limit / 8);

    s->free_only = true;
    if (status == REMAT_OK)
        status = descend(s, REPAIR);
    s->free_only = false;
    if (status == REMAT_OK)
        status = aim(s, limit);
    if (status == REMAT_OK)
        status = descend(s, REPAIR);
    return status == REMAT_OK ? descend(s, IMPROVE) : status;
}

/* ---- exchanges --------------------------------------------------------- */

static void keep(const struct search *s, struct remat_set *copy)
{
    remat_set_copy(s->l, copy, &s->now);
}

static enum remat_status restore(struct search *s, const struct remat_set *copy)
{
    enum remat_status status;

    remat_set_copy(s->l, &s->now, copy);
    status = remat_limit_weigh(s->l, &s->now);
    if (status == REMAT_OK)
        settle(s, &s->now);
    return status;
}

/* Saves v too, repairs, improves. *better: that pays. */
static enum remat_status exchange(struct search *s, remat_node v, bool *better)
{
    int64_t before = s->now.verdict.flops;
    enum remat_status status = try_move(s, v);

    *better = false;
    if (status != REMAT_OK || !s->trial.verdict.valid ||
        s->trial.verdict.flops >= before)
        return status;
    settle(s, &s->trial);
    s->held = v;
    status = descend_quickly(s, REPAIR);
    s->held = REMAT_NONE;
    if (status == REMAT_OK && remat_is_under(s->l, &s->now))
        status = descend_quickly(s, IMPROVE);
    *better = remat_is_under(s->l, &s->now) && s->now.verdict.flops < before;
    return status;
}

static enum remat_status exchange_all(struct search *s, bool *some_better)
{
    struct remat_set copy;
    enum remat_status status = REMAT_OK;

    *some_better = false;
    if (!remat_set_init(s->l, &copy))
        return remat_job_no_memory(s->l->w->job, s->l->err);
    keep(s, &copy);
    forget_scores(s, REPAIR);
    for (remat_node v = 0; v < s->l->w->g->n && status == REMAT_OK; v++) {
        bool better;

        if (!is_a_move(s, IMPROVE, v) || remat_limit_is_over(s->l))
            continue;
        status = exchange(s, v, &better);
        if (status != REMAT_OK)
            break;
        *some_better = *some_better || better;
        if (better)
            keep(s, &copy);
        else
            status = restore(s, &copy);
    }
    return status;
}

static enum remat_status polish(struct search *s)
{
    bool better = true;
    enum remat_status status = descend(s, IMPROVE);

    if (status == REMAT_OK)
        status = make_room(s);
    while (status == REMAT_OK && better && !remat_limit_is_over(s->l) &&
           s->now.verdict.flops > s->l->least_flops)
        status = exchange_all(s, &better);
    return status;
}

enum remat_status remat_limit_search(struct remat_limit *l,
                                     const struct remat_set *set)
{
    struct remat_mark mark = remat_arena_mark(&l->w->job->arena);
    struct search s = {.l = l};
    enum remat_status status;

    if (!allocate(&s))
        return remat_job_no_memory(l->w->job, l->err);
    for (remat_node v = 0; v < l->w->g->n; v++)
        s.now.in[v] = l->always[v] || set->in[v];
    s.now.budget = set->budget;
    status = remat_limit_weigh(l, &s.now);
    if (status != REMAT_OK)
        return status;
    if (s.now.verdict.valid) {
        settle(&s, &s.now);
        status = descend(&s, REPAIR);
        if (status == REMAT_OK && remat_is_under(l, &s.now))
            status = polish(&s);
    }
    remat_arena_rewind(&l->w->job->arena, mark);
    return status;
}
