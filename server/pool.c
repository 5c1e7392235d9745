/*
 * pool.c: a job goes inbox -> queue -> libuv -> done.
 */
#include "pool.h"

#include "clock.h"
#include "server.h"

int srv_pool_init(struct srv_pool *pool, size_t n_workers, size_t n_queued,
                  uv_loop_t *loop, uv_async_t *wake,
                  void (*done)(struct srv_job *job))
{
    *pool = (struct srv_pool){
        .capacity = n_workers + n_queued,
        .n_workers = n_workers,
        .wake = wake,
        .loop = loop,
        .done = done,
    };
    return pthread_mutex_init(&pool->lock, NULL);
}

void srv_pool_release(struct srv_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
}

bool srv_pool_reserve(struct srv_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const bool has_room = pool->n_reserved < pool->capacity;
    if (has_room)
        pool->n_reserved++;
    pthread_mutex_unlock(&pool->lock);
    return has_room;
}

void srv_pool_unreserve(struct srv_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->n_reserved--;
    pthread_mutex_unlock(&pool->lock);
}

bool srv_pool_has_room(struct srv_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const bool has_room = pool->n_reserved < pool->capacity;
    pthread_mutex_unlock(&pool->lock);
    return has_room;
}

void srv_pool_submit(struct srv_pool *pool, struct srv_job *job)
{
    pthread_mutex_lock(&pool->lock);
    job->next = pool->inbox;
    pool->inbox = job;
    pthread_mutex_unlock(&pool->lock);
    uv_async_send(pool->wake);
}

unsigned srv_pool_retry_after(struct srv_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const double wait_ms =
        (double)pool->n_reserved * pool->service_ms / (double)pool->n_workers;
    pthread_mutex_unlock(&pool->lock);
    if (wait_ms >= 59000.0)
        return 60;
    return 1 + (unsigned)(wait_ms / 1000.0);
}

/* ---- loop thread ------------------------------------------------------- */

static void queue_append(struct srv_pool *pool, struct srv_job *job)
{
    job->next = NULL;
    job->previous = pool->last;
    if (pool->last != NULL)
        pool->last->next = job;
    else
        pool->first = job;
    pool->last = job;
}

static void queue_remove(struct srv_pool *pool, struct srv_job *job)
{
    if (job->previous != NULL)
        job->previous->next = job->next;
    else
        pool->first = job->next;
    if (job->next != NULL)
        job->next->previous = job->previous;
    else
        pool->last = job->previous;
    job->next = NULL;
    job->previous = NULL;
}

/* The whole inbox at once: wake-ups coalesce. It is newest first. */
static void empty_inbox(struct srv_pool *pool)
{
    struct srv_job *oldest = NULL;

    pthread_mutex_lock(&pool->lock);
    struct srv_job *job = pool->inbox;
    pool->inbox = NULL;
    pthread_mutex_unlock(&pool->lock);
    while (job != NULL) {
        struct srv_job *next = job->next;

        job->next = oldest;
        oldest = job;
        job = next;
    }
    while (oldest != NULL) {
        struct srv_job *next = oldest->next;

        queue_append(pool, oldest);
        oldest = next;
    }
}

static void run_work(uv_work_t *work)
{
    srv_job_run(work->data);
}

static void note_service_time(struct srv_pool *pool, const struct srv_job *job)
{
    const double ms = (double)(job->finished_ns - job->started_ns) / 1e6;

    pthread_mutex_lock(&pool->lock);
    pool->n_reserved--;
    pool->service_ms += (ms - pool->service_ms) / 8.0;
    pthread_mutex_unlock(&pool->lock);
}

static void after_work(uv_work_t *work, int status);

static void start(struct srv_pool *pool, struct srv_job *job)
{
    job->work.data = job;
    job->running = true;
    pool->n_running++;
    /* Fails only without a work callback. */
    (void)uv_queue_work(pool->loop, &job->work, run_work, after_work);
}

static void start_queued(struct srv_pool *pool)
{
    while (pool->first != NULL && pool->n_running < pool->n_workers) {
        struct srv_job *job = pool->first;

        queue_remove(pool, job);
        start(pool, job);
    }
}

void srv_pool_pump(struct srv_pool *pool)
{
    empty_inbox(pool);
    start_queued(pool);
}

void srv_pool_cancel(struct srv_pool *pool, struct srv_job *job)
{
    empty_inbox(pool); /* so that it is in the queue, if it is not running */
    atomic_store(&job->cancelled, true);
    if (job->running)
        return;
    queue_remove(pool, job);
    srv_pool_unreserve(pool);
    srv_job_free(job);
}

/* A worker is done with a job: take the next, then pass this one on. */
static void after_work(uv_work_t *work, int status)
{
    struct srv_job *job = work->data;
    struct srv_pool *pool = &job->server->pool;

    (void)status; /* nothing here calls uv_cancel */
    job->running = false;
    pool->n_running--;
    note_service_time(pool, job);
    start_queued(pool);
    pool->done(job);
}
