/*
 * check.c: the checks, in this order: framing (is it clear where the request
 * ends?), address (Host, Origin), route and method, who asks, then what a plan
 * needs. The first that fails decides the answer.
 *
 * Note PLACES. The library cuts the header into strings where it lies, putting
 * NULs in place of line ends. So the distance between neighbours says what was
 * there: two bytes are CRLF; one is a bare LF; more means a NUL inside a line,
 * or a folded line, of which the library would show only a part. This version
 * of the library always works in place; one that copied would fail the check of
 * the version's place, and then places say nothing and are not looked at.
 */
#include "check.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "negotiate.h"
#include "number.h"
#include "origin.h"
#include "query.h"
#include "request_key.h"
#include "route.h"
#include "server.h"
#include "word.h"

#define CRLF_BYTES    2U
#define URI_MAX_BYTES 32768U /* more than the library's buffer holds */
#define WAIT_MOST_S   60U

struct scan {
    struct srv_request *request;
    struct srv_head *head;
    unsigned n_host;
    unsigned n_length;
    unsigned n_encoding;
    const char *host;
    const char *length;
    const char *encoding;
    const char *origin;
    bool has_two_origins;
    const char *content_type;
    const char *content_encoding;
    bool has_two_codings;
    struct srv_authorization authorization;
    const char *bad_name;
    bool bad_value;
    bool in_place;    /* places can be looked at */
    bool broken;      /* and one was wrong */
    const char *next; /* where the next header line must begin */
    struct srv_accept accept;
    struct srv_prefer prefer;
};

/* ---- collecting -------------------------------------------------------- */

static bool has_control_byte(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;

        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return true;
    }
    return false;
}

struct counted {
    const char *name;
    const char **value;
    unsigned *n;
};

static void note_counted(struct scan *scan, const char *name, const char *value)
{
    const struct counted headers[] = {
        {"Host", &scan->host, &scan->n_host},
        {"Content-Length", &scan->length, &scan->n_length},
        {"Transfer-Encoding", &scan->encoding, &scan->n_encoding},
    };

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        if (srv_text_is(name, headers[i].name)) {
            *headers[i].value = value;
            ++*headers[i].n;
        }
    }
}

/* A client's own id is kept when it can do no harm in logs and headers. */
static void note_request_id(struct srv_request *request, const char *value)
{
    const size_t length = strlen(value);

    if (length < SRV_REQUEST_ID_SIZE && srv_is_token(value))
        memcpy(request->id, value, length + 1);
}

/* Tags of several lines are one list. One that does not fit matches nothing. */
static void note_if_none_match(struct srv_request *request, const char *value)
{
    const size_t used = strlen(request->if_none_match);
    const size_t room = sizeof request->if_none_match - used;

    if (strlen(value) + 2 < room)
        snprintf(request->if_none_match + used, room, "%s%s",
                 used > 0 ? "," : "", value);
}

/* Of several, one that does not match is what counts. */
static void note_origin(struct scan *scan, const char *value)
{
    if (scan->origin != NULL && strcmp(scan->origin, value) != 0)
        scan->has_two_origins = true;
    scan->origin = value;
}

static void note_content_encoding(struct scan *scan, const char *value)
{
    scan->has_two_codings = scan->content_encoding != NULL;
    scan->content_encoding = value;
}

static void note_authorization(struct scan *scan, const char *value)
{
    scan->authorization.is_twice = scan->authorization.value != NULL;
    scan->authorization.value = value;
}

static void note_wishes(struct scan *scan, const char *name, const char *value)
{
    if (srv_text_is(name, "Accept"))
        srv_accept_add(&scan->accept, value);
    else if (srv_text_is(name, "Prefer"))
        srv_prefer_add(&scan->prefer, value);
    else if (srv_text_is(name, "Origin"))
        note_origin(scan, value);
    else if (srv_text_is(name, "Content-Type"))
        scan->content_type = value;
    else if (srv_text_is(name, "Content-Encoding"))
        note_content_encoding(scan, value);
    else if (srv_text_is(name, "Accept-Encoding"))
        srv_codings_add(&scan->request->codings, value);
    else if (srv_text_is(name, "Authorization"))
        note_authorization(scan, value);
    else if (srv_text_is(name, "Expect"))
        scan->head->expects_continue = true;
    else if (srv_text_is(name, SRV_TRACE_HEADER))
        srv_trace_add(&scan->request->trace, value);
    else if (srv_text_is(name, "X-Request-Id"))
        note_request_id(scan->request, value);
    else if (srv_text_is(name, "If-None-Match"))
        note_if_none_match(scan->request, value);
    else if (srv_text_is(name, "Last-Event-ID"))
        (void)srv_number_parse(value, false, &scan->request->last_event);
    else if (srv_text_is(name, "Priority"))
        scan->request->priority =
            srv_priority_is_low(value) ? SRV_BATCH : SRV_INTERACTIVE;
}

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind,
                                   const char *name, const char *value)
{
    struct scan *scan = context;

    (void)kind;
    if (value == NULL)
        value = "";
    if (!srv_is_token(name))
        scan->bad_name = name;
    if (has_control_byte(value))
        scan->bad_value = true;
    if (scan->in_place && name != scan->next)
        scan->broken = true;
    scan->next = value + strlen(value) + CRLF_BYTES;
    note_counted(scan, name, value);
    note_wishes(scan, name, value);
    return MHD_YES;
}

