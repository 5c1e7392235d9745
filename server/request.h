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

#include "answer.h"
#include "body.h"
#include "key.h"
#include "negotiate.h"
#include "proto.h"
#include "trace.h"

#define SRV_PRINCIPAL_SIZE 65

struct MHD_Connection;
struct srv_conn;
struct srv_job;
struct srv_principal;
struct srv_route;
struct srv_server;

/*
 *  HEAD -> BODY -> WAITING -> READY -> REPLY      waits for a job
 *  HEAD -> BODY -> REPLY                          answered at its end
 *  ... REPLY -> PARKED -> REPLY -> ...            a stream of events
 *  HEAD -> REPLY                                  refused before the body
 *  HEAD, BODY -> CUT                              too slow, or stopping
 *
 * with BUSY between HEAD, BODY and what follows.
 */
enum srv_stage {
    SRV_HEAD,    /* the request line is here, the header is not */
    SRV_BODY,    /* the header was accepted; the body arrives */
    SRV_BUSY,    /* the HTTP thread works on it */
    SRV_WAITING, /* suspended, until its job has come to what it awaits */
    SRV_READY,   /* resumed: to be answered */
    SRV_REPLY,   /* a response is on its way */
    SRV_PARKED,  /* suspended within a response: nothing new to say yet */
    SRV_CUT      /* answered past the library: close, say nothing more */
};

/* What a waiting request waits for. */
enum srv_awaits {
    SRV_AWAITS_END, /* the job is over */
    SRV_AWAITS_ACK  /* the job is on disk, so that 202 may be said */
};

enum srv_priority {
    SRV_INTERACTIVE,
    SRV_BATCH,
    SRV_N_PRIORITIES
};

#define SRV_REQUEST_ID_SIZE 65
#define SRV_METHOD_SIZE     24
#define SRV_PARAM_SIZE      129
/* Room for the name of a node, escaped; the library's buffer holds more. */
#define SRV_QUERY_MOST 30000U
#define SRV_MATCH_SIZE 513

struct srv_request {
    struct srv_server *server;
    struct MHD_Connection *connection;
    struct srv_conn *conn;
    struct srv_request *next;        /* of a list local to the loop thread */
    struct srv_request *next_waiter; /* of its job's, under the lock */

    enum srv_stage stage;
    uint64_t deadline_ns;
    struct srv_job *job; /* a reference */
    enum srv_awaits awaits;
    bool saw_end;       /* its job is over, and does not change any more */
    bool is_interested; /* the job runs for its sake, too: desk.h */
    bool has_joined;    /* a job that was there already */
    bool may_defer;     /* when the wait is over: 202, and the job goes on */
    uint64_t until_ns;  /* the deadline of its wait, to be */
    uint64_t last_resort_ns; /* until when an answer is sought if it cannot */

    char id[SRV_REQUEST_ID_SIZE];
    char method[SRV_METHOD_SIZE];       /* cut when longer: no method of ours */
    struct srv_principal *who;          /* who asks; a reference, or NULL */
    char principal[SRV_PRINCIPAL_SIZE]; /* his name, or "" */
    char challenge[96];                 /* WWW-Authenticate, "" for none */
    struct srv_trace trace;
    const struct srv_route *route;
    char param[SRV_PARAM_SIZE]; /* the segment "*" of the route, or "" */
    const char *query;          /* behind "?", or "" */
    char *query_bytes;          /* its memory, or NULL */
    const char *bad_uri;        /* why the URI is refused, or NULL */
    const char *uri_end;        /* behind the URI in the library's buffer */
    bool counted;               /* its header was read: a drain waits for it */

    struct proto_problem problem; /* what to answer, if kind is set */
    const char *outcome;          /* for the log, instead of its code */
    bool close;                   /* and end the connection */
    bool discard;                 /* the body is read and dropped */
    unsigned retry_after_s;       /* 0: no header */

    enum proto_format format;
    enum srv_priority priority;
    bool asked_wait;  /* the client said how long */
    bool asked_async; /* and that it does not wait at all */
    unsigned wait_s;
    char if_none_match[SRV_MATCH_SIZE]; /* "" for none */
    uint64_t last_event;                /* Last-Event-ID, 0 for none */
    struct srv_codings codings;         /* that the answer may be in */
    enum srv_coding coding;             /* of the body */
    struct srv_decoder *decoder;        /* NULL: the body comes as it is */
    struct srv_body body;
    struct srv_hash *hash; /* of what the answer depends on, as it arrives */
    struct srv_key key;

    struct srv_answer *answer; /* to be sent, if there is no problem */
    int success;               /* the status it is sent with; 0: 200 */
    bool no_content;           /* 204 */
    bool streams;              /* the events of its job */
    uint64_t event_sent;       /* of a stream: the last one written */
    uint64_t event_sent_ns;

    uint64_t started_ns;    /* the request line was complete */
    uint64_t body_since_ns; /* what the time for the body counts from */
    uint64_t received_bytes;
    uint64_t sent_bytes;
    int status; /* 0 until answered */
};

/* Refuses, unless refused already; printf-style. */
#define SRV_REFUSE(request, kind, ...) \
    proto_problem_set(&(request)->problem, (kind), NULL, __VA_ARGS__)

#endif
