/*
 * limit.c: the least work done twice under a limit on peak memory.
 *
 *   weigh_budgets   the plans at budgets 0, 0.05, ..., 1, the first candidates
 *   weigh_extremes  everything saved, and nothing that need not be
 *   search          better ones, from the most promising of these
 *   lower           where none is under the limit: ever lower peaks
 *   answer          the best, with what is known about better ones
 */
#include "limit.h"

#include "error.h"
#include "format.h"
#include "knapsack.h"

enum { N_BUDGETS = 21, N_STARTS = N_BUDGETS + 2 };

struct finder {
    struct remat_limit l;
    const struct remat_subgraph *forward;
    struct remat_set starts[N_STARTS];
    uint32_t n_starts;
};

static enum remat_status no_memory(struct finder *f)
{
    return remat_job_no_memory(f->l.w->job, f->l.err);
}

/* ---- candidates -------------------------------------------------------- */

static bool is_known(const struct finder *f, const struct remat_set *set)
{
    for (uint32_t i = 0; i < f->n_starts; i++)
        if (f->starts[i].verdict.flops == set->verdict.flops &&
            f->starts[i].verdict.peak == set->verdict.peak)
            return true;
    return false;
}

static void add_start(struct finder *f)
{
    const struct remat_set *set = &f->starts[f->n_starts];

    if (set->verdict.valid && !is_known(f, set))
        f->n_starts++;
}

/* The plan of a budget. One that needs a size nobody knows is no candidate. */
static enum remat_status weigh_budget(struct finder *f, double budget)
{
    struct remat_work *w = f->l.w;
    struct remat_mark mark = remat_arena_mark(&w->job->arena);
    struct remat_set *set = &f->starts[f->n_starts];
    struct remat_error err = {.node = REMAT_NONE};
    struct remat_notes notes = {.n = 0};
    struct remat_choice choice;
    enum remat_status status = remat_choose(w, budget, &notes, &choice, &err);

    if (status == REMAT_E_SIZE && budget < 1.0)
        return REMAT_OK;
    if (status != REMAT_OK)
        return remat_error_set(f->l.err, status, err.node, "%s", err.detail);
    if (choice.unbounded)
        return REMAT_OK;
    for (remat_node v = 0; v < w->g->n; v++)
        set->in[v] = false;
    for (uint32_t i = 0; i < choice.chosen.n; i++)
        set->in[choice.chosen.at[i]] = true;
    set->budget = budget;
    remat_arena_rewind(&w->job->arena, mark);
    status = remat_limit_weigh_plan(&f->l, set);
    if (status == REMAT_OK)
        add_start(f);
    return status;
}

/* Whether a knapsack, at its dearest, leaves most of the job's steps. */
static bool can_afford(const struct finder *f)
{
    const struct remat_job *job = f->l.w->job;
    uint64_t steps = 0;

    if (job->limits.n_steps == 0)
        return true;
    for (remat_node v = 0; v < f->l.w->g->n; v++)
        steps += f->l.is_candidate[v] ? 10000 : 0;
    return job->n_steps + 4 * steps <= job->limits.n_steps;
}

/* Without knapsack first, then spread out, since steps may run short. */
static enum remat_status weigh_budgets(struct finder *f)
{
    static const uint8_t twentieths[N_BUDGETS] = {
        20, 0, 10, 5, 15, 2, 7, 12, 17, 1, 3, 4, 6, 8, 9, 11, 13, 14, 16, 18,
        19};
    enum remat_status status = REMAT_OK;

    for (int i = 0; i < N_BUDGETS && status == REMAT_OK; i++) {
        if (i >= 2 && !can_afford(f))
            break;
        status = weigh_budget(f, (double)twentieths[i] / (N_BUDGETS - 1));
    }
    return status;
}

static enum remat_status weigh_extremes(struct finder *f)
{
    struct remat_limit *l = &f->l;
    enum remat_status status = REMAT_OK;

