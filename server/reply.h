/*
 * reply.h: from what a request came to, to an HTTP response. The only place
 * that knows response headers.
 */
#ifndef SRV_REPLY_H
#define SRV_REPLY_H

#include <microhttpd.h>

#include "metrics.h"
#include "request.h"

/* Queues the response of a request: its problem, else its job's answer, else
 * what its route answers by itself. MHD_NO when the connection can only be
 * closed. In the HTTP thread. */
enum MHD_Result srv_reply_send(struct srv_request *request);

/* Where the answer of a request that asked for a plan came from. */
enum srv_cache_result srv_reply_source(const struct srv_request *request);
/* The line of a request in the log, once it is over. */
void srv_reply_log(const struct srv_request *request);

#endif
