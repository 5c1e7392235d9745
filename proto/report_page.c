/*
 * report_page.c: proto_report, from a request to its page.
 */
#include "page.h"

#include "run.h"
#include "what_if.h"

/* The frontier of a graph that is small enough for it; none is no failure. */
static bool find_frontier(struct proto_run *run, const struct remat_plan *plan,
                          const struct remat_frontier **frontier)
{
    struct remat_error error = {.node = REMAT_NONE};
    enum remat_status status = REMAT_OK;

    if (plan->outcome == REMAT_PLAN && !plan->no_backward &&
        remat_graph_n_nodes(run->job) <= (run->request->wants_frontier
                                              ? PROTO_PAGE_MOST_FRONTIER_NODES
                                              : PROTO_PAGE_FRONTIER_NODES))
        status = remat_frontier_solve(run->job, &run->options.core, frontier,
                                      &error);
    run->answer->n_steps = remat_job_steps(run->job);
    return status == REMAT_OK || status == REMAT_E_WEIGHT ||
           proto_run_fail(run, status, &error);
}

/* A report on its way; of a what-if it has a second plan. */
struct report {
    struct proto_run run;
    struct proto_what_if what_if;
    const struct remat_plan *before; /* NULL: no what-if */
    const struct remat_plan *plan;   /* NULL: there is a trace instead */
    struct remat_diff diff;
};

static bool on_parsed(void *context, json_t *body,
                      struct proto_problem *problem)
{
    struct report *r = context;

    return r->run.kind != PROTO_CALL_WHAT_IF ||
           proto_what_if_parsed(&r->what_if, body, problem);
}

static bool on_decoded(void *context, struct proto_run *run,
                       const struct proto_parts *parts)
{
    struct report *r = context;

    return run->kind != PROTO_CALL_WHAT_IF ||
           proto_what_if_decoded(&r->what_if, run, parts);
}

static bool solve(struct report *r)
{
    struct proto_run *run = &r->run;

    if (run->trace != NULL)
        return true;
    if (!proto_run_passes(run))
        return false;
    if (run->kind != PROTO_CALL_WHAT_IF)
        return proto_run_solve(run, &r->plan);
    if (!proto_what_if_solve(&r->what_if, run, &r->before, &r->plan))
        return false;
    return r->before->outcome != REMAT_PLAN || r->plan->outcome != REMAT_PLAN ||
           proto_what_if_compare(run, r->before, r->plan, &r->diff);
}

/* What a what-if does to tags: the pass that it adds, behind all others. */
static const struct remat_pass_report *change_of(const struct report *r)
{
    const struct proto_passes *passes = &r->run.passes;

    return r->before != NULL && r->what_if.added.n > 0 && passes->n > 0
               ? &passes->at[passes->n - 1].report
               : NULL;
}

static bool write_page(struct report *r, enum proto_report_style style)
{
    struct proto_run *run = &r->run;
    const struct remat_plan *plan = r->plan;
    const struct proto_decision decision = proto_run_decision(run, plan);
    bool has_diff = r->before != NULL && plan->outcome == REMAT_PLAN &&
                    r->before->outcome == REMAT_PLAN;
    struct proto_text text;
    struct proto_page page = {.text = &text,
                              .job = run->job,
                              .decision = &decision,
                              .plan = plan,
                              .trace = run->trace,
                              .before = r->before,
                              .change = change_of(r),
                              .diff = has_diff ? &r->diff : NULL,
                              .options = &run->options.core,
                              .style = style};

    if (plan != NULL && !find_frontier(run, plan, &page.frontier))
        return false;
    proto_watch_enter(&run->watch, PROTO_PHASE_ENCODE);
    proto_text_init(&text, &run->budget);
    if (plan != NULL && !proto_page_prepare(&page))
        return proto_decode_no_memory(&run->answer->problem, &run->budget);
    proto_page_write(&page);
    return proto_run_take(run, &text,
                          plan == NULL ? REMAT_PLAN : plan->outcome);
}

void proto_report(const struct proto_env *env,
                  const struct proto_request *request,
                  enum proto_report_style style, struct proto_answer *answer)
{
    struct proto_env own_env = *env;
    struct proto_request own_request = *request;
    struct report r = {.what_if = {.problem = &answer->problem}};
    const struct proto_hooks hooks = {
        .parsed = on_parsed, .decoded = on_decoded, .context = &r};

    own_env.look_up = NULL;
    own_request.format = PROTO_HTML;
    own_request.is_of_job = true;
    r.run = (struct proto_run){.env = &own_env,
                               .request = &own_request,
                               .answer = answer,
                               .hooks = &hooks,
                               .kind = PROTO_CALL_REPORT,
                               .takes_trace = true};
    r.what_if.budget = &r.run.budget;
    proto_run_begin(&r.run);
    if (proto_run_decode(&r.run) && solve(&r))
        write_page(&r, style);
    proto_what_if_point(&r.what_if, answer);
    proto_run_end(&r.run);
}
