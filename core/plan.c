/*
 * plan.c: the plan of a graph: a decision and, where tags allow none, which of
 * them to change.
 */
#include "decision.h"
#include "remedy.h"

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

enum remat_status remat_plan_solve(struct remat_job *job,
                                   const struct remat_options *options,
                                   const struct remat_plan **plan,
                                   struct remat_error *err)
{
    struct remat_decision *d;
    enum remat_status status =
        remat_decision_begin(job, options, NULL, &d, err);

    if (status == REMAT_OK)
        status = remat_decide(d, err);
    if (status == REMAT_OK && d->plan->outcome == REMAT_INFINITE_FLOW)
        status = remat_find_remedy(&d->work, &remat_decision_last_cut(d)->bans,
                                   &d->notes, &d->plan->remedy, err);
    return status == REMAT_OK ? remat_decision_report(d, plan, err) : status;
}

enum remat_status remat_plan_carry_out(struct remat_job *job,
                                       const struct remat_options *options,
                                       struct remat_nodes handed_over,
                                       const struct remat_plan **plan,
                                       struct remat_error *err)
{
    return remat_decision_solve(job, options, &handed_over, plan, err);
}
