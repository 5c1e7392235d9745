/*
 * http.c: callbacks of libmicrohttpd, in the order of a request: on_connection,
 * on_uri, on_request (header, body, end, after a wait), on_completed.
 */
#include "http.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "job.h"
#include "log.h"
#include "peer.h"
#include "reply.h"
#include "request.h"
#include "route.h"
#include "server.h"

/* A refused body up to this size is read to its end, so that the connection
 * can go on; a larger one is not, and the connection is closed. */
#define DISCARD_BYTES           ((uint64_t)65536)
#define BODY_BYTES_PER_S        ((uint64_t)256 * 1024)
#define MOST_ARGUMENTS          100U
#define CONNECTION_BUFFER_BYTES ((size_t)65536)
/* The library's own limit is only a net below ours. */
#define SPARE_CONNECTIONS         64U
#define RETRY_AFTER_CONNECTIONS_S 1U

static uint64_t seconds_from_now(uint64_t seconds)
{
    return srv_now_ns() + seconds * SRV_NS_PER_S;
}

/* Unique within this run by the count, between runs by the random part. */
static void make_id(struct srv_server *server, char id[SRV_ID_SIZE])
{
    const uint64_t n = atomic_fetch_add(&server->n_requests, 1) + 1;

    snprintf(id, SRV_ID_SIZE, "%016" PRIx64 "-%" PRIu64, server->instance, n);
}

/* ---- the end of a request ---------------------------------------------- */

static void finish(struct srv_request *request, bool all_sent)
{
    struct srv_server *server = request->server;
    const enum srv_stage stage =
        srv_registry_end(&server->registry, request,
                         seconds_from_now(server->config.idle_timeout));

    if (!all_sent && stage == SRV_REPLY && request->outcome == NULL)
        request->outcome = "client-gone"; /* before all was sent */
    srv_reply_log(request);
    srv_body_release(&request->body, &server->budget);
    srv_job_free(request->job);
    free(request);
}

/* ---- connections ------------------------------------------------------- */

static void on_connection(void *context, struct MHD_Connection *connection,
                          void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct srv_server *server = context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
            connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        *socket_context =
            srv_registry_open(&server->registry, info->connect_fd,
                              seconds_from_now(server->config.header_timeout));
    } else if (*socket_context != NULL) {
        struct srv_conn *conn = *socket_context;

        /* The library forgets a request whose header does not fit its buffer:
         * it never says that it is completed. */
        if (conn->request != NULL)
            finish(conn->request, false);
        srv_registry_close(&server->registry, *socket_context);
        *socket_context = NULL;
    }
}

bool srv_http_add(struct srv_server *server, int fd,
                  const struct sockaddr *address, socklen_t size)
{
    struct proto_problem problem = {0};
    char id[SRV_ID_SIZE];

    if (srv_registry_n_connections(&server->registry) <
        server->config.max_connections)
        /* Closes the socket itself when it fails. */
        return MHD_add_connection(server->http, fd, address, size) == MHD_YES;
    proto_problem_set(&problem, PROTO_QUEUE_FULL, NULL,
                      "%" PRIu64 " connections are open (--max-connections)",
                      server->config.max_connections);
    make_id(server, id);
    srv_peer_refuse(fd, &problem, id, RETRY_AFTER_CONNECTIONS_S);
    close(fd);
    return false;
}

/* ---- a request begins -------------------------------------------------- */

/* Each argument takes room in the library's buffer, and when that is full it
 * falls silent. No call takes more than a few. */
static bool has_too_many_arguments(const char *uri)
{
    size_t n = 0;

    for (; *uri != '\0'; uri++)
        n += *uri == '&' || *uri == '?';
    return n > MOST_ARGUMENTS;
}

/* The request line is complete. What is returned comes back as *state. */
static void *on_uri(void *context, const char *uri,
                    struct MHD_Connection *connection)
{
    struct srv_server *server = context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct srv_conn *conn = info->socket_context;
    struct srv_request *request = calloc(1, sizeof *request);

    if (conn == NULL || request == NULL) {
        free(request);
        return NULL;
    }
    request->server = server;
    request->connection = connection;
    request->conn = conn;
    request->started_ns = srv_now_ns();
    make_id(server, request->id);
    srv_check_uri(request, uri);
    srv_registry_begin(&server->registry, request,
                       server->config.header_timeout * SRV_NS_PER_S);
    if (has_too_many_arguments(uri)) {
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "request target: more than %u query arguments",
                   MOST_ARGUMENTS);
        srv_registry_refuse(&server->registry, request);
    }
    return request;
}

/* ---- header, body, end ------------------------------------------------- */

/* Whether to answer now rather than after the body. */
static bool is_refused_early(const struct srv_request *request,
                             const struct srv_head *head)
{
    const bool is_large = head->is_chunked || head->length > DISCARD_BYTES;

    if (request->close)
        return true;
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return is_large || head->expects_continue;
    return is_large && !srv_route_takes_graph(request->route);
}

/* When the body must be complete: a second later for each 256 KiB that came,
 * but not for bytes that are only dropped. */
static uint64_t body_deadline_ns(const struct srv_request *request)
{
    const uint64_t allowed_s = request->server->config.body_timeout;

    return request->body_since_ns + allowed_s * SRV_NS_PER_S +
           request->body.length * SRV_NS_PER_S / BODY_BYTES_PER_S;
}

