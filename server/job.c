/*
 * job.c: decode, solve, encode, under the limits of the configuration.
 */
#include "job.h"

#include <malloc.h>
#include <stdlib.h>

#include "clock.h"
#include "server.h"

/* From here on memory goes back to the system after a job: a JSON tree of that
 * size leaves the allocator with as much in pieces. */
#define TRIM_BYTES ((size_t)64 << 20)

static uint64_t clock_of_job(void *context)
{
    (void)context;
    return srv_now_ns();
}

static int is_cancelled(void *context)
{
    const struct srv_job *job = context;

    return atomic_load_explicit(&job->cancelled, memory_order_relaxed);
}

struct srv_job *srv_job_new_take(struct srv_server *server,
                                 struct srv_body *body,
                                 enum proto_format format)
{
    struct srv_job *job = calloc(1, sizeof *job);

    if (job == NULL)
        return NULL;
    job->server = server;
    job->body = *body;
    *body = (struct srv_body){0};
    job->format = format;
    atomic_init(&job->cancelled, false);
    job->queued_ns = srv_now_ns();
    return job;
}

void srv_job_run(struct srv_job *job)
{
    struct srv_server *server = job->server;
    const struct srv_config *config = &server->config;
    const struct proto_request request = {
        .body = job->body.data == NULL ? "" : job->body.data,
        .length = job->body.length,
        .format = job->format,
    };
    struct proto_env env = {
        .now_ns = clock_of_job,
        .cancelled = is_cancelled,
        .context = job,
        .started_ns = job->queued_ns,
    };

    proto_limits_init(&env.limits);
    env.limits.body_bytes = (size_t)config->max_body;
    env.limits.n_nodes = (uint32_t)config->max_nodes;
    env.limits.memory_bytes = (size_t)config->job_memory;
    env.limits.n_steps = config->max_steps;

    job->started_ns = srv_now_ns();
    if (job->wants_frontier)
        proto_frontier(&env, &request, &job->answer);
    else
        proto_plan(&env, &request, &job->answer);
    job->answered = true;
    srv_budget_charge(&server->budget, job->answer.length);
    srv_body_release(&job->body, &server->budget);
    if (job->answer.memory_bytes >= TRIM_BYTES)
        malloc_trim(0);
    job->finished_ns = srv_now_ns();
}

void srv_job_free(struct srv_job *job)
{
    if (job == NULL)
        return;
    srv_body_release(&job->body, &job->server->budget);
    if (job->answered) {
        srv_budget_give(&job->server->budget, job->answer.length);
        proto_answer_release(&job->answer);
    }
    free(job);
}
