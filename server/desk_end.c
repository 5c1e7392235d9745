/*
 * desk_end.c: how jobs end: stopped or done, written, told to who waits.
 */
#include <inttypes.h>
#include <utlist.h>

#include "clock.h"
#include "count.h"
#include "desk_parts.h"
#include "events.h"
#include "failpoint.h"
#include "http.h"
#include "job_document.h"
#include "log.h"
#include "server.h"

/* ---- loop thread: answering -------------------------------------------- */

/* `ready` is a list of the registry's. */
void srv_desk_resume(const struct srv_request *ready)
{
    while (ready != NULL) {
        const struct srv_request *next = ready->next;

        srv_http_resume(ready);
        ready = next;
    }
}

/* The state becomes what clients see. */
void srv_desk_reveal(struct srv_desk *desk, struct srv_job *job)
{
    bool was_known;

    pthread_mutex_lock(&desk->lock);
    job->state = job->end_state;
    was_known = job->is_listed && !job->is_unsaved;
    if (was_known) {
        HASH_DELETE(by_id, desk->by_id, job);
        job->is_listed = false;
    }
    pthread_mutex_unlock(&desk->lock);
    atomic_store(&job->event, SRV_EVENT_END);
    srv_desk_resume(srv_registry_release_waiters(&desk->server->registry, job,
                                                 SRV_AWAITS_END));
    if (was_known)
        srv_job_unref(job);
}

/* ---- loop thread: the end ---------------------------------------------- */

static enum srv_state end_state(const struct srv_job *job)
{
    if (job->problem.kind == PROTO_NO_PROBLEM && job->answer != NULL)
        return SRV_STATE_SUCCEEDED; /* also when it was told to stop too late */
    if (job->stop == SRV_STOP_CANCELED || job->stop == SRV_STOP_ABANDONED)
        return SRV_STATE_CANCELED;
    if (job->stop == SRV_STOP_EXPIRED)
        return SRV_STATE_EXPIRED;
    return SRV_STATE_FAILED;
}

/* What a job that was told to stop says for itself. */
static void explain_stop(struct srv_job *job)
{
    const struct srv_config *config = &job->server->config;

    if (job->answer != NULL || job->stop == SRV_STOP_NONE)
        return;
    job->problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
    if (job->stop == SRV_STOP_EXPIRED && job->is_in_group)
        srv_groups_tell_missing(job, &job->problem);
    else if (job->stop == SRV_STOP_EXPIRED && job->begun_ns == 0)
        proto_problem_set(&job->problem, PROTO_DEADLINE, NULL,
                          "the job waited for a worker for more than %" PRIu64
                          " s (--queue-timeout)",
                          config->queue_timeout);
    else if (job->stop == SRV_STOP_EXPIRED)
        proto_problem_set(&job->problem, PROTO_DEADLINE, NULL,
                          "the job ran for more than %" PRIu64
                          " s (--run-timeout)",
                          config->run_timeout);
    else if (job->stop == SRV_STOP_SHUTDOWN)
        proto_problem_set(&job->problem, PROTO_DRAINING, NULL,
                          "the server was shut down");
    else
        proto_problem_set(&job->problem, PROTO_CANCELED, NULL,
                          "the job was cancelled");
}

static void log_end(const struct srv_job *job)
{
    struct srv_log log;

    if (!job->is_kept && job->stop == SRV_STOP_NONE)
        return; /* its request says all in its own line */
    srv_log_begin(&log, "info", "job");
    if (job->id[0] != '\0')
        srv_log_text(&log, "job_id", job->id);
    if (job->request_id[0] != '\0')
        srv_log_text(&log, "request_id", job->request_id);
    if (job->trace_id[0] != '\0')
        srv_log_text(&log, "trace_id", job->trace_id);
    srv_log_text(&log, "principal", job->owner);
    srv_log_text(&log, "state", srv_state_name(job->end_state));
    srv_log_text(&log, "outcome",
                 job->answer != NULL ? job->answer->outcome
                                     : proto_problem_code(job->problem.kind));
    if (job->started_ns != 0)
        srv_log_ms(&log, "run_ms", job->finished_ns - job->started_ns);
    srv_log_end(&log);
}

/* Of the store's thread, with a reference: told by mail. */
static void on_saved(void *context, enum srv_store_result result)
{
    struct srv_job *job = context;

    const bool is_settled = result == SRV_STORE_OK ||
                            result == SRV_STORE_CONFLICT ||
                            result == SRV_STORE_REMOVED;

    srv_desk_mail(&job->server->desk, job,
                  is_settled ? SRV_MAIL_SAVED : SRV_MAIL_SAVE_FAILED);
    srv_job_unref(job);
}

