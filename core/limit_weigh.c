/*
 * limit_weigh.c: what may be chosen under a memory limit, and what a choice is
 * worth: its plan is extracted and simulated like any other.
 */
#include "limit.h"

#include "flops.h"
#include "frontier.h"
#include "network.h"

#include <string.h>

/* Steps of the search beyond the budget plans. */
static const uint64_t search_steps = (uint64_t)1 << 24;

/* ---- what may be chosen ------------------------------------------------ */

/* Whether v may not be computed twice. What the forward does not need is
 * computed once, unless a set makes the forward need it. */
static bool is_fixed(const struct remat_work *w, remat_node v)
{
    const struct remat_bans none = {.dont_ban = NULL};

    if (w->fw[v])
        return remat_frontier_is_fixed(w, v);
    return remat_is_call(w->g, v) && remat_ban_is_allowed(w, &none, v) &&
           (w->tag[v] == REMAT_MUST_SAVE || remat_is_unrepeatable(w, v));
}

/* Whether v runs in the backward wherever what it reads is there. */
static bool is_idle(const struct remat_work *w, remat_node v)
{
    return w->live[v] && remat_is_call(w->g, v) && !w->closure[v] &&
           remat_is_kept(w, v) && !remat_in_forward_only(w->g, v);
}

static bool find_savable(const struct remat_work *w,
                         const struct remat_subgraph *forward, remat_node v)
{
    return w->live[v] && forward->valid[v] && !w->closure[v] &&
           remat_spec(w->g, v)->op != REMAT_OUTPUT &&
           !remat_wants_recompute(w->tag[v]) &&
           remat_weight(w, v) != REMAT_INFINITE;
}

/* What may not be computed twice: v, or what v is a part of; REMAT_NONE. What
 * the forward does not need is computed once, wherever that is. */
static remat_node find_fixed(const struct remat_limit *l, remat_node v)
{
    const struct remat_graph *g = l->w->g;

    while (!l->fixed[v] && remat_special(g, v) == REMAT_GETITEM &&
           remat_arg_node(g, v, 0) != REMAT_NONE)
        v = remat_arg_node(g, v, 0);
    return l->fixed[v] && l->w->fw[v] ? v : REMAT_NONE;
}

static bool is_input(const struct remat_graph *g, remat_node v)
{
    return g->role[v] == REMAT_PRIMAL || g->role[v] == REMAT_FORWARD_SEED;
}

/* Choices in a graph with more than this are held to storages. */
enum {
    MANY_CHOICES = 64
};

/* A view costs what its storage costs, and no work to make again. */
static bool is_spare_view(const struct remat_limit *l, remat_node v)
{
    remat_node root = l->sim.root[v];

    return root != v && l->can_be_saved[root] &&
           remat_has_trait(l->w->g, v, REMAT_VIEW);
}

/* Where choices are many, a view is none of its own if its storage is one. That
 * forgoes sets that save the view for an early use and compute the storage anew
 * for a later one. */
static void drop_views(struct remat_limit *l)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < l->w->g->n; v++)
        n += l->is_candidate[v];
    if (n <= MANY_CHOICES)
        return;
    for (remat_node v = 0; v < l->w->g->n; v++)
        l->is_candidate[v] = l->is_candidate[v] && !is_spare_view(l, v);
}

static void find_choices(struct remat_limit *l,
                         const struct remat_subgraph *forward)
{
    const struct remat_graph *g = l->w->g;

    for (remat_node v = 0; v < g->n; v++) {
        l->fixed[v] = l->w->live[v] && is_fixed(l->w, v);
        l->has_idle = l->has_idle || is_idle(l->w, v);
        l->flops[v] = l->w->live[v] ? remat_flops(g, v) : 0;
        l->can_be_saved[v] = find_savable(l->w, forward, v);
        if (!l->can_be_saved[v])
            continue;
        l->always[v] = is_input(g, v) || !remat_is_tensor(g, v) ||
                       find_fixed(l, v) != REMAT_NONE;
        l->is_candidate[v] = !l->always[v];
    }
    drop_views(l);
}

static bool allocate(struct remat_limit *l)
{
    struct remat_arena *arena = &l->w->job->arena;
    size_t n = l->w->g->n;

    l->always = REMAT_NEW_ARRAY(arena, bool, n);
    l->can_be_saved = REMAT_NEW_ARRAY(arena, bool, n);
    l->fixed = REMAT_NEW_ARRAY(arena, bool, n);
    l->is_candidate = REMAT_NEW_ARRAY(arena, bool, n);
    l->flops = REMAT_NEW_ARRAY(arena, int64_t, n);
    l->is_saved = REMAT_NEW_ARRAY(arena, bool, n);
    l->is_recomputed = REMAT_NEW_ARRAY(arena, bool, n);
    l->chosen = REMAT_NEW_ARRAY(arena, remat_node, n);
    return remat_set_init(l, &l->best) && remat_set_init(l, &l->lowest) &&
           remat_trace_init(l->w, &l->trace);
}

enum remat_status remat_limit_init(struct remat_limit *l,
                                   const struct remat_subgraph *forward)
{
    enum remat_status status = remat_simulator_init(l->w, &l->sim, l->err);

    if (status != REMAT_OK)
        return status;
    if (!allocate(l))
        return remat_job_no_memory(l->w->job, l->err);
    l->cost = (uint64_t)l->w->g->n + l->w->users.begin[l->w->g->n];
    l->n_left = search_steps;
    l->target = l->limit;
    l->lowest_loose = INT64_MAX;
    find_choices(l, forward);
    return REMAT_OK;
}

