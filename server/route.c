/*
 * route.c: the table of calls.
 */
#include "route.h"

#include <string.h>

static const struct srv_route routes[] = {
    {"/v1/plans", "POST", SRV_CALL_PLANS, ""},
    {"/livez", "GET, HEAD", SRV_CALL_LIVEZ, "*"},
    {"/readyz", "GET, HEAD", SRV_CALL_READYZ, "*"},
    {"/version", "GET, HEAD", SRV_CALL_VERSION, "*"},
    {"/v1/plans:batch", "POST", SRV_CALL_BATCH, ""},
    {"/v1/plans/*", "GET, HEAD", SRV_CALL_PLAN_OF_DIGEST, ",explain,"},
    {"/v1/frontier", "POST", SRV_CALL_FRONTIER, ""},
    {"/v1/groups/*/plans", "POST", SRV_CALL_GROUP, ""},
    {"/v1/jobs", "GET, HEAD", SRV_CALL_JOBS, ",state,limit,cursor,"},
    {"/v1/jobs/*", "GET, HEAD, DELETE", SRV_CALL_JOB, ""},
    {"/v1/jobs/*/plan", "GET, HEAD", SRV_CALL_JOB_PLAN, ""},
    {"/v1/jobs/*/graph", "GET, HEAD", SRV_CALL_JOB_GRAPH, ""},
    {"/v1/jobs/*/report", "GET, HEAD", SRV_CALL_JOB_REPORT, ",style,"},
    {"/v1/jobs/*/events", "GET, HEAD", SRV_CALL_JOB_EVENTS, ""},
    {"/v1/jobs/*/node", "GET, HEAD", SRV_CALL_JOB_NODE, ",name,"},
    {"/v1/jobs/*/export", "GET, HEAD", SRV_CALL_JOB_EXPORT,
     ",as,around,depth,"},
    {"/v1/jobs/*/what-if", "POST", SRV_CALL_WHAT_IF, ""},
    {"/v1/reports", "POST", SRV_CALL_REPORTS, ""},
    {"/v1/ops", "GET, HEAD", SRV_CALL_OPS, "*"},
    {"/openapi.json", "GET, HEAD", SRV_CALL_OPENAPI, "*"},
    {"/metrics", "GET, HEAD", SRV_CALL_METRICS, "*"},
    {"/", "GET, HEAD", SRV_CALL_PAGE_HOME, "*"},
    {"/jobs/*", "GET, HEAD", SRV_CALL_PAGE_JOB, "*"},
    {"/assets/*", "GET, HEAD", SRV_CALL_ASSET, "*"},
};

#define N_ROUTES (sizeof routes / sizeof routes[0])

const struct srv_route *srv_route_at(size_t number)
{
    return number < N_ROUTES ? &routes[number] : NULL;
}

size_t srv_route_number(const struct srv_route *route)
{
    return (size_t)(route - routes);
}

/* Segment by segment; a "*" matches one that is not empty. */
static bool matches(const char *pattern, const char *path, const char *end,
                    const char **param, size_t *n_param)
{
    while (*pattern != '\0') {
        if (*pattern == '*') {
            const char *start = path;

            while (path < end && *path != '/')
                path++;
            if (path == start)
                return false;
            *param = start;
            *n_param = (size_t)(path - start);
            pattern++;
        } else if (path == end || *path++ != *pattern++) {
            return false;
        }
    }
    return path == end;
}

const struct srv_route *srv_route_find(const char *path, size_t n_path,
                                       const char **param, size_t *n_param)
{
    for (size_t i = 0; i < N_ROUTES; i++) {
        *n_param = 0;
        if (matches(routes[i].path, path, path + n_path, param, n_param))
            return &routes[i];
    }
    *n_param = 0;
    return NULL;
}

bool srv_route_is_page(const struct srv_route *route)
{
    return route->call == SRV_CALL_PAGE_HOME ||
           route->call == SRV_CALL_PAGE_JOB;
}

bool srv_route_makes_job(const struct srv_route *route)
{
    return route->call >= SRV_CALL_PLANS && route->call <= SRV_CALL_REPORTS;
}

bool srv_route_derives(const struct srv_route *route)
{
    return route->call >= SRV_CALL_JOB_NODE &&
           route->call <= SRV_CALL_JOB_EXPORT;
}

bool srv_route_is_looking(const struct srv_route *route)
{
    return srv_route_derives(route) && route->call != SRV_CALL_WHAT_IF;
}

bool srv_route_works(const struct srv_route *route)
{
    return srv_route_makes_job(route) || srv_route_derives(route);
}

/* Of a group it is said who is missing instead; what is derived has no document
 * of its own to be kept with. */
bool srv_route_defers(const struct srv_route *route)
{
    return srv_route_makes_job(route) && route->call != SRV_CALL_GROUP;
}

bool srv_route_waits(const struct srv_route *route)
{
    return srv_route_works(route) || route->call == SRV_CALL_JOB ||
           route->call == SRV_CALL_JOB_PLAN;
}

unsigned srv_route_wait_s(const struct srv_route *route)
{
    if (srv_route_derives(route) || route->call == SRV_CALL_GROUP)
        return 60; /* there is no job to come back to */
    return srv_route_makes_job(route) ? 10 : 0;
}

bool srv_route_takes(const struct srv_route *route, const char *name, size_t n)
{
    if (strcmp(route->query, "*") == 0)
        return true;
    for (const char *at = route->query; *at == ',' && at[1] != '\0';) {
        const char *word = at + 1;
        const size_t n_word = strcspn(word, ",");

        if (n_word == n && memcmp(word, name, n) == 0)
            return true;
        at = word + n_word;
    }
    return false;
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

static const struct {
    enum srv_call call;
    const char *name;
} names[] = {
    {SRV_CALL_PLANS, "plan"},
    {SRV_CALL_FRONTIER, "frontier"},
    {SRV_CALL_BATCH, "batch"},
    {SRV_CALL_GROUP, "group"},
    {SRV_CALL_WHAT_IF, "what-if"},
    {SRV_CALL_REPORTS, "report"},
    /* not on disk */
    {SRV_CALL_JOB_NODE, "node"},
    {SRV_CALL_JOB_REPORT, "job-report"},
    {SRV_CALL_PAGE_JOB, "page"},
    {SRV_CALL_JOB_EXPORT, "export"},
};

#define N_NAMES (sizeof names / sizeof names[0])

const char *srv_call_name(enum srv_call call)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (names[i].call == call)
            return names[i].name;
    }
    return names[0].name;
}

enum srv_call srv_call_of(const char *name)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strcmp(name, names[i].name) == 0)
            return names[i].call;
    }
    return names[0].call;
}
