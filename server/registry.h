/*
 * registry.h: all open connections, and what happens to those that take too
 * long.
 *
 * libmicrohttpd only knows an idle timeout, which a byte a second defeats, and
 * does not look at suspended connections at all. So every connection has an
 * absolute deadline here, and the loop thread enforces it: srv_registry_sweep.
 *
 * Threads: the HTTP thread opens, moves and closes; the loop thread sweeps. One
 * lock guards lists, stages and deadlines. It is held for moments only, and no
 * other lock is taken while it is held.
 *
 * Note SHUTDOWN. The loop thread may shut a socket down because it is in the
 * list: the HTTP thread takes it out (srv_registry_close) before the library
 * closes the descriptor. It may even write an answer to it, in the stages HEAD
 * and BODY, in which the library writes nothing; stage CUT then keeps the
 * library silent.
 */
#ifndef SRV_REGISTRY_H
#define SRV_REGISTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request.h"

struct srv_conn {
    struct srv_conn *next;
    struct srv_conn *previous;
    struct srv_request *request; /* NULL between requests */
    uint64_t deadline_ns;        /* while there is no request */
    int fd;
    bool has_ended; /* the client sends no more, seen at the last look */
};

struct srv_registry {
    pthread_mutex_t lock;
    struct srv_conn *first;
    size_t n_connections;
    uint64_t n_opened; /* ever */
    size_t n_counted; /* requests whose header was read and that are not over */
};

/* 0, or an errno. */
int srv_registry_init(struct srv_registry *registry);
void srv_registry_release(struct srv_registry *registry);

/* A new connection; NULL without memory. */
struct srv_conn *srv_registry_open(struct srv_registry *registry, int fd,
                                   uint64_t deadline_ns);
/* Forgets and frees it. Before the descriptor is closed. */
void srv_registry_close(struct srv_registry *registry, struct srv_conn *conn);

/* The request line of a request has arrived: stage HEAD. */
void srv_registry_begin(struct srv_registry *registry,
                        struct srv_request *request,
                        uint64_t header_timeout_ns);
/* The request is over; afterwards nothing here points to it. The stage it ended
 * in. */
enum srv_stage srv_registry_end(struct srv_registry *registry,
                                struct srv_request *request,
                                uint64_t idle_deadline_ns);

/* The HTTP thread turns to a request: the stage it was in, which HEAD and BODY
 * leave for BUSY, so that nobody cuts it meanwhile. */
enum srv_stage srv_registry_take(struct srv_registry *registry,
                                 struct srv_request *request);
/* Moves a taken request on. */
void srv_registry_move(struct srv_registry *registry,
                       struct srv_request *request, enum srv_stage stage,
                       uint64_t deadline_ns);
/* As above to WAITING, and ties request and job together. */
void srv_registry_wait(struct srv_registry *registry,
                       struct srv_request *request, struct srv_job *job,
                       uint64_t deadline_ns);
/* Answers a request that has just begun with its problem, on the socket itself,
 * and ends the connection: stage CUT. */
void srv_registry_refuse(struct srv_registry *registry,
                         struct srv_request *request);
/* A job is over: its request, now READY, or NULL when nobody waits any more.
 * The caller resumes it. */
struct srv_request *srv_registry_finish(struct srv_registry *registry,
                                        const struct srv_job *job);

size_t srv_registry_n_connections(struct srv_registry *registry);
/* Whether there is nothing to sweep: none open, and of n_handed sockets given
 * to the library none still on its way here. */
bool srv_registry_is_quiet(struct srv_registry *registry, uint64_t n_handed);
size_t srv_registry_n_counted(struct srv_registry *registry);

/* What a sweep found. Both lists belong to the caller, who resumes the requests
 * and cancels the jobs. */
struct srv_sweep {
    struct srv_request *resume; /* READY, linked by next */
    struct srv_job *cancel;     /* without request, linked by `next` */
};
/*
 * Looks at every connection: answers and shuts down what is past its deadline,
 * takes waiting requests whose wait is over, and, when `check_peers`, those
 * whose client has gone; shuts down what waits for a client that sends no more.
 * `stop`: takes every waiting request, refuses every other that is not being
 * answered yet. O(connections).
 */
struct srv_sweep srv_registry_sweep(struct srv_registry *registry,
                                    uint64_t now_ns, bool check_peers,
                                    bool stop);
/* Shuts every connection down: the last resort of a drain. */
void srv_registry_shutdown(struct srv_registry *registry);

#endif
