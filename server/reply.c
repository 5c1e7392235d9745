/*
 * reply.c: builds responses and the log line of a request.
 */
#include "reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "job.h"
#include "log.h"
#include "route.h"
#include "server.h"

#define RETRY_AFTER_DRAIN_S 1U
#define REPLY_BYTES_PER_S   ((uint64_t)256 * 1024)

struct content {
    int status;
    const char *type;
    const char *text;
    size_t length;
    char *owned; /* of proto: to be freed with proto_free */
};

static const char version_text[] =
    "{\"engine\":\"" PROTO_ENGINE "\",\"schemas\":[\"remat/graph/v1\","
    "\"remat/plan/v1\"],\"pytorch_semantics\":\"2.13\"}\n";
static const char alive_text[] = "{\"status\":\"ok\"}\n";
/* When there is not even memory to say so. */
static const char no_memory_text[] =
    "{\"type\":\"about:blank\",\"title\":\"Out of memory\",\"status\":503,"
    "\"code\":\"out-of-memory\"}\n";

static struct content problem_content(const struct srv_request *request,
                                      const struct proto_problem *problem)
{
    struct content content = {
        .status = proto_problem_status(problem->kind),
        .type = "application/problem+json",
        .owned = proto_problem_encode(problem, request->id),
    };

    if (content.owned == NULL) {
        content.status = 503;
        content.text = no_memory_text;
    } else {
        content.text = content.owned;
    }
    content.length = strlen(content.text);
    return content;
}

static struct content job_content(const struct srv_request *request)
{
    const struct proto_answer *answer = &request->job->answer;

    if (answer->result == PROTO_PROBLEM)
        return problem_content(request, &answer->problem);
    return (struct content){
        .status = 200,
        .type = request->format == PROTO_TEXT ? "text/plain; charset=utf-8"
                                              : "application/json",
        .text = answer->body,
        .length = answer->length,
    };
}

/* Calls that answer by themselves. */
static struct content route_content(struct srv_request *request)
{
    struct content content = {
        .status = 200, .type = "application/json", .text = alive_text};

    if (request->route->call == SRV_CALL_VERSION)
        content.text = version_text;
    if (request->route->call == SRV_CALL_READYZ &&
        srv_is_draining(request->server)) {
        proto_problem_set(&request->problem, PROTO_DRAINING, NULL,
                          "the server is shutting down");
        request->retry_after_s = RETRY_AFTER_DRAIN_S;
        return problem_content(request, &request->problem);
    }
    content.length = strlen(content.text);
    return content;
}

static struct content find_content(struct srv_request *request)
{
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return problem_content(request, &request->problem);
    if (request->job != NULL)
        return job_content(request);
    return route_content(request);
}

/* Where the time went, for curl -i: "queue;dur=0.1, decode;dur=2.5, ...". */
static void add_timing(struct MHD_Response *response, const struct srv_job *job)
{
    char text[512];
    size_t length = 0;
    uint64_t queue_ns = job->started_ns - job->queued_ns;

    for (int i = -1; i < PROTO_N_PHASES; i++) {
        const uint64_t ns = i < 0 ? queue_ns : job->answer.phase_ns[i];
        const int n =
            snprintf(text + length, sizeof text - length, "%s%s;dur=%.3f",
                     i < 0 ? "" : ", ",
                     i < 0 ? "queue" : proto_phase_name((enum proto_phase)i),
                     (double)ns / 1e6);

        if (n < 0 || (size_t)n >= sizeof text - length)
            return;
        length += (size_t)n;
    }
    MHD_add_response_header(response, "Server-Timing", text);
}

