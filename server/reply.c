/*
 * reply.c: builds responses and the log line of a request.
 */
#include "reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "events.h"
#include "job.h"
#include "log.h"
#include "negotiate.h"
#include "page.h"
#include "query.h"
#include "route.h"
#include "server.h"

#define REPLY_BYTES_PER_S  ((uint64_t)256 * 1024)
#define STREAM_BLOCK_BYTES ((size_t)1024)

struct content {
    int status;
    const char *type;
    const char *text;
    size_t length;
    char *owned; /* malloc'ed, or NULL */
    enum srv_coding coding;
};

static const char version_text[] =
    "{\"engine\":\"" PROTO_ENGINE "\",\"schemas\":[\"remat/graph/v1\","
    "\"remat/plan/v1\"],\"pytorch_semantics\":\"2.13\"}\n";
/* When there is not even memory to say so. */
static const char no_memory_text[] =
    "{\"type\":\"about:blank\",\"title\":\"Out of memory\",\"status\":503,"
    "\"code\":\"out-of-memory\"}\n";

static bool is_page(const struct srv_request *request)
{
    return request->route != NULL && srv_route_is_page(request->route);
}

/* Whether its answer is one that a job made. A page may do without. */
static bool is_worked_out(const struct srv_request *request)
{
    return request->answer != NULL && srv_route_works(request->route) &&
           (request->job != NULL || !is_page(request));
}

static struct content problem_content(const struct srv_request *request,
                                      const struct proto_problem *problem)
{
    struct content content = {
        .status = proto_problem_status(problem->kind),
        .type = is_page(request) ? "text/html; charset=utf-8"
                                 : "application/problem+json",
        .owned = is_page(request) ? srv_page_problem(request, problem)
                                  : proto_problem_encode(problem, request->id),
    };

    if (content.owned == NULL) {
        content.status = 503;
        content.type = "application/problem+json";
        content.text = no_memory_text;
    } else {
        content.text = content.owned;
    }
    content.length = strlen(content.text);
    return content;
}

/* What the client wants the answer in, among what there is. */
static enum srv_coding wanted_coding(const struct srv_request *request)
{
    const enum srv_coding coding =
        srv_codings_best(&request->codings, request->answer->length);

    return coding == SRV_N_CODINGS ? SRV_IDENTITY : coding;
}

static struct content answer_content(const struct srv_request *request)
{
    struct srv_answer *answer = request->answer;
    const enum srv_coding coding = wanted_coding(request);
    const struct srv_coded *coded =
        coding == SRV_IDENTITY ? NULL : srv_answer_coded(answer, coding);

    return (struct content){
        .status = request->success == 0 ? 200 : request->success,
        .type = answer->type,
        .text = coded == NULL ? answer->bytes : coded->bytes,
        .length = coded == NULL ? answer->length : coded->length,
        .coding = coded == NULL ? SRV_IDENTITY : coding,
    };
}

/* The client has that answer already. */
static bool is_known(const struct srv_request *request)
{
    const struct srv_answer *answer = request->answer;

    return request->success == 0 && answer->etag[0] != '\0' &&
           request->if_none_match[0] != '\0' &&
           !srv_route_makes_job(request->route) &&
           srv_etag_matches(request->if_none_match, answer->etag);
}

/* What has no answer of its own: /version. */
static struct content route_content(void)
{
    struct content content = {
        .status = 200, .type = "application/json", .text = version_text};

    content.length = strlen(content.text);
    return content;
}

static struct content find_content(struct srv_request *request)
{
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return problem_content(request, &request->problem);
    if (request->no_content)
        return (struct content){.status = request->success, .text = ""};
    if (request->answer == NULL)
        return route_content();
    if (is_known(request))
        return (struct content){
            .status = 304, .text = "", .coding = wanted_coding(request)};
    return answer_content(request);
}