/* See note PLACES. Afterwards `next` is where the first header line must be. */
static void begin_places(struct scan *scan)
{
    const uintptr_t end = (uintptr_t)scan->request->uri_end;
    const uintptr_t version = (uintptr_t)scan->head->version;

    scan->in_place = end != 0 && version > end && version - end < URI_MAX_BYTES;
    scan->broken = scan->in_place && version != end + 1;
    scan->next = scan->head->version + strlen(scan->head->version) + CRLF_BYTES;
}

static void end_places(struct scan *scan)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        scan->request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    if (scan->in_place && info != NULL &&
        scan->next + CRLF_BYTES != scan->head->method + info->header_size)
        scan->broken = true;
}

/* ---- framing ----------------------------------------------------------- */

/* Header lines themselves. */
static bool check_lines(struct scan *scan)
{
    struct srv_request *request = scan->request;

    if (scan->bad_name != NULL)
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "header name \"%.60s\": must be a token, with no blank "
                   "before the colon",
                   scan->bad_name);
    else if (scan->bad_value)
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "a header value has a control byte");
    else if (scan->broken)
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "header: lines must end in CRLF, not be folded, and hold no "
                   "NUL");
    else if (!srv_is_token(scan->head->method))
        SRV_REFUSE(request, PROTO_BAD_REQUEST, "the method is no token");
    else if (request->bad_uri != NULL)
        SRV_REFUSE(request, PROTO_BAD_REQUEST, "the request target %s",
                   request->bad_uri);
    else
        return true;
    return false;
}

static bool check_transfer_encoding(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const bool is_1_0 = strcmp(scan->head->version, "HTTP/1.0") == 0;

    if (scan->n_encoding == 0)
        return true;
    if (scan->n_length > 0 || scan->n_encoding > 1 || is_1_0) {
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "Transfer-Encoding: once, without Content-Length, and not "
                   "in HTTP/1.0");
        return false;
    }
    if (!srv_text_is(scan->encoding, "chunked")) {
        SRV_REFUSE(request, PROTO_NOT_IMPLEMENTED,
                   "Transfer-Encoding \"%.60s\": only chunked is implemented",
                   scan->encoding);
        return false;
    }
    scan->head->is_chunked = true;
    return true;
}

static bool check_length(struct scan *scan)
{
    if (scan->n_length == 0)
        return true;
    if (scan->n_length > 1 ||
        !srv_number_parse(scan->length, false, &scan->head->length)) {
        SRV_REFUSE(scan->request, PROTO_BAD_REQUEST,
                   "Content-Length: once, and digits only");
        return false;
    }
    scan->head->has_length = true;
    return true;
}

static bool check_framing(struct scan *scan)
{
    const bool ok = check_lines(scan) && check_transfer_encoding(scan) &&
                    check_length(scan);

    if (!ok)
        scan->request->close = true;
    return ok;
}

/* ---- address ----------------------------------------------------------- */

/* A page of another site must not reach a server on its reader's machine, not
 * even under a name that its owner lets point to 127.0.0.1 (DNS rebinding). */
static bool check_host(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const char *host = NULL;
    size_t n_host = 0;
    const bool is_1_0 = strcmp(scan->head->version, "HTTP/1.0") == 0;

    if (scan->n_host == 0 && is_1_0)
        return true;
    if (scan->n_host != 1 || !srv_split_authority(scan->host, &host, &n_host)) {
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "Host: exactly one, HOST or HOST:PORT");
        request->close = true;
        return false;
    }
    if (request->server->is_loopback && !srv_host_is_loopback(host, n_host)) {
        SRV_REFUSE(request, PROTO_FORBIDDEN,
                   "Host \"%.80s\" is not this machine; a server on loopback "
                   "answers to localhost, 127.0.0.1 and [::1]",
                   scan->host);
        request->close = true;
        return false;
    }
    return true;
}

