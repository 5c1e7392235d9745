/*
 * plan.c: one decision from beginning to end.
 *
 *   prepare    dead code, tags, classes, fusion
 *   choose     the minimum cut
 *   extract    what the halves pass on
 *   verify     the independent check (verify.c)
 *   report     lists, facts and totals
 */
#include "classify.h"
#include "cut.h"
#include "diagnose.h"
#include "error.h"
#include "extract.h"
#include "fusible.h"
#include "verify.h"

#include <string.h>

/* ---- options ----------------------------------------------------------- */

void remat_options_init(struct remat_options *options)
{
    *options = (struct remat_options){
#define X(name, value) .name = value,
        REMAT_BOOL_OPTION_MAP(X)
#undef X
            .profile = REMAT_PROFILE_PYTORCH,
        .max_dist_from_bw = 1000,
        .activation_memory_budget = 1.0,
        .activation_memory_budget_solver = REMAT_KNAPSACK_DP,
        .activation_memory_budget_runtime_estimator = REMAT_ESTIMATE_FLOPS,
        .memory_limit_bytes = -1,
    };
}

static enum remat_status check_budget(double budget, remat_node v,
                                      struct remat_error *err)
{
    if (!(budget >= 0.0 && budget <= 1.0))
        return remat_error_set(err, REMAT_E_OPTION, v,
                               "%s: %g, must be between 0 and 1",
                               v == REMAT_NONE ? "activation_memory_budget"
                                               : "memory_budget",
                               budget);
    if (budget < 1.0)
        return remat_error_set(err, REMAT_E_UNBUILT, v,
                               "%s: budgets below 1 are not built in this "
                               "version",
                               v == REMAT_NONE ? "activation_memory_budget"
                                               : "memory_budget");
    return REMAT_OK;
}

static enum remat_status check_options(const struct remat_options *options,
                                       struct remat_error *err)
{
    if (options->compat)
        return remat_error_set(err, REMAT_E_UNBUILT, REMAT_NONE,
                               "compat: true is not built in this version");
    if (options->memory_limit_bytes >= 0)
        return remat_error_set(err, REMAT_E_UNBUILT, REMAT_NONE,
                               "memory_limit_bytes: not built in this version");
    return check_budget(options->activation_memory_budget, REMAT_NONE, err);
}

/* The first node with a budget of its own overrides the option. */
static enum remat_status check_node_budget(const struct remat_work *w,
                                           struct remat_error *err)
{
    for (remat_node v = 0; v < w->g->n; v++)
        if (w->live[v] && remat_spec(w->g, v)->has_memory_budget)
            return check_budget(remat_spec(w->g, v)->memory_budget, v, err);
    return REMAT_OK;
}

/* The switches of the rules, as the options set them (5.6). */
static struct remat_rules rules_of(const struct remat_options *o)
{
    bool moderate = !o->aggressive_recomputation;

    return (struct remat_rules){
        .used_far_apart = moderate && o->ban_recompute_used_far_apart,
        .long_chains = moderate && o->ban_recompute_long_fusible_chains,
        .materialised_backward =
            moderate && o->ban_recompute_materialized_backward,
        .allow_list = moderate && o->ban_recompute_not_in_allowlist,
        .reductions = o->ban_recompute_reductions,
    };
}

/* ---- the steps --------------------------------------------------------- */

struct decision {
    struct remat_work work;
    struct remat_subgraph forward;
    struct remat_cut_work cut;
    bool has_cut;
    struct remat_extraction extraction;
    struct remat_plan *plan;
    struct remat_diagnostic *diagnostic; /* room for one */
};

static enum remat_status prepare(struct decision *d, struct remat_error *err)
{
    struct remat_work *w = &d->work;
    enum remat_status status =
        remat_job_enter(w->job, REMAT_PHASE_CLASSIFY, err);