/* Where the time went, for curl -i: "queue;dur=0.1, decode;dur=2.5, ...". */
static void add_timing(struct MHD_Response *response, const struct srv_job *job)
{
    char text[512];
    size_t length = 0;
    uint64_t queue_ns = job->started_ns - job->queued_ns;

    for (int i = -1; i < PROTO_N_PHASES; i++) {
        const uint64_t ns = i < 0 ? queue_ns : job->phase_ns[i];
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

/* Whether and how long it may be kept: a plan for ever, by who asked for it; a
 * file of the pages for ever under the name that goes with its content. */
static const char *cache_control(const struct srv_request *request,
                                 bool has_etag)
{
    char version[SRV_ETAG_SIZE] = "";

    if (!has_etag)
        return "no-store";
    if (request->route->call == SRV_CALL_PLAN_OF_DIGEST)
        return "private, max-age=31536000, immutable";
    if (request->route->call != SRV_CALL_ASSET)
        return "no-store";
    return srv_query_value(request->query, "v", version, sizeof version) &&
                   strcmp(version, request->answer->etag) == 0
               ? "public, max-age=31536000, immutable"
               : "no-cache";
}

static void add_caching(struct MHD_Response *response,
                        const struct srv_request *request,
                        const struct content *content)
{
    const bool has_etag = request->answer != NULL &&
                          request->answer->etag[0] != '\0' &&
                          (content->status == 200 || content->status == 304);
    char etag[SRV_ETAG_SIZE + 8];

    if (has_etag) {
        snprintf(etag, sizeof etag, "\"%s%s\"", request->answer->etag,
                 srv_etag_suffix(content->coding));
        MHD_add_response_header(response, "ETag", etag);
    }
    MHD_add_response_header(response, "Cache-Control",
                            cache_control(request, has_etag));
    if (request->route != NULL && srv_route_works(request->route))
        MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
    else if (request->answer != NULL)
        MHD_add_response_header(response, "Vary", "Accept-Encoding");
}

static void add_codings(struct MHD_Response *response,
                        const struct content *content)
{
    if (content->coding != SRV_IDENTITY && content->status != 304)
        MHD_add_response_header(response, "Content-Encoding",
                                srv_coding_name(content->coding));
    if (content->status == 415)
        MHD_add_response_header(response, "Accept-Encoding", "gzip, zstd");
}

/* A wait that was not needed was honoured too. */
static void add_preference(struct MHD_Response *response,
                           const struct srv_request *request,
                           const struct content *content)
{
    const bool is_answer = content->status < 400 || content->status == 504;
    char text[32];

    if (!is_answer || request->route == NULL ||
        !srv_route_waits(request->route))
        return;
    if (request->asked_async && !request->asked_wait) {
        MHD_add_response_header(response, "Preference-Applied",
                                "respond-async");
    } else if (request->asked_wait) {
        snprintf(text, sizeof text, "wait=%u", request->wait_s);
        MHD_add_response_header(response, "Preference-Applied", text);
    }
}

static void add_location(struct MHD_Response *response,
                         const struct srv_request *request)
{
    char location[64];

    snprintf(location, sizeof location, "/v1/jobs/%s", request->job->id);
    MHD_add_response_header(response, "Location", location);
}

/* Whoever is told to come back is told when. */
static unsigned retry_after_s(const struct srv_request *request,
                              const struct content *content)
{
    const bool is_refusal = content->status == 503 || content->status == 429;

    return is_refusal && request->retry_after_s == 0 ? 1
                                                     : request->retry_after_s;
}

/* The header of answers to a traced request that browsers and agents read. */
static void add_trace(struct MHD_Response *response,
                      const struct srv_request *request)
{
    char parent[SRV_TRACE_SIZE];
    char text[SRV_TRACE_SIZE + 32];

    if (request->trace.span[0] == '\0')
        return;
    srv_trace_write(&request->trace, parent);
    snprintf(text, sizeof text, "traceparent;desc=\"%s\"", parent);
    MHD_add_response_header(response, "Server-Timing", text);
}

/* A report says itself what may run in it; what only a header can say is who
 * may have it in his page, and that what runs is of no origin: nothing in it
 * could ask this service for more. */
static void add_report_policies(struct MHD_Response *response)
{
    MHD_add_response_header(response, "Content-Security-Policy",
                            "sandbox allow-scripts allow-downloads; "
                            "frame-ancestors 'self'; base-uri 'none'; "
                            "form-action 'none'; object-src 'none'");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                            "same-origin");
}

/* What a browser may do with a page, and who may have it in his own. */
static void add_policies(struct MHD_Response *response,
                         const struct srv_request *request,
                         const struct content *content)
{
    if (!is_page(request) && content->type != NULL &&
        strncmp(content->type, "text/html", 9) == 0)
        add_report_policies(response);
    if (!is_page(request) &&
        (request->route == NULL || request->route->call != SRV_CALL_ASSET))
        return;
    MHD_add_response_header(response, "Content-Security-Policy",
                            srv_page_policy);
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Opener-Policy",
                            "same-origin");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                            "same-origin");
}

static void add_headers(struct MHD_Response *response,
                        const struct srv_request *request,
                        const struct content *content)
{
    char text[32];

    if (content->type != NULL)
        MHD_add_response_header(response, "Content-Type", content->type);
    MHD_add_response_header(response, "X-Request-Id", request->id);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    add_policies(response, request, content);
    add_caching(response, request, content);
    add_codings(response, content);
    if (content->status == 405 && request->route != NULL)
        MHD_add_response_header(response, "Allow", request->route->methods);
    if (request->challenge[0] != '\0')
        MHD_add_response_header(response, "WWW-Authenticate",
                                request->challenge);
    if (content->status == 202)
        add_location(response, request);
    if (retry_after_s(request, content) > 0) {
        snprintf(text, sizeof text, "%u", retry_after_s(request, content));
        MHD_add_response_header(response, "Retry-After", text);
    }
    add_preference(response, request, content);
    if (request->job != NULL && request->saw_end &&
        request->job->started_ns != 0)
        add_timing(response, request->job);
    else if (request->job == NULL && is_worked_out(request))
        MHD_add_response_header(response, "Server-Timing", "cache;desc=hit");
    add_trace(response, request);
    if (request->close || srv_is_draining(request->server))
        MHD_add_response_header(response, "Connection", "close");
}

