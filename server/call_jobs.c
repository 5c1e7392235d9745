/*
 * call_jobs.c: the calls about jobs: look, list, cancel, remove, read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_parts.h"
#include "clock.h"
#include "desk.h"
#include "events.h"
#include "job_document.h"
#include "number.h"
#include "query.h"
#include "route.h"
#include "server.h"

#define REMOVE_S     30U /* until reading or removing is given up */
#define LIST_DEFAULT 50U
#define LIST_MOST    500U

/* ---- jobs -------------------------------------------------------------- */

/* A ticket is not over yet. */
void srv_call_refuse_late(struct srv_request *request)
{
    SRV_REFUSE(request, PROTO_STORE, "the store did not answer within %u s",
               REMOVE_S);
}

static void refuse_unknown(struct srv_request *request)
{
    SRV_REFUSE(request, PROTO_NOT_FOUND, "no job of yours has that id");
}

bool srv_call_read_record(struct srv_request *request, unsigned with,
                          struct srv_job_record *record)
{
    const enum srv_store_result result =
        srv_store_get_job(request->server->store, request->param, with, record);
    const bool is_own =
        (result == SRV_STORE_OK || result == SRV_STORE_REMOVED) &&
        strcmp(record->owner, request->principal) == 0;

    if (result == SRV_STORE_OK && is_own)
        return true;
    if (result == SRV_STORE_REMOVED && is_own)
        SRV_REFUSE(request, PROTO_GONE,
                   "the job was removed, by its owner or by --retain");
    else if (result == SRV_STORE_FAILED || result == SRV_STORE_NO_MEMORY)
        SRV_REFUSE(request, PROTO_STORE, "the store cannot be read now");
    else
        refuse_unknown(request);
    srv_job_record_release(record);
    return false;
}

/* Documents may be large, and are read by a thread of the pool: a ticket is
 * over when it has. */
enum srv_step srv_call_await_record(struct srv_request *request,
                                    struct srv_job *ticket, unsigned with)
{
    request->job = ticket;
    if (ticket == NULL)
        return srv_call_reply(request, NULL);
    snprintf(ticket->record.id, sizeof ticket->record.id, "%.32s",
             request->param);
    ticket->read_with = with;
    request->awaits = SRV_AWAITS_END;
    request->until_ns = srv_after_s(REMOVE_S);
    srv_desk_mail(&request->server->desk, ticket, SRV_MAIL_READ);
    return SRV_STEP_WAIT;
}

static enum srv_step begin_read(struct srv_request *request, unsigned with)
{
    struct srv_job_record record;

    if (!srv_call_read_record(request, 0, &record))
        return SRV_STEP_REPLY;
    srv_job_record_release(&record);
    return srv_call_await_record(request, srv_job_new_ticket(request), with);
}

static struct srv_job *find_job(struct srv_request *request)
{
    return srv_desk_find(&request->server->desk, request->param,
                         request->principal);
}

static enum srv_step look_at_record(struct srv_request *request)
{
    struct srv_job_record record;

    if (!srv_call_read_record(request, 0, &record))
        return SRV_STEP_REPLY;
    struct srv_answer *answer = srv_job_document_of(&record);
    srv_job_record_release(&record);
    return srv_call_reply(request, answer);
}

/* A living job is waited for as long as the client likes. */
static bool begin_waiting(struct srv_request *request)
{
    request->job = find_job(request);
    if (request->job == NULL || request->wait_s == 0)
        return false;
    request->awaits = SRV_AWAITS_END;
    request->until_ns = srv_after_s(request->wait_s);
    return true;
}

static enum srv_step begin_job(struct srv_request *request)
{
    if (begin_waiting(request))
        return SRV_STEP_WAIT;
    return request->job != NULL ? srv_call_reply_job(request)
                                : look_at_record(request);
}

/* ---- its plan ---------------------------------------------------------- */

static void refuse_unfinished(struct srv_request *request, const char *state)
{
    SRV_REFUSE(request, PROTO_NOT_FOUND,
               "the job is %s and has no plan yet; ask again, or wait: "
               "Prefer: wait=N",
               state);
    request->retry_after_s = 1;
}

