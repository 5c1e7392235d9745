/*
 * check.h: what a request must look like before anything else is done with it.
 *
 * libmicrohttpd 0.9.75 accepts requests on which two HTTP programs can disagree
 * where they end, and so can be made to see a request that a proxy in front did
 * not (request smuggling). All of those are refused here, at the first sight of
 * the header, and the connection is closed.
 */
#ifndef SRV_CHECK_H
#define SRV_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "request.h"
#include "route.h"

/* What the checks found out about a header on the way. */
struct srv_head {
    const char *method;
    const char *version;
    bool has_length;
    bool is_chunked;
    bool expects_continue;
    uint64_t length; /* of the body, when has_length */
};

/* Notes route, query and what is wrong with a raw request target ("/livez?x");
 * NULL when the request line had none. The library's buffer must stay. False
 * without memory. */
bool srv_check_uri(struct srv_request *request, const char *uri);

/*
 * All checks on a complete header. When one fails, the request's problem is
 * set, with `close` when the connection cannot be used any further and
 * otherwise with `discard`. Fills what the request asks for (format, wait).
 */
void srv_check_header(struct srv_request *request, struct srv_head *head);

#endif
