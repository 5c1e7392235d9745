/*
 * calls.h: what each call does once its request is here. In the HTTP thread.
 */
#ifndef SRV_CALLS_H
#define SRV_CALLS_H

#include <stdbool.h>

#include "request.h"

enum srv_step {
    SRV_STEP_REPLY, /* the request has its answer or problem */
    SRV_STEP_WAIT   /* for request->job, until request->until_ns */
};

/* The request and its body are complete and without a problem. */
enum srv_step srv_call_begin(struct srv_request *request);
/* What a request waited for has come, or its wait is over. It may have to wait
 * again. */
enum srv_step srv_call_end(struct srv_request *request);

#endif
