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
    uint64_t late_ns;            /* since when it is past a deadline, or 0 */
    int fd;
    bool has_ended; /* the client sends no more, seen at the last look */
    bool hung_up;   /* we have ended it while there was no request */
};

struct srv_registry {
    pthread_mutex_t lock;
    struct srv_conn *first;
    size_t n_connections;
    uint64_t n_handed; /* sockets given to the library, ever */
    uint64_t n_opened; /* of those, taken up by it */
    size_t n_counted; /* requests whose header was read and that are not over */
    uint64_t heartbeat_ns; /* how often a silent stream says something */
};

/* 0, or an errno. */
int srv_registry_init(struct srv_registry *registry, uint64_t heartbeat_ns);
void srv_registry_release(struct srv_registry *registry);

/* Counts a socket that the library will be given; false, and not counted, when
 * that would be more than `most` open or on their way. */
bool srv_registry_expect(struct srv_registry *registry, uint64_t most);
/* The library did not take it. */
void srv_registry_unexpect(struct srv_registry *registry);
/* A new connection; NULL without memory. */
struct srv_conn *srv_registry_open(struct srv_registry *registry, int fd,
                                   uint64_t deadline_ns);
/* Ends the oldest connection, whatever it is at, when `most` or more are open:
 * who connects and asks nothing must not keep out who asks. O(connections). */
void srv_registry_make_room(struct srv_registry *registry, size_t most);
/* Forgets and frees it. Before the descriptor is closed. */
void srv_registry_close(struct srv_registry *registry, struct srv_conn *conn);

/* The request line of a request has arrived: stage HEAD. False when the
 * connection was ended just before: then it is no request. */
bool srv_registry_begin(struct srv_registry *registry,
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
/*
 * As above to WAITING, among those who wait for its job (request->job), for
 * what request->awaits says. False when that has come to pass already: then it
 * is READY instead, and the caller resumes it.
 */
bool srv_registry_wait(struct srv_registry *registry,
                       struct srv_request *request, uint64_t deadline_ns);
/* To PARKED, within a response that is a stream. */
void srv_registry_park(struct srv_registry *registry,
                       struct srv_request *request);
/* Answers a request that has just begun with its problem, on the socket itself,
 * and ends the connection: stage CUT. */
void srv_registry_refuse(struct srv_registry *registry,
                         struct srv_request *request);
/* The same for every request whose header is not complete and for which
 * `is_bad` says so, after it has set the problem. In the HTTP thread.
 * O(connections). */
void srv_registry_refuse_if(struct srv_registry *registry,
                            bool (*is_bad)(struct srv_request *request));
/* A job has come to what the requests await: they, now READY and linked by
 * next. The caller resumes them. */
struct srv_request *srv_registry_release_waiters(struct srv_registry *registry,
                                                 struct srv_job *job,
                                                 enum srv_awaits what);
/* It will not come to SRV_AWAITS_ACK: the requests that awaited it are READY
 * with that problem, except those that can wait for the end of the job. */
struct srv_request *srv_registry_fail_acks(struct srv_registry *registry,
                                           struct srv_job *job,
                                           const struct proto_problem *problem);

size_t srv_registry_n_connections(struct srv_registry *registry);
/* Whether there is nothing to sweep: none open, and none on its way. */
bool srv_registry_is_quiet(struct srv_registry *registry);
size_t srv_registry_n_counted(struct srv_registry *registry);

/* What a sweep found: requests linked by next. They belong to the caller. */
struct srv_sweep {
    struct srv_request *resume; /* READY or streaming again: to be resumed, and
                                   parted from a job whose end they awaited */
    struct srv_request *defer;  /* their wait is over and their job goes on:
                                   still WAITING, for its ACK now */
};
/*
 * Looks at every connection: answers and shuts down what is past its deadline,
 * takes waiting requests whose wait is over, and, when `check_peers`, those
 * whose client has gone; shuts down what waits for a client that sends no more;
 * wakes streams. `stop`: takes every waiting request, refuses every other that
 * is not being answered yet. O(connections).
 */
struct srv_sweep srv_registry_sweep(struct srv_registry *registry,
                                    uint64_t now_ns, bool check_peers,
                                    bool stop);
/* Shuts every connection down: the last resort of a drain. */
void srv_registry_shutdown(struct srv_registry *registry);
/*
 * Ends every connection, and waits until the library has closed it; for seconds
 * at most. Nothing may be waiting; what is being read or answered still is, as
 * far as that goes. Before the library is stopped: a request that
 * it answers by itself, such as one whose header is too large, brings the
 * process down when it meets the stop, because the library leaves out the
 * response then and goes on to write it.
 */
void srv_registry_end_all(struct srv_registry *registry);

#endif
