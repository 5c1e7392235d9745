/*
 * choose.c: what to save.
 *
 *   remat_choose      budget 1 is one cut; otherwise:
 *     choose_below    cuts under ever laxer rules, until one fits (8.3 - 8.6)
 *     offer           what the knapsack may choose from (8.7 - 8.9)
 *     pack            the solver's answer (8.10 - 8.12)
 *     recut           the last cut, free to recompute the rest (8.13)
 *
 * Arithmetic is double, in exactly the order of the specification: the decision
 * hangs on comparisons of these values.
 */
#include "choose.h"

#include "error.h"
#include "flops.h"
#include "format.h"
#include "knapsack.h"
#include "sort.h"

#include <math.h>
#include <string.h>

/* ---- the budget -------------------------------------------------------- */

enum remat_status remat_budget(const struct remat_work *w, double *budget,
                               struct remat_error *err)
{
    remat_node from = REMAT_NONE;

    *budget = w->options.activation_memory_budget;
    for (remat_node v = 0; v < w->g->n && from == REMAT_NONE; v++)
        if (w->live[v] && remat_spec(w->g, v)->has_memory_budget)
            from = v;
    if (from != REMAT_NONE)
        *budget = remat_spec(w->g, from)->memory_budget;
    if (*budget >= 0.0 && *budget <= 1.0)
        return REMAT_OK;
    return remat_error_set(
        err, REMAT_E_OPTION, from, "%s: %g, must be between 0 and 1",
        from == REMAT_NONE ? "activation_memory_budget" : "memory_budget",
        *budget);
}

bool remat_is_fixed(const struct remat_work *w, remat_node v)
{
    if (w->tag[v] == REMAT_MUST_SAVE ||
        remat_has_trait(w->g, v, REMAT_NO_RECOMPUTE))
        return true;
    return !w->options.compat && remat_is_unrepeatable(w, v);
}

/* ---- one step ---------------------------------------------------------- */

struct chooser {
    struct remat_work *w;
    struct remat_error *err;
    struct remat_notes *notes;
    struct remat_choice *choice;
    double budget;
    uint32_t n_most; /* cuts */
    struct remat_rules rules;
    double low;  /* GB of the inputs */
    double high; /* GB of what cut 1 saves */

    remat_node *fixed;
    uint32_t n_fixed;
    remat_node *offered;
    uint32_t n_offered;
    bool *dont_ban;
};

static enum remat_status no_memory(struct chooser *c)
{
    return remat_job_no_memory(c->w->job, c->err);
}

static enum remat_status cut(struct chooser *c, struct remat_rules rules,
                             const bool *dont_ban)
{
    struct remat_cut_work *work =
        REMAT_NEW(&c->w->job->arena, struct remat_cut_work);
    enum remat_status status;

    if (work == NULL)
        return no_memory(c);
    remat_job_tell(c->w->job, c->choice->n_cuts, c->n_most);
    status = remat_cut_solve(c->w, &rules, dont_ban, work, c->err);
    if (status != REMAT_OK)
        return status;
    c->choice->cuts[c->choice->n_cuts++] = work;
    c->choice->unbounded = work->cut.unbounded;
    c->choice->chosen = work->cut.nodes;
    return REMAT_OK;
}

static enum remat_status add_bytes(struct chooser *c, struct remat_nodes nodes,
                                   int64_t *sum)
{
    for (uint32_t i = 0; i < nodes.n; i++) {
        int64_t n_bytes = c->w->g->n_bytes[nodes.at[i]];

        if (n_bytes < 0)
            return remat_error_set(c->err, REMAT_E_SIZE, nodes.at[i],
                                   "val: a budget needs the size of this "
                                   "value, which is missing, null, const or "
                                   "opaque; give it as a tensor");
        *sum = remat_add_saturating(*sum, n_bytes);
    }
    return REMAT_OK;
}

static enum remat_status gigabytes(struct chooser *c, struct remat_nodes nodes,
                                   double *result)
{
    int64_t sum = 0;
    enum remat_status status = add_bytes(c, nodes, &sum);

    *result = (double)sum / 1e9;
    return status;
}

static enum remat_status input_gigabytes(struct chooser *c, double *result)
{
    int64_t sum = 0;
    enum remat_status status = add_bytes(c, c->w->g->primals, &sum);

    if (status == REMAT_OK)
        status = add_bytes(c, c->w->g->forward_seeds, &sum);
    *result = (double)sum / 1e9;
    return status;
}

