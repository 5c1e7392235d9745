/*
 * report.c: a decision as a plan: lists, facts and totals, and what to know
 * about it although it stands.
 */
#include "decision.h"

#include "compat.h"
#include "flops.h"
#include "limit.h"
#include "warn.h"

static enum remat_cut_side side_of(const struct remat_cut_work *cut,
                                   remat_node v)
{
    uint32_t in = cut->net.in[v];
    uint32_t out = cut->net.out[v];

    if (cut->sink_side == NULL ||
        (in == REMAT_NO_VERTEX && out == REMAT_NO_VERTEX))
        return REMAT_CUT_NONE;
    if (out == REMAT_NO_VERTEX)
        out = in;
    if (!cut->sink_side[out])
        return REMAT_CUT_SOURCE;
    return in == REMAT_NO_VERTEX || cut->sink_side[in] ? REMAT_CUT_SINK
                                                       : REMAT_CUT_BETWEEN;
}

/* Weights of the last cut, how they came about, and its sides. */
static enum remat_status find_weights(struct remat_decision *d,
                                      struct remat_error *err)
{
    const struct remat_cut_work *cut = remat_decision_last_cut(d);
    struct remat_arena *arena = &d->work.job->arena;
    int64_t *weight = REMAT_NEW_ARRAY(arena, int64_t, d->work.g->n);
    uint8_t *kind = REMAT_NEW_ARRAY(arena, uint8_t, d->work.g->n);
    uint8_t *side = REMAT_NEW_ARRAY(arena, uint8_t, d->work.g->n);

    if (weight == NULL || kind == NULL || side == NULL)
        return remat_job_no_memory(d->work.job, err);
    d->plan->facts.weight = weight;
    d->plan->facts.weight_kind = kind;
    d->plan->facts.side = side;
    for (remat_node v = 0; v < d->work.g->n; v++) {
        weight[v] = -2;
        if (cut == NULL)
            continue;
        side[v] = (uint8_t)side_of(cut, v);
        if (cut->net.through[v] == REMAT_NO_VERTEX)
            continue;
        kind[v] = (uint8_t)remat_weight_kind(&d->work, v);
        weight[v] = cut->net.edges[cut->net.through[v]].capacity;
        if (weight[v] == REMAT_INFINITE)
            weight[v] = -1;
    }
    return REMAT_OK;
}

/* Bytes of the saved values by name, by storage, and in static inputs. */
static enum remat_status add_up(struct remat_decision *d,
                                struct remat_error *err)
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

static void add_up_flops(struct remat_decision *d)
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

/* All lists together. A tensor that is among the symbols because it binds one
 * comes back by itself when it is needed (9.3). */
static enum remat_status list_handed_over(struct remat_decision *d,
                                          struct remat_error *err)
{
    const struct remat_extraction *x = &d->extraction;
    const struct remat_nodes lists[] = {x->saved, x->sym, x->opaque,
                                        x->scripted};
    bool *is_listed = REMAT_NEW_ARRAY(&d->work.job->arena, bool, d->work.g->n);
    remat_node *at =
        REMAT_NEW_ARRAY(&d->work.job->arena, remat_node, d->work.g->n);
    uint32_t n = 0;

    if (at == NULL || is_listed == NULL)
        return remat_job_no_memory(d->work.job, err);
    for (size_t i = 0; i < REMAT_ARRAY_LEN(lists); i++)
        for (uint32_t k = 0; k < lists[i].n; k++) {
            remat_node v = lists[i].at[k];

            if (is_listed[v] || /* a symbol may be opaque too */
                (lists[i].at == x->sym.at && !remat_is_symbol(d->work.g, v)))
                continue;
            at[n++] = v;
            is_listed[v] = true;
        }
    d->plan->handed_over = (struct remat_nodes){at, n};
    return REMAT_OK;
}

/* Below budget 1 PyTorch gets some things wrong; `compat` repeats and reports
 * them. A limit on memory is no setting of PyTorch's, and what was given is no
 * decision of this graph's. */
static enum remat_status note_faults(struct remat_decision *d,
                                     struct remat_error *err)
{
    const struct remat_options *o = &d->work.options;

    if (!o->compat || d->budget >= 1.0 || o->memory_limit_bytes >= 0 ||
        d->given != NULL)
        return REMAT_OK;
    return remat_compat_compare(&d->work, d->budget, d->plan->outcome,
                                &d->extraction, &d->notes, err);
}

/* Last, so that what explains a missing plan comes first. */
static enum remat_status note_warnings(struct remat_decision *d,
                                       struct remat_error *err)
{
    const struct remat_cut_work *cut = remat_decision_last_cut(d);
    bool has_plan = d->plan->outcome == REMAT_PLAN;

    if (d->work.job->n_inner > 0)
        return REMAT_OK;
    if (cut != NULL && cut->cut.nodes.at != d->choice.chosen.at)
        cut = NULL; /* the plan saves another set */
    return remat_warn(&d->work, has_plan ? &d->extraction : NULL,
                      has_plan ? cut : NULL, &d->notes, err);
}

static void judge_given(struct remat_decision *d)
{
    const struct remat_memory *memory = &d->plan->memory;
    int64_t limit = d->work.options.memory_limit_bytes;

    d->plan->limit.is_met = memory->peak_forward_bytes <= limit &&
                            memory->peak_backward_bytes <= limit;
}

static void list_facts(struct remat_decision *d)
{
    d->plan->facts.live = d->work.live;
    d->plan->facts.required_fw = d->work.fw;
    d->plan->facts.required_bw = d->work.bw;
    d->plan->facts.tangents_closure = d->work.closure;
    d->plan->facts.tag = d->work.tag;
    d->plan->facts.dist = d->work.dist;
}

/* What there is only when there is a plan. */
static enum remat_status report_plan(struct remat_decision *d,
                                     struct remat_error *err)
{
    struct remat_plan *plan = d->plan;
    enum remat_status status;

    plan->saved = d->extraction.saved;
    plan->saved_sym = d->extraction.sym;
    plan->saved_opaque = d->extraction.opaque;
    plan->recomputed = d->extraction.recomputed;
    add_up_flops(d);
    status = add_up(d, err);
    if (status == REMAT_OK)
        status = list_handed_over(d, err);
    if (status == REMAT_OK)
        status = remat_simulate(&d->work, &d->extraction, &plan->memory, err);
    if (status == REMAT_OK && plan->no_backward && d->given == NULL &&
        d->work.options.memory_limit_bytes >= 0)
        status = remat_limit_without_backward(&d->work, &plan->memory,
                                              &d->notes, &plan->limit, err);
    if (status == REMAT_OK && d->given != NULL)
        judge_given(d);
    return status;
}

enum remat_status remat_decision_report(struct remat_decision *d,
                                        const struct remat_plan **plan,
                                        struct remat_error *err)
{
    enum remat_status status = REMAT_OK;

    list_facts(d);
    if (d->plan->outcome == REMAT_PLAN)
        status = report_plan(d, err);
    if (status == REMAT_OK)
        status = note_faults(d, err);
    if (status == REMAT_OK)
        status = note_warnings(d, err);
    d->plan->diagnostics = d->notes.at;
    d->plan->n_diagnostics = d->notes.n;
    if (status == REMAT_OK)
        status = find_weights(d, err);
    if (status == REMAT_OK)
        status = remat_job_enter(d->work.job, REMAT_PHASE_DONE, err);
    if (status == REMAT_OK)
        *plan = d->plan;
    return status;
}