/* ---- sets -------------------------------------------------------------- */

bool remat_set_init(struct remat_limit *l, struct remat_set *set)
{
    *set = (struct remat_set){
        .in = REMAT_NEW_ARRAY(&l->w->job->arena, bool, l->w->g->n)};
    return set->in != NULL;
}

void remat_set_copy(const struct remat_limit *l, struct remat_set *to,
                    const struct remat_set *from)
{
    memcpy(to->in, from->in, l->w->g->n);
    to->verdict = from->verdict;
    to->budget = from->budget;
    to->is_of_hull = from->is_of_hull;
}

bool remat_is_under(const struct remat_limit *l, const struct remat_set *set)
{
    return set->verdict.valid && set->verdict.peak <= l->limit;
}

static bool is_less(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return a < c || (a == c && b < d);
}

static void remember(struct remat_limit *l, const struct remat_set *set)
{
    const struct remat_verdict *v = &set->verdict;

    if (!v->valid)
        return;
    if (v->peak <= l->limit &&
        (!l->best.verdict.valid ||
         is_less(v->flops, v->peak, l->best.verdict.flops,
                 l->best.verdict.peak)))
        remat_set_copy(l, &l->best, set);
    if (!l->lowest.verdict.valid ||
        is_less(v->peak, v->flops, l->lowest.verdict.peak,
                l->lowest.verdict.flops))
        remat_set_copy(l, &l->lowest, set);
}

/* ---- verdicts ---------------------------------------------------------- */

static struct remat_nodes list_members(struct remat_limit *l,
                                       const struct remat_set *set)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < l->w->g->n; v++)
        if (set->in[v])
            l->chosen[n++] = v;
    return (struct remat_nodes){l->chosen, n};
}

static void simulate(struct remat_limit *l, const struct remat_subgraph *half,
                     struct remat_verdict *verdict)
{
    remat_simulate_half(&l->sim, half, &l->trace);
    if (l->trace.peak > verdict->peak)
        verdict->peak = l->trace.peak;
    if (l->trace.peak <= l->target)
        return;
    for (uint32_t i = 0; i < l->trace.n_steps; i++)
        if (l->trace.bytes[REMAT_ACTIVATION][i] > l->target)
            verdict->excess +=
                (double)(l->trace.bytes[REMAT_ACTIVATION][i] - l->target);
}

static void judge(struct remat_limit *l, const struct remat_extraction *x,
                  bool is_strict, struct remat_verdict *verdict)
{
    bool is_loose = false;

    memset(l->is_saved, 0, l->w->g->n);
    memset(l->is_recomputed, 0, l->w->g->n);
    verdict->valid = verdict->may_be_valid = true;
    for (uint32_t i = 0; i < x->saved.n; i++)
        l->is_saved[x->saved.at[i]] = true;
    for (uint32_t i = 0; i < x->recomputed.n; i++) {
        remat_node v = x->recomputed.at[i];
        bool is_wrong = is_strict && l->fixed[v];

        is_loose = is_loose || l->fixed[v];
        l->is_recomputed[v] = true;
        verdict->valid = verdict->valid && !is_wrong;
        verdict->flops = remat_add_saturating(verdict->flops, l->flops[v]);
        if (!l->w->fw[v])
            continue;
        verdict->may_be_valid = verdict->may_be_valid && !is_wrong;
        verdict->least_flops =
            remat_add_saturating(verdict->least_flops, l->flops[v]);
    }
    if (!verdict->valid)
        return;
    simulate(l, &x->forward, verdict);
    simulate(l, &x->backward, verdict);
    if (is_loose && verdict->peak < l->lowest_loose)
        l->lowest_loose = verdict->peak;
}

static enum remat_status weigh(struct remat_limit *l, struct remat_set *set,
                               bool is_strict)
{
    struct remat_arena *arena = &l->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_extraction x;
    enum remat_status status =
        remat_job_spend(l->w->job, l->cost, "memory limit", l->err);

    set->verdict = (struct remat_verdict){.valid = false};
    if (status == REMAT_OK)
        status = remat_extract(l->w, list_members(l, set), &x, l->err);
    if (status != REMAT_OK)
        return status;
    l->n_left -= l->cost < l->n_left ? l->cost : l->n_left;
    if (!x.is_invalid)
        judge(l, &x, is_strict, &set->verdict);
    remat_arena_rewind(arena, mark);
    remember(l, set);
    return REMAT_OK;
}

/* How far the search is at least: it mostly ends before its steps do. */
static void tell(const struct remat_limit *l)
{
    struct remat_job *job = l->w->job;
    uint64_t spent = job->n_steps - l->began;
    uint64_t hundredths =
        spent >= search_steps ? 99 : 99 * spent / search_steps;

    if (l->began != 0)
        remat_job_tell(job, REMAT_LIMIT_STARTS + (uint32_t)hundredths,
                       REMAT_LIMIT_PARTS);
}

enum remat_status remat_limit_weigh(struct remat_limit *l,
                                    struct remat_set *set)
{
    tell(l);
    return weigh(l, set, true);
}

enum remat_status remat_limit_weigh_plan(struct remat_limit *l,
                                         struct remat_set *set)
{
    return weigh(l, set, false);
}

/* The job's own limit of steps ends the search too, while there is enough left
 * to finish the plan. */
bool remat_limit_is_over(const struct remat_limit *l)
{
    const struct remat_job *job = l->w->job;

    if (l->n_left < l->cost)
        return true;
    return job->limits.n_steps != 0 &&
           job->n_steps + 100 * l->cost > job->limits.n_steps;
}
