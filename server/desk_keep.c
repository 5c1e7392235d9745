/*
 * desk_keep.c: jobs whose id is known: into the store, and out of it after a
 * restart.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "desk_parts.h"
#include "failpoint.h"
#include "http.h"
#include "route.h"
#include "server.h"

/* Of the store's thread, with a reference: told by mail. */
static void on_stored(void *context, enum srv_store_result result)
{
    struct srv_job *job = context;

    srv_desk_mail(&job->server->desk, job,
                  result == SRV_STORE_OK     ? SRV_MAIL_ACKED
                  : result == SRV_STORE_FULL ? SRV_MAIL_ACK_FULL
                                             : SRV_MAIL_ACK_FAILED);
    srv_job_unref(job);
}

static bool make_id(char id[SRV_JOB_ID_SIZE])
{
    unsigned char bytes[(SRV_JOB_ID_SIZE - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    srv_hex(bytes, sizeof bytes, id);
    return true;
}

/* Into the table of ids. False when it cannot be. */
static bool list(struct srv_desk *desk, struct srv_job *job)
{
    bool done = true;

    pthread_mutex_lock(&desk->lock);
    if (job->id[0] == '\0')
        done = make_id(job->id);
    if (done && !job->is_listed) {
        job->is_lost = false;
        HASH_ADD(by_id, desk->by_id, id, SRV_JOB_ID_SIZE - 1, job);
        done = !job->is_lost;
        job->is_listed = done;
        if (done)
            srv_job_ref(job);
    }
    job->is_kept = done;
    pthread_mutex_unlock(&desk->lock);
    return done;
}

/* Requests that will not be answered with this job. */
static void give_up(struct srv_desk *desk, struct srv_job *job,
                    const struct srv_request *ready)
{
    while (ready != NULL) {
        const struct srv_request *next = ready->next;

        if (ready->is_interested && !job->is_over)
            srv_desk_leave(desk, job);
        srv_http_resume(ready);
        ready = next;
    }
}

/* Its end, if it has one already, has no record to be written to: it is told
 * now, and does not count as one that is still to be written. */
static void unkeep(struct srv_desk *desk, struct srv_job *job,
                   const struct proto_problem *problem)
{
    bool was_listed;
    bool was_unsaved;

    pthread_mutex_lock(&desk->lock);
    was_listed = job->is_listed;
    if (was_listed)
        HASH_DELETE(by_id, desk->by_id, job);
    job->is_listed = false;
    job->is_kept = false;
    job->id[0] = '\0';
    was_unsaved = job->is_unsaved;
    if (was_unsaved)
        desk->n_unsaved--;
    job->is_unsaved = false;
    pthread_mutex_unlock(&desk->lock);
    give_up(desk, job,
            srv_registry_fail_acks(&desk->server->registry, job, problem));
    if (was_unsaved)
        srv_desk_reveal(desk, job);
    if (was_listed)
        srv_job_unref(job);
}

static struct srv_job_record record_of(struct srv_desk *desk,
                                       const struct srv_job *job)
{
    const struct srv_config *config = &desk->server->config;
    struct srv_job_record record = {
        .format = (int)job->format,
        .priority = (int)job->priority,
        .state = job->state == SRV_STATE_QUEUED ? SRV_STATE_QUEUED
                                                : SRV_STATE_RUNNING,
        .created_ms = job->created_ms,
        .started_ms = job->started_ms,
        .queue_deadline_ms =
            job->created_ms + (int64_t)config->queue_timeout * 1000,
        .run_ms = (int64_t)config->run_timeout * 1000,
        .attempts = job->attempts,
        .body = job->body.data,
        .body_length = job->body.length,
    };

    memcpy(record.id, job->id, sizeof record.id);
    memcpy(record.owner, job->owner, sizeof record.owner);
    snprintf(record.call, sizeof record.call, "%s", srv_call_name(job->call));
    return record;
}

/* What a client is told whose job cannot be kept. */
static void set_store_problem(struct proto_problem *problem,
                              enum srv_store_result result)
{
    if (result == SRV_STORE_FULL)
        proto_problem_set(problem, PROTO_DISK_FULL, NULL,
                          "the job cannot be kept: the disk of --data is full");
    else
        proto_problem_set(problem, PROTO_STORE, NULL,
                          "the job cannot be kept: the store %s; ask without "
                          "respond-async",
                          result == SRV_STORE_BUSY ? "is busy" : "fails");
}

void srv_desk_fail_keep(struct srv_desk *desk, struct srv_job *job,
                        enum srv_store_result result)
{
    struct proto_problem problem = {.kind = PROTO_NO_PROBLEM};

    set_store_problem(&problem, result);
    unkeep(desk, job, &problem);
}

/* The end of a job that was over before it was kept. */
static void save_late(struct srv_desk *desk, struct srv_job *job)
{
    pthread_mutex_lock(&desk->lock);
    job->is_unsaved = true;
    desk->n_unsaved++;
    pthread_mutex_unlock(&desk->lock);
    srv_desk_save_end(desk, job);
}

/* What a group's job needs to know after a restart: the key. */
static void note_group(const struct srv_job *job, char *note, size_t n_bytes)
{
    char segment[SRV_KEY_SEGMENT_SIZE];

    srv_group_key_encode(job->group_key, segment);
    snprintf(note, n_bytes, "\"%s\"", segment);
}

void srv_desk_keep(struct srv_desk *desk, struct srv_job *job)
{
    enum srv_store_result result = SRV_STORE_NO_MEMORY;

    if (job->is_kept) { /* its acknowledgement is on its way, or has come */
        if (job->was_acked)
            srv_desk_mail(desk, job, SRV_MAIL_ACKED);
        return;
    }
    if (list(desk, job)) {
        struct srv_job_record record = record_of(desk, job);
        char note[SRV_KEY_SEGMENT_SIZE + 2];

        if (job->call == SRV_CALL_GROUP) {
            note_group(job, note, sizeof note);
            record.note = note;
        }
        srv_fail_point(SRV_FAIL_JOB_KEEP);
        result = srv_store_put_job(desk->server->store, &record, on_stored,
                                   srv_job_ref(job));
        if (result != SRV_STORE_OK)
            srv_job_unref(job);
    }
    if (result != SRV_STORE_OK)
        srv_desk_fail_keep(desk, job, result);
    else if (job->is_over)
        save_late(desk, job); /* it was faster than its keeping */
}

/* ---- loop thread: after a restart -------------------------------------- */

struct recovery {
    struct srv_desk *desk;
    long n_jobs;
    bool failed;
};

static bool recover_one(void *context, struct srv_job_record *record)
{
    struct recovery *recovery = context;
    struct srv_desk *desk = recovery->desk;
    struct srv_job *job = srv_job_new_stored(desk->server, record);

    if (job == NULL || !list(desk, job)) {
        srv_job_unref(job);
        recovery->failed = true;
        return false;
    }
    job->was_acked = true;
    job->is_acked = true;
    pthread_mutex_lock(&desk->lock);
    srv_desk_add_alive(desk, job);
    pthread_mutex_unlock(&desk->lock);
    srv_pool_reserve_anyway(&desk->server->pool);
    srv_pool_submit(&desk->server->pool, job);
    recovery->n_jobs++;
    return true;
}

long srv_desk_recover(struct srv_desk *desk)
{
    struct recovery recovery = {.desk = desk};

    if (srv_store_unfinished(desk->server->store, 0, recover_one, &recovery) !=
            SRV_STORE_OK ||
        recovery.failed)
        return -1;
    srv_fail_point(SRV_FAIL_JOBS_RECOVERED);
    return recovery.n_jobs;
}