static void add_headers(struct MHD_Response *response,
                        const struct srv_request *request,
                        const struct content *content)
{
    char text[32];

    MHD_add_response_header(response, "Content-Type", content->type);
    MHD_add_response_header(response, "X-Request-Id", request->id);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (request->route != NULL && srv_route_takes_graph(request->route))
        MHD_add_response_header(response, "Vary", "Accept");
    if (content->status == 405 && request->route != NULL)
        MHD_add_response_header(response, "Allow", request->route->methods);
    if (request->retry_after_s > 0) {
        snprintf(text, sizeof text, "%u", request->retry_after_s);
        MHD_add_response_header(response, "Retry-After", text);
    }
    if (request->asked_wait &&
        (request->job != NULL || content->status == 504)) {
        snprintf(text, sizeof text, "wait=%u", request->wait_s);
        MHD_add_response_header(response, "Preference-Applied", text);
    }
    if (request->job != NULL)
        add_timing(response, request->job);
    if (request->close || srv_is_draining(request->server))
        MHD_add_response_header(response, "Connection", "close");
}

enum MHD_Result srv_reply_send(struct srv_request *request)
{
    struct content content = find_content(request);
    const uint64_t time_ns = (request->server->config.body_timeout +
                              content.length / REPLY_BYTES_PER_S) *
                             SRV_NS_PER_S;
    /* The answer of a job lives as long as the request; nobody writes to it. */
    union {
        const char *text;
        void *data;
    } bytes = {.text = content.text};
    struct MHD_Response *response = MHD_create_response_from_buffer(
        content.length, bytes.data,
        content.owned != NULL ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);

    proto_free(content.owned);
    if (response == NULL)
        return MHD_NO;
    add_headers(response, request, &content);
    request->status = content.status;
    request->sent_bytes =
        strcmp(request->method, "HEAD") == 0 ? 0 : content.length;
    srv_registry_move(&request->server->registry, request, SRV_REPLY,
                      srv_now_ns() + time_ns);
    const enum MHD_Result result = MHD_queue_response(
        request->connection, (unsigned)content.status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- the log ----------------------------------------------------------- */

static void log_job(struct srv_log *log, const struct srv_job *job)
{
    const struct proto_answer *answer = &job->answer;

    srv_log_ms(log, "queue_ms", job->started_ns - job->queued_ns);
    if (answer->digest[0] != '\0')
        srv_log_text(log, "digest", answer->digest);
    srv_log_number(log, "nodes", answer->n_nodes);
    srv_log_number(log, "steps", answer->n_steps);
    srv_log_number(log, "memory_bytes", answer->memory_bytes);
    srv_log_open(log, "phases");
    for (int i = 0; i < PROTO_N_PHASES; i++)
        srv_log_ms(log, proto_phase_name((enum proto_phase)i),
                   answer->phase_ns[i]);
    srv_log_close(log);
}

/* One word for how it ended. */
static const char *outcome(const struct srv_request *request)
{
    const struct srv_job *job = request->job;

    if (request->outcome != NULL)
        return request->outcome;
    if (request->status == 0)
        return "closed"; /* before an answer of ours: by the client, or by the
                            library after an answer of its own */
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return proto_problem_code(request->problem.kind);
    if (job == NULL)
        return "ok";
    if (job->answer.result == PROTO_PROBLEM)
        return proto_problem_code(job->answer.problem.kind);
    return job->answer.outcome;
}

void srv_reply_log(const struct srv_request *request)
{
    struct srv_log log;

    srv_log_begin(&log, request->status >= 500 ? "warn" : "info", "request");
    srv_log_text(&log, "request_id", request->id);
    srv_log_text(&log, "method", request->method);
    srv_log_text(&log, "route",
                 request->route == NULL ? "none" : request->route->path);
    srv_log_number(&log, "status", (uint64_t)request->status);
    srv_log_text(&log, "outcome", outcome(request));
    srv_log_number(&log, "bytes_in", request->received_bytes);
    srv_log_number(&log, "bytes_out", request->sent_bytes);
    srv_log_ms(&log, "dur_ms", srv_now_ns() - request->started_ns);
    if (request->job != NULL)
        log_job(&log, request->job);
    srv_log_end(&log);
}
