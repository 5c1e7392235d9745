/*
 * limit.c: the least work done twice under a limit on peak memory.
 *
 *   search          better sets, from the most promising of limit_starts.c
 *   lower           where none is under the limit: ever lower peaks
 *   find            these, then wandering about and looking at all sets
 *   answer          the best, with what is known about better ones
 */
#include "limit.h"

#include "error.h"
#include "format.h"
#include "knapsack.h"
#include "sort.h"

struct finder {
    struct remat_limit l;
    const struct remat_subgraph *forward;
};

static enum remat_status no_memory(struct finder *f)
{
    return remat_job_no_memory(f->l.w->job, f->l.err);
}

/* ---- search ------------------------------------------------------------ */

/* Under the limit with least work first; then, over it, by least work, those of
 * the hull last: they are many and much alike. */
static bool is_better_start(const struct remat_limit *l,
                            const struct remat_set *a,
                            const struct remat_set *b)
{
    bool a_fits = remat_is_under(l, a);
    bool b_fits = remat_is_under(l, b);

    if (a_fits != b_fits)
        return a_fits;
    if (!a_fits && a->is_of_hull != b->is_of_hull)
        return b->is_of_hull;
    return a->verdict.flops < b->verdict.flops;
}

static void sort_starts(struct finder *f)
{
    for (uint32_t i = 1; i < f->l.n_starts; i++)
        for (uint32_t j = i; j > 0 && is_better_start(&f->l, &f->l.starts[j],
                                                      &f->l.starts[j - 1]);
             j--) {
            struct remat_set other = f->l.starts[j];

            f->l.starts[j] = f->l.starts[j - 1];
            f->l.starts[j - 1] = other;
        }
}

