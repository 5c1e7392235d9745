/*
 * pool.h: admission, the bounded queue and the workers.
 *
 * The queue is ours because libuv's has no bound and no order to choose: libuv
 * gets as many jobs as there are workers, never more.
 *
 * Threads: reserve, unreserve, submit and retry_after may be called anywhere;
 * the rest only in the loop thread. The pool's lock guards inbox and counts and
 * is the only one held then.
 */
#ifndef SRV_POOL_H
#define SRV_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "job.h"

struct srv_pool {
    pthread_mutex_t lock;
    struct srv_job *inbox; /* newest first */
    size_t n_reserved;     /* jobs between admission and their end */
    size_t capacity;
    size_t n_workers;
    double service_ms; /* moving average of how long a job takes */
    uv_async_t *wake;  /* told when something is in the inbox */

    /* Of the loop thread. */
    uv_loop_t *loop;
    void (*done)(struct srv_job *job); /* a job is over; takes it */
    struct srv_job *first;             /* the queue, oldest first */
    struct srv_job *last;
    size_t n_running;
};

/* 0, or an errno. The loop and its async handle outlive the pool. */
int srv_pool_init(struct srv_pool *pool, size_t n_workers, size_t n_queued,
                  uv_loop_t *loop, uv_async_t *wake,
                  void (*done)(struct srv_job *job));
void srv_pool_release(struct srv_pool *pool);

/* Admission: room for one more job? Then submit or unreserve. */
bool srv_pool_reserve(struct srv_pool *pool);
void srv_pool_unreserve(struct srv_pool *pool);
/* Whether reserve would say yes now. */
bool srv_pool_has_room(struct srv_pool *pool);
/* Hands a job over; the pool owns it until `done`. */
void srv_pool_submit(struct srv_pool *pool, struct srv_job *job);
/* Seconds after which there should be room, from how fast jobs are done; 1 to
 * 60. */
unsigned srv_pool_retry_after(struct srv_pool *pool);

/* Moves submitted jobs to the queue and queued ones to free workers. */
void srv_pool_pump(struct srv_pool *pool);
/* Nobody waits for the job any more: a queued one is freed at once, a running
 * one is told and freed when it has stopped. */
void srv_pool_cancel(struct srv_pool *pool, struct srv_job *job);

#endif
