/*
 * check.c: the checks, in this order: framing (is it clear where the request
 * ends?), address (Host, Origin), route and method, then what a plan needs. The
 * first that fails decides the answer.
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
#include <string.h>

#include "negotiate.h"
#include "number.h"
#include "route.h"
#include "server.h"

#define CRLF_BYTES     2U
#define URI_MAX_BYTES  32768U /* more than the library's buffer holds */
#define WAIT_DEFAULT_S 10U

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
    const char *bad_name;
    bool bad_value;
    bool in_place;    /* places can be looked at */
    bool broken;      /* and one was wrong */
    const char *next; /* where the next header line must begin */
    struct srv_accept accept;
    struct srv_prefer prefer;
};

/* ---- the request line -------------------------------------------------- */

void srv_check_uri(struct srv_request *request, const char *uri)
{
    if (uri == NULL || *uri != '/') {
        request->bad_uri = "must be a path that begins with /";
        return;
    }
    for (const char *at = uri; *at != '\0'; at++) {
        if (*at <= ' ' || *at >= 0x7f)
            request->bad_uri = "has a blank, control or non-ASCII byte; write "
                               "it as %XX";
        if (strncmp(at, "%00", 3) == 0)
            request->bad_uri = "holds a NUL (%00)";
    }
    const char *query = strchr(uri, '?');
    const size_t n_path = query == NULL ? strlen(uri) : (size_t)(query - uri);

    request->has_query = query != NULL;
    request->route = srv_route_find(uri, n_path);
    request->uri_end = uri + strlen(uri);
}

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

    if (length < SRV_ID_SIZE && srv_is_token(value))
        memcpy(request->id, value, length + 1);
}

/* Of several, one that does not match is what counts. */
static void note_origin(struct scan *scan, const char *value)
{
    if (scan->origin != NULL && strcmp(scan->origin, value) != 0)
        scan->has_two_origins = true;
    scan->origin = value;
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
        scan->content_encoding = value;
    else if (srv_text_is(name, "Expect"))
        scan->head->expects_continue = true;
    else if (srv_text_is(name, "X-Request-Id"))
        note_request_id(scan->request, value);
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
    else if (route->call == SRV_CALL_UNBUILT)
        SRV_REFUSE(request, PROTO_NOT_IMPLEMENTED,
                   "%.10s %s is not built in this version", scan->head->method,
                   route->path);
    else
        return true;
    return false;
}

/* ---- a plan ------------------------------------------------------------ */

static bool check_media(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const enum srv_media media = srv_accept_best(&scan->accept);

    if (scan->content_type == NULL || !srv_content_is_json(scan->content_type))
        SRV_REFUSE(request, PROTO_UNSUPPORTED_MEDIA,
                   "Content-Type must be application/json (in UTF-8), not "
                   "\"%.60s\"; with curl: curl --json @file http://...",
                   scan->content_type == NULL ? "" : scan->content_type);
    else if (scan->content_encoding != NULL &&
             !srv_text_is(scan->content_encoding, "identity"))
        SRV_REFUSE(request, PROTO_UNSUPPORTED_MEDIA,
                   "Content-Encoding \"%.60s\": send the document as it is",
                   scan->content_encoding);
    else if (media == SRV_MEDIA_NONE)
        SRV_REFUSE(request, PROTO_NOT_ACCEPTABLE,
                   "Accept: a plan is application/json or text/plain");
    else if (scan->prefer.respond_async)
        SRV_REFUSE(request, PROTO_NOT_IMPLEMENTED,
                   "Prefer: respond-async is not built in this version; "
                   "wait=N is");
    else if (request->has_query)
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "%s takes no query; options go into the document",
                   request->route->path);
    else
        request->format = media == SRV_MEDIA_TEXT ? PROTO_TEXT : PROTO_JSON;
    return request->problem.kind == PROTO_NO_PROBLEM;
}

static bool check_size(struct scan *scan)
{
    struct srv_request *request = scan->request;
    const struct srv_config *config = &request->server->config;
    const struct srv_head *head = scan->head;

    if (!head->has_length && !head->is_chunked)
        SRV_REFUSE(request, PROTO_LENGTH_REQUIRED,
                   "a body needs Content-Length or Transfer-Encoding: chunked");
    else if (head->has_length && head->length > config->max_body)
        SRV_REFUSE(request, PROTO_TOO_LARGE,
                   "body: %" PRIu64 " bytes, at most %" PRIu64 " (--max-body)",
                   head->length, config->max_body);
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

static void check_plan(struct scan *scan)
{
    struct srv_request *request = scan->request;

    request->asked_wait = scan->prefer.has_wait;
    request->wait_s =
        scan->prefer.has_wait ? scan->prefer.wait_s : WAIT_DEFAULT_S;
    if (!check_media(scan) || !check_size(scan))
        return;
    (void)check_room(scan); /* the last: nothing to stop */
}

void srv_check_header(struct srv_request *request, struct srv_head *head)
{
    struct scan scan = {.request = request, .head = head};

    srv_accept_init(&scan.accept);
    begin_places(&scan);
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, note_header,
                              &scan);
    end_places(&scan);
    if (check_framing(&scan) && check_host(&scan) && check_origin(&scan) &&
        check_route(&scan) && srv_route_takes_graph(request->route))
        check_plan(&scan);
    request->discard = request->problem.kind != PROTO_NO_PROBLEM;
}