static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static bool check_origin(struct scan *scan)
{
    if (scan->origin == NULL || is_safe(scan->head->method) ||
        (!scan->has_two_origins &&
         srv_origin_matches(scan->origin,
                            scan->host == NULL ? "" : scan->host)))
        return true;
    SRV_REFUSE(scan->request, PROTO_FORBIDDEN,
               "Origin \"%.80s\": pages of other sites may not use this server",
               scan->origin);
    scan->request->close = true;
    return false;
}

/* ---- route and method -------------------------------------------------- */

static bool check_route(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const struct srv_route *route = request->route;

    if (route == NULL)
        SRV_REFUSE(request, PROTO_NOT_FOUND,
                   "no such call; there are POST /v1/plans, GET /livez, GET "
                   "/readyz and GET /version");
    else if (!srv_route_allows(route, scan->head->method))
        SRV_REFUSE(request, PROTO_METHOD_NOT_ALLOWED, "%s takes %s",
                   route->path, route->methods);
    else
        return true;
    return false;
}

static bool check_access(struct scan *scan)
{
    return srv_access_check(scan->request, scan->head->method,
                            &scan->authorization);
}

/* ---- query ------------------------------------------------------------- */

/* Every name is one that the call knows, has a value and comes once. */
static bool check_query(struct scan *scan)
{
    struct srv_request *request = scan->request;
    struct srv_query_fault fault;

    if (!srv_query_find_fault(request->route, request->query, &fault))
        return true;
    SRV_REFUSE(request, PROTO_BAD_REQUEST, "the query of %s: \"%.*s\" %s",
               request->route->path, fault.n_name > 60 ? 60 : (int)fault.n_name,
               fault.name, fault.what);
    return false;
}

/* ---- a document -------------------------------------------------------- */

/* What the body is coded in, and what the answer may be. */
static bool check_codings(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const char *header = scan->content_encoding;

    if (header != NULL &&
        (scan->has_two_codings || !srv_coding_parse(header, &request->coding)))
        SRV_REFUSE(request, PROTO_UNSUPPORTED_MEDIA,
                   "Content-Encoding \"%.60s\"%s: gzip or zstd, once, or the "
                   "document as it is",
                   header, scan->has_two_codings ? " and another" : "");
    else if (srv_codings_best(&request->codings, SIZE_MAX) == SRV_N_CODINGS)
        SRV_REFUSE(request, PROTO_NOT_ACCEPTABLE,
                   "Accept-Encoding: there are gzip, zstd and identity");
    else
        return true;
    return false;
}

/* Whether the client takes what the call answers, and as what. */
static bool check_format(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const enum srv_media media = srv_accept_best(&scan->accept);

    if (request->route->call == SRV_CALL_REPORTS) {
        if (!srv_accept_takes_html(&scan->accept))
            SRV_REFUSE(request, PROTO_NOT_ACCEPTABLE,
                       "Accept: a report is text/html");
        return request->problem.kind == PROTO_NO_PROBLEM;
    }
    if (media == SRV_MEDIA_NONE)
        SRV_REFUSE(request, PROTO_NOT_ACCEPTABLE,
                   "Accept: the answer is application/json or text/plain");
    else
        request->format = media == SRV_MEDIA_TEXT ? PROTO_TEXT : PROTO_JSON;
    return media != SRV_MEDIA_NONE;
}

static bool check_media(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const bool is_batch = request->route->call == SRV_CALL_BATCH;

    if (scan->content_type == NULL ||
        !(is_batch ? srv_content_is_ndjson(scan->content_type)
                   : srv_content_is_json(scan->content_type)))
        SRV_REFUSE(request, PROTO_UNSUPPORTED_MEDIA,
                   "Content-Type must be %s (in UTF-8), not \"%.60s\"; with "
                   "curl: curl %s",
                   is_batch ? "application/x-ndjson" : "application/json",
                   scan->content_type == NULL ? "" : scan->content_type,
                   is_batch ? "-H 'Content-Type: application/x-ndjson' "
                              "--data-binary @file http://..."
                            : "--json @file http://...");
    else if (!is_batch)
        return check_format(scan);
    return request->problem.kind == PROTO_NO_PROBLEM;
}

