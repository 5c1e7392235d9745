/*
 * frontier.c: saved bytes against recomputed FLOPs, all of it.
 *
 *   add_hull      the corners of the convex hull, and points on its sides
 *   add_budgets   what activation-memory budgets give
 *   watch_peak    whether more budget means less peak somewhere
 *   order, prune  by FLOPs, dominated plans removed
 *   mark_knee     where the trade turns
 */
#include "frontier.h"

#include "classify.h"
#include "error.h"
#include "format.h"
#include "notes.h"

enum {
    N_BUDGETS = 19, /* 0.05 to 0.95 */
    PARTS = 20,
    NOTABLE = 100 /* a fall of the peak by one part in so many */
};

/* How budgets are filled. The first is what a budget means; the others reach
 * into dents that it leaves. */
static const struct filling {
    enum remat_knapsack solver;
    enum remat_estimator estimator;
} fillings[] = {
    {REMAT_KNAPSACK_DP, REMAT_ESTIMATE_FLOPS},
    {REMAT_KNAPSACK_DP, REMAT_ESTIMATE_TESTING},
    {REMAT_KNAPSACK_GREEDY, REMAT_ESTIMATE_FLOPS},
};

/* A budget and the peak of its plan. */
struct peak {
    double budget;
    int64_t n_bytes;
};

struct frontier_search {
    struct remat_work work;
    struct remat_error *err;
    struct remat_options options; /* of the budgets' plans */
    struct remat_frontier_network net;
    struct remat_hull hull;
    struct remat_frontier_point *points;
    uint32_t n;
    uint32_t capacity;
    struct remat_notes notes;
    uint32_t n_done;      /* corners found, their plans, plans of budgets */
    struct peak greatest; /* of the budgets so far, which only grow */
    struct peak fall[2];  /* the deepest fall from one to a larger one */
};

static void tell(struct frontier_search *f)
{
    remat_job_tell(f->work.job, f->n_done++, f->hull.n_points + f->capacity);
}

/* ---- points ------------------------------------------------------------ */

static bool is_dominated(const struct frontier_search *f,
                         const struct remat_plan *plan)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->points[i].saved_bytes <= plan->saved_bytes &&
            f->points[i].recomputed_flops <= plan->recomputed_flops)
            return true;
    return false;
}

static void add_point(struct frontier_search *f, const struct remat_plan *plan,
                      enum remat_point_kind kind, double budget)
{
    const struct remat_options *o = &f->options;

    f->points[f->n++] = (struct remat_frontier_point){
        .saved_bytes = plan->saved_bytes,
        .recomputed_flops = plan->recomputed_flops,
        .budget = budget,
        .solver = o->activation_memory_budget_solver,
        .estimator = o->activation_memory_budget_runtime_estimator,
        .kind = kind,
        .plan = plan,
    };
}

static enum remat_status note(struct frontier_search *f, const char *code,
                              enum remat_severity severity, remat_node node,
                              const char *message)
{
    const struct remat_diagnostic d = {
        .code = code, .severity = severity, .node = node, .message = message};

    if (remat_note(&f->work.job->arena, &f->notes, d))
        return REMAT_OK;
    return remat_job_no_memory(f->work.job, f->err);
}

static enum remat_status find_hull(struct frontier_search *f)
{
    enum remat_status status =
        remat_frontier_network(&f->work, &f->net, f->err);

    if (status == REMAT_OK)
        status = remat_job_enter(f->work.job, REMAT_PHASE_FLOW, f->err);
    if (status == REMAT_OK)
        status =
            remat_trade_solve(f->work.job, &f->net.trade, &f->hull, f->err);
    if (status == REMAT_OK && f->hull.infinite)
        status = note(f, "frontier-without-hull", REMAT_WARNING, REMAT_NONE,
                      "the backward needs a value that can be neither saved "
                      "nor computed again with the same result; only plans of "
                      "budgets are listed");
    if (status != REMAT_OK)
        return status;
    f->capacity =
        f->hull.n_points + N_BUDGETS * (uint32_t)REMAT_ARRAY_LEN(fillings);
    f->n_done = f->hull.n_points;
    f->points = REMAT_NEW_ARRAY(&f->work.job->arena,
                                struct remat_frontier_point, f->capacity);
    return f->points != NULL ? REMAT_OK
                             : remat_job_no_memory(f->work.job, f->err);
}

static enum remat_status add_hull(struct frontier_search *f)
{
    enum remat_status status =
        remat_job_enter(f->work.job, REMAT_PHASE_EXTRACT, f->err);

    for (uint32_t i = 0; i < f->hull.n_points && status == REMAT_OK; i++) {
        const struct remat_plan *plan;

        tell(f);
        status =
            remat_frontier_plan(&f->work, &f->net, &f->hull,
                                f->hull.points[i].n_sink_side, &plan, f->err);
        if (status == REMAT_OK && plan != NULL)
            add_point(f, plan, REMAT_POINT_HULL, -1.0);
    }
    return status;
}

/* ---- budgets ----------------------------------------------------------- */

