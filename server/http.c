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

#include "calls.h"
#include "check.h"
#include "clock.h"
#include "count.h"
#include "job.h"
#include "log.h"
#include "number.h"
#include "peer.h"
#include "query.h"
#include "reply.h"
#include "request.h"
#include "route.h"
#include "server.h"
#include "tls.h"

/* A refused body up to this size is read to its end, so that the connection
 * can go on; a larger one is not, and the connection is closed. */
#define DISCARD_BYTES           ((uint64_t)65536)
#define BODY_BYTES_PER_S        ((uint64_t)256 * 1024)
#define CONNECTION_BUFFER_BYTES ((size_t)65536)
/* The library's own limit is only a net below ours. */
#define SPARE_CONNECTIONS         64U
#define RETRY_AFTER_CONNECTIONS_S 1U

/* Unique within this run by the count, between runs by the random part. */
static void make_id(struct srv_server *server, char id[SRV_REQUEST_ID_SIZE])
{
    const uint64_t n = atomic_fetch_add(&server->n_requests, 1) + 1;

    snprintf(id, SRV_REQUEST_ID_SIZE, "%016" PRIx64 "-%" PRIu64,
             server->instance, n);
}

/* ---- the end of a request ---------------------------------------------- */

static void free_decoder(struct srv_request *request)
{
    srv_decoder_free(request->decoder);
    request->decoder = NULL;
}

static void finish(struct srv_request *request, bool all_sent)
{
    struct srv_server *server = request->server;
    const enum srv_stage stage = srv_registry_end(
        &server->registry, request, srv_after_s(server->config.idle_timeout));

    if (!all_sent && stage == SRV_REPLY && request->outcome == NULL)
        request->outcome = "client-gone"; /* before all was sent */
    srv_count_request(request); /* so that what is logged is counted */
    srv_reply_log(request);
    free_decoder(request);
    srv_body_release(&request->body, &server->budget);
    srv_hash_free(request->hash);
    srv_answer_unref(request->answer);
    srv_job_unref(request->job);
    srv_principal_unref(request->who);
    free(request->query_bytes);
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
                              srv_after_s(server->config.header_timeout));
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

void srv_http_add(struct srv_server *server, int fd,
                  const struct sockaddr *address, socklen_t size)
{
    struct proto_problem problem = {0};
    char id[SRV_REQUEST_ID_SIZE];
    const struct srv_refusal refusal = {
        .problem = &problem,
        .request_id = id,
        .retry_after_s = RETRY_AFTER_CONNECTIONS_S,
        .is_tls = srv_is_tls(server),
    };

    if (srv_registry_expect(&server->registry,
                            server->config.max_connections)) {
        srv_http_thread_add(&server->http_thread, fd, address, size);
        return;
    }
    proto_problem_set(&problem, PROTO_QUEUE_FULL, NULL,
                      "%" PRIu64 " connections are open (--max-connections)",
                      server->config.max_connections);
    make_id(server, id);
    srv_count_refused(server, &problem);
    srv_peer_refuse(fd, &refusal);
    close(fd);
}

/* ---- a request begins -------------------------------------------------- */

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
    const bool is_kept = srv_check_uri(request, uri);
    srv_query_hide(uri);
    if (is_kept &&
        srv_registry_begin(&server->registry, request,
                           server->config.header_timeout * SRV_NS_PER_S))
        return request;
    free(request->query_bytes);
    free(request);
    return NULL;
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
    return is_large && !srv_route_makes_job(request->route);
}

/* When the body must be complete: a second later for each 256 KiB that came,
 * but not for bytes that are only dropped. */
static uint64_t body_deadline_ns(const struct srv_request *request)
{
    const uint64_t allowed_s = request->server->config.body_timeout;

    return request->body_since_ns + allowed_s * SRV_NS_PER_S +
           (request->discard ? 0 : request->received_bytes) * SRV_NS_PER_S /
               BODY_BYTES_PER_S;
}