    for (int all = 1; all >= 0 && status == REMAT_OK; all--) {
        struct remat_set *set = &f->starts[f->n_starts];

        for (remat_node v = 0; v < l->w->g->n; v++)
            set->in[v] = l->always[v] || (all && l->is_candidate[v]);
        set->budget = 1.0;
        status = remat_limit_weigh(l, set);
        if (all && status == REMAT_OK && set->verdict.may_be_valid)
            l->least_flops = set->verdict.least_flops;
        if (status == REMAT_OK)
            add_start(f);
    }
    return status;
}

/* ---- search ------------------------------------------------------------ */

/* Under the limit with least work first; then, over it, by least work. */
static bool is_better_start(const struct remat_limit *l,
                            const struct remat_set *a,
                            const struct remat_set *b)
{
    bool a_fits = remat_is_under(l, a);
    bool b_fits = remat_is_under(l, b);

    if (a_fits != b_fits)
        return a_fits;
    return a->verdict.flops < b->verdict.flops;
}

static void sort_starts(struct finder *f)
{
    for (uint32_t i = 1; i < f->n_starts; i++)
        for (uint32_t j = i; j > 0 && is_better_start(&f->l, &f->starts[j],
                                                      &f->starts[j - 1]);
             j--) {
            struct remat_set other = f->starts[j];

            f->starts[j] = f->starts[j - 1];
            f->starts[j - 1] = other;
        }
}

static bool is_optimal(const struct remat_limit *l)
{
    return l->is_exact || (l->best.verdict.valid &&
                           l->best.verdict.flops <= l->least_flops);
}

/* A share of the steps left, so that no start uses up all. */
static enum remat_status search_from(struct finder *f, struct remat_set *set,
                                     uint64_t share)
{
    uint64_t rest = f->l.n_left - share;
    enum remat_status status;

    f->l.n_left = share;
    f->l.target = f->l.limit;
    status = remat_limit_search(&f->l, set);
    f->l.n_left += rest;
    return status;
}

/* The best start that is under the limit, those over it from the least work on,
 * then the others. Each has half of what is left. */
static enum remat_status search(struct finder *f)
{
    enum remat_status status = REMAT_OK;
    uint32_t n_fit = 0;

    sort_starts(f);
    while (n_fit < f->n_starts && remat_is_under(&f->l, &f->starts[n_fit]))
        n_fit++;
    for (uint32_t i = 0; i < f->n_starts && status == REMAT_OK; i++) {
        uint32_t order = i;

        if (n_fit > 0 && i > 0)
            order = i < f->n_starts - n_fit + 1 ? n_fit + i - 1
                                                : i - (f->n_starts - n_fit);
        if (is_optimal(&f->l) || remat_limit_is_over(&f->l))
            break;
        status = search_from(f, &f->starts[order], f->l.n_left / 2);
    }
    return status;
}

/* Lowers the peak of a set as far as single moves do: towards the floor, a
 * little below the lowest peak, and just below it. */
static enum remat_status lower_from(struct finder *f,
                                    const struct remat_set *set)
{
    struct remat_limit *l = &f->l;
    int64_t peak = l->lowest.verdict.peak;
    const int64_t targets[3] = {l->floor, peak - 1 - peak / 64, peak - 1};
    enum remat_status status = REMAT_OK;

    for (size_t i = 0; i < 3 && status == REMAT_OK; i++) {
        if (l->best.verdict.valid || remat_limit_is_over(l))
            return REMAT_OK;
        l->target = targets[i];
        status = remat_limit_search(l, set);
    }
    return status;
}

/* Weighs all, then all but the largest value, and so on: this passes by where
 * single moves from either end stop. */
static enum remat_status drop_by_size(struct finder *f, struct remat_set *set)
{
    struct remat_limit *l = &f->l;
    double *keys = REMAT_NEW_ARRAY(&l->w->job->arena, double, l->w->g->n);
    enum remat_status status = REMAT_OK;
    uint32_t *order;