/* Writes how it ended; the mail says what came of it. */
void srv_desk_save_end(struct srv_desk *desk, struct srv_job *job)
{
    char *problem = NULL;
    struct srv_text timings = {0};
    struct srv_key key;
    struct srv_job_end end = {
        .id = job->id,
        .state = job->end_state,
        .started_ms = job->started_ms,
        .finished_ms = job->finished_ms,
        .answer = job->answer,
    };

    if (job->answer != NULL && job->answer->etag[0] != '\0' &&
        srv_answer_key(job->owner, job->answer->etag, &key))
        end.key = &key;
    if (job->answer == NULL) {
        problem = proto_problem_encode(&job->problem, NULL);
        end.problem = problem;
    }
    srv_fail_point(SRV_FAIL_JOB_END);
    if (job->started_ns != 0)
        srv_job_timings(&timings, job);
    end.note = timings.bytes;
    const enum srv_store_result result = srv_store_finish_job(
        desk->server->store, &end, on_saved, srv_job_ref(job));
    srv_text_release(&timings);
    proto_free(problem);
    if (result != SRV_STORE_OK) {
        srv_job_unref(job);
        srv_desk_mail(desk, job, SRV_MAIL_SAVE_FAILED);
    }
}

/* It will not run any more. Takes the reference that the pool had. */
static void finish(struct srv_desk *desk, struct srv_job *job)
{
    bool is_kept;

    srv_desk_release_followers(desk, job);
    explain_stop(job);
    pthread_mutex_lock(&desk->lock);
    srv_desk_end_merging(desk, job);
    job->end_state = end_state(job);
    job->finished_ms = srv_wall_ms();
    is_kept = job->is_kept && job->stop != SRV_STOP_SHUTDOWN;
    DL_DELETE2(desk->alive, job, previous_alive, next_alive);
    desk->n_alive--;
    if (is_kept) {
        job->is_unsaved = true;
        desk->n_unsaved++;
    }
    pthread_mutex_unlock(&desk->lock);
    log_end(job);
    srv_count_job(job);
    if (is_kept)
        srv_desk_save_end(desk, job); /* and reveal when it is done */
    else
        srv_desk_reveal(desk, job);
    srv_job_unref(job);
}

void srv_desk_end_group(struct srv_desk *desk, struct srv_job *job)
{
    srv_groups_take_result(job);
    finish(desk, job);
}

/* Until the group is decided, or the job is told to stop. */
static void wait_in_group(struct srv_desk *desk, struct srv_job *job)
{
    pthread_mutex_lock(&desk->lock);
    job->state = SRV_STATE_QUEUED;
    job->begun_ns = 0;
    job->is_in_group = true;
    pthread_mutex_unlock(&desk->lock);
    if (job->stop != SRV_STOP_NONE)
        (void)srv_groups_leave(job);
    if (job->stop != SRV_STOP_NONE)
        finish(desk, job);
    else if (!srv_groups_park(job))
        srv_desk_end_group(desk, job);
}

void srv_desk_done(struct srv_job *job)
{
    struct srv_desk *desk = &job->server->desk;

    if (job->is_deferred && job->call == SRV_CALL_GROUP)
        wait_in_group(desk, job);
    else if (job->is_deferred && job->stop == SRV_STOP_NONE)
        srv_desk_follow(desk, job);
    else
        finish(desk, job);
}

/* The first reason counts; a queued job ends at once, a running one soon. */
void srv_desk_end(struct srv_desk *desk, struct srv_job *job,
                  enum srv_stop reason)
{
    pthread_mutex_lock(&desk->lock);
    if (job->stop == SRV_STOP_NONE)
        job->stop = reason;
    srv_desk_end_merging(desk, job);
    pthread_mutex_unlock(&desk->lock);
    atomic_store(&job->cancelled, true);
    if (srv_pool_remove(&desk->server->pool, job) ||
        srv_desk_unfollow(desk, job) || srv_groups_leave(job))
        finish(desk, job);
}

void srv_desk_leave(struct srv_desk *desk, struct srv_job *job)
{
    bool is_abandoned;

    pthread_mutex_lock(&desk->lock);
    job->n_interested--;
    /* what a rank brings to its group counts, whether it is there or not */
    is_abandoned =
        job->n_interested == 0 && !job->is_kept && job->call != SRV_CALL_GROUP;
    if (is_abandoned)
        srv_desk_end_merging(desk, job); /* or somebody could still join */
    pthread_mutex_unlock(&desk->lock);
    if (is_abandoned)
        srv_desk_end(desk, job, SRV_STOP_ABANDONED);
}
