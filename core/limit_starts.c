/*
 * limit_starts.c: sets of values to begin with.
 *
 *   weigh_budgets   the plans at budgets 0, 0.05, ..., 1
 *   weigh_extremes  everything saved, and nothing that need not be
 *   weigh_hull      the trade of saved bytes against work: the frontier's hull
 *
 * All of them are weighed, so the answer is never worse than any that is under
 * the limit; a number of different ones is kept for the search.
 */
#include "limit.h"

#include "error.h"
#include "frontier.h"

enum {
    N_BUDGETS = 21,
    MOST_OF_HULL = 16,
    MOST_STARTS = N_BUDGETS + 2 + MOST_OF_HULL
};

static bool is_known(const struct remat_limit *l, const struct remat_set *set)
{
    for (uint32_t i = 0; i < l->n_starts; i++)
        if (l->starts[i].verdict.flops == set->verdict.flops &&
            l->starts[i].verdict.peak == set->verdict.peak)
            return true;
    return false;
}

static void add_start(struct remat_limit *l)
{
    const struct remat_set *set = &l->starts[l->n_starts];

    if (set->verdict.valid && !is_known(l, set))
        l->n_starts++;
}

/* ---- budgets ----------------------------------------------------------- */

/* The plan of a budget. One that needs a size nobody knows is no candidate. */
static enum remat_status weigh_budget(struct remat_limit *l, double budget)
{
    struct remat_work *w = l->w;
    struct remat_mark mark = remat_arena_mark(&w->job->arena);
    struct remat_set *set = &l->starts[l->n_starts];
    struct remat_error err = {.node = REMAT_NONE};
    struct remat_notes notes = {.n = 0};
    struct remat_choice choice;
    enum remat_status status = remat_choose(w, budget, &notes, &choice, &err);

    if (status == REMAT_E_SIZE && budget < 1.0)
        return REMAT_OK;
    if (status != REMAT_OK)
        return remat_error_set(l->err, status, err.node, "%s", err.detail);
    if (choice.unbounded)
        return REMAT_OK;
    for (remat_node v = 0; v < w->g->n; v++)
        set->in[v] = false;
    for (uint32_t i = 0; i < choice.chosen.n; i++)
        set->in[choice.chosen.at[i]] = true;
    set->budget = budget;
    remat_arena_rewind(&w->job->arena, mark);
    status = remat_limit_weigh_plan(l, set);
    if (status == REMAT_OK)
        add_start(l);
    return status;
}

/* Whether a knapsack, at its dearest, leaves most of the job's steps. */
static bool can_afford(const struct remat_limit *l)
{
    const struct remat_job *job = l->w->job;
    uint64_t steps = 0;

    if (job->limits.n_steps == 0)
        return true;
    for (remat_node v = 0; v < l->w->g->n; v++)
        steps += l->is_candidate[v] ? 10000 : 0;
    return job->n_steps + 4 * steps <= job->limits.n_steps;
}

/* Without knapsack first, then spread out, since steps may run short. */
static enum remat_status weigh_budgets(struct remat_limit *l)
{
    static const uint8_t twentieths[N_BUDGETS] = {20, 0,  10, 5,  15, 2,  7,
                                                  12, 17, 1,  3,  4,  6,  8,
                                                  9,  11, 13, 14, 16, 18, 19};
    enum remat_status status = REMAT_OK;

    for (int i = 0; i < N_BUDGETS && status == REMAT_OK; i++) {
        if (i >= 2 && !can_afford(l))
            break;
        remat_job_tell(l->w->job, (uint32_t)i, REMAT_LIMIT_PARTS);
        status = weigh_budget(l, (double)twentieths[i] / (N_BUDGETS - 1));
    }
    return status;
}

/* ---- extremes ---------------------------------------------------------- */

static enum remat_status weigh_extremes(struct remat_limit *l)
{
    enum remat_status status = REMAT_OK;