/* ---- streams ----------------------------------------------------------- */

/* Of the library, when it has room for more. See note SUSPEND. */
static ssize_t read_events(void *context, uint64_t position, char *bytes,
                           size_t n_bytes)
{
    struct srv_request *request = context;
    const ssize_t n = srv_events_next(request, bytes, n_bytes);

    (void)position;
    if (n > 0) {
        request->sent_bytes += (uint64_t)n;
        return n;
    }
    if (n < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    MHD_suspend_connection(request->connection);
    srv_registry_park(&request->server->registry, request);
    return 0;
}

static enum MHD_Result send_stream(struct srv_request *request)
{
    const struct content content = {.status = 200, .type = "text/event-stream"};
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_events, request, NULL);

    if (response == NULL)
        return MHD_NO;
    add_headers(response, request, &content);
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    request->status = content.status;
    request->event_sent_ns = srv_now_ns();
    srv_registry_move(&request->server->registry, request, SRV_REPLY,
                      srv_now_ns() +
                          request->server->config.body_timeout * SRV_NS_PER_S);
    const enum MHD_Result result =
        MHD_queue_response(request->connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- sending ----------------------------------------------------------- */

static enum MHD_Result send_content(struct srv_request *request)
{
    struct content content = find_content(request);
    const uint64_t time_ns = (request->server->config.body_timeout +
                              content.length / REPLY_BYTES_PER_S) *
                             SRV_NS_PER_S;
    /* An answer lives as long as the request; nobody writes to it. */
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

enum MHD_Result srv_reply_send(struct srv_request *request)
{
    const bool is_stream = request->streams &&
                           request->problem.kind == PROTO_NO_PROBLEM &&
                           strcmp(request->method, "HEAD") != 0;

    return is_stream ? send_stream(request) : send_content(request);
}

/* ---- the log ----------------------------------------------------------- */

static void log_job(struct srv_log *log, const struct srv_request *request)
{
    const struct srv_job *job = request->job;

    if (job->id[0] != '\0')
        srv_log_text(log, "job_id", job->id);
    if (!request->saw_end || job->started_ns == 0)
        return;
    if (job->started_ns >= job->queued_ns)
        srv_log_ms(log, "queue_ms", job->started_ns - job->queued_ns);
    if (job->answer != NULL)
        srv_log_text(log, "digest", job->answer->digest);
    srv_log_number(log, "nodes", job->n_nodes);
    srv_log_number(log, "steps", job->n_steps);
    srv_log_number(log, "memory_bytes", job->memory_bytes);
    srv_log_open(log, "phases");
    for (int i = 0; i < PROTO_N_PHASES; i++)
        srv_log_ms(log, proto_phase_name((enum proto_phase)i),
                   job->phase_ns[i]);
    srv_log_close(log);
}

/* One word for how it ended. */
static const char *outcome(const struct srv_request *request)
{
    const struct srv_answer *answer = request->answer;

    if (request->outcome != NULL)
        return request->outcome;
    if (request->status == 0)
        return "closed"; /* before an answer of ours: by the client, or by the
                            library after an answer of its own */
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return proto_problem_code(request->problem.kind);
    if (request->status == 202)
        return "accepted";
    if (answer == NULL || answer->outcome[0] == '\0')
        return "ok";
    return answer->outcome;
}

enum srv_cache_result srv_reply_source(const struct srv_request *request)
{
    if (request->job == NULL)
        return SRV_CACHE_HIT;
    return request->has_joined ? SRV_CACHE_MERGE : request->job->source;
}

void srv_reply_log(const struct srv_request *request)
{
    struct srv_log log;

    srv_log_begin(&log, request->status >= 500 ? "warn" : "info", "request");
    srv_log_text(&log, "request_id", request->id);
    if (request->trace.id[0] != '\0') {
        srv_log_text(&log, "trace_id", request->trace.id);
        srv_log_text(&log, "span_id", request->trace.span);
    }
    if (request->principal[0] != '\0')
        srv_log_text(&log, "principal", request->principal);
    srv_log_text(&log, "method", request->method);
    srv_log_text(&log, "route",
                 request->route == NULL ? "none" : request->route->path);
    srv_log_number(&log, "status", (uint64_t)request->status);
    srv_log_text(&log, "outcome", outcome(request));
    srv_log_number(&log, "bytes_in", request->received_bytes);
    srv_log_number(&log, "bytes_out", request->sent_bytes);
    srv_log_ms(&log, "dur_ms", srv_now_ns() - request->started_ns);
    if (is_worked_out(request) && request->status == 200)
        srv_log_text(&log, "cache",
                     srv_cache_result_name(srv_reply_source(request)));
    if (request->job != NULL)
        log_job(&log, request);
    srv_log_end(&log);
}
