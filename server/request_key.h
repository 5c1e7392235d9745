/*
 * request_key.h: under which key the answer to a request is found.
 */
#ifndef SRV_REQUEST_KEY_H
#define SRV_REQUEST_KEY_H

#include <stdbool.h>

#include "key.h"
#include "request.h"
#include "route.h"

/* What an answer depends on besides its document, which is hashed next; and who
 * may have it. */
void srv_key_begin(struct srv_hash *hash, const char *principal,
                   enum srv_call call, enum proto_format format);

/* The same for a request, whose document follows as it arrives. Without memory,
 * refuses it and returns false. */
bool srv_request_begin_key(struct srv_request *request);

#endif
