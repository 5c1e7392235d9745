/*
 * job.c: decode, solve, encode, under the limits of the configuration; and
 * what is cached before and after.
 */
#include "job.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "clock.h"
#include "count.h"
#include "crash.h"
#include "failpoint.h"
#include "server.h"
#include "solve.h"

/* From here on memory goes back to the system after a job: a JSON tree of that
 * size leaves the allocator with as much in pieces. */
#define TRIM_BYTES ((size_t)64 << 20)
/* More than one run of a job tells of. */
#define EVENTS_MOST UINT64_C(1000000)

/* Which was read before, without a fault; false without memory. */
static bool take_question(struct srv_job *job,
                          const struct srv_request *request)
{
    struct proto_problem problem = {.kind = PROTO_NO_PROBLEM};

    snprintf(job->about_id, sizeof job->about_id, "%.32s", request->param);
    return srv_question_read(request->route->call, request->query,
                             &job->question, &problem);
}

struct srv_job *srv_job_new_take(struct srv_request *request)
{
    struct srv_job *job = calloc(1, sizeof *job);

    if (job == NULL)
        return NULL;
    if (srv_route_derives(request->route) && !take_question(job, request)) {
        free(job);
        return NULL;
    }
    atomic_init(&job->n_users, 1);
    atomic_init(&job->cancelled, false);
    atomic_init(&job->event, 1);
    job->server = request->server;
    job->body = request->body;
    request->body = (struct srv_body){0};
    snprintf(job->owner, sizeof job->owner, "%s", request->principal);
    memcpy(job->request_id, request->id, sizeof job->request_id);
    memcpy(job->trace_id, request->trace.id, sizeof job->trace_id);
    job->who = srv_principal_ref(request->who);
    job->call = request->route->call;
    job->format = request->format;
    job->priority = request->priority;
    job->coding = srv_codings_best(&request->codings, SIZE_MAX);
    job->key = request->key;
    if (job->call == SRV_CALL_GROUP)
        (void)srv_group_key_decode(request->param, job->group_key);
    job->keeps_body = request->asked_async;
    job->queued_ns = srv_now_ns();
    job->created_ms = srv_wall_ms();
    return job;
}

struct srv_job *srv_job_new_ticket(struct srv_request *request)
{
    struct srv_job *job = calloc(1, sizeof *job);

    if (job == NULL)
        return NULL;
    atomic_init(&job->n_users, 1);
    atomic_init(&job->event, 1);
    job->server = request->server;
    return job;
}

/* The note of a group's job is its key, as a JSON string. */
static void read_group_key(struct srv_job *job, const char *note)
{
    const size_t n = note == NULL ? 0 : strlen(note);
    char segment[SRV_KEY_SEGMENT_SIZE];

    if (n < 2 || n - 2 >= sizeof segment)
        return;
    snprintf(segment, sizeof segment, "%.*s", (int)(n - 2), note + 1);
    (void)srv_group_key_decode(segment, job->group_key);
}

struct srv_job *srv_job_new_stored(struct srv_server *server,
                                   const struct srv_job_record *record)
{
    const int64_t age_ms = srv_wall_ms() - record->created_ms;
    const char *const texts[] = {record->id};
    struct srv_job *job = calloc(1, sizeof *job);

    if (job == NULL || !srv_key_of(texts, 1, &job->key)) {
        free(job);
        return NULL;
    }
    job->who = srv_tokens_principal(&server->tokens, record->owner);
    if (job->who == NULL) {
        free(job);
        return NULL;
    }
    job->has_place = srv_place_take(&job->who->n_queued, 0);
    atomic_init(&job->n_users, 1);
    atomic_init(&job->cancelled, false);
    /* Clients may have seen events of the last time. */
    atomic_init(&job->event, 1 + (uint64_t)record->attempts * EVENTS_MOST);
    job->server = server;
    memcpy(job->id, record->id, sizeof job->id);
    memcpy(job->owner, record->owner, sizeof job->owner);
    job->call = srv_call_of(record->call);
    job->format = (enum proto_format)record->format;
    job->priority = (enum srv_priority)record->priority;
    job->created_ms = record->created_ms;
    job->attempts = record->attempts;
    job->body_is_stored = true;
    job->keeps_body = true;
    if (job->call == SRV_CALL_GROUP)
        read_group_key(job, record->note);
    job->queued_ns = srv_now_ns();
    if (age_ms > 0 && (uint64_t)age_ms * SRV_NS_PER_MS < job->queued_ns)
        job->queued_ns -= (uint64_t)age_ms * SRV_NS_PER_MS;
    return job;
}

struct srv_job *srv_job_ref(struct srv_job *job)
{
    atomic_fetch_add_explicit(&job->n_users, 1, memory_order_relaxed);
    return job;
}