    for (int all = 1; all >= 0 && status == REMAT_OK; all--) {
        struct remat_set *set = &l->starts[l->n_starts];

        for (remat_node v = 0; v < l->w->g->n; v++)
            set->in[v] = l->always[v] || (all && l->is_candidate[v]);
        set->budget = 1.0;
        status = remat_limit_weigh(l, set);
        if (all && status == REMAT_OK && set->verdict.may_be_valid &&
            !l->has_idle)
            l->least_flops = set->verdict.least_flops;
        if (status == REMAT_OK)
            add_start(l);
    }
    return status;
}

/* ---- hull -------------------------------------------------------------- */

/* The hull within a share of the job's steps, for it is not needed. *is_there:
 * it was found. */
static enum remat_status find_hull(struct remat_limit *l,
                                   struct remat_frontier_network *net,
                                   struct remat_hull *hull, bool *is_there)
{
    struct remat_job *job = l->w->job;
    const uint64_t limit = job->limits.n_steps;
    uint64_t share = 4 * l->n_left;
    struct remat_error err = {.node = REMAT_NONE};
    enum remat_status status;

    if (limit != 0 && (limit - job->n_steps) / 4 < share)
        share = (limit - job->n_steps) / 4;
    job->limits.n_steps = job->n_steps + share;
    status = remat_frontier_network(l->w, net, &err);
    if (status == REMAT_OK)
        status = remat_trade_solve(job, &net->trade, hull, &err);
    job->limits.n_steps = limit;
    *is_there = status == REMAT_OK && !hull->infinite;
    if (status == REMAT_OK || status == REMAT_E_STEPS ||
        status == REMAT_E_WEIGHT)
        return REMAT_OK;
    return remat_error_set(l->err, status, err.node, "%s", err.detail);
}

/* Weighs every point; keeps as many as there is room for, evenly. */
static enum remat_status weigh_points(struct remat_limit *l,
                                      const struct remat_frontier_network *net,
                                      const struct remat_hull *hull)
{
    uint32_t stride = hull->n_points / MOST_OF_HULL + 1;
    enum remat_status status = REMAT_OK;

    for (uint32_t i = 0; i < hull->n_points && status == REMAT_OK; i++) {
        struct remat_set *set = &l->starts[l->n_starts];

        for (remat_node v = 0; v < l->w->g->n; v++)
            set->in[v] = false;
        remat_frontier_choose(l->w, net, hull, hull->points[i].n_sink_side,
                              set->in);
        set->budget = 1.0;
        set->is_of_hull = true;
        status = remat_limit_weigh(l, set);
        if (status == REMAT_OK && i % stride == 0)
            add_start(l);
    }
    return status;
}

/* Graphs so large that the search weighs few sets do without: its memory is
 * several times theirs. */
static enum remat_status weigh_hull(struct remat_limit *l)
{
    struct remat_mark mark = remat_arena_mark(&l->w->job->arena);
    struct remat_frontier_network net;
    struct remat_hull hull;
    bool is_there;
    enum remat_status status;

    if (l->cost >= l->n_left / 64)
        return REMAT_OK;
    remat_job_begin_parts(l->w->job); /* its points are no progress */
    status = find_hull(l, &net, &hull, &is_there);
    if (status == REMAT_OK && is_there)
        status = weigh_points(l, &net, &hull);
    remat_job_end_parts(l->w->job);
    if (status == REMAT_OK)
        remat_arena_rewind(&l->w->job->arena, mark);
    return status;
}

enum remat_status remat_limit_find_starts(struct remat_limit *l)
{
    enum remat_status status;

    l->starts =
        REMAT_NEW_ARRAY(&l->w->job->arena, struct remat_set, MOST_STARTS + 1);
    if (l->starts == NULL)
        return remat_job_no_memory(l->w->job, l->err);
    for (uint32_t i = 0; i <= MOST_STARTS; i++)
        if (!remat_set_init(l, &l->starts[i]))
            return remat_job_no_memory(l->w->job, l->err);
    status = weigh_budgets(l);
    if (status != REMAT_OK || l->n_starts == 0)
        return status;
    status = weigh_extremes(l);
    return status == REMAT_OK ? weigh_hull(l) : status;
}