/* Whether the last cut needs less than the budget allows. */
static enum remat_status fits(struct chooser *c, bool *result)
{
    double used;
    enum remat_status status = gigabytes(c, c->choice->chosen, &used);

    used = (used - c->low) / (c->high - c->low);
    c->choice->packing.parts[c->choice->n_cuts - 2] = used;
    *result = used < c->budget;
    return status;
}

/* ---- 8.7, 8.8 ---------------------------------------------------------- */

/* Storages of the inputs. What has none counts as one common storage. */
struct storages {
    bool *taken; /* by node */
    bool none_taken;
};

static void take_storages(const struct remat_graph *g, struct remat_nodes nodes,
                          struct storages *s)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        if (g->storage[nodes.at[i]] == REMAT_NONE)
            s->none_taken = true;
        else
            s->taken[g->storage[nodes.at[i]]] = true;
}

static bool is_taken(const struct remat_graph *g, const struct storages *s,
                     remat_node v)
{
    return g->storage[v] == REMAT_NONE ? s->none_taken
                                       : s->taken[g->storage[v]];
}

static bool allocate_offer(struct chooser *c, uint32_t n_bans)
{
    struct remat_arena *arena = &c->w->job->arena;

    c->fixed = REMAT_NEW_ARRAY(arena, remat_node, n_bans);
    c->offered = REMAT_NEW_ARRAY(arena, remat_node, n_bans);
    c->dont_ban = REMAT_NEW_ARRAY(arena, bool, c->w->g->n);
    return arena->status == REMAT_OK;
}

/* Sorts banned values into those that must stay and those to choose from. */
static enum remat_status sort_out(struct chooser *c,
                                  const struct remat_bans *bans)
{
    const struct remat_graph *g = c->w->g;
    struct storages s = {REMAT_NEW_ARRAY(&c->w->job->arena, bool, g->n), false};

    if (s.taken == NULL || !allocate_offer(c, bans->n))
        return no_memory(c);
    take_storages(g, g->primals, &s);
    take_storages(g, g->forward_seeds, &s);
    for (uint32_t i = 0; i < bans->n; i++) {
        remat_node v = bans->list[i].node;

        if (c->w->dist[v] >= REMAT_FAR ||
            (is_taken(g, &s, v) && !remat_is_non_builtin(c->w, v)))
            continue;
        if (remat_is_fixed(c->w, v))
            c->fixed[c->n_fixed++] = v;
        else
            c->offered[c->n_offered++] = v;
    }
    return REMAT_OK;
}

/* By size, largest first, equal ones as they were. */
static enum remat_status order_offered(struct chooser *c)
{
    struct remat_arena *arena = &c->w->job->arena;
    double *keys = REMAT_NEW_ARRAY(arena, double, c->n_offered);
    remat_node *sorted = REMAT_NEW_ARRAY(arena, remat_node, c->n_offered);
    struct remat_nodes all = {c->offered, c->n_offered};
    enum remat_status status;
    int64_t sum = 0;
    uint32_t *order;

    status = add_bytes(c, all, &sum);
    if (status != REMAT_OK)
        return status;
    if (keys == NULL || sorted == NULL)
        return no_memory(c);
    for (uint32_t i = 0; i < c->n_offered; i++)
        keys[i] = (double)c->w->g->n_bytes[c->offered[i]];
    order = remat_sort_descending(arena, keys, c->n_offered);
    if (order == NULL)
        return no_memory(c);
    for (uint32_t i = 0; i < c->n_offered; i++)
        sorted[i] = c->offered[order[i]];
    c->offered = sorted;
    return REMAT_OK;
}

/* Whether the inputs and c->fixed are all that must stay, and can be passed on.
 * Values fall out of 8.7 by their storage, and operators with several results
 * get into c->fixed although only their parts can be saved. */
static bool least_is_sound(const struct chooser *c,
                           const struct remat_bans *bans)
{
    const struct remat_graph *g = c->w->g;
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n_fixed; i++)
        if (remat_weight(c->w, c->fixed[i]) == REMAT_INFINITE)
            return false;
    for (uint32_t i = 0; i < bans->n; i++) {
        remat_node v = bans->list[i].node;

        n += remat_is_fixed(c->w, v) && c->w->dist[v] < REMAT_FAR &&
             remat_is_call(g, v);
    }
    for (uint32_t i = 0; i < c->n_fixed; i++)
        n -= remat_is_call(g, c->fixed[i]);
    return n == 0;
}