void srv_job_unref(struct srv_job *job)
{
    if (job == NULL ||
        atomic_fetch_sub_explicit(&job->n_users, 1, memory_order_acq_rel) != 1)
        return;
    srv_body_release(&job->body, &job->server->budget);
    srv_budget_give(&job->server->budget, job->charged_bytes);
    srv_groups_drop(job);
    srv_job_record_release(&job->record);
    srv_answer_unref(job->group_answer);
    srv_answer_unref(job->answer);
    srv_principal_unref(job->who);
    srv_question_release(&job->question);
    free(job);
}

/* ---- on a pool thread -------------------------------------------------- */

/* The document of a job that was kept over a restart, or of the one that is
 * asked about: that may have been removed since. */
static bool read_body(struct srv_job *job)
{
    const bool is_about = job->about_id[0] != '\0';
    struct srv_job_record record;

    if (job->body.data != NULL || (!job->body_is_stored && !is_about))
        return true;
    const enum srv_store_result result = srv_store_get_job(
        job->server->store, is_about ? job->about_id : job->id, SRV_WITH_BODY,
        &record);
    if (result != SRV_STORE_OK) {
        proto_problem_set(
            &job->problem,
            is_about && result == SRV_STORE_REMOVED ? PROTO_GONE : PROTO_STORE,
            NULL, "the job's document cannot be read from the store");
        srv_job_record_release(&record);
        return false;
    }
    job->question.is_about_frontier =
        is_about && srv_call_of(record.call) == SRV_CALL_FRONTIER;
    job->body.data = record.body;
    job->body.length = record.body_length;
    job->body.capacity = record.body_length;
    srv_budget_charge(&job->server->budget, record.body_length);
    record.body = NULL;
    srv_job_record_release(&record);
    return true;
}

/* A request as it came, byte for byte, is known before it is decoded. */
static bool find_cached(struct srv_job *job)
{
    job->answer = srv_cache_get(&job->server->cache, &job->key);
    job->source = SRV_CACHE_HIT;
    if (job->answer != NULL)
        srv_count_cache(job->server, SRV_CACHE_HIT);
    return job->answer != NULL;
}

static void take_solution(struct srv_job *job,
                          const struct srv_solution *solution)
{
    job->answer = solution->answer;
    job->problem = solution->problem;
    job->is_deferred = solution->is_deferred;
    job->source = solution->source;
    job->n_nodes = solution->n_nodes;
    job->n_steps = solution->n_steps;
    job->memory_bytes = solution->memory_bytes;
    memcpy(job->phase_ns, solution->phase_ns, sizeof job->phase_ns);
    if (job->answer != NULL)
        srv_cache_put(&job->server->cache, &job->key, job->answer);
}

static void solve(struct srv_job *job)
{
    const struct srv_document document = {
        .bytes = job->body.data,
        .length = job->body.length,
        .call = job->call,
        .format = job->format,
        .question = job->about_id[0] == '\0' ? NULL : &job->question,
        .may_defer = true,
    };
    struct srv_solution solution;

    srv_solve(job, &document, &solution);
    take_solution(job, &solution);
}

/* Makes the form that the first client wants here, and not in the HTTP thread:
 * its bytes. */
static size_t coded_bytes(const struct srv_job *job)
{
    const struct srv_coded *coded = NULL;

    if (job->coding != SRV_IDENTITY && job->coding != SRV_N_CODINGS &&
        job->answer->length >= SRV_ENCODE_LEAST_BYTES)
        coded = srv_answer_coded(job->answer, job->coding);
    return coded == NULL ? 0 : coded->length;
}

static void charge_answer(struct srv_job *job)
{
    if (job->answer == NULL)
        return;
    job->charged_bytes = job->answer->length + coded_bytes(job);
    srv_budget_charge(&job->server->budget, job->charged_bytes);
}

void srv_job_run(struct srv_job *job)
{
    const char *const ids[] = {job->id};
    struct srv_crash_scope scope;

    (void)srv_crash_thread_start();
    srv_crash_enter(&scope, ids, 1);
    srv_fail_point(SRV_FAIL_JOB_RUN);
    job->started_ns = srv_now_ns();
    job->is_deferred = false;
    if (job->call == SRV_CALL_BATCH) {
        if (read_body(job))
            srv_batch_run(job);
    } else if (job->call == SRV_CALL_GROUP) {
        if (read_body(job))
            srv_groups_run(job);
    } else if (!find_cached(job) && read_body(job)) {
        solve(job);
    }
    if (job->about_id[0] != '\0') /* it is another's, and is not kept */
        srv_body_release(&job->body, &job->server->budget);
    charge_answer(job);
    if (job->memory_bytes >= TRIM_BYTES)
        malloc_trim(0);
    job->finished_ns = srv_now_ns();
    srv_crash_leave(&scope);
    srv_fail_point(SRV_FAIL_JOB_SOLVED);
}
