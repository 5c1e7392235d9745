/*
 * decide.c: what is saved.
 *
 *   prepare    dead code, tags, classes, fusion
 *   choose     the minimum cut, or several under a budget (choose.c, limit.c)
 *   extract    what the halves pass on
 *   verify     the independent check (verify.h)
 *
 * Where there is no plan, the notes say why (diagnose_*.c).
 */
#include "decision.h"

#include "classify.h"
#include "diagnose.h"
#include "fusible.h"
#include "limit.h"
#include "verify.h"

static enum remat_status add_note(struct remat_decision *d,
                                  struct remat_diagnostic diagnostic,
                                  struct remat_error *err)
{
    if (remat_note(&d->work.job->arena, &d->notes, diagnostic))
        return REMAT_OK;
    return remat_job_no_memory(d->work.job, err);
}

static enum remat_status prepare(struct remat_decision *d,
                                 struct remat_error *err)
{
    enum remat_status status = remat_prepare(&d->work, &d->forward, err);

    if (status == REMAT_OK && d->forward.invalid == REMAT_NONE)
        status = remat_find_fusible(&d->work, err);
    return status;
}

static enum remat_status refuse_invalid(struct remat_decision *d,
                                        const struct remat_subgraph *s,
                                        struct remat_error *err)
{
    struct remat_diagnostic why;
    enum remat_status status = remat_diagnose_invalid(&d->work, s, &why, err);

    d->plan->outcome = REMAT_INVALID_OUTPUT;
    return status == REMAT_OK ? add_note(d, why, err) : status;
}

static enum remat_status refuse_infinite(struct remat_decision *d,
                                         struct remat_error *err)
{
    const struct remat_cut_work *cut = remat_decision_last_cut(d);
    uint32_t first = d->notes.n;
    enum remat_status status = remat_diagnose_infinite(
        &d->work, &cut->net, &cut->bans, &d->notes, err);

    d->plan->outcome = REMAT_INFINITE_FLOW;
    if (status == REMAT_OK)
        status = remat_job_enter(d->work.job, REMAT_PHASE_VERIFY, err);
    if (status == REMAT_OK)
        status = remat_verify_conflicts(
            &d->work, &cut->bans, d->notes.at + first, d->notes.n - first, err);
    return status;
}

static enum remat_status list_cuts(struct remat_decision *d,
                                   struct remat_error *err)
{
    struct remat_cut *cuts =
        REMAT_NEW_ARRAY(&d->work.job->arena, struct remat_cut, REMAT_MOST_CUTS);

    if (cuts == NULL)
        return remat_job_no_memory(d->work.job, err);
    for (uint32_t i = 0; i < d->choice.n_cuts; i++)
        cuts[i] = d->choice.cuts[i]->cut;
    d->plan->cuts = cuts;
    d->plan->n_cuts = d->choice.n_cuts;
    if (remat_decision_last_cut(d) == NULL)
        return REMAT_OK;
    d->plan->network = remat_cut_view(d->work.job, remat_decision_last_cut(d));
    return d->plan->network != NULL ? REMAT_OK
                                    : remat_job_no_memory(d->work.job, err);
}

/* The nodes to save, before extraction. Without anything that the backward
 * needs there is no cut and nothing to save. */
static enum remat_status choose(struct remat_decision *d,
                                struct remat_error *err)
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
    if (d->work.options.memory_limit_bytes < 0)
        d->plan->packing = &d->choice.packing;
    return status == REMAT_OK ? list_cuts(d, err) : status;
}

static bool is_backward_state(const struct remat_graph *g, remat_node v)
{
    return remat_spec(g, v)->op == REMAT_PLACEHOLDER &&
           remat_is_opaque_type(g, v, "BackwardState");
}

/* What somebody else decided, and what reaches the backward without being
 * listed (9.2). */
static enum remat_status take_given(struct remat_decision *d,
                                    struct remat_error *err)
{
    struct remat_limit_report *limit = &d->plan->limit;
    const struct remat_graph *g = d->work.g;
    remat_node *at = REMAT_NEW_ARRAY(&d->work.job->arena, remat_node, g->n);
    bool *is_given = REMAT_NEW_ARRAY(&d->work.job->arena, bool, g->n);
    uint32_t n = 0;

    if (at == NULL || is_given == NULL)
        return remat_job_no_memory(d->work.job, err);
    d->plan->no_backward = !d->work.has_backward;
    limit->is_asked = d->work.options.memory_limit_bytes >= 0;
    if (!d->work.has_backward)
        return REMAT_OK;
    for (uint32_t i = 0; i < d->given->n; i++) {
        at[n++] = d->given->at[i];
        is_given[d->given->at[i]] = true;
    }
    for (remat_node v = 0; v < g->n; v++)
        if (is_backward_state(g, v) && !is_given[v])
            at[n++] = v;
    d->choice.chosen = (struct remat_nodes){at, n};
    return remat_budget(&d->work, &d->budget, err);
}

static enum remat_status extract(struct remat_decision *d,
                                 struct remat_error *err)
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

static enum remat_status verify(struct remat_decision *d,
                                struct remat_error *err)
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

enum remat_status remat_decide(struct remat_decision *d,
                               struct remat_error *err)
{
    enum remat_status status = prepare(d, err);

    if (status != REMAT_OK)
        return status;
    if (d->forward.invalid != REMAT_NONE)
        return refuse_invalid(d, &d->forward, err);
    status = d->given != NULL ? take_given(d, err) : choose(d, err);
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