/* The inputs, then what must stay: what is left when nothing is on offer. */
static enum remat_status choose_least(struct chooser *c)
{
    const struct remat_graph *g = c->w->g;
    uint32_t n = g->primals.n + g->forward_seeds.n + c->n_fixed;
    remat_node *at = REMAT_NEW_ARRAY(&c->w->job->arena, remat_node, n);

    if (at == NULL)
        return no_memory(c);
    n = 0;
    for (uint32_t i = 0; i < g->primals.n; i++)
        at[n++] = g->primals.at[i];
    for (uint32_t i = 0; i < g->forward_seeds.n; i++)
        at[n++] = g->forward_seeds.at[i];
    for (uint32_t i = 0; i < c->n_fixed; i++)
        if (g->role[c->fixed[i]] != REMAT_PRIMAL &&
            g->role[c->fixed[i]] != REMAT_FORWARD_SEED)
            at[n++] = c->fixed[i]; /* an input stands there already */
    c->choice->chosen = (struct remat_nodes){at, n};
    return REMAT_OK;
}

/* ---- 8.9 - 8.12 -------------------------------------------------------- */

static double runtime_of(const struct remat_work *w, remat_node v)
{
    int64_t flops;

    switch (w->options.activation_memory_budget_runtime_estimator) {
    case REMAT_ESTIMATE_TESTING:
        return 1.0;
    case REMAT_ESTIMATE_GIVEN:
        return remat_spec(w->g, v)->has_runtime ? remat_spec(w->g, v)->runtime
                                                : 0.0;
    case REMAT_ESTIMATE_FLOPS:
        break;
    }
    flops = remat_flops(w->g, v);
    return flops > 1 ? (double)flops : 1.0;
}

static bool weigh(struct chooser *c, struct remat_items *items)
{
    struct remat_arena *arena = &c->w->job->arena;
    double *memory = REMAT_NEW_ARRAY(arena, double, c->n_offered);
    double *runtime = REMAT_NEW_ARRAY(arena, double, c->n_offered);

    if (memory == NULL || runtime == NULL)
        return false;
    for (uint32_t i = 0; i < c->n_offered; i++) {
        remat_node v = c->offered[i];

        memory[i] = ((double)c->w->g->n_bytes[v] / 1e9) / (c->high - c->low);
        runtime[i] = runtime_of(c->w, v);
    }
    *items = (struct remat_items){memory, runtime, c->n_offered, c->budget};
    return true;
}

static bool note(struct chooser *c, const char *code, const char *message)
{
    return remat_note(&c->w->job->arena, c->notes,
                      (struct remat_diagnostic){.code = code,
                                                .severity = REMAT_WARNING,
                                                .node = REMAT_NONE,
                                                .message = message});
}

static enum remat_status
pack_greedily(struct chooser *c, const struct remat_items *items, bool *keep)
{
    bool divides_by_zero;
    enum remat_status status =
        remat_knapsack_greedy(c->w->job, items, keep, &divides_by_zero, c->err);

    if (status == REMAT_OK && divides_by_zero && c->w->options.compat &&
        !note(
            c, "compat-fault",
            "a value of no bytes is on offer: PyTorch's greedy solver divides "
            "by zero here; such values are kept first instead"))
        return no_memory(c);
    return status;
}

/* PyTorch's version of this solver gives each half one unit too many. Ours
 * keeps the budget; where the two decide differently a warning says so. */
static enum remat_status
pack_by_halving(struct chooser *c, const struct remat_items *items, bool *keep)
{
    const bool compat = c->w->options.compat;
    bool *other = REMAT_NEW_ARRAY(&c->w->job->arena, bool, items->n);
    enum remat_status status;

    if (other == NULL)
        return no_memory(c);
    status = remat_knapsack_hirschberg(c->w->job, items, compat, keep, c->err);
    if (status == REMAT_OK)
        status =
            remat_knapsack_hirschberg(c->w->job, items, !compat, other, c->err);
    if (status != REMAT_OK || memcmp(keep, other, items->n) == 0)
        return status;
    if (!note(c, compat ? "compat-fault" : "solver-differs",
              compat ? "PyTorch's dp_knapsack_sliding_hirschberg decides "
                       "differently here than a solver that keeps the budget"
                     : "PyTorch's dp_knapsack_sliding_hirschberg decides "
                       "differently here: it can exceed the budget"))
        return no_memory(c);
    return REMAT_OK;
}