    if (keys == NULL)
        return no_memory(f);
    for (remat_node v = 0; v < l->w->g->n; v++) {
        set->in[v] = l->always[v] || l->is_candidate[v];
        keys[v] = (double)l->sim.bytes[l->sim.root[v]];
    }
    order = remat_sort_descending(&l->w->job->arena, keys, l->w->g->n);
    if (order == NULL)
        return no_memory(f);
    set->budget = 1.0;
    for (uint32_t i = 0; i < l->w->g->n && status == REMAT_OK; i++) {
        if (!l->is_candidate[order[i]] || remat_limit_is_over(l))
            continue;
        set->in[order[i]] = false;
        status = remat_limit_weigh(l, set);
    }
    return status;
}

/* Nothing is under the limit so far. Tries all starts, then the lowest again
 * and again. */
static enum remat_status lower(struct finder *f)
{
    struct remat_limit *l = &f->l;
    uint64_t kept_back = l->n_left / 2;
    enum remat_status status = REMAT_OK;
    struct remat_set from;
    int64_t before;

    if (!remat_set_init(l, &from))
        return no_memory(f);
    l->n_left -= kept_back;
    status = drop_by_size(f, &from);
    for (uint32_t i = 0; i < f->n_starts && status == REMAT_OK; i++)
        status = lower_from(f, &f->starts[i]);
    do {
        before = l->lowest.verdict.peak;
        remat_set_copy(l, &from, &l->lowest);
        if (status == REMAT_OK)
            status = lower_from(f, &from);
    } while (status == REMAT_OK && !l->best.verdict.valid &&
             l->lowest.verdict.peak < before && !remat_limit_is_over(l));
    l->n_left += kept_back;
    return status;
}

/* Whether all plans keep what the sets of the search keep. */
static bool is_for_all_plans(const struct remat_limit *l)
{
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (l->always[v] && !l->firm[v] && remat_is_tensor(l->w->g, v))
            return false;
    return true;
}

/* Looks for any set below the lowest peak, until there is none. */
static enum remat_status lower_exactly(struct finder *f)
{
    struct remat_limit *l = &f->l;
    const int64_t limit = l->limit;
    enum remat_status status;

    l->any_will_do = true;
    do {
        l->best.verdict.valid = false;
        l->limit = l->target = l->lowest.verdict.peak - 1;
        status = remat_limit_enumerate(l);
    } while (status == REMAT_OK && l->best.verdict.valid &&
             l->lowest.verdict.peak > limit);
    l->any_will_do = false;
    l->is_lowest = l->is_exact && !l->best.verdict.valid;
    l->is_exact = false;
    l->best.verdict.valid = false;
    l->limit = l->target = limit;
    if (l->is_lowest && is_for_all_plans(l))
        l->floor = l->lowest.verdict.peak;
    if (status != REMAT_OK || l->lowest.verdict.peak > limit)
        return status;
    remat_set_copy(l, &l->best, &l->lowest);
    return REMAT_OK;
}

/* Looks at all sets last, with what steps are left then. */
static enum remat_status find(struct finder *f)
{
    enum remat_status status = search(f);

    if (status == REMAT_OK && !f->l.best.verdict.valid)
        status = lower(f);
    if (status == REMAT_OK && !f->l.best.verdict.valid)
        status = lower_exactly(f);
    f->l.target = f->l.limit;
    if (status == REMAT_OK && f->l.best.verdict.valid && !is_optimal(&f->l))
        status = remat_limit_enumerate(&f->l);
    return status;
}

/* ---- answer ------------------------------------------------------------ */

static enum remat_status note_floor(struct remat_work *w, int64_t peak,
                                    int64_t floor, struct remat_notes *notes,
                                    struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_diagnostic d = {.code = "limit-below-floor",
                                 .severity = REMAT_WARNING,
                                 .node = REMAT_NONE,
                                 .has_floor = true,
                                 .floor = (double)floor};

    d.message = remat_format(
        arena,
        "no plan within %lld bytes was found; this one has the lowest peak "
        "found, %lld bytes, and no plan has less than %lld",
        (long long)w->options.memory_limit_bytes, (long long)peak,
        (long long)floor);
    return remat_note(arena, notes, d) ? REMAT_OK
                                       : remat_job_no_memory(w->job, err);
}

