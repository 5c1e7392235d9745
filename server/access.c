/*
 * access.c: see access.h.
 */
#include "access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "request.h"
#include "route.h"
#include "server.h"

/* Calls whose scope does not follow from the method. */
static const struct {
    const char *path;
    unsigned scope;
} scopes[] = {
    {"/livez", 0},
    {"/readyz", 0},
    {"/version", 0},
    {"/openapi.json", 0},
    {"/assets/*", 0},
    /* Numbers about everybody, from which one can tell what others ask. */
    {"/metrics", SRV_SCOPE_ADMIN},
    {"/v1/ops", SRV_SCOPE_ADMIN},
};

unsigned srv_access_scope(const struct srv_route *route, const char *method)
{
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        if (strcmp(route->path, scopes[i].path) == 0)
            return scopes[i].scope;
    }
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return SRV_SCOPE_READ;
    return SRV_SCOPE_SUBMIT;
}

/* 401, with how to do it right. */
static bool refuse_401(struct srv_request *request,
                       enum srv_access_result result)
{
    const bool has_tokens = *request->server->config.tokens != '\0';

    snprintf(request->challenge, sizeof request->challenge,
             "Bearer realm=\"rematd\"%s",
             result == SRV_ACCESS_NO_TOKEN ? "" : ", error=\"invalid_token\"");
    if (result == SRV_ACCESS_NO_TOKEN)
        SRV_REFUSE(request, PROTO_UNAUTHORIZED,
                   "this call needs a token: Authorization: Bearer TOKEN");
    else if (result == SRV_ACCESS_MALFORMED)
        SRV_REFUSE(request, PROTO_UNAUTHORIZED,
                   "Authorization must be one header of the form Bearer "
                   "TOKEN");
    else
        SRV_REFUSE(request, PROTO_UNAUTHORIZED,
                   has_tokens
                       ? "nobody has that token (Authorization: Bearer TOKEN)"
                       : "this server was started without --tokens: leave "
                         "Authorization: Bearer TOKEN out");
    return false;
}

/* Of what is missing, the one that the call needs. */
static bool refuse_403(struct srv_request *request, const char *method,
                       unsigned scope)
{
    const char *name = srv_scope_name((enum srv_scope)scope);

    snprintf(request->challenge, sizeof request->challenge,
             "Bearer realm=\"rematd\", error=\"insufficient_scope\", "
             "scope=\"%s\"",
             name);
    SRV_REFUSE(request, PROTO_FORBIDDEN,
               "%.10s %s needs the scope %s, which %s does not have", method,
               request->route->path, name, request->who->name);
    return false;
}

static bool check_rate(struct srv_request *request)
{
    struct srv_principal *who = request->who;
    const uint64_t rate = atomic_load(&who->rate);
    const uint64_t wait_ns = srv_bucket_take(&who->bucket, rate, srv_now_ns());

    if (wait_ns == 0)
        return true;
    SRV_REFUSE(request, PROTO_RATE_LIMITED,
               "%s may make %" PRIu64 " request%s a second", who->name, rate,
               rate == 1 ? "" : "s");
    request->retry_after_s = srv_retry_after_s(wait_ns);
    return false;
}

bool srv_access_check(struct srv_request *request, const char *method,
                      const struct srv_authorization *said)
{
    const unsigned scope = srv_access_scope(request->route, method);
    struct srv_access access;

    if (scope == 0)
        return true;
    const enum srv_access_result result =
        said->is_twice
            ? SRV_ACCESS_MALFORMED
            : srv_tokens_check(&request->server->tokens, said->value, &access);
    /* a page is then without what it would show: its script asks for that */
    if (result == SRV_ACCESS_NO_TOKEN && srv_route_is_page(request->route))
        return true;
    if (result != SRV_ACCESS_OK)
        return refuse_401(request, result);
    request->who = access.principal;
    snprintf(request->principal, sizeof request->principal, "%s",
             access.principal->name);
    if ((access.scopes & scope) == 0)
        return refuse_403(request, method, scope);
    return check_rate(request);
}
