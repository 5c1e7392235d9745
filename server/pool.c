/*
 * pool.c: a job goes inbox -> queue -> libuv -> done.
 */
#include "pool.h"

#include "clock.h"
#include "server.h"

/* How much later an interactive job may come and still go first. */
#define AGEING_NS (UINT64_C(10) * SRV_NS_PER_S)

int srv_pool_init(struct srv_pool *pool, size_t n_workers, size_t n_queued,
                  uv_async_t *wake, void (*begun)(struct srv_job *job),
                  void (*done)(struct srv_job *job))
{
    *pool = (struct srv_pool){
        .capacity = n_workers + n_queued,
        .n_workers = n_workers,
        .wake = wake,
        .loop = wake->loop,
        .begun = begun,
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

void srv_pool_reserve_anyway(struct srv_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->n_reserved++;
    pthread_mutex_unlock(&pool->lock);
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

/* When a job came, as far as its turn is concerned. */
static uint64_t turn_ns(const struct srv_job *job)
{
    return job->queued_ns + (job->priority == SRV_INTERACTIVE ? 0 : AGEING_NS);
}

struct srv_pool_state srv_pool_state(struct srv_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct srv_pool_state state = {.n_running = pool->n_running,
                                   .n_workers = pool->n_workers,
                                   .capacity =
                                       pool->capacity - pool->n_workers};
    for (int i = 0; i < SRV_N_PRIORITIES; i++) {
        const struct srv_job *first = pool->queues[i].first;

        state.n_queued[i] = pool->n_queued[i];
        if (first != NULL &&
            (state.oldest_ns == 0 || first->queued_ns < state.oldest_ns))
            state.oldest_ns = first->queued_ns;
    }
    pthread_mutex_unlock(&pool->lock);
    return state;
}

size_t srv_pool_n_before(struct srv_pool *pool, const struct srv_job *job)
{
    size_t n = 0;

    pthread_mutex_lock(&pool->lock);
    for (int i = 0; job->is_queued && i < SRV_N_PRIORITIES; i++) {
        const struct srv_job *other = pool->queues[i].first;

        for (; other != NULL && other != job; other = other->next)
            n += turn_ns(other) <= turn_ns(job);
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

/* ---- loop thread: with the lock held ----------------------------------- */

static void queue_append(struct srv_pool *pool, struct srv_job *job)
{
    struct srv_queue *queue = &pool->queues[job->priority];

    job->next = NULL;
    job->previous = queue->last;
    if (queue->last != NULL)
        queue->last->next = job;
    else
        queue->first = job;
    queue->last = job;
    job->is_queued = true;
    pool->n_queued[job->priority]++;
}

static void queue_remove(struct srv_pool *pool, struct srv_job *job)
{
    struct srv_queue *queue = &pool->queues[job->priority];

    if (job->previous != NULL)
        job->previous->next = job->next;
    else
        queue->first = job->next;
    if (job->next != NULL)
        job->next->previous = job->previous;
    else
        queue->last = job->previous;
    job->next = NULL;
    job->previous = NULL;
    job->is_queued = false;
    pool->n_queued[job->priority]--;
    if (job->has_place)
        srv_place_give(&job->who->n_queued);
    job->has_place = false;
}

/* The whole inbox at once: wake-ups coalesce. It is newest first. */
static void empty_inbox(struct srv_pool *pool)
{
    struct srv_job *oldest = NULL;
    struct srv_job *job = pool->inbox;

    pool->inbox = NULL;
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

/* Whether one more job of its owner may run. */
static bool may_run(const struct srv_job *job)
{
    const uint64_t most =
        job->who == NULL ? 0 : atomic_load(&job->who->running);

    return most == 0 || atomic_load(&job->who->n_running) < most;
}

/* The first whose owner may run one more. O(jobs of who may not). */
static struct srv_job *next_job(const struct srv_pool *pool)
{
    struct srv_job *best = NULL;

    for (int i = 0; i < SRV_N_PRIORITIES; i++) {
        struct srv_job *job = pool->queues[i].first;

        while (job != NULL && !may_run(job))
            job = job->next;
        if (job != NULL && (best == NULL || turn_ns(job) < turn_ns(best)))
            best = job;
    }
    return best;
}

/* ---- loop thread ------------------------------------------------------- */

static void run_work(uv_work_t *work)
{
    srv_job_run(work->data);
}

/* The job for a free worker, now counted as running; NULL when there is no
 * worker or no job. */
static struct srv_job *take_next(struct srv_pool *pool)
{
    struct srv_job *job = NULL;

    pthread_mutex_lock(&pool->lock);
    empty_inbox(pool);
    if (pool->n_running < pool->n_workers)
        job = next_job(pool);
    if (job != NULL) {
        queue_remove(pool, job);
        pool->n_running++;
        if (job->who != NULL)
            (void)srv_place_take(&job->who->n_running, 0);
    }
    pthread_mutex_unlock(&pool->lock);
    return job;
}

static void after_work(uv_work_t *work, int status);

void srv_pool_pump(struct srv_pool *pool)
{
    struct srv_job *job;

    while ((job = take_next(pool)) != NULL) {
        job->work.data = job;
        pool->begun(job);
        /* Fails only without a work callback. */
        (void)uv_queue_work(pool->loop, &job->work, run_work, after_work);
    }
}

bool srv_pool_remove(struct srv_pool *pool, struct srv_job *job)
{
    pthread_mutex_lock(&pool->lock);
    empty_inbox(pool); /* so that it is in the queue, if it is not running */
    const bool was_queued = job->is_queued;
    if (was_queued) {
        queue_remove(pool, job);
        pool->n_reserved--;
    }
    pthread_mutex_unlock(&pool->lock);
    return was_queued;
}

static void note_end(struct srv_pool *pool, const struct srv_job *job)
{
    const double ms = (double)(job->finished_ns - job->started_ns) / 1e6;

    pthread_mutex_lock(&pool->lock);
    pool->n_running--;
    pool->n_reserved--;
    if (job->who != NULL)
        srv_place_give(&job->who->n_running);
    pool->service_ms += (ms - pool->service_ms) / 8.0;
    pthread_mutex_unlock(&pool->lock);
}

/* A worker is done with a job: take the next, then pass this one on. */
static void after_work(uv_work_t *work, int status)
{
    struct srv_job *job = work->data;
    struct srv_pool *pool = &job->server->pool;

    (void)status; /* nothing here calls uv_cancel */
    note_end(pool, job);
    srv_pool_pump(pool);
    pool->done(job);
}