/* Whether the plan of a budget belongs here: it keeps what has to be kept, and
 * passes on no tuple (with nothing to choose from, the least is all inputs, of
 * whatever kind). */
static bool is_point(const struct frontier_search *f,
                     const struct remat_plan *plan)
{
    if (plan->outcome != REMAT_PLAN ||
        !remat_frontier_is_faithful(&f->work, plan->recomputed))
        return false;
    for (uint32_t i = 0; i < plan->saved.n; i++)
        if (!remat_is_tensor(f->work.g, plan->saved.at[i]) &&
            remat_weight(&f->work, plan->saved.at[i]) == REMAT_INFINITE)
            return false;
    return true;
}

/* ---- peaks ------------------------------------------------------------- */

/* Budgets are about what is saved; what the backward holds while it computes
 * again is not part of them. Looks at the default filling alone. */
static void watch_peak(struct frontier_search *f, double budget,
                       const struct remat_plan *plan)
{
    const struct remat_options *o = &f->options;
    const struct remat_memory *m = &plan->memory;
    struct peak peak = {budget, m->peak_forward_bytes > m->peak_backward_bytes
                                    ? m->peak_forward_bytes
                                    : m->peak_backward_bytes};

    if (plan->outcome != REMAT_PLAN ||
        o->activation_memory_budget_solver != fillings[0].solver ||
        o->activation_memory_budget_runtime_estimator != fillings[0].estimator)
        return;
    if (f->greatest.n_bytes - peak.n_bytes >
        f->fall[0].n_bytes - f->fall[1].n_bytes) {
        f->fall[0] = f->greatest;
        f->fall[1] = peak;
    }
    if (peak.n_bytes > f->greatest.n_bytes)
        f->greatest = peak;
}

static enum remat_status note_peaks(struct frontier_search *f)
{
    int64_t fall = f->fall[0].n_bytes - f->fall[1].n_bytes;

    if (fall <= f->fall[0].n_bytes / NOTABLE)
        return REMAT_OK;
    return note(
        f, "peak-not-monotone", REMAT_INFO, REMAT_NONE,
        remat_format(&f->work.job->arena,
                     "a smaller budget can need more memory: at %g the peak is "
                     "%lld bytes, at %g only %lld, because values computed "
                     "again are held too. memory_limit_bytes limits the peak "
                     "itself",
                     f->fall[0].budget, (long long)f->fall[0].n_bytes,
                     f->fall[1].budget, (long long)f->fall[1].n_bytes));
}

/* *is_unknown: there are no budgets' plans, because a size is missing. */
static enum remat_status add_budget(struct frontier_search *f, double budget,
                                    bool *is_unknown)
{
    struct remat_job *job = f->work.job;
    struct remat_mark bottom = remat_arena_mark(&job->arena);
    struct remat_error err = {.node = REMAT_NONE};
    const struct remat_plan *plan;
    enum remat_status status;

    tell(f);
    f->options.activation_memory_budget = budget;
    status = remat_plan_solve(job, &f->options, &plan, &err);
    *is_unknown = status == REMAT_E_SIZE;
    if (*is_unknown) {
        remat_arena_rewind(&job->arena, bottom);
        return note(f, "frontier-without-budgets", REMAT_WARNING, err.node,
                    "a budget needs the size of this value, which is missing, "
                    "null, const or opaque; only the hull is listed");
    }
    if (status != REMAT_OK)
        return remat_error_set(f->err, status, err.node, "%s", err.detail);
    watch_peak(f, budget, plan);
    if (!is_point(f, plan) || is_dominated(f, plan)) {
        remat_arena_rewind(&job->arena, bottom);
        return REMAT_OK;
    }
    status =
        remat_frontier_keep(&f->work, &f->net, bottom, plan, &plan, f->err);
    if (status == REMAT_OK)
        add_point(f, plan, REMAT_POINT_BUDGET, budget);
    return status;
}

/* All budgets filled one way; a node's own budget is the only one there is. */
static enum remat_status add_budgets(struct frontier_search *f,
                                     struct filling filling, bool *is_unknown)
{
    const struct remat_work *w = &f->work;
    enum remat_status status = REMAT_OK;

    f->options.activation_memory_budget_solver = filling.solver;
    f->options.activation_memory_budget_runtime_estimator = filling.estimator;
    for (remat_node v = 0; v < w->g->n; v++)
        if (w->live[v] && remat_spec(w->g, v)->has_memory_budget)
            return add_budget(f, remat_spec(w->g, v)->memory_budget,
                              is_unknown);
    for (int i = 1; i <= N_BUDGETS && status == REMAT_OK && !*is_unknown; i++)
        status = add_budget(f, (double)i / PARTS, is_unknown);
    return status;
}

static enum remat_status add_fillings(struct frontier_search *f)
{
    enum remat_status status = REMAT_OK;
    bool is_unknown = false;

    for (size_t i = 0; i < REMAT_ARRAY_LEN(fillings) && !is_unknown; i++) {
        status = add_budgets(f, fillings[i], &is_unknown);
        if (status != REMAT_OK)
            return status;
    }
    return status;
}

/* ---- the result -------------------------------------------------------- */

