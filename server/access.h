/*
 * access.h: whether the one who asks may, before anything else is done for him.
 */
#ifndef SRV_ACCESS_H
#define SRV_ACCESS_H

#include <stdbool.h>

struct srv_request;
struct srv_route;

/* What the header said about who asks. */
struct srv_authorization {
    const char *value; /* of Authorization, NULL for none */
    bool is_twice;
};

/* The scope (enum srv_scope) that a call needs; 0: none, not even a token. */
unsigned srv_access_scope(const struct srv_route *route, const char *method);

/* Finds out who asks, whether he has the scope, and whether he asks too often.
 * True: request->who is a reference to him, and `principal` his name; both stay
 * empty when the call is open to all, and for a page that is asked for without
 * a token where one is needed. False: the request's problem is set, and
 * what the answer has to say about tokens. Any thread. */
bool srv_access_check(struct srv_request *request, const char *method,
                      const struct srv_authorization *said);

#endif
