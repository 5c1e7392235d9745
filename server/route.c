/*
 * route.c: the table of calls.
 */
#include "route.h"

#include <string.h>

static const struct srv_route routes[] = {
    {"/v1/plans", "POST", SRV_CALL_PLANS},
    {"/livez", "GET, HEAD", SRV_CALL_LIVEZ},
    {"/readyz", "GET, HEAD", SRV_CALL_READYZ},
    {"/version", "GET, HEAD", SRV_CALL_VERSION},
    {"/v1/plans:batch", "POST", SRV_CALL_UNBUILT},
    {"/v1/plans/*", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/frontier", "POST", SRV_CALL_FRONTIER},
    {"/v1/groups/*/plans", "POST", SRV_CALL_UNBUILT},
    {"/v1/jobs", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/jobs/*", "GET, HEAD, DELETE", SRV_CALL_UNBUILT},
    {"/v1/jobs/*/plan", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/jobs/*/graph", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/jobs/*/report", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/jobs/*/events", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/jobs/*/node", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/v1/jobs/*/what-if", "POST", SRV_CALL_UNBUILT},
    {"/v1/ops", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/openapi.json", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/metrics", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/", "GET, HEAD", SRV_CALL_UNBUILT},
    {"/jobs/*", "GET, HEAD", SRV_CALL_UNBUILT},
};

/* Segment by segment; a "*" matches one that is not empty. */
static bool matches(const char *pattern, const char *path, const char *end)
{
    while (*pattern != '\0') {
        if (*pattern == '*') {
            const char *start = path;

            while (path < end && *path != '/')
                path++;
            if (path == start)
                return false;
            pattern++;
        } else if (path == end || *path++ != *pattern++) {
            return false;
        }
    }
    return path == end;
}

const struct srv_route *srv_route_find(const char *path, size_t n_path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (matches(routes[i].path, path, path + n_path))
            return &routes[i];
    }
    return NULL;
}

bool srv_route_takes_graph(const struct srv_route *route)
{
    return route->call == SRV_CALL_PLANS || route->call == SRV_CALL_FRONTIER;
}

bool srv_route_allows(const struct srv_route *route, const char *method)
{
    const size_t n = strlen(method);

    for (const char *at = route->methods; at != NULL;
         at = strchr(at, ' '), at = at == NULL ? NULL : at + 1) {
        if (strncmp(at, method, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}