    if (status == REMAT_OK)
        status = remat_remove_dead(w, err);
    if (status == REMAT_OK)
        status = remat_clean_tags(w, err);
    if (status == REMAT_OK)
        status = remat_classify(w, &d->forward, err);
    if (status == REMAT_OK && d->forward.invalid == REMAT_NONE)
        status = remat_find_fusible(w, err);
    if (status == REMAT_OK)
        status = remat_job_spend(w->job, w->users.begin[w->g->n], "classes",
                                 err);
    return status;
}

static enum remat_status refuse_invalid(struct decision *d,
                                        const struct remat_subgraph *s,
                                        struct remat_error *err)
{
    d->plan->outcome = REMAT_INVALID_OUTPUT;
    d->plan->diagnostics = d->diagnostic;
    d->plan->n_diagnostics = 1;
    return remat_diagnose_invalid(&d->work, s, d->diagnostic, err);
}

static enum remat_status refuse_infinite(struct decision *d,
                                         struct remat_error *err)
{
    enum remat_status status =
        remat_diagnose_infinite(&d->work, &d->cut.net, &d->cut.bans,
                                d->diagnostic, err);

    d->plan->outcome = REMAT_INFINITE_FLOW;
    d->plan->diagnostics = d->diagnostic;
    d->plan->n_diagnostics = 1;
    if (status != REMAT_OK)
        return status;
    status = remat_job_enter(d->work.job, REMAT_PHASE_VERIFY, err);
    if (status != REMAT_OK)
        return status;
    return remat_verify_conflict(&d->work, &d->cut.bans, d->diagnostic, err);
}

/* The nodes to save, before extraction. Without anything that the backward
 * needs there is no cut and nothing to save. */
static enum remat_status choose(struct decision *d, struct remat_error *err)
{
    struct remat_rules rules = rules_of(&d->work.options);
    enum remat_status status;

    d->plan->no_backward = !d->work.has_backward;
    if (!d->work.has_backward)
        return REMAT_OK;
    status = check_node_budget(&d->work, err);
    if (status != REMAT_OK)
        return status;
    d->has_cut = true;
    status = remat_cut_solve(&d->work, &rules, NULL, &d->cut, err);
    d->plan->cuts = &d->cut.cut;
    d->plan->n_cuts = 1;
    return status;
}

static enum remat_status extract(struct decision *d, struct remat_error *err)
{
    struct remat_nodes chosen = {NULL, 0};
    enum remat_status status =
        remat_job_enter(d->work.job, REMAT_PHASE_EXTRACT, err);

    if (d->has_cut)
        chosen = d->cut.cut.nodes;
    if (status == REMAT_OK)
        status = remat_extract(&d->work, chosen, &d->extraction, err);
    if (status == REMAT_OK)
        status = remat_job_spend(d->work.job, d->work.users.begin[d->work.g->n],
                                 "extraction", err);
    return status;
}

static enum remat_status verify(struct decision *d, struct remat_error *err)
{
    enum remat_status status =
        remat_job_enter(d->work.job, REMAT_PHASE_VERIFY, err);

    if (status == REMAT_OK && d->has_cut)
        status = remat_verify_cut(&d->work, &d->cut, err);
    if (status == REMAT_OK)
        status = remat_verify_extraction(
            &d->work, d->has_cut ? d->cut.cut.nodes : (struct remat_nodes){0},
            &d->extraction, err);
    return status;
}

/* ---- the report -------------------------------------------------------- */

static enum remat_status find_weights(struct decision *d,
                                      struct remat_error *err)
{
    const struct remat_network *net = &d->cut.net;
    int64_t *weight =
        REMAT_NEW_ARRAY(&d->work.job->arena, int64_t, d->work.g->n);

    if (weight == NULL)
        return remat_job_no_memory(d->work.job, err);
    d->plan->facts.weight = weight;
    for (remat_node v = 0; v < d->work.g->n; v++) {
        weight[v] = -2;
        if (!d->has_cut || net->through[v] == REMAT_NO_VERTEX)
            continue;
        weight[v] = net->edges[net->through[v]].capacity;
        if (weight[v] == REMAT_INFINITE)
            weight[v] = -1;
    }
    return REMAT_OK;
}