/*
 * Note CHUNKS. The library takes a bare LF for the end of a chunk's line, and
 * shows us neither those lines nor the last one. A program in front that reads
 * them more strictly could take for one request what the library takes for two.
 * So nothing behind a chunked body is served: the connection ends with it.
 */
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
    if (request->decoder == NULL)
        request->body.announced = (size_t)head.length;
    request->close = head.is_chunked; /* see note CHUNKS */
    request->body_since_ns = srv_now_ns();
    srv_registry_move(&server->registry, request, SRV_BODY,
                      body_deadline_ns(request));
    return MHD_YES;
}

/* From here on the body is only read to its end. */
static void give_up_body(struct srv_request *request)
{
    struct srv_server *server = request->server;

    srv_body_release(&request->body, &server->budget);
    request->body_since_ns = srv_now_ns();
    request->discard = true;
}

static void refuse_large(struct srv_request *request)
{
    SRV_REFUSE(request, PROTO_TOO_LARGE,
               "body: more than %" PRIu64 " bytes%s (--max-body)",
               request->server->config.max_body,
               request->coding == SRV_IDENTITY ? "" : " when decoded");
    request->close = true;
    give_up_body(request);
}

static void refuse_no_room(struct srv_request *request)
{
    SRV_REFUSE(request, PROTO_QUEUE_FULL,
               "too many bytes are waiting (--body-memory)");
    request->retry_after_s = srv_pool_retry_after(&request->server->pool);
    request->close = true;
    give_up_body(request);
}

/* The bytes of the document, decoded. False: refused. */
static bool take_bytes(void *context, const char *data, size_t n_bytes)
{
    struct srv_request *request = context;
    struct srv_server *server = request->server;

    switch (srv_body_append(&request->body, &server->budget,
                            (size_t)server->config.max_body, data, n_bytes)) {
    case SRV_BODY_OK:
        srv_hash_bytes(request->hash, data, n_bytes);
        return true;
    case SRV_BODY_TOO_LARGE:
        refuse_large(request);
        break;
    case SRV_BODY_NO_ROOM:
        refuse_no_room(request);
        break;
    }
    return false;
}

static void refuse_coded(struct srv_request *request,
                         enum srv_decode_result result)
{
    const char *coding = srv_coding_name(request->coding);

    switch (result) {
    case SRV_DECODE_OK:
        return;
    case SRV_DECODE_STOPPED: /* refused already */
        break;
    case SRV_DECODE_TOO_LARGE:
        refuse_large(request);
        break;
    case SRV_DECODE_NO_ROOM:
        refuse_no_room(request);
        break;
    case SRV_DECODE_RATIO_TOO_HIGH:
        SRV_REFUSE(request, PROTO_TOO_LARGE,
                   "body: %s that becomes more than %" PRIu64
                   " times as large and more than %" PRIu64
                   " bytes; send such a document as it is",
                   coding, SRV_DECODE_RATIO, SRV_DECODE_FREE_BYTES);
        request->close = true;
        give_up_body(request);
        break;
    case SRV_DECODE_CORRUPT:
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "body: not one whole %s stream: %s", coding,
                   srv_decoder_why(request->decoder));
        give_up_body(request);
        break;
    }
}

/* Members and frames without content are limited by what comes in. */
static void take_coded(struct srv_request *request, const char *data,
                       size_t n_bytes)
{
    if (request->received_bytes >
        srv_decode_most_in(request->server->config.max_body))
        refuse_large(request);
    else
        refuse_coded(request, srv_decoder_feed(request->decoder, data, n_bytes,
                                               take_bytes, request));
    if (request->discard)
        free_decoder(request);
}

static void on_data(struct srv_request *request, const char *data,
                    size_t n_bytes)
{
    request->received_bytes += n_bytes;
    if (!request->discard && srv_route_makes_job(request->route)) {
        if (request->decoder == NULL)
            (void)take_bytes(request, data, n_bytes);
        else
            take_coded(request, data, n_bytes);
    }
    srv_registry_move(&request->server->registry, request, SRV_BODY,
                      body_deadline_ns(request));
}

