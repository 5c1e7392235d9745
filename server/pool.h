/*
 * pool.h: admission, the bounded queues and the workers.
 *
 * The queues are ours because libuv's has no bound and no order to choose:
 * libuv gets as many jobs as there are workers, never more.
 *
 * Interactive jobs go first, but a batch job that has waited a while longer
 * goes before them: nobody starves.
 *
 * Threads: what comes after "loop thread" is called there only, the rest
 * anywhere. The pool's lock guards all that changes and is the only one held
 * then.
 */
#ifndef SRV_POOL_H
#define SRV_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "job.h"

struct srv_queue {
    struct srv_job *first; /* oldest */
    struct srv_job *last;
};

/* What an operator wants to know. */
struct srv_pool_state {
    size_t n_queued[SRV_N_PRIORITIES];
    size_t n_running;
    size_t n_workers;
    size_t capacity;    /* of the queue */
    uint64_t oldest_ns; /* when the oldest queued job came; 0: none */
};

struct srv_pool {
    pthread_mutex_t lock;
    struct srv_job *inbox; /* newest first */
    size_t n_reserved;     /* jobs between admission and their end */
    size_t capacity;
    size_t n_workers;
    double service_ms; /* moving average of how long a job takes */
    struct srv_queue queues[SRV_N_PRIORITIES];
    size_t n_queued[SRV_N_PRIORITIES];
    size_t n_running;

    uv_async_t *wake; /* told when something is in the inbox */
    uv_loop_t *loop;
    void (*begun)(struct srv_job *job); /* a worker takes it now */
    void (*done)(struct srv_job *job);  /* it is over; the reference goes on */
};

/* 0, or an errno. The async handle and its loop outlive the pool. */
int srv_pool_init(struct srv_pool *pool, size_t n_workers, size_t n_queued,
                  uv_async_t *wake, void (*begun)(struct srv_job *job),
                  void (*done)(struct srv_job *job));
void srv_pool_release(struct srv_pool *pool);

/* Admission: room for one more job? Then submit or unreserve. */
bool srv_pool_reserve(struct srv_pool *pool);
/* For a job that was admitted before a restart: in any case. */
void srv_pool_reserve_anyway(struct srv_pool *pool);
void srv_pool_unreserve(struct srv_pool *pool);
/* Whether reserve would say yes now. */
bool srv_pool_has_room(struct srv_pool *pool);
/* Hands a job over, with a reference that `done` gets. */
void srv_pool_submit(struct srv_pool *pool, struct srv_job *job);
/* Seconds after which there should be room, from how fast jobs are done; 1 to
 * 60. */
unsigned srv_pool_retry_after(struct srv_pool *pool);
struct srv_pool_state srv_pool_state(struct srv_pool *pool);
/* How many jobs will be taken before this one; 0 for the next, and for one
 * that is not queued. O(queue). */
size_t srv_pool_n_before(struct srv_pool *pool, const struct srv_job *job);

/* ---- loop thread ---- */

/* Moves submitted jobs to the queues and queued ones to free workers. */
void srv_pool_pump(struct srv_pool *pool);
/* Takes a job out of the queue: true, and the reference is the caller's. False
 * when it is not in it. */
bool srv_pool_remove(struct srv_pool *pool, struct srv_job *job);

#endif
