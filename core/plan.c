/*
 * plan.c: one decision from beginning to end.
 *
 *   prepare    dead code, tags, classes, fusion
 *   choose     the minimum cut, or several under a budget (choose.c)
 *   extract    what the halves pass on
 *   verify     the independent check (verify.c)
 *   report     lists, facts and totals
 */
#include "choose.h"
#include "classify.h"
#include "diagnose.h"
#include "error.h"
#include "extract.h"
#include "flops.h"
#include "format.h"
#include "fusible.h"
#include "limit.h"
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

static enum remat_status check_options(const struct remat_options *options,
                                       struct remat_error *err)
{
    if (!(options->activation_memory_budget >= 0.0 &&
          options->activation_memory_budget <= 1.0))
        return remat_error_set(err, REMAT_E_OPTION, REMAT_NONE,
                               "activation_memory_budget: %g, must be between "
                               "0 and 1",
                               options->activation_memory_budget);
    return REMAT_OK;
}

/* ---- the steps --------------------------------------------------------- */

struct decision {
    struct remat_work work;
    struct remat_subgraph forward;
    struct remat_choice choice;
    double budget;
    struct remat_notes notes;
    struct remat_extraction extraction;
    struct remat_plan *plan;
};

static const struct remat_cut_work *last_cut(const struct decision *d)
{
    return d->choice.n_cuts == 0 ? NULL : d->choice.cuts[d->choice.n_cuts - 1];
}

static enum remat_status add_note(struct decision *d,
                                  struct remat_diagnostic diagnostic,
                                  struct remat_error *err)
{
    if (remat_note(&d->work.job->arena, &d->notes, diagnostic))
        return REMAT_OK;
    return remat_job_no_memory(d->work.job, err);
}

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
        status =
            remat_job_spend(w->job, w->users.begin[w->g->n], "classes", err);
    return status;
}

static enum remat_status refuse_invalid(struct decision *d,
                                        const struct remat_subgraph *s,
                                        struct remat_error *err)
{
    struct remat_diagnostic why;
    enum remat_status status = remat_diagnose_invalid(&d->work, s, &why, err);

    d->plan->outcome = REMAT_INVALID_OUTPUT;
    return status == REMAT_OK ? add_note(d, why, err) : status;
}

static enum remat_status refuse_infinite(struct decision *d,
                                         struct remat_error *err)
{
    const struct remat_cut_work *cut = last_cut(d);
    struct remat_diagnostic why;
    enum remat_status status =
        remat_diagnose_infinite(&d->work, &cut->net, &cut->bans, &why, err);

    d->plan->outcome = REMAT_INFINITE_FLOW;
    if (status == REMAT_OK)
        status = remat_job_enter(d->work.job, REMAT_PHASE_VERIFY, err);
    if (status == REMAT_OK)
        status = remat_verify_conflict(&d->work, &cut->bans, &why, err);
    return status == REMAT_OK ? add_note(d, why, err) : status;
}

static enum remat_status list_cuts(struct decision *d, struct remat_error *err)
{
    struct remat_cut *cuts =
        REMAT_NEW_ARRAY(&d->work.job->arena, struct remat_cut, REMAT_MOST_CUTS);

    if (cuts == NULL)
        return remat_job_no_memory(d->work.job, err);
    for (uint32_t i = 0; i < d->choice.n_cuts; i++)
        cuts[i] = d->choice.cuts[i]->cut;
    d->plan->cuts = cuts;
    d->plan->n_cuts = d->choice.n_cuts;
    return REMAT_OK;
}

/* The nodes to save, before extraction. Without anything that the backward
 * needs there is no cut and nothing to save. */
static enum remat_status choose(struct decision *d, struct remat_error *err)
{
    enum remat_status status;

    d->plan->no_backward = !d->work.has_backward;
    if (!d->work.has_backward)
        return REMAT_OK;
    status = remat_budget(&d->work, &d->budget, err);
    if (status == REMAT_OK && d->work.options.memory_limit_bytes >= 0)
        status = remat_limit_choose(&d->work, &d->forward, &d->notes,
                                    &d->choice, &d->plan->limit, err);
    else if (status == REMAT_OK)
        status = remat_choose(&d->work, d->budget, &d->notes, &d->choice, err);
    return status == REMAT_OK ? list_cuts(d, err) : status;
}

static enum remat_status extract(struct decision *d, struct remat_error *err)
{
    enum remat_status status =
        remat_job_enter(d->work.job, REMAT_PHASE_EXTRACT, err);

