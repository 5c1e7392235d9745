/*
 * admin.c: a second daemon of libmicrohttpd, for few and short answers.
 *
 * Bodies are not read: a request that has one is answered at its header and the
 * connection closed.
 */
#include "admin.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "ops.h"
#include "origin.h"
#include "query.h"
#include "registry.h"
#include "route.h"
#include "server.h"
#include "tokens.h"

/* Below what makes the library's own thread fall asleep: see http_thread.h. */
#define MOST_CONNECTIONS 64U
/* As many as the library accepts before it sees to those that are shut down,
 * and some to spare. */
#define ROOM         16U
#define TIMEOUT_S    10U
#define BUFFER_BYTES ((size_t)16384)
#define URI_SIZE     1024

struct request {
    char uri[URI_SIZE]; /* as it came; "" when it is longer */
    char *query;        /* in it, behind "?" */
    bool is_read;       /* its header was seen before */
};

/* One request at a time, and in the connection's own memory: the library does
 * not always say that a request is over. */
struct connection {
    struct srv_conn *conn;
    struct request request;
};

static void on_connection(void *context, struct MHD_Connection *connection,
                          void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct srv_server *server = context;
    struct connection *own = *socket_context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
            connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        srv_registry_make_room(&server->admin_registry,
                               MOST_CONNECTIONS - ROOM);
        own = calloc(1, sizeof *own);
        if (own != NULL)
            own->conn = srv_registry_open(&server->admin_registry,
                                          info->connect_fd, UINT64_MAX);
        *socket_context = own;
    } else if (own != NULL) {
        if (own->conn != NULL)
            srv_registry_close(&server->admin_registry, own->conn);
        free(own);
        *socket_context = NULL;
    }
}

static void *on_uri(void *context, const char *uri,
                    struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *own = info->socket_context;

    (void)context;
    if (own == NULL || uri == NULL)
        return NULL;
    struct request *request = &own->request;
    *request = (struct request){0};
    if (strlen(uri) < sizeof request->uri)
        memcpy(request->uri, uri, strlen(uri) + 1);
    request->query = strchr(request->uri, '?');
    if (request->query != NULL)
        *request->query++ = '\0';
    else
        request->query = request->uri + strlen(request->uri);
    srv_query_hide(uri);
    return request;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Whether to wait for the end of the request. An answer at its header ends the
 * connection, which is right only if a body comes. */
static bool is_too_early(struct request *request,
                         struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const bool was_read = request->is_read;

    request->is_read = true;
    return !was_read && (length == NULL || strcmp(length, "0") == 0) &&
           header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) == NULL;
}

/* ---- what may be asked ------------------------------------------------- */

/* A page of some other site can make a browser ask here, under its own name. */
static bool check_host(const struct srv_server *server,
                       struct MHD_Connection *connection,
                       struct proto_problem *problem)
{
    const char *text = header(connection, MHD_HTTP_HEADER_HOST);
    const char *host = NULL;
    size_t n_host = 0;

    if (text == NULL || !srv_split_authority(text, &host, &n_host))
        proto_problem_set(problem, PROTO_BAD_REQUEST, NULL,
                          "Host: a request must name one");
    else if (server->admin_is_loopback && !srv_host_is_loopback(host, n_host))
        proto_problem_set(problem, PROTO_FORBIDDEN, NULL,
                          "Host %.60s is not this machine's loopback", text);
    return problem->kind == PROTO_NO_PROBLEM;
}

static bool check_call(const struct request *request, const char *method,
                       enum srv_call *call, struct proto_problem *problem)
{
    const char *param = NULL;
    size_t n_param = 0;
    const struct srv_route *route =
        srv_route_find(request->uri, strlen(request->uri), &param, &n_param);

    if (route == NULL || !srv_ops_takes(route->call))
        proto_problem_set(problem, PROTO_NOT_FOUND, NULL,
                          "here are /livez, /readyz, /metrics and /v1/ops; "
                          "the rest is at --listen");
    else if (!srv_route_allows(route, method))
        proto_problem_set(problem, PROTO_METHOD_NOT_ALLOWED, NULL,
                          "%s takes %s", route->path, route->methods);
    else
        *call = route->call;
    return problem->kind == PROTO_NO_PROBLEM;
}