static void take_record_result(struct srv_request *request,
                               struct srv_job_record *record)
{
    if (record->answer != NULL)
        request->answer = srv_answer_ref(record->answer);
    else if (!srv_state_is_final(record->state))
        refuse_unfinished(request, srv_state_name(record->state));
    else
        (void)srv_call_reply(
            request, srv_job_document_problem(record, &request->success));
}

static void plan_of_job(struct srv_request *request)
{
    const struct srv_job_view view =
        srv_desk_view(&request->server->desk, request->job);

    if (srv_state_is_final(view.state))
        srv_call_take_result(request);
    else
        refuse_unfinished(request, srv_state_name(view.state));
}

static enum srv_step begin_job_plan(struct srv_request *request)
{
    if (begin_waiting(request))
        return SRV_STEP_WAIT;
    if (request->job == NULL)
        return begin_read(request, SRV_WITH_ANSWER);
    plan_of_job(request);
    return SRV_STEP_REPLY;
}

/* ---- its graph --------------------------------------------------------- */

static void take_graph(struct srv_request *request,
                       struct srv_job_record *record)
{
    struct srv_answer *answer =
        srv_answer_new_take(record->body, record->body_length);

    if (answer != NULL) {
        record->body = NULL;
        snprintf(answer->type, sizeof answer->type, "%s",
                 strcmp(record->call, "batch") == 0 ? "application/x-ndjson"
                                                    : "application/json");
    }
    (void)srv_call_reply(request, answer);
}

/* What was read from the store for the request. */
static void end_read(struct srv_request *request)
{
    struct srv_job *ticket = request->job;

    if (!request->saw_end)
        srv_call_refuse_late(request);
    else if (ticket->problem.kind != PROTO_NO_PROBLEM)
        request->problem = ticket->problem;
    else if (request->route->call == SRV_CALL_JOB_GRAPH)
        take_graph(request, &ticket->record);
    else
        take_record_result(request, &ticket->record);
}

/* ---- its events -------------------------------------------------------- */

static enum srv_step begin_job_events(struct srv_request *request)
{
    struct srv_job_record record;

    request->event_sent = request->last_event;
    request->job = find_job(request);
    if (request->job != NULL) {
        request->streams = true;
        return SRV_STEP_REPLY;
    }
    if (!srv_call_read_record(request, 0, &record))
        return SRV_STEP_REPLY;
    if (request->last_event >= SRV_EVENT_END) {
        request->success = 204; /* nothing more will ever come */
        request->no_content = true;
    } else {
        (void)srv_call_reply(request, srv_events_of(record.state));
    }
    srv_job_record_release(&record);
    return SRV_STEP_REPLY;
}

/* ---- cancel and remove ------------------------------------------------- */

/* Of the store's thread. */
static void on_removed(void *context, enum srv_store_result result)
{
    struct srv_job *ticket = context;

    if (result != SRV_STORE_OK && result != SRV_STORE_REMOVED)
        proto_problem_set(
            &ticket->problem,
            result == SRV_STORE_FULL ? PROTO_DISK_FULL : PROTO_STORE, NULL,
            "the job cannot be removed now: the store "
            "cannot be written");
    srv_desk_mail(&ticket->server->desk, ticket, SRV_MAIL_OVER);
    srv_job_unref(ticket);
}

static enum srv_step remove_record(struct srv_request *request)
{
    struct srv_job *ticket = srv_job_new_ticket(request);

    if (ticket == NULL)
        return srv_call_reply(request, NULL);
    request->job = ticket;
    request->awaits = SRV_AWAITS_END;
    request->until_ns = srv_after_s(REMOVE_S);
    const enum srv_store_result result =
        srv_store_remove_job(request->server->store, request->param, on_removed,
                             srv_job_ref(ticket));
    if (result == SRV_STORE_OK)
        return SRV_STEP_WAIT;
    srv_job_unref(ticket);
    SRV_REFUSE(request, PROTO_STORE, "the store cannot be written now");
    return SRV_STEP_REPLY;
}

static enum srv_step begin_delete(struct srv_request *request)
{
    struct srv_job_record record;