static enum MHD_Result on_header(struct srv_request *request,
                                 const char *method, const char *version)
{
    struct srv_server *server = request->server;
    struct srv_head head = {.method = method, .version = version};

    snprintf(request->method, sizeof request->method, "%s", method);
    srv_check_header(request, &head);
    if (is_refused_early(request, &head)) {
        request->close = true;
        return srv_reply_send(request);
    }
    request->body.announced = (size_t)head.length;
    request->body_since_ns = srv_now_ns();
    srv_registry_move(&server->registry, request, SRV_BODY,
                      body_deadline_ns(request));
    return MHD_YES;
}

/* From here on the body is only read to its end. */
static void give_up_body(struct srv_request *request,
                         enum srv_body_result result)
{
    struct srv_server *server = request->server;

    if (result == SRV_BODY_TOO_LARGE) {
        SRV_REFUSE(request, PROTO_TOO_LARGE,
                   "body: more than %" PRIu64 " bytes (--max-body)",
                   server->config.max_body);
    } else {
        SRV_REFUSE(request, PROTO_QUEUE_FULL,
                   "too many bytes are waiting (--body-memory)");
        request->retry_after_s = srv_pool_retry_after(&server->pool);
    }
    srv_body_release(&request->body, &server->budget);
    request->body_since_ns = srv_now_ns();
    request->discard = true;
    request->close = true;
}

static void on_data(struct srv_request *request, const char *data,
                    size_t n_bytes)
{
    struct srv_server *server = request->server;

    request->received_bytes += n_bytes;
    if (!request->discard && srv_route_takes_graph(request->route)) {
        const enum srv_body_result result =
            srv_body_append(&request->body, &server->budget,
                            (size_t)server->config.max_body, data, n_bytes);

        if (result != SRV_BODY_OK)
            give_up_body(request, result);
    }
    srv_registry_move(&server->registry, request, SRV_BODY,
                      body_deadline_ns(request));
}

/* See note SUSPEND. */
static enum MHD_Result hand_over(struct srv_request *request,
                                 struct srv_job *job)
{
    struct srv_server *server = request->server;

    MHD_suspend_connection(request->connection);
    srv_registry_wait(&server->registry, request, job,
                      seconds_from_now(request->wait_s));
    srv_pool_submit(&server->pool, job);
    return MHD_YES;
}

static enum MHD_Result start_job(struct srv_request *request)
{
    struct srv_server *server = request->server;

    if (!srv_pool_reserve(&server->pool)) {
        SRV_REFUSE(request, PROTO_QUEUE_FULL,
                   "%" PRIu64 " requests are waiting (--queue)",
                   server->config.queue);
        request->retry_after_s = srv_pool_retry_after(&server->pool);
        return srv_reply_send(request);
    }
    struct srv_job *job =
        srv_job_new_take(server, &request->body, request->format);
    if (job != NULL) {
        job->wants_frontier = request->route->call == SRV_CALL_FRONTIER;
        return hand_over(request, job);
    }
    srv_pool_unreserve(&server->pool);
    SRV_REFUSE(request, PROTO_OUT_OF_MEMORY, "no memory for another request");
    return srv_reply_send(request);
}

static enum MHD_Result on_body_end(struct srv_request *request)
{
    if (request->problem.kind != PROTO_NO_PROBLEM ||
        !srv_route_takes_graph(request->route))
        return srv_reply_send(request);
    return start_job(request);
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *context,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *data,
                                  size_t *n_bytes, void **state)
{
    struct srv_request *request = *state;

    (void)context;
    (void)connection;
    (void)url; /* already decoded: see on_uri for what was sent */
    if (request == NULL)
        return MHD_NO;
    switch (srv_registry_take(&request->server->registry, request)) {
    case SRV_HEAD:
        return on_header(request, method, version);
    case SRV_BODY:
        if (*n_bytes == 0)
            return on_body_end(request);
        on_data(request, data, *n_bytes);
        *n_bytes = 0;
        return MHD_YES;
    case SRV_READY:
        return srv_reply_send(request);
    case SRV_BUSY:
    case SRV_WAITING:
    case SRV_REPLY:
        return MHD_YES;
    case SRV_CUT:
        return MHD_NO;
    }
    return MHD_NO;
}

static void on_completed(void *context, struct MHD_Connection *connection,
                         void **state, enum MHD_RequestTerminationCode code)
{
    struct srv_request *request = *state;

    (void)context;
    (void)connection;
    if (request == NULL)
        return;
    *state = NULL;
    finish(request, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

/* ---- the thread -------------------------------------------------------- */

static void log_library(void *context, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void log_library(void *context, const char *format, va_list args)
{
    char text[256];

    (void)context;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    srv_log_event("info", "http", "message", text);
}

bool srv_http_start(struct srv_server *server)
{
    server->http = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
            MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER,
        log_library, NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)server->config.max_connections + SPARE_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BUFFER_BYTES,
        MHD_OPTION_END);
    return server->http != NULL;
}

void srv_http_resume(const struct srv_request *request)
{
    MHD_resume_connection(request->connection);
}

void srv_http_stop(struct srv_server *server)
{
    MHD_stop_daemon(server->http);
    server->http = NULL;
}