static bool comes_before(const struct remat_frontier_point *a,
                         const struct remat_frontier_point *b)
{
    if (a->recomputed_flops != b->recomputed_flops)
        return a->recomputed_flops < b->recomputed_flops;
    if (a->saved_bytes != b->saved_bytes)
        return a->saved_bytes < b->saved_bytes;
    return a->kind < b->kind;
}

/* By insertion: they are nearly in order. */
static enum remat_status order(struct frontier_search *f)
{
    uint64_t n_moves = 0;

    for (uint32_t i = 1; i < f->n; i++) {
        struct remat_frontier_point point = f->points[i];
        uint32_t at = i;

        for (; at > 0 && comes_before(&point, &f->points[at - 1]); at--)
            f->points[at] = f->points[at - 1];
        f->points[at] = point;
        n_moves += i - at;
    }
    return remat_job_spend(f->work.job, n_moves, "frontier", f->err);
}

static void prune(struct frontier_search *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++)
        if (n == 0 || f->points[i].saved_bytes < f->points[n - 1].saved_bytes)
            f->points[n++] = f->points[i];
    f->n = n;
}

/* Farthest below the line through the ends. Without a bend there is none. */
static void mark_knee(struct frontier_search *f)
{
    const struct remat_frontier_point *first = &f->points[0];
    const struct remat_frontier_point *last;
    remat_wide farthest = 0;
    uint32_t knee = 0;

    if (f->n == 0)
        return;
    last = &f->points[f->n - 1];
    for (uint32_t i = 1; i < f->n; i++) {
        const struct remat_frontier_point *point = &f->points[i];
        remat_wide depth =
            (remat_wide)(first->saved_bytes - point->saved_bytes) *
                (last->recomputed_flops - first->recomputed_flops) -
            (remat_wide)(point->recomputed_flops - first->recomputed_flops) *
                (first->saved_bytes - last->saved_bytes);

        if (depth > farthest) {
            farthest = depth;
            knee = i;
        }
    }
    f->points[knee].knee = farthest > 0;
}

static enum remat_status search(struct frontier_search *f)
{
    struct remat_subgraph forward;
    enum remat_status status = remat_prepare(&f->work, &forward, f->err);

    if (status == REMAT_OK)
        status = find_hull(f);
    if (status == REMAT_OK)
        status = add_hull(f);
    if (status == REMAT_OK)
        status = add_fillings(f);
    if (status == REMAT_OK)
        status = note_peaks(f);
    if (status == REMAT_OK)
        status = order(f);
    if (status != REMAT_OK)
        return status;
    prune(f);
    mark_knee(f);
    return REMAT_OK;
}

/* The plan without a budget says whether there is one at all. */
static enum remat_status try_plan(struct frontier_search *f,
                                  struct remat_frontier *frontier)
{
    struct remat_mark bottom = remat_arena_mark(&f->work.job->arena);
    const struct remat_plan *plan;
    enum remat_status status =
        remat_plan_solve(f->work.job, &f->options, &plan, f->err);

    if (status != REMAT_OK)
        return status;
    frontier->outcome = plan->outcome;
    frontier->diagnostics = plan->diagnostics;
    frontier->n_diagnostics = plan->n_diagnostics;
    frontier->remedy = plan->remedy;
    if (plan->outcome != REMAT_PLAN)
        return REMAT_OK;
    frontier->diagnostics = NULL;
    frontier->n_diagnostics = 0;
    remat_arena_rewind(&f->work.job->arena, bottom);
    return REMAT_OK;
}

enum remat_status remat_frontier_solve(struct remat_job *job,
                                       const struct remat_options *options,
                                       const struct remat_frontier **result,
                                       struct remat_error *err)
{
    struct remat_frontier *frontier =
        REMAT_NEW(&job->arena, struct remat_frontier);
    struct frontier_search *f = REMAT_NEW(&job->arena, struct frontier_search);
    enum remat_status status;

    if (frontier == NULL || f == NULL)
        return remat_job_no_memory(job, err);
    f->err = err;
    f->options = *options;
    f->options.compat = false;
    f->options.activation_memory_budget = 1.0;
    f->options.activation_memory_budget_solver = REMAT_KNAPSACK_DP;
    f->options.activation_memory_budget_runtime_estimator =
        REMAT_ESTIMATE_FLOPS;
    f->options.memory_limit_bytes = -1;
    f->work = (struct remat_work){
        .job = job, .g = &job->graph, .options = f->options};
    remat_job_begin_parts(job);
    status = try_plan(f, frontier);
    if (status == REMAT_OK && frontier->outcome == REMAT_PLAN) {
        job->n_inner++;
        status = search(f);
        job->n_inner--;
        frontier->points = f->points;
        frontier->n_points = f->n;
        frontier->diagnostics = f->notes.at;
        frontier->n_diagnostics = f->notes.n;
    }
    remat_job_tell(job, f->n_done, f->n_done);
    remat_job_end_parts(job);
    if (status == REMAT_OK)
        status = remat_job_enter(job, REMAT_PHASE_DONE, err);
    if (status == REMAT_OK)
        *result = frontier;
    return status;
}
