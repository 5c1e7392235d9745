/*
 * count.c: from requests and jobs to counters.
 */
#include "count.h"

#include "clock.h"
#include "job.h"
#include "request.h"
#include "route.h"
#include "server.h"
#include "solve.h"

#define MOST_ROUTES 64U

bool srv_count_init(struct srv_server *server)
{
    static const char *paths[MOST_ROUTES]; /* as long as the process */
    size_t n = 0;

    for (; n < MOST_ROUTES && srv_route_at(n) != NULL; n++)
        paths[n] = srv_route_at(n)->path;
    return srv_metrics_init(&server->metrics, paths, n);
}

/* Whether it was not done for the client, rather than done and found wrong. */
static bool is_refusal(const struct srv_request *request)
{
    return request->problem.kind != PROTO_NO_PROBLEM &&
           (request->job == NULL || !request->saw_end);
}

void srv_count_request(const struct srv_request *request)
{
    struct srv_server *server = request->server;

    srv_metrics_request(
        &server->metrics,
        request->route == NULL ? SIZE_MAX : srv_route_number(request->route),
        request->method, request->status, srv_now_ns() - request->started_ns);
    if (is_refusal(request))
        srv_count_refused(server, &request->problem);
}

void srv_count_refused(struct srv_server *server,
                       const struct proto_problem *problem)
{
    srv_metrics_refused(&server->metrics, proto_problem_code(problem->kind));
}

static const char *job_outcome(const struct srv_job *job)
{
    if (job->end_state == SRV_STATE_CANCELED)
        return "canceled";
    if (job->end_state == SRV_STATE_EXPIRED)
        return "expired";
    if (job->answer == NULL)
        return proto_problem_code(job->problem.kind);
    return job->answer->outcome[0] == '\0' ? "plan" : job->answer->outcome;
}

void srv_count_job(const struct srv_job *job)
{
    struct srv_metrics *metrics = &job->server->metrics;

    srv_metrics_job(metrics, job_outcome(job));
    /* After a restart it was queued in an earlier life. */
    if (job->started_ns > job->queued_ns)
        srv_metrics_queue(metrics, job->n_nodes,
                          job->started_ns - job->queued_ns);
}

void srv_count_solution(struct srv_server *server,
                        const struct srv_solution *solution,
                        uint64_t saved_bytes)
{
    struct srv_metrics *metrics = &server->metrics;

    srv_metrics_cache(metrics, solution->source);
    srv_metrics_phases(metrics, solution->n_nodes, solution->phase_ns);
    srv_metrics_saved(metrics, saved_bytes);
}

void srv_count_cache(struct srv_server *server, enum srv_cache_result result)
{
    srv_metrics_cache(&server->metrics, result);
}
