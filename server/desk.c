/*
 * desk.c: the tables of living jobs; what any thread may ask of them.
 */
#include "desk.h"

#include <string.h>
#include <utlist.h>

#include "desk_parts.h"
#include "server.h"

int srv_desk_init(struct srv_desk *desk, struct srv_server *server,
                  uv_async_t *wake)
{
    *desk = (struct srv_desk){.server = server, .wake = wake};
    return pthread_mutex_init(&desk->lock, NULL);
}

void srv_desk_release(struct srv_desk *desk)
{
    struct srv_job *job;
    struct srv_job *next;

    HASH_ITER(by_id, desk->by_id, job, next)
    {
        HASH_DELETE(by_id, desk->by_id, job);
        srv_job_unref(job);
    }
    pthread_mutex_destroy(&desk->lock);
}

/* ---- any thread -------------------------------------------------------- */

struct srv_job *srv_desk_join(struct srv_desk *desk, const struct srv_key *key)
{
    struct srv_job *job = NULL;

    pthread_mutex_lock(&desk->lock);
    HASH_FIND(by_key, desk->by_key, key->bytes, sizeof key->bytes, job);
    if (job != NULL) {
        job->n_interested++;
        srv_job_ref(job);
    }
    pthread_mutex_unlock(&desk->lock);
    return job;
}

/* With the lock held. Twins exist after a restart only; then the first is in
 * the table. */
static void begin_merging(struct srv_desk *desk, struct srv_job *job)
{
    struct srv_job *twin = NULL;

    HASH_FIND(by_key, desk->by_key, job->key.bytes, sizeof job->key.bytes,
              twin);
    if (twin != NULL)
        return;
    job->is_lost = false;
    HASH_ADD(by_key, desk->by_key, key.bytes, sizeof job->key.bytes, job);
    job->is_merging = !job->is_lost;
}

/* With the lock held. */
void srv_desk_end_merging(struct srv_desk *desk, struct srv_job *job)
{
    if (job->is_merging)
        HASH_DELETE(by_key, desk->by_key, job);
    job->is_merging = false;
}

/* With the lock held. */
void srv_desk_add_alive(struct srv_desk *desk, struct srv_job *job)
{
    DL_APPEND2(desk->alive, job, previous_alive, next_alive);
    desk->n_alive++;
}

void srv_desk_open(struct srv_desk *desk, struct srv_job *job)
{
    pthread_mutex_lock(&desk->lock);
    job->n_interested = 1;
    begin_merging(desk, job);
    srv_desk_add_alive(desk, job);
    pthread_mutex_unlock(&desk->lock);
    srv_pool_submit(&desk->server->pool, srv_job_ref(job));
}

struct srv_job *srv_desk_find(struct srv_desk *desk, const char *id,
                              const char *owner)
{
    struct srv_job *job = NULL;

    pthread_mutex_lock(&desk->lock);
    HASH_FIND(by_id, desk->by_id, id, strlen(id), job);
    if (job != NULL && strcmp(job->owner, owner) != 0)
        job = NULL;
    if (job != NULL)
        srv_job_ref(job);
    pthread_mutex_unlock(&desk->lock);
    return job;
}

struct srv_job_view srv_desk_view(struct srv_desk *desk,
                                  const struct srv_job *job)
{
    struct srv_job_view view = {.created_ms = job->created_ms};

    view.n_before = srv_pool_n_before(&desk->server->pool, job);
    pthread_mutex_lock(&desk->lock);
    memcpy(view.id, job->id, sizeof view.id);
    view.state = job->state;
    view.started_ms = job->started_ms;
    view.finished_ms = job->finished_ms;
    view.attempts = job->attempts;
    pthread_mutex_unlock(&desk->lock);
    return view;
}

size_t srv_desk_running(struct srv_desk *desk, struct srv_running *jobs,
                        size_t most)
{
    const struct srv_job *job;
    size_t n = 0;

    pthread_mutex_lock(&desk->lock);
    for (job = desk->alive; job != NULL; job = job->next_alive) {
        if (job->state != SRV_STATE_RUNNING)
            continue;
        if (n == most)
            break;
        jobs[n] = (struct srv_running){
            .call = job->call,
            .created_ms = job->created_ms,
            .started_ms = job->started_ms,
            .phase = (enum proto_phase)atomic_load(&job->progress_phase),
            .done = atomic_load(&job->progress_done),
            .total = atomic_load(&job->progress_total),
        };
        memcpy(jobs[n].id, job->id, sizeof jobs[n].id);
        memcpy(jobs[n].owner, job->owner, sizeof jobs[n].owner);
        n++;
    }
    pthread_mutex_unlock(&desk->lock);
    return n;
}

size_t srv_desk_n_alive(struct srv_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    const size_t n_alive = desk->n_alive + desk->n_reading;
    pthread_mutex_unlock(&desk->lock);
    return n_alive;
}

bool srv_desk_is_idle(struct srv_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    const bool is_idle = desk->n_alive == 0 && desk->n_unsaved == 0;
    pthread_mutex_unlock(&desk->lock);
    return is_idle;
}

void srv_desk_mail(struct srv_desk *desk, struct srv_job *job,
                   enum srv_mail what)
{
    pthread_mutex_lock(&desk->lock);
    if (job->mail == 0) {
        job->next_mail = desk->mail;
        desk->mail = srv_job_ref(job);
    }
    job->mail |= (unsigned)what;
    pthread_mutex_unlock(&desk->lock);
    uv_async_send(desk->wake);
}