/* Bytes of the saved values by name, by storage, and in static inputs. */
static enum remat_status add_up(struct decision *d, struct remat_error *err)
{
    const struct remat_graph *g = d->work.g;
    struct remat_plan *plan = d->plan;
    struct remat_mark mark = remat_arena_mark(&d->work.job->arena);
    bool *counted = REMAT_NEW_ARRAY(&d->work.job->arena, bool, g->n);

    if (counted == NULL)
        return remat_job_no_memory(d->work.job, err);
    for (uint32_t i = 0; i < plan->saved.n; i++) {
        remat_node v = plan->saved.at[i];
        int64_t n_bytes = g->n_bytes[v] > 0 ? g->n_bytes[v] : 0;
        remat_node root = g->storage[v] != REMAT_NONE ? g->storage[v] : v;
        int64_t root_bytes = g->n_bytes[root] > 0 ? g->n_bytes[root] : 0;

        plan->saved_bytes = remat_add_saturating(plan->saved_bytes, n_bytes);
        if (g->is_static[v])
            plan->static_bytes =
                remat_add_saturating(plan->static_bytes, n_bytes);
        if (counted[root])
            continue;
        counted[root] = true;
        plan->saved_storage_bytes =
            remat_add_saturating(plan->saved_storage_bytes, root_bytes);
    }
    remat_arena_rewind(&d->work.job->arena, mark);
    return REMAT_OK;
}

static enum remat_status report(struct decision *d, struct remat_error *err)
{
    struct remat_plan *plan = d->plan;

    plan->facts.live = d->work.live;
    plan->facts.required_fw = d->work.fw;
    plan->facts.required_bw = d->work.bw;
    plan->facts.tangents_closure = d->work.closure;
    plan->facts.tag = d->work.tag;
    plan->facts.dist = d->work.dist;
    if (plan->outcome == REMAT_PLAN) {
        plan->saved = d->extraction.saved;
        plan->saved_sym = d->extraction.sym;
        plan->saved_opaque = d->extraction.opaque;
        plan->recomputed = d->extraction.recomputed;
    }
    if (add_up(d, err) != REMAT_OK)
        return remat_job_no_memory(d->work.job, err);
    return find_weights(d, err);
}

static enum remat_status decide(struct decision *d, struct remat_error *err)
{
    enum remat_status status = prepare(d, err);

    if (status != REMAT_OK)
        return status;
    if (d->forward.invalid != REMAT_NONE)
        return refuse_invalid(d, &d->forward, err);
    status = choose(d, err);
    if (status != REMAT_OK)
        return status;
    if (d->has_cut && d->cut.cut.unbounded)
        return refuse_infinite(d, err);
    status = extract(d, err);
    if (status != REMAT_OK)
        return status;
    if (d->extraction.is_invalid)
        return refuse_invalid(d, &d->extraction.failed, err);
    return verify(d, err);
}

enum remat_status remat_plan_solve(struct remat_job *job,
                                   const struct remat_options *options,
                                   const struct remat_plan **plan,
                                   struct remat_error *err)
{
    struct decision *d;
    enum remat_status status;

    if (!job->graph.sealed)
        return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                               "graph: must be sealed before it is solved");
    status = check_options(options, err);
    if (status != REMAT_OK)
        return status;
    d = REMAT_NEW(&job->arena, struct decision);
    if (d == NULL)
        return remat_job_no_memory(job, err);
    d->work = (struct remat_work){
        .job = job, .g = &job->graph, .options = *options};
    d->plan = REMAT_NEW(&job->arena, struct remat_plan);
    d->diagnostic = REMAT_NEW(&job->arena, struct remat_diagnostic);
    if (job->arena.status != REMAT_OK)
        return remat_job_no_memory(job, err);
    status = decide(d, err);
    if (status == REMAT_OK)
        status = report(d, err);
    if (status == REMAT_OK)
        status = remat_job_enter(job, REMAT_PHASE_DONE, err);
    if (status == REMAT_OK)
        *plan = d->plan;
    return status;
}
