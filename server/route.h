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
    SRV_CALL_VERSION,
    SRV_CALL_PLANS,
    SRV_CALL_FRONTIER,
    SRV_CALL_UNBUILT /* of the contract, not of this version */
};

struct srv_route {
    const char *path;    /* "*" stands for one segment */
    const char *methods; /* as Allow says it */
    enum srv_call call;
};

/* The route of a path (without query), or NULL. O(routes). */
const struct srv_route *srv_route_find(const char *path, size_t n_path);
/* Whether the call takes a graph document and makes a job of it. */
bool srv_route_takes_graph(const struct srv_route *route);
/* Whether the route has that method. */
bool srv_route_allows(const struct srv_route *route, const char *method);

#endif
