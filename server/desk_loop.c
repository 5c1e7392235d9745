/*
 * desk_loop.c: what reaches the loop thread: mail, workers, time.
 */
#include <string.h>

#include "clock.h"
#include "compose.h"
#include "desk_parts.h"
#include "failpoint.h"
#include "log.h"
#include "server.h"

#define RETRY_SAVE_NS (UINT64_C(5) * SRV_NS_PER_S)

/* ---- loop thread: mail ------------------------------------------------- */

static void on_acked(struct srv_desk *desk, struct srv_job *job)
{
    srv_fail_point(SRV_FAIL_JOB_ACKED);
    job->was_acked = true;
    srv_desk_resume(srv_registry_release_waiters(&desk->server->registry, job,
                                                 SRV_AWAITS_ACK));
}

static void on_saved_mail(struct srv_desk *desk, struct srv_job *job)
{
    srv_fail_point(SRV_FAIL_JOB_SAVED);
    pthread_mutex_lock(&desk->lock);
    if (job->is_unsaved)
        desk->n_unsaved--;
    job->is_unsaved = false;
    pthread_mutex_unlock(&desk->lock);
    srv_desk_reveal(desk, job);
    srv_fail_point(SRV_FAIL_JOB_TOLD);
}

/* The client is answered all the same: run again, it would end the same. It
 * stays in the table, and is written when that works again; unless it could not
 * be kept at all. */
static void on_save_failed(struct srv_desk *desk, struct srv_job *job)
{
    if (job->is_unsaved)
        srv_log_event("warn", "unsaved", "job_id", job->id);
    srv_desk_reveal(desk, job);
}

/* On a thread of the pool that is never busy with plans: there is one more than
 * workers. */
static void read_record(uv_work_t *work)
{
    struct srv_job *ticket = work->data;
    struct srv_server *server = ticket->server;
    char id[SRV_JOB_ID_SIZE];
    enum srv_store_result result;

    memcpy(id, ticket->record.id, sizeof id);
    result = srv_store_get_job(server->store, id, ticket->read_with,
                               &ticket->record);
    if (result != SRV_STORE_OK) {
        proto_problem_set(&ticket->problem,
                          result == SRV_STORE_REMOVED ? PROTO_GONE
                                                      : PROTO_STORE,
                          NULL, "the job cannot be read from the store now");
        return;
    }
    ticket->charged_bytes = ticket->record.body_length;
    if (ticket->record.answer != NULL)
        ticket->charged_bytes += ticket->record.answer->length;
    srv_budget_charge(&server->budget, ticket->charged_bytes);
    if (ticket->composes)
        srv_compose(ticket);
}

static void after_read(uv_work_t *work, int status)
{
    struct srv_job *ticket = work->data;
    struct srv_desk *desk = &ticket->server->desk;

    (void)status; /* nothing here calls uv_cancel */
    desk->n_reading--;
    srv_desk_reveal(desk, ticket);
    srv_job_unref(ticket);
}

static void begin_read(struct srv_desk *desk, struct srv_job *ticket)
{
    ticket->work.data = srv_job_ref(ticket);
    desk->n_reading++;
    /* Fails only without a work callback. */
    (void)uv_queue_work(desk->server->pool.loop, &ticket->work, read_record,
                        after_read);
}

static void read_letter(struct srv_desk *desk, struct srv_job *job,
                        unsigned mail)
{
    if ((mail & SRV_MAIL_KEEP) != 0)
        srv_desk_keep(desk, job);
    if ((mail & SRV_MAIL_ACKED) != 0)
        on_acked(desk, job);
    if ((mail & SRV_MAIL_ACK_FAILED) != 0)
        srv_desk_fail_keep(desk, job, SRV_STORE_FAILED);
    if ((mail & SRV_MAIL_ACK_FULL) != 0)
        srv_desk_fail_keep(desk, job, SRV_STORE_FULL);
    if ((mail & SRV_MAIL_CANCEL) != 0 && !job->is_over)
        srv_desk_end(desk, job, SRV_STOP_CANCELED);
    if ((mail & SRV_MAIL_DECIDED) != 0)
        srv_desk_end_group(desk, job);
    if ((mail & SRV_MAIL_READ) != 0)
        begin_read(desk, job);
    if ((mail & SRV_MAIL_OVER) != 0)
        srv_desk_reveal(desk, job);
    if ((mail & SRV_MAIL_SAVED) != 0)
        on_saved_mail(desk, job);
    if ((mail & SRV_MAIL_SAVE_FAILED) != 0)
        on_save_failed(desk, job);
}