static bool check_size(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const struct srv_config *config = &request->server->config;
    const struct srv_head *head = scan->head;
    const bool is_coded = request->coding != SRV_IDENTITY;
    const uint64_t most =
        is_coded ? srv_decode_most_in(config->max_body) : config->max_body;

    if (!head->has_length && !head->is_chunked)
        SRV_REFUSE(request, PROTO_LENGTH_REQUIRED,
                   "a body needs Content-Length or Transfer-Encoding: chunked");
    else if (head->has_length && head->length > most)
        SRV_REFUSE(
            request, PROTO_TOO_LARGE,
            "body: %" PRIu64 " bytes, at most %" PRIu64 "%s (--max-body)",
            head->length, config->max_body, is_coded ? " when decoded" : "");
    else
        return true;
    return false;
}

/* Whether there is room for the work and its body, before the body is read. */
static bool check_room(struct scan *scan)
{
    struct srv_request *request = scan->request;
    struct srv_server *server = request->server;

    if (srv_is_draining(server))
        SRV_REFUSE(request, PROTO_DRAINING,
                   "the server is shutting down; send the request elsewhere");
    else if (!srv_pool_has_room(&server->pool))
        SRV_REFUSE(request, PROTO_QUEUE_FULL,
                   "%" PRIu64 " requests are waiting (--queue)",
                   server->config.queue);
    else if (!srv_budget_has_room(&server->budget, (size_t)scan->head->length))
        SRV_REFUSE(request, PROTO_QUEUE_FULL,
                   "too many bytes are waiting (--body-memory)");
    else
        return true;
    request->retry_after_s = srv_pool_retry_after(&server->pool);
    return false;
}

/* What has no job to come back to may be waited for as long as it may take. */
static uint64_t wait_most_s(const struct srv_request *request)
{
    const struct srv_config *config = &request->server->config;

    if (request->route->call == SRV_CALL_GROUP)
        return config->group_timeout;
    if (srv_route_is_looking(request->route) &&
        config->run_timeout > WAIT_MOST_S)
        return config->run_timeout;
    return WAIT_MOST_S;
}

/* How long the client waits, and for whom. */
static void note_wait(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const struct srv_prefer *prefer = &scan->prefer;
    const bool makes_job = srv_route_makes_job(request->route);
    const uint64_t most = wait_most_s(request);

    request->asked_wait = prefer->has_wait;
    /* With both, the client waits first (RFC 7240, 4.3). */
    request->asked_async = makes_job &&
                           (prefer->respond_async || prefer->has_wait) &&
                           (!prefer->has_wait || prefer->wait_s == 0);
    request->wait_s =
        prefer->has_wait ? prefer->wait_s : srv_route_wait_s(request->route);
    if (request->wait_s > most)
        request->wait_s = (unsigned)most;
    if (request->route->call == SRV_CALL_BATCH)
        request->priority = SRV_BATCH;
}

static bool begin_decoding(struct srv_request *request)
{
    struct srv_server *server = request->server;

    if (request->coding == SRV_IDENTITY)
        return true;
    request->decoder = srv_decoder_new(request->coding, server->config.max_body,
                                       &server->budget);
    if (request->decoder != NULL)
        return true;
    SRV_REFUSE(request, PROTO_QUEUE_FULL,
               "too many bytes are waiting (--body-memory)");
    request->retry_after_s = srv_pool_retry_after(&server->pool);
    return false;
}

static void check_document(struct scan *scan)
{
    if (check_media(scan) && check_codings(scan) && check_size(scan) &&
        check_room(scan) && srv_request_begin_key(scan->request))
        (void)begin_decoding(scan->request);
}

void srv_check_header(struct srv_request *request, struct srv_head *head)
{
    struct scan scan = {.request = request, .head = head};
    const uint64_t seed = request->server->instance ^ request->started_ns;

    srv_accept_init(&scan.accept);
    srv_codings_init(&request->codings);
    begin_places(&scan);
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, note_header,
                              &scan);
    end_places(&scan);
    srv_trace_begin_span(&request->trace, seed);
    if (check_framing(&scan) && check_host(&scan) && check_origin(&scan) &&
        check_route(&scan) && check_access(&scan) && check_query(&scan)) {
        note_wait(&scan);
        if (srv_route_makes_job(request->route))
            check_document(&scan);
        else if (request->route->call == SRV_CALL_JOB_NODE)
            (void)check_format(&scan);
    }
    request->discard = request->problem.kind != PROTO_NO_PROBLEM;
}