/* Who works for whom is for operators only, where others can reach it. */
static bool check_access(struct srv_server *server,
                         struct MHD_Connection *connection, enum srv_call call,
                         struct proto_problem *problem)
{
    struct srv_access access;

    if (call != SRV_CALL_OPS || server->admin_is_loopback ||
        *server->config.tokens == '\0')
        return true;
    if (srv_tokens_check(&server->tokens,
                         header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
                         &access) != SRV_ACCESS_OK) {
        proto_problem_set(problem, PROTO_UNAUTHORIZED, NULL,
                          "beyond loopback this call needs a token: "
                          "Authorization: Bearer TOKEN");
        return false;
    }
    if ((access.scopes & SRV_SCOPE_ADMIN) == 0)
        proto_problem_set(problem, PROTO_FORBIDDEN, NULL,
                          "this call needs the scope admin, which %s does not "
                          "have",
                          access.principal->name);
    srv_principal_unref(access.principal);
    return problem->kind == PROTO_NO_PROBLEM;
}

/* ---- the answer -------------------------------------------------------- */

static enum MHD_Result send_answer(struct MHD_Connection *connection,
                                   int status, const char *type, char *text,
                                   size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_COPY);

    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, "Retry-After", "1");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate",
                                "Bearer realm=\"rematd\"");
    const enum MHD_Result result =
        MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_problem(struct MHD_Connection *connection,
                                    const struct proto_problem *problem)
{
    char *text = proto_problem_encode(problem, NULL);
    enum MHD_Result result = MHD_NO;

    if (text != NULL)
        result = send_answer(connection, proto_problem_status(problem->kind),
                             "application/problem+json", text, strlen(text));
    proto_free(text);
    return result;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *context,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *data,
                                  size_t *n_bytes, void **state)
{
    struct srv_server *server = context;
    struct request *request = *state;
    struct proto_problem problem = {0};
    enum srv_call call = SRV_CALL_LIVEZ;
    struct srv_answer *answer = NULL;
    enum MHD_Result result;
    int status = 0;

    (void)url; /* already decoded: see on_uri */
    (void)version;
    (void)data;
    *n_bytes = 0;
    if (request == NULL)
        return MHD_NO;
    if (is_too_early(request, connection))
        return MHD_YES;
    if (check_host(server, connection, &problem) &&
        check_call(request, method, &call, &problem) &&
        check_access(server, connection, call, &problem))
        answer =
            srv_ops_answer(server, call, request->query, &status, &problem);
    if (answer == NULL)
        return send_problem(connection, &problem);
    result = send_answer(connection, status, answer->type, answer->bytes,
                         answer->length);
    srv_answer_unref(answer);
    return result;
}

/* ---- the thread -------------------------------------------------------- */

enum srv_listen_result srv_admin_listen(const struct srv_server *server,
                                        struct srv_listener *listener)
{
    const struct srv_config *config = &server->config;

    if (*config->admin_listen == '\0')
        return SRV_LISTEN_OK;
    return srv_listen("--admin-listen", config->admin_listen,
                      config->anonymous || *config->tokens != '\0', listener);
}

bool srv_admin_start(struct srv_server *server, struct srv_listener *listener)
{
    if (listener->fd < 0)
        return true;
    server->admin_is_loopback = listener->is_loopback;
    server->admin = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request,
        server, MHD_OPTION_LISTEN_SOCKET, listener->fd,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_CONNECTION_LIMIT, MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, BUFFER_BYTES, MHD_OPTION_END);
    if (server->admin == NULL)
        close(listener->fd);
    listener->fd = -1;
    return server->admin != NULL;
}

void srv_admin_stop(struct srv_server *server)
{
    if (server->admin == NULL)
        return;
    const int fd = MHD_quiesce_daemon(server->admin);
    srv_registry_end_all(&server->admin_registry);
    MHD_stop_daemon(server->admin);
    server->admin = NULL;
    if (fd >= 0)
        close(fd);
}