    if (status == REMAT_OK)
        status = remat_extract(&d->work, d->choice.chosen, &d->extraction, err);
    if (status == REMAT_OK)
        status = remat_job_spend(d->work.job, d->work.users.begin[d->work.g->n],
                                 "extraction", err);
    return status;
}

static enum remat_status verify(struct decision *d, struct remat_error *err)
{
    enum remat_status status =
        remat_job_enter(d->work.job, REMAT_PHASE_VERIFY, err);

    for (uint32_t i = 0; i < d->choice.n_cuts && status == REMAT_OK; i++)
        status = remat_verify_cut(&d->work, d->choice.cuts[i], err);
    if (status == REMAT_OK)
        status = remat_verify_extraction(&d->work, d->choice.chosen,
                                         &d->extraction, err);
    return status;
}

/* ---- the report -------------------------------------------------------- */

static enum remat_status find_weights(struct decision *d,
                                      struct remat_error *err)
{
    const struct remat_cut_work *cut = last_cut(d);
    int64_t *weight =
        REMAT_NEW_ARRAY(&d->work.job->arena, int64_t, d->work.g->n);

    if (weight == NULL)
        return remat_job_no_memory(d->work.job, err);
    d->plan->facts.weight = weight;
    for (remat_node v = 0; v < d->work.g->n; v++) {
        weight[v] = -2;
        if (cut == NULL || cut->net.through[v] == REMAT_NO_VERTEX)
            continue;
        weight[v] = cut->net.edges[cut->net.through[v]].capacity;
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

static void add_up_flops(struct decision *d)
{
    const struct remat_graph *g = d->work.g;
    struct remat_plan *plan = d->plan;

    for (remat_node v = 0; v < g->n; v++)
        if (d->work.fw[v])
            plan->forward_flops =
                remat_add_saturating(plan->forward_flops, remat_flops(g, v));
    for (uint32_t i = 0; i < plan->recomputed.n; i++)
        plan->recomputed_flops = remat_add_saturating(
            plan->recomputed_flops, remat_flops(g, plan->recomputed.at[i]));
}

/* With compat, what PyTorch gets wrong below budget 1: values that must stay,
 * or that differ when they are computed again, are recomputed all the same. */
static enum remat_status note_faults(struct decision *d,
                                     struct remat_error *err)
{
    struct remat_work *w = &d->work;
    enum remat_status status = REMAT_OK;

    if (!w->options.compat || d->budget >= 1.0)
        return REMAT_OK;
    for (uint32_t i = 0; i < d->plan->recomputed.n && status == REMAT_OK; i++) {
        remat_node v = d->plan->recomputed.at[i];
        bool must_stay = w->tag[v] == REMAT_MUST_SAVE;
        struct remat_diagnostic fault = {
            .code = "compat-fault", .severity = REMAT_WARNING, .node = v};

        if (remat_wants_recompute(w->tag[v]) ||
            (!must_stay && !remat_is_unrepeatable(w, v)))
            continue;
        fault.message = remat_format(
            &w->job->arena,
            must_stay ? "`%s` is tagged must_save, but PyTorch computes it "
                        "again at this budget"
                      : "`%s` gives another result when it is computed again, "
                        "but PyTorch does so at this budget",
            remat_spec(w->g, v)->name);
        status = add_note(d, fault, err);
    }
    return status;
}

static enum remat_status report(struct decision *d, struct remat_error *err)
{
    struct remat_plan *plan = d->plan;
    enum remat_status status = REMAT_OK;

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
    if (plan->outcome == REMAT_PLAN) {
        add_up_flops(d);
        status = add_up(d, err);
        if (status == REMAT_OK)
            status =
                remat_simulate(&d->work, &d->extraction, &d->plan->memory, err);
        if (status == REMAT_OK && plan->no_backward &&
            d->work.options.memory_limit_bytes >= 0)
            status = remat_limit_without_backward(&d->work, &plan->memory,
                                                  &d->notes, &plan->limit, err);
        if (status == REMAT_OK)
            status = note_faults(d, err);
    }
    plan->diagnostics = d->notes.at;
    plan->n_diagnostics = d->notes.n;
    return status == REMAT_OK ? find_weights(d, err) : status;
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
    if (d->choice.unbounded)
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
    d->work =
        (struct remat_work){.job = job, .g = &job->graph, .options = *options};
    d->plan = REMAT_NEW(&job->arena, struct remat_plan);
    if (d->plan == NULL)
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