static enum remat_status show_packing(struct chooser *c,
                                      const struct remat_items *items,
                                      const bool *keep)
{
    struct remat_packing *packing = &c->choice->packing;

    packing->offered = (struct remat_nodes){c->offered, c->n_offered};
    packing->memory = items->memory;
    packing->runtime = items->runtime;
    packing->keep = keep;
    return remat_packing_list(c->w->job,
                              c->w->options.activation_memory_budget_solver,
                              packing, c->err);
}

static enum remat_status pack(struct chooser *c)
{
    bool *keep = REMAT_NEW_ARRAY(&c->w->job->arena, bool, c->n_offered);
    struct remat_items items;
    enum remat_status status = REMAT_OK;

    if (keep == NULL || !weigh(c, &items))
        return no_memory(c);
    switch (c->w->options.activation_memory_budget_solver) {
    case REMAT_KNAPSACK_DP:
        status = remat_knapsack_dp(c->w->job, &items, keep, c->err);
        break;
    case REMAT_KNAPSACK_GREEDY:
        status = pack_greedily(c, &items, keep);
        break;
    case REMAT_KNAPSACK_ILP:
        status = remat_knapsack_exact(c->w->job, &items, keep, c->err);
        break;
    case REMAT_KNAPSACK_HIRSCHBERG:
        status = pack_by_halving(c, &items, keep);
        break;
    }
    for (uint32_t i = 0; i < c->n_offered; i++)
        c->dont_ban[c->offered[i]] = !keep[i];
    return status == REMAT_OK ? show_packing(c, &items, keep) : status;
}

/* ---- the floor --------------------------------------------------------- */

/* A size that is missing counts nothing: what is only told refuses no graph. */
static double known_gigabytes(const struct chooser *c, struct remat_nodes nodes)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < nodes.n; i++)
        if (c->w->g->n_bytes[nodes.at[i]] >= 0)
            sum = remat_add_saturating(sum, c->w->g->n_bytes[nodes.at[i]]);
    return (double)sum / 1e9;
}

/* A budget that what must stay already exceeds is no error, but worth saying.
 */
static enum remat_status note_floor(struct chooser *c)
{
    struct remat_nodes fixed = {c->fixed, c->n_fixed};
    struct remat_diagnostic d = {.code = "budget-below-floor",
                                 .severity = REMAT_WARNING,
                                 .node = REMAT_NONE,
                                 .has_floor = true,
                                 .nodes = fixed};

    if (c->high <= c->low)
        return REMAT_OK;
    d.floor = known_gigabytes(c, fixed) / (c->high - c->low);
    if (c->budget >= d.floor || c->n_fixed == 0)
        return REMAT_OK;
    d.message = remat_format(
        &c->w->job->arena,
        "the budget of %g is below %.4g: %u values must stay whatever the "
        "budget, because they are tagged must_save or must not be computed "
        "twice",
        c->budget, d.floor, c->n_fixed);
    return remat_note(&c->w->job->arena, c->notes, d) ? REMAT_OK : no_memory(c);
}

/* ---- the sequence ------------------------------------------------------ */

static enum remat_status recut(struct chooser *c)
{
    return cut(c,
               remat_rules_without_allow_list(c->rules, c->w->options.compat),
               c->dont_ban);
}

/* What cut 1 saves is what budgets are parts of. *is_known: it can be told. */
static enum remat_status find_whole(struct chooser *c, bool *is_known)
{
    struct remat_mark mark = remat_arena_mark(&c->w->job->arena);
    struct remat_cut_work *work =
        REMAT_NEW(&c->w->job->arena, struct remat_cut_work);
    struct remat_error err = {.node = REMAT_NONE};
    struct chooser quiet = *c;
    enum remat_status status;

    *is_known = false;
    if (work == NULL)
        return no_memory(c);
    quiet.err = &err;
    status = input_gigabytes(&quiet, &c->low);
    if (status == REMAT_OK)
        status = remat_cut_solve(c->w, &c->rules, NULL, work, &err);
    if (status == REMAT_OK && !work->cut.unbounded)
        status = gigabytes(&quiet, work->cut.nodes, &c->high);
    if (status == REMAT_E_SIZE || status == REMAT_E_WEIGHT)
        return REMAT_OK; /* not needed for the decision */
    if (status != REMAT_OK)
        return remat_error_set(c->err, status, err.node, "%s", err.detail);
    *is_known = !work->cut.unbounded;
    remat_arena_rewind(&c->w->job->arena, mark);
    return REMAT_OK;
}

