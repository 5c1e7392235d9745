/*
 * route.h: which calls there are.
 */
#ifndef SRV_ROUTE_H
#define SRV_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

enum srv_call {
    SRV_CALL_LIVEZ,
    SRV_CALL_READYZ,
    SRV_CALL_METRICS,
    SRV_CALL_OPS,
    SRV_CALL_VERSION,
    /* take a document and make a job of it */
    SRV_CALL_PLANS,
    SRV_CALL_FRONTIER,
    SRV_CALL_BATCH,
    SRV_CALL_GROUP,
    SRV_CALL_WHAT_IF,
    SRV_CALL_REPORTS,
    /* look at what there is */
    SRV_CALL_PLAN_OF_DIGEST,
    SRV_CALL_JOBS,
    SRV_CALL_JOB,
    SRV_CALL_JOB_PLAN,
    SRV_CALL_JOB_GRAPH,
    SRV_CALL_JOB_EVENTS,
    /* work something out about a job: srv_route_derives */
    SRV_CALL_JOB_NODE,
    SRV_CALL_JOB_REPORT,
    SRV_CALL_PAGE_JOB,
    SRV_CALL_JOB_EXPORT,
    /* and the rest */
    SRV_CALL_OPENAPI,
    SRV_CALL_PAGE_HOME,
    SRV_CALL_ASSET
};

struct srv_route {
    const char *path;    /* "*" stands for one segment */
    const char *methods; /* as Allow says it */
    enum srv_call call;
    const char *query; /* names a query may hold, between commas: ",limit,";
                          "*" for any, which are passed over */
};

/* The route of a path (without query), or NULL; what "*" stood for begins at
 * *param and has *n_param bytes. O(routes). */
const struct srv_route *srv_route_find(const char *path, size_t n_path,
                                       const char **param, size_t *n_param);
/* All routes by number, from 0; NULL behind the last. */
const struct srv_route *srv_route_at(size_t number);
size_t srv_route_number(const struct srv_route *route);
/* Whether the call answers with a page for people, problems included. */
bool srv_route_is_page(const struct srv_route *route);
/* Whether the call takes a document and makes a job of it. */
bool srv_route_makes_job(const struct srv_route *route);
/* Whether the call works something out about another job's document: with a
 * job of its own that nobody is told of, and that ends with who waits. */
bool srv_route_derives(const struct srv_route *route);
/* Of these the calls that make no job of their own. */
bool srv_route_is_looking(const struct srv_route *route);
/* Whether it does either. */
bool srv_route_works(const struct srv_route *route);
/* Whether a job of the call goes on as one with an id when the wait is over. */
bool srv_route_defers(const struct srv_route *route);
/* Whether a call heeds Prefer: wait. */
bool srv_route_waits(const struct srv_route *route);
/* How many seconds it waits if the client does not say. */
unsigned srv_route_wait_s(const struct srv_route *route);
/* Whether a query may hold that name. */
bool srv_route_takes(const struct srv_route *route, const char *name, size_t n);
/* Whether the route has that method. */
bool srv_route_allows(const struct srv_route *route, const char *method);

/* The word for a call that works ("plan"), which is on disk for those that make
 * jobs, and back. Another text is that of a plan. */
const char *srv_call_name(enum srv_call call);
enum srv_call srv_call_of(const char *name);

#endif