static struct remat_limit_report report_of(const struct remat_limit *l)
{
    bool is_met = l->best.verdict.valid;

    return (struct remat_limit_report){
        .is_asked = true,
        .is_met = is_met,
        .is_optimal =
            is_met ? is_optimal(l)
                   : l->is_lowest || l->lowest.verdict.peak <= l->floor,
        .floor_bytes = l->floor,
        .flops_bound = is_met && is_optimal(l) ? l->best.verdict.flops
                                               : l->least_flops,
    };
}

/* The cuts of the budget plan it began with, and the set itself. */
static enum remat_status answer(struct finder *f, struct remat_notes *notes,
                                struct remat_choice *choice,
                                struct remat_limit_report *report)
{
    struct remat_limit *l = &f->l;
    const struct remat_set *set =
        l->best.verdict.valid ? &l->best : &l->lowest;
    struct remat_notes unread = {.n = 0};
    remat_node *at = REMAT_NEW_ARRAY(&l->w->job->arena, remat_node, l->w->g->n);
    enum remat_status status =
        remat_choose(l->w, set->verdict.valid ? set->budget : 1.0, &unread,
                     choice, l->err);
    uint32_t n = 0;

    if (status != REMAT_OK || !set->verdict.valid)
        return status; /* what is wrong without a limit is wrong with one */
    if (choice->unbounded)
        choice->n_cuts = 0; /* the set was found without one */
    choice->unbounded = false;
    if (at == NULL)
        return no_memory(f);
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (set->in[v])
            at[n++] = v;
    choice->chosen = (struct remat_nodes){at, n};
    *report = report_of(l);
    return report->is_met ? REMAT_OK
                          : note_floor(l->w, l->lowest.verdict.peak, l->floor,
                                       notes, l->err);
}

static enum remat_status run(struct finder *f)
{
    enum remat_status status = remat_limit_init(&f->l, f->forward);

    if (status != REMAT_OK)
        return status;
    for (uint32_t i = 0; i < N_STARTS; i++)
        if (!remat_set_init(&f->l, &f->starts[i]))
            return no_memory(f);
    status = weigh_budgets(f);
    if (status != REMAT_OK || f->n_starts == 0)
        return status;
    status = weigh_extremes(f);
    if (status == REMAT_OK)
        status = remat_limit_find_floor(&f->l);
    return status == REMAT_OK ? find(f) : status;
}

enum remat_status remat_limit_choose(struct remat_work *w,
                                     const struct remat_subgraph *forward,
                                     struct remat_notes *notes,
                                     struct remat_choice *choice,
                                     struct remat_limit_report *report,
                                     struct remat_error *err)
{
    struct finder *f = REMAT_NEW(&w->job->arena, struct finder);
    bool compat = w->options.compat;
    enum remat_status status;

    if (f == NULL)
        return remat_job_no_memory(w->job, err);
    f->forward = forward;
    f->l = (struct remat_limit){
        .w = w, .err = err, .limit = w->options.memory_limit_bytes};
    w->options.compat = false;
    status = run(f);
    if (status == REMAT_OK)
        status = answer(f, notes, choice, report);
    w->options.compat = compat;
    return status;
}

enum remat_status
remat_limit_without_backward(struct remat_work *w,
                             const struct remat_memory *memory,
                             struct remat_notes *notes,
                             struct remat_limit_report *report,
                             struct remat_error *err)
{
    int64_t peak = memory->peak_forward_bytes;

    *report = (struct remat_limit_report){
        .is_asked = true,
        .is_met = peak <= w->options.memory_limit_bytes,
        .is_optimal = true,
        .floor_bytes = peak,
    };
    return report->is_met ? REMAT_OK : note_floor(w, peak, peak, notes, err);
}