/* A decoder is not kept while the job waits and runs. */
static void end_decoding(struct srv_request *request)
{
    if (request->decoder == NULL)
        return;
    refuse_coded(request, srv_decoder_end(request->decoder));
    free_decoder(request);
    srv_body_fit(&request->body, &request->server->budget);
}

/* See note SUSPEND. */
static enum MHD_Result wait_for_job(struct srv_request *request)
{
    MHD_suspend_connection(request->connection);
    if (!srv_registry_wait(&request->server->registry, request,
                           request->until_ns))
        srv_http_resume(request);
    return MHD_YES;
}

static enum MHD_Result on_body_end(struct srv_request *request)
{
    end_decoding(request);
    if (request->problem.kind != PROTO_NO_PROBLEM ||
        srv_call_begin(request) == SRV_STEP_REPLY)
        return srv_reply_send(request);
    return wait_for_job(request);
}

static enum MHD_Result on_wait_end(struct srv_request *request)
{
    return srv_call_end(request) == SRV_STEP_REPLY ? srv_reply_send(request)
                                                   : wait_for_job(request);
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
        return on_wait_end(request);
    case SRV_BUSY:
    case SRV_WAITING:
    case SRV_REPLY:
    case SRV_PARKED:
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

/* What srv_registry_refuse_if asks of a request whose header is not complete.
 */
static bool has_bad_length(struct srv_request *request)
{
    const char *text = MHD_lookup_connection_value(
        request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t length = 0;

    if (text == NULL || srv_number_parse(text, false, &length))
        return false;
    if (*text != '\0' && text[strspn(text, "0123456789")] == '\0')
        SRV_REFUSE(request, PROTO_TOO_LARGE,
                   "Content-Length: larger than any body");
    else
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "Content-Length: once, and digits only");
    request->close = true;
    return true;
}

/*
 * Note LENGTH. A Content-Length that is no number is answered by this version
 * of the library before it asks us, and twice: two status lines, then one body.
 * All that is told us is a line of its log, in time: whoever has sent such a
 * header is then answered on the socket, and the library's answer goes nowhere.
 */
static void log_library(void *context, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void log_library(void *context, const char *format, va_list args)
{
    struct srv_server *server = context;
    char text[256];

    vsnprintf(text, sizeof text, format, args);
    if (strstr(text, "Content-Length' header") != NULL)
        srv_registry_refuse_if(&server->registry, has_bad_length);
    text[strcspn(text, "\n")] = '\0';
    srv_log_event("info", "http", "message", text);
}

bool srv_http_start(struct srv_server *server)
{
    static struct MHD_OptionItem no_options[] = {{MHD_OPTION_END, 0, NULL}};
    const bool is_tls = srv_is_tls(server);

    struct MHD_Daemon *library = MHD_start_daemon(
        (is_tls ? MHD_USE_TLS : 0U) | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER,
        log_library, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        server, MHD_OPTION_URI_LOG_CALLBACK, on_uri, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)server->config.max_connections + SPARE_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BUFFER_BYTES,
        MHD_OPTION_ARRAY, is_tls ? srv_tls_options() : no_options,
        MHD_OPTION_END);
    if (library == NULL)
        return false;
    if (srv_http_thread_start(&server->http_thread, library, &server->registry))
        return true;
    MHD_stop_daemon(library);
    return false;
}

void srv_http_resume(const struct srv_request *request)
{
    struct srv_server *server = request->server;

    MHD_resume_connection(request->connection); /* allow: and wakes it */
    srv_http_thread_wake(&server->http_thread);
}

void srv_http_stop(struct srv_server *server)
{
    srv_registry_end_all(&server->registry);
    srv_http_thread_stop(&server->http_thread);
    MHD_stop_daemon(server->http_thread.library);
}