/* Budget 0 is below whatever must stay, and has no cut 1 of its own. */
static enum remat_status note_floor_of_zero(struct chooser *c)
{
    bool is_known;
    enum remat_status status;

    if (c->n_fixed == 0)
        return REMAT_OK;
    status = find_whole(c, &is_known);
    return status == REMAT_OK && is_known ? note_floor(c) : status;
}

/* Everything that may be recomputed is: budget 0, except in PyTorch's way. */
static enum remat_status choose_nothing_offered(struct chooser *c)
{
    struct remat_rules rules =
        remat_rules_without_allow_list(c->rules, c->w->options.compat);
    struct remat_bans bans;
    enum remat_status status =
        remat_find_bans(c->w, &rules, NULL, &bans, c->err);

    if (status == REMAT_OK)
        status = sort_out(c, &bans);
    if (status == REMAT_OK)
        status = note_floor_of_zero(c);
    if (status != REMAT_OK)
        return status;
    for (uint32_t i = 0; i < c->n_offered; i++)
        c->dont_ban[c->offered[i]] = true;
    return recut(c);
}

/* 8.4 - 8.13, behind cut 1. */
static enum remat_status choose_below(struct chooser *c)
{
    bool done = false;
    enum remat_status status = input_gigabytes(c, &c->low);

    if (status == REMAT_OK)
        status = gigabytes(c, c->choice->chosen, &c->high);
    if (status != REMAT_OK)
        return status;
    c->choice->packing.least_gb = c->low;
    c->choice->packing.most_gb = c->high;
    if (c->high <= c->low)
        return REMAT_OK;
    status = cut(c, remat_rules_without_fusion(c->rules, c->w->options.compat),
                 NULL);
    if (status == REMAT_OK && !c->choice->unbounded)
        status = fits(c, &done);
    if (status != REMAT_OK || c->choice->unbounded || done)
        return status;
    status =
        cut(c, remat_rules_without_allow_list(c->rules, c->w->options.compat),
            NULL);
    if (status == REMAT_OK && !c->choice->unbounded)
        status = fits(c, &done);
    if (status != REMAT_OK || c->choice->unbounded || done)
        return status;
    status = sort_out(c, &c->choice->cuts[c->choice->n_cuts - 1]->bans);
    if (status == REMAT_OK)
        status = order_offered(c);
    if (status == REMAT_OK)
        status = note_floor(c);
    if (status != REMAT_OK)
        return status;
    if (c->n_offered == 0 &&
        (c->w->options.compat ||
         least_is_sound(c, &c->choice->cuts[c->choice->n_cuts - 1]->bans)))
        return choose_least(c);
    if (c->n_offered == 0)
        return REMAT_OK; /* cut 3 keeps what must stay */
    status = pack(c);
    return status == REMAT_OK ? recut(c) : status;
}

static enum remat_status choose(struct chooser *c)
{
    enum remat_status status;

    if (c->budget == 0.0)
        return c->w->options.compat ? choose_least(c)
                                    : choose_nothing_offered(c);
    status = cut(c, c->rules, NULL);
    if (status != REMAT_OK || c->budget == 1.0 || c->choice->unbounded)
        return status;
    return choose_below(c);
}

enum remat_status remat_choose(struct remat_work *w, double budget,
                               struct remat_notes *notes,
                               struct remat_choice *choice,
                               struct remat_error *err)
{
    struct chooser c = {.w = w,
                        .err = err,
                        .notes = notes,
                        .choice = choice,
                        .budget = budget,
                        .rules = remat_rules_of(&w->options)};
    enum remat_status status;

    *choice =
        (struct remat_choice){.packing = {.budget = budget,
                                          .least_gb = (double)NAN,
                                          .most_gb = (double)NAN,
                                          .parts = {(double)NAN, (double)NAN}}};
    c.n_most = budget == 0.0 || budget == 1.0 ? 1 : REMAT_MOST_CUTS;
    remat_job_begin_parts(w->job);
    status = choose(&c);
    remat_job_tell(w->job, choice->n_cuts, choice->n_cuts);
    remat_job_end_parts(w->job);
    return status;
}
