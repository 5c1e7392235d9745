/*
 * calls.c: which call is whose, and those of a few lines.
 */
#include "calls.h"

#include <stdio.h>
#include <string.h>

#include "call_parts.h"
#include "openapi.h"
#include "ops.h"
#include "query.h"
#include "route.h"
#include "server.h"
#include "text.h"

/* ---- a plan by its digest ---------------------------------------------- */

static bool is_digest(const char *text)
{
    return strlen(text) == SRV_DIGEST_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == SRV_DIGEST_SIZE - 1;
}

static enum srv_step begin_plan_of_digest(struct srv_request *request)
{
    struct srv_server *server = request->server;
    char explain[16] = "summary";
    char etag[SRV_ETAG_SIZE];
    struct srv_key key;

    if (strstr(request->query, "explain=") != NULL &&
        (!srv_query_value(request->query, "explain", explain, sizeof explain) ||
         (strcmp(explain, "none") != 0 && strcmp(explain, "summary") != 0 &&
          strcmp(explain, "full") != 0))) {
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "explain is none, summary or full");
        return SRV_STEP_REPLY;
    }
    snprintf(etag, sizeof etag, "%.64s-%s", request->param, explain);
    if (is_digest(request->param) &&
        srv_answer_key(request->principal, etag, &key)) {
        request->answer = srv_cache_get(&server->cache, &key);
        if (request->answer == NULL)
            (void)srv_store_get_answer(server->store, &key, &request->answer);
    }
    if (request->answer == NULL)
        SRV_REFUSE(request, PROTO_NOT_FOUND,
                   "no plan of yours with that digest and explain level is "
                   "kept; post its graph to /v1/plans");
    return SRV_STEP_REPLY;
}

/* ---- which call -------------------------------------------------------- */

/* Probes and what else operators ask. */
static enum srv_step begin_ops(struct srv_request *request)
{
    request->answer =
        srv_ops_answer(request->server, request->route->call, request->query,
                       &request->success, &request->problem);
    if (request->success == 503)
        request->retry_after_s = 1;
    return SRV_STEP_REPLY;
}

/* A copy, so that it is sent like any other answer. */
static enum srv_step begin_openapi(struct srv_request *request)
{
    struct srv_text text = {0};
    size_t length = 0;
    const char *bytes = srv_openapi(&length);

    srv_text_bytes(&text, bytes, length);
    return srv_call_reply(request, srv_text_answer(&text, "application/json"));
}

enum srv_step srv_call_begin(struct srv_request *request)
{
    switch (request->route->call) {
    case SRV_CALL_PLANS:
    case SRV_CALL_FRONTIER:
    case SRV_CALL_BATCH:
    case SRV_CALL_GROUP:
    case SRV_CALL_REPORTS:
        return srv_call_make_begin(request);
    case SRV_CALL_WHAT_IF:
    case SRV_CALL_JOB_NODE:
    case SRV_CALL_JOB_REPORT:
    case SRV_CALL_JOB_EXPORT:
        return srv_call_derive_begin(request);
    case SRV_CALL_PLAN_OF_DIGEST:
        return begin_plan_of_digest(request);
    case SRV_CALL_JOBS:
    case SRV_CALL_JOB:
    case SRV_CALL_JOB_PLAN:
    case SRV_CALL_JOB_GRAPH:
    case SRV_CALL_JOB_EVENTS:
        return srv_call_job_begin(request);
    case SRV_CALL_LIVEZ:
    case SRV_CALL_READYZ:
    case SRV_CALL_METRICS:
    case SRV_CALL_OPS:
        return begin_ops(request);
    case SRV_CALL_OPENAPI:
        return begin_openapi(request);
    case SRV_CALL_PAGE_HOME:
    case SRV_CALL_PAGE_JOB:
    case SRV_CALL_ASSET:
        return srv_call_page_begin(request);
    case SRV_CALL_VERSION:
        break;
    }
    return SRV_STEP_REPLY;
}

enum srv_step srv_call_end(struct srv_request *request)
{
    if (srv_route_derives(request->route) ||
        request->route->call == SRV_CALL_WHAT_IF)
        return srv_call_derive_end(request);
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return SRV_STEP_REPLY;
    if (srv_route_makes_job(request->route))
        return srv_call_make_end(request);
    srv_call_job_end(request);
    return SRV_STEP_REPLY;
}
