/*
 * query.h: what stands behind "?" in a request target: NAME=VALUE&...
 */
#ifndef SRV_QUERY_H
#define SRV_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "route.h"

/* Makes the query of a request target that lies in the library's buffer empty,
 * once it was copied. The library would take it apart as well: a record for
 * each argument, in a buffer that is soon full, in time that grows with the
 * square. NULL is allowed. */
void srv_query_hide(const char *uri);

/* A query's value of that name, decoded (%XX, +), at most n_value - 1 bytes;
 * false when it is not there, or does not fit or decode. */
bool srv_query_value(const char *query, const char *name, char *value,
                     size_t n_value);

/* Whether the query holds NAME=. */
bool srv_query_has(const char *query, const char *name);
/* Whether the text is UTF-8, without surrogates and longer writings. */
bool srv_query_is_utf8(const char *text);

struct srv_query_fault {
    const char *name; /* in the query */
    size_t n_name;
    const char *what; /* is wrong with it */
};

/* The first name that the route does not know, that has no value, or that came
 * before; false when there is none. O(names^2); a query is short. */
bool srv_query_find_fault(const struct srv_route *route, const char *query,
                          struct srv_query_fault *fault);

#endif
