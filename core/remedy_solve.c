/*
 * remedy_solve.c: a whole decision with the tags as they are now, for a remedy
 * is a plan and not only the end of a conflict.
 */
#include "remedy_work.h"

#include "decision.h"
#include "error.h"

static void note_invalid(struct remat_remedy_work *r,
                         const struct remat_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_diagnostics; i++) {
        const struct remat_diagnostic *d = &plan->diagnostics[i];

        if (d->severity != REMAT_ERROR)
            continue;
        r->invalid = d->node;
        r->n_in_the_way = d->n_path < r->w->g->n ? d->n_path : r->w->g->n;
        for (uint32_t k = 0; k < r->n_in_the_way; k++)
            r->in_the_way[k] = d->path[k].node;
        return;
    }
}

enum remat_status remat_remedy_solve(struct remat_remedy_work *r,
                                     const struct remat_plan **plan)
{
    struct remat_job *job = r->w->job;
    uint64_t before = job->n_steps;
    const struct remat_plan *found = NULL;
    struct remat_error own_err = {.node = REMAT_NONE};
    enum remat_status status;
    uint64_t cost;

    *plan = NULL;
    remat_job_begin_parts(job); /* its cuts are no progress */
    status = remat_decision_solve(job, &r->w->options, NULL, &found, &own_err);
    remat_job_end_parts(job);
    cost = job->n_steps - before;
    r->n_left = cost < r->n_left ? r->n_left - cost : 0;
    if (remat_is_refusal(status))
        return REMAT_OK;
    if (status != REMAT_OK)
        return remat_error_set(r->err, status, own_err.node, "%s",
                               own_err.detail);
    if (found->outcome == REMAT_PLAN)
        *plan = found;
    else if (found->outcome == REMAT_INVALID_OUTPUT)
        note_invalid(r, found);
    return REMAT_OK;
}