static bool is_optimal(const struct remat_limit *l)
{
    return (l->is_exact && !l->has_idle) ||
           (l->best.verdict.valid && l->best.verdict.flops <= l->least_flops);
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
 * then the others. Each has half of what is left. A third of all steps is
 * kept back for wandering and for the look at all sets; without any start under
 * the limit two thirds, for lower peaks too. */
static enum remat_status search(struct finder *f)
{
    struct remat_limit *l = &f->l;
    enum remat_status status = REMAT_OK;
    uint64_t kept_back;
    uint32_t n_fit = 0;

    sort_starts(f);
    while (n_fit < l->n_starts && remat_is_under(l, &l->starts[n_fit]))
        n_fit++;
    kept_back = n_fit == 0 ? l->n_left / 3 * 2 : l->n_left / 3;
    l->n_left -= kept_back;
    for (uint32_t i = 0; i < l->n_starts && status == REMAT_OK; i++) {
        uint32_t order = i;

        if (n_fit > 0 && i > 0)
            order = i < l->n_starts - n_fit + 1 ? n_fit + i - 1
                                                : i - (l->n_starts - n_fit);
        if (is_optimal(l) || remat_limit_is_over(l))
            break;
        status = search_from(f, &l->starts[order], l->n_left / 2);
    }
    l->n_left += kept_back;
    return status;
}

/* Lowers the peak of a set as far as single moves do: everywhere, towards the
 * floor, a little below the lowest peak, and just below it. */
static enum remat_status lower_from(struct finder *f,
                                    const struct remat_set *set)
{
    struct remat_limit *l = &f->l;
    int64_t peak = l->lowest.verdict.peak;
    const int64_t targets[] = {0, l->floor, peak - 1 - peak / 64, peak - 1};
    enum remat_status status = REMAT_OK;

    for (size_t i = 0; i < REMAT_ARRAY_LEN(targets) && status == REMAT_OK;
         i++) {
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
    uint64_t kept_back = l->n_left / 3 * 2;
    enum remat_status status = REMAT_OK;
    struct remat_set from;
    int64_t before;

    if (!remat_set_init(l, &from))
        return no_memory(f);
    l->n_left -= kept_back;
    status = drop_by_size(f, &from);
    for (uint32_t i = 0; i < l->n_starts && status == REMAT_OK; i++)
        status = lower_from(f, &l->starts[i]);
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

/* Looks for any set below the lowest peak, until there is none. */
static enum remat_status lower_exactly(struct finder *f)
{
    struct remat_limit *l = &f->l;
    const int64_t limit = l->limit;
    enum remat_status status = REMAT_OK;

    l->any_will_do = true;
    do {
        l->best.verdict.valid = false;
        l->limit = l->target = l->lowest.verdict.peak - 1;
        status = remat_limit_enumerate(l);
    } while (status == REMAT_OK && l->best.verdict.valid &&
             l->lowest.verdict.peak > limit);
    l->any_will_do = false;
    l->is_complete = l->is_exact && !l->best.verdict.valid;
    l->is_lowest = l->is_complete && !l->has_idle;
    l->is_exact = false;
    l->best.verdict.valid = false;
    l->limit = l->target = limit;
    if (l->is_lowest)
        l->floor = l->lowest.verdict.peak;
    if (status != REMAT_OK || l->lowest.verdict.peak > limit)
        return status;
    remat_set_copy(l, &l->best, &l->lowest);
    return REMAT_OK;
}

/* A search within a part of the steps left: in small graphs that is enough for
 * all sets, and nothing else is needed. */
static enum remat_status within(struct finder *f, uint64_t share,
                                enum remat_status (*look)(struct finder *f))
{
    uint64_t rest = f->l.n_left - share;
    enum remat_status status;

    f->l.n_left = share;
    status = look(f);
    f->l.n_left += rest;
    return status;
}

static enum remat_status enumerate(struct finder *f)
{
    return remat_limit_enumerate(&f->l);
}

/* Nothing is under the limit so far. */
static enum remat_status find_lowest(struct finder *f)
{
    struct remat_limit *l = &f->l;
    enum remat_status status = within(f, l->n_left / 16, lower_exactly);

    if (status != REMAT_OK || l->best.verdict.valid || l->is_complete)
        return status;
    status = lower(f);
    if (status == REMAT_OK && !l->best.verdict.valid)
        status = remat_limit_wander(l, REMAT_WANDER_LOWER, l->n_left / 3 * 2);
    if (status == REMAT_OK && !l->best.verdict.valid)
        status = lower_exactly(f);
    l->target = l->limit;
    return status;
}

/* A short walk for a better set, with which the look at all sets ends sooner;
 * what that leaves goes into a long one. */
static enum remat_status find_best(struct finder *f)
{
    struct remat_limit *l = &f->l;
    enum remat_status status = within(f, l->n_left / 16, enumerate);

    if (status == REMAT_OK && !l->is_exact)
        status = remat_limit_wander(l, REMAT_WANDER_LESS, l->n_left / 8);
    if (status == REMAT_OK && !l->is_exact && !is_optimal(l))
        status = within(f, l->n_left / 2, enumerate);
    if (status == REMAT_OK && !l->is_exact && !is_optimal(l))
        status = remat_limit_wander(l, REMAT_WANDER_LESS, l->n_left);
    return status;
}

static enum remat_status find(struct finder *f)
{
    enum remat_status status;

    f->l.began = f->l.w->job->n_steps;
    status = search(f);
    if (status == REMAT_OK && !f->l.best.verdict.valid)
        status = find_lowest(f);
    if (status == REMAT_OK && f->l.best.verdict.valid && !is_optimal(&f->l))
        status = find_best(f);
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
        .is_optimal = is_met
                          ? is_optimal(l)
                          : l->is_lowest || l->lowest.verdict.peak <= l->floor,
        .floor_bytes = l->floor,
        .flops_bound =
            is_met && is_optimal(l) ? l->best.verdict.flops : l->least_flops,
    };
}

/* The cuts of the budget plan it began with, and the set itself. */
static enum remat_status answer(struct finder *f, struct remat_notes *notes,
                                struct remat_choice *choice,
                                struct remat_limit_report *report)
{
    struct remat_limit *l = &f->l;
    const struct remat_set *set = l->best.verdict.valid ? &l->best : &l->lowest;
    struct remat_notes unread = {.n = 0};
    remat_node *at = REMAT_NEW_ARRAY(&l->w->job->arena, remat_node, l->w->g->n);
    enum remat_status status = remat_choose(
        l->w, set->verdict.valid ? set->budget : 1.0, &unread, choice, l->err);
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
    status = remat_limit_find_starts(&f->l);
    if (status != REMAT_OK || f->l.n_starts == 0)
        return status;
    status = remat_limit_find_floor(&f->l);
    return status == REMAT_OK ? find(f) : status;
}

enum remat_status
remat_limit_choose(struct remat_work *w, const struct remat_subgraph *forward,
                   struct remat_notes *notes, struct remat_choice *choice,
                   struct remat_limit_report *report, struct remat_error *err)
{
    struct finder *f = REMAT_NEW(&w->job->arena, struct finder);
    bool compat = w->options.compat;
    enum remat_status status;

    if (f == NULL)
        return remat_job_no_memory(w->job, err);
    f->forward = forward;
    f->l = (struct remat_limit){.w = w,
                                .err = err,
                                .limit = w->options.memory_limit_bytes,
                                .random = 0x9e3779b97f4a7c15};
    w->options.compat = false;
    remat_job_begin_parts(w->job);
    status = run(f);
    if (status == REMAT_OK)
        status = answer(f, notes, choice, report);
    remat_job_tell(w->job, REMAT_LIMIT_PARTS, REMAT_LIMIT_PARTS);
    remat_job_end_parts(w->job);
    w->options.compat = compat;
    return status;
}

enum remat_status remat_limit_without_backward(
    struct remat_work *w, const struct remat_memory *memory,
    struct remat_notes *notes, struct remat_limit_report *report,
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