    request->job = find_job(request);
    if (request->job != NULL) { /* it ends soon: it is asked very often */
        srv_desk_mail(&request->server->desk, request->job, SRV_MAIL_CANCEL);
        request->awaits = SRV_AWAITS_END;
        request->until_ns = srv_after_s(REMOVE_S);
        return SRV_STEP_WAIT;
    }
    if (!srv_call_read_record(request, 0, &record)) {
        if (request->problem.kind != PROTO_GONE)
            return SRV_STEP_REPLY;
        request->problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
        request->success = 204; /* again: as the first time */
        request->no_content = true;
        return SRV_STEP_REPLY;
    }
    srv_job_record_release(&record);
    return remove_record(request);
}

static void end_delete(struct srv_request *request)
{
    const struct srv_job *job = request->job;

    if (job->id[0] != '\0') {
        srv_call_reply_job(request);
    } else if (!request->saw_end) {
        srv_call_refuse_late(request);
    } else if (job->problem.kind != PROTO_NO_PROBLEM) {
        request->problem = job->problem;
    } else {
        request->success = 204;
        request->no_content = true;
    }
}

/* ---- the list ---------------------------------------------------------- */

static bool read_limit(struct srv_request *request, size_t *n_most)
{
    char text[16];
    uint64_t n = LIST_DEFAULT;

    if (strstr(request->query, "limit=") != NULL &&
        (!srv_query_value(request->query, "limit", text, sizeof text) ||
         !srv_number_parse(text, false, &n) || n < 1 || n > LIST_MOST)) {
        SRV_REFUSE(request, PROTO_BAD_REQUEST, "limit is a number from 1 to %u",
                   LIST_MOST);
        return false;
    }
    *n_most = (size_t)n;
    return true;
}

static bool read_state(struct srv_request *request, int *state)
{
    char text[16];
    enum srv_state parsed = SRV_STATE_QUEUED;

    *state = -1;
    if (strstr(request->query, "state=") == NULL)
        return true;
    if (srv_query_value(request->query, "state", text, sizeof text) &&
        srv_state_parse(text, &parsed)) {
        *state = (int)parsed;
        return true;
    }
    SRV_REFUSE(request, PROTO_BAD_REQUEST,
               "state is queued, running, succeeded, failed, canceled or "
               "expired");
    return false;
}

static enum srv_step begin_list(struct srv_request *request)
{
    char cursor[SRV_CURSOR_SIZE] = "";
    struct srv_job_list list = {.owner = request->principal, .cursor = cursor};

    if (!read_limit(request, &list.n_most) || !read_state(request, &list.state))
        return SRV_STEP_REPLY;
    const bool is_cursor_bad =
        strstr(request->query, "cursor=") != NULL &&
        !srv_query_value(request->query, "cursor", cursor, sizeof cursor);
    list.records = calloc(list.n_most, sizeof *list.records);
    if (list.records == NULL)
        return srv_call_reply(request, NULL);
    const enum srv_store_result result =
        is_cursor_bad ? SRV_STORE_ABSENT
                      : srv_store_list_jobs(request->server->store, &list);
    if (result == SRV_STORE_OK)
        (void)srv_call_reply(
            request, srv_job_document_list(&request->server->desk, &list));
    else if (result == SRV_STORE_ABSENT)
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "cursor is none that this server gave out");
    else
        SRV_REFUSE(request, PROTO_STORE, "the store cannot be read now");
    for (size_t i = 0; i < list.n_records; i++)
        srv_job_record_release(&list.records[i]);
    free(list.records);
    return SRV_STEP_REPLY;
}

/* ---- which call -------------------------------------------------------- */

enum srv_step srv_call_job_begin(struct srv_request *request)
{
    const enum srv_call call = request->route->call;

    if (call == SRV_CALL_JOBS)
        return begin_list(request);
    if (call == SRV_CALL_JOB_PLAN)
        return begin_job_plan(request);
    if (call == SRV_CALL_JOB_GRAPH)
        return begin_read(request, SRV_WITH_BODY);
    if (call == SRV_CALL_JOB_EVENTS)
        return begin_job_events(request);
    return strcmp(request->method, "DELETE") == 0 ? begin_delete(request)
                                                  : begin_job(request);
}

void srv_call_job_end(struct srv_request *request)
{
    if (request->job->read_with != 0)
        end_read(request);
    else if (request->route->call == SRV_CALL_JOB_PLAN)
        plan_of_job(request);
    else if (strcmp(request->method, "DELETE") == 0)
        end_delete(request);
    else
        srv_call_reply_job(request);
}
