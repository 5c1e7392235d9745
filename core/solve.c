/*
 * solve.c: a decision from beginning to end.
 */
#include "decision.h"

#include "error.h"

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

enum remat_status remat_decision_begin(struct remat_job *job,
                                       const struct remat_options *options,
                                       const struct remat_nodes *given,
                                       struct remat_decision **d,
                                       struct remat_error *err)
{
    enum remat_status status;

    if (!job->graph.sealed)
        return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                               "graph: must be sealed before it is solved");
    status = check_options(options, err);
    if (status != REMAT_OK)
        return status;
    *d = REMAT_NEW(&job->arena, struct remat_decision);
    if (*d == NULL)
        return remat_job_no_memory(job, err);
    (*d)->work =
        (struct remat_work){.job = job, .g = &job->graph, .options = *options};
    (*d)->budget = 1.0;
    (*d)->given = given;
    (*d)->plan = REMAT_NEW(&job->arena, struct remat_plan);
    return (*d)->plan != NULL ? REMAT_OK : remat_job_no_memory(job, err);
}

enum remat_status remat_decision_solve(struct remat_job *job,
                                       const struct remat_options *options,
                                       const struct remat_nodes *given,
                                       const struct remat_plan **plan,
                                       struct remat_error *err)
{
    struct remat_decision *d = NULL;
    enum remat_status status =
        remat_decision_begin(job, options, given, &d, err);

    if (status == REMAT_OK)
        status = remat_decide(d, err);
    return status == REMAT_OK ? remat_decision_report(d, plan, err) : status;
}