void srv_desk_read(struct srv_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    struct srv_job *job = desk->mail;
    desk->mail = NULL;
    pthread_mutex_unlock(&desk->lock);
    while (job != NULL) {
        pthread_mutex_lock(&desk->lock);
        struct srv_job *next = job->next_mail;
        const unsigned mail = job->mail;
        job->next_mail = NULL;
        job->mail = 0;
        pthread_mutex_unlock(&desk->lock);
        read_letter(desk, job, mail);
        srv_job_unref(job);
        job = next;
    }
}

/* ---- loop thread: time ------------------------------------------------- */

void srv_desk_begun(struct srv_job *job)
{
    struct srv_desk *desk = &job->server->desk;

    pthread_mutex_lock(&desk->lock);
    job->state = SRV_STATE_RUNNING;
    job->started_ms = srv_wall_ms();
    job->attempts++;
    job->begun_ns = srv_now_ns();
    pthread_mutex_unlock(&desk->lock);
    atomic_fetch_add(&job->event, 1);
    srv_fail_point(SRV_FAIL_JOB_BEGUN);
    if (job->is_kept)
        (void)srv_store_start_job(desk->server->store, job->id, job->started_ms,
                                  NULL, NULL);
}

/* A living job whose time is over, or NULL. O(living jobs). */
static struct srv_job *find_late(struct srv_desk *desk, uint64_t now_ns)
{
    const struct srv_config *config = &desk->server->config;
    const uint64_t queue_ns = config->queue_timeout * SRV_NS_PER_S;
    const uint64_t run_ns = config->run_timeout * SRV_NS_PER_S;
    const uint64_t group_ns = config->group_timeout * SRV_NS_PER_S;
    struct srv_job *late = NULL;
    struct srv_job *job;

    pthread_mutex_lock(&desk->lock);
    for (job = desk->alive; job != NULL && late == NULL;
         job = job->next_alive) {
        const uint64_t wait_ns = job->is_in_group ? group_ns : queue_ns;
        const uint64_t end_ns = job->begun_ns == 0 ? job->queued_ns + wait_ns
                                                   : job->begun_ns + run_ns;

        if (job->stop == SRV_STOP_NONE && now_ns >= end_ns)
            late = job;
    }
    pthread_mutex_unlock(&desk->lock);
    return late;
}

/* Ends that could not be written are written again. */
static void save_again(struct srv_desk *desk)
{
    struct srv_job *job;
    struct srv_job *next;

    HASH_ITER(by_id, desk->by_id, job, next)
    {
        /* cppcheck-suppress uninitvar */
        if (job->is_unsaved && job->is_over)
            srv_desk_save_end(desk, job);
    }
}

/* One of the living jobs if all of them wait for ranks, else NULL. */
static struct srv_job *find_parked(struct srv_desk *desk)
{
    struct srv_job *job;
    bool are_all = true;

    pthread_mutex_lock(&desk->lock);
    for (job = desk->alive; job != NULL; job = job->next_alive)
        are_all = are_all && srv_groups_is_parked(job);
    job = are_all ? desk->alive : NULL;
    pthread_mutex_unlock(&desk->lock);
    return job;
}

/* No rank can come any more: there is nothing to wait for. */
static void stop_parked(struct srv_desk *desk)
{
    struct srv_job *job;

    while ((job = find_parked(desk)) != NULL)
        srv_desk_end(desk, job, SRV_STOP_SHUTDOWN);
}

void srv_desk_tick(struct srv_desk *desk, uint64_t now_ns)
{
    struct srv_job *job;

    srv_groups_tick(&desk->server->groups, now_ns);
    if (srv_is_draining(desk->server))
        stop_parked(desk);
    while ((job = find_late(desk, now_ns)) != NULL)
        srv_desk_end(desk, job, SRV_STOP_EXPIRED);
    if (desk->n_unsaved > 0 && now_ns - desk->saved_ns >= RETRY_SAVE_NS) {
        desk->saved_ns = now_ns;
        save_again(desk);
    }
}

void srv_desk_stop(struct srv_desk *desk)
{
    struct srv_job *job;

    do {
        pthread_mutex_lock(&desk->lock);
        for (job = desk->alive; job != NULL && job->stop != SRV_STOP_NONE;)
            job = job->next_alive;
        pthread_mutex_unlock(&desk->lock);
        if (job != NULL)
            srv_desk_end(desk, job, SRV_STOP_SHUTDOWN);
    } while (job != NULL);
}
