/*
 * request.h: one HTTP request from its request line to its last byte.
 *
 * Owned by http.c, which frees it when libmicrohttpd says that it is over. The
 * lock of registry.h guards `stage`, `deadline_ns` and `job`. Who may touch
 * everything else follows from the stage: the HTTP thread in BUSY, READY and
 * REPLY, and when the request is over; the loop thread, holding the lock, in
 * the others, in which the library waits for the client or for us.
 */
#ifndef SRV_REQUEST_H
#define SRV_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "body.h"
#include "proto.h"

struct MHD_Connection;
struct srv_conn;
struct srv_job;
struct srv_route;
struct srv_server;

/*
 *  HEAD -> BODY -> WAITING -> READY -> REPLY      a plan
 *  HEAD -> BODY -> REPLY                          answered at its end
 *  HEAD -> REPLY                                  refused before the body
 *  HEAD, BODY -> CUT                              too slow, or stopping
 *
 * with BUSY between HEAD, BODY and what follows.
 */
enum srv_stage {
    SRV_HEAD,    /* the request line is here, the header is not */
    SRV_BODY,    /* the header was accepted; the body arrives */
    SRV_BUSY,    /* the HTTP thread works on it */
    SRV_WAITING, /* suspended: a job is queued or running */
    SRV_READY,   /* resumed: to be answered */
    SRV_REPLY,   /* a response is on its way */
    SRV_CUT      /* answered past the library: close, say nothing more */
};

#define SRV_ID_SIZE     65
#define SRV_METHOD_SIZE 24

struct srv_request {
    struct srv_server *server;
    struct MHD_Connection *connection;
    struct srv_conn *conn;
    struct srv_request *next; /* of a list local to the loop thread */

    enum srv_stage stage;
    uint64_t deadline_ns;
    struct srv_job *job;

    char id[SRV_ID_SIZE];
    char method[SRV_METHOD_SIZE]; /* cut when longer: no method of ours */
    const struct srv_route *route;
    bool has_query;
    const char *bad_uri; /* why the URI is refused, or NULL */
    const char *uri_end; /* behind the URI in the library's buffer */
    bool counted;        /* its header was read: a drain waits for it */

    struct proto_problem problem; /* what to answer, if kind is set */
    const char *outcome;          /* for the log, instead of its code */
    bool close;                   /* and end the connection */
    bool discard;                 /* the body is read and dropped */
    unsigned retry_after_s;       /* 0: no header */

    enum proto_format format;
    bool asked_wait; /* the client said how long */
    unsigned wait_s;
    struct srv_body body;

    uint64_t started_ns;    /* the request line was complete */
    uint64_t body_since_ns; /* what the time for the body counts from */
    uint64_t received_bytes;
    uint64_t sent_bytes;
    int status; /* 0 until answered */
};

#endif
