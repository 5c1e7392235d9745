/*
 * call_derive.c: the calls that work something out about another job: what a
 * node of its graph is about, its report, what would be different if.
 *
 * They read the other job's document as it was sent, so it does not matter
 * whether that job has ended, and how. What is only looked at is worked out by
 * a job without an id, on its worker; a what-if becomes a job of its own, whose
 * document is made first, by a ticket: see compose.h.
 */
#include <string.h>

#include "call_parts.h"
#include "job.h"
#include "question.h"
#include "route.h"
#include "server.h"

/* Whether the path names a job of this client's with one graph. */
static bool check_parent(struct srv_request *request)
{
    struct srv_job_record record;
    bool is_batch;

    if (!srv_call_read_record(request, 0, &record))
        return false;
    is_batch = srv_call_of(record.call) == SRV_CALL_BATCH;
    srv_job_record_release(&record);
    if (is_batch)
        SRV_REFUSE(request, PROTO_NOT_FOUND,
                   "the job is a batch of documents; post the one that is "
                   "meant to /v1/plans with Prefer: respond-async, and ask "
                   "about that job");
    return !is_batch;
}

/* ---- what is only looked at -------------------------------------------- */

static bool find_key(struct srv_request *request)
{
    const struct srv_question_of of = {.owner = request->principal,
                                       .call = request->route->call,
                                       .format = request->format,
                                       .job_id = request->param};
    struct srv_question question;

    if (!srv_question_read(of.call, request->query, &question,
                           &request->problem))
        return false;
    const bool has_key = srv_question_key(&of, &question, &request->key);
    srv_question_release(&question);
    if (has_key)
        return true;
    SRV_REFUSE(request, PROTO_OUT_OF_MEMORY, "no memory for a request");
    return false;
}

static enum srv_step begin_looking(struct srv_request *request)
{
    if (!check_parent(request) || !find_key(request))
        return SRV_STEP_REPLY;
    if (!srv_is_draining(request->server))
        return srv_call_make(request);
    SRV_REFUSE(request, PROTO_DRAINING,
               "the server is shutting down; send the request elsewhere");
    return SRV_STEP_REPLY;
}

/* Nobody gets an id to come back with: who waited too long may ask again. */
static void end_looking(struct srv_request *request)
{
    if (request->problem.kind == PROTO_DEADLINE)
        request->retry_after_s = srv_pool_retry_after(&request->server->pool);
    else if (request->problem.kind == PROTO_NO_PROBLEM)
        srv_call_take_result(request);
}

/* ---- what-if ----------------------------------------------------------- */

/* The ticket takes the body: what is posted, until it is part of a document. */
static enum srv_step begin_composing(struct srv_request *request)
{
    struct srv_job *ticket = srv_job_new_ticket(request);

    if (ticket != NULL) {
        ticket->composes = true;
        ticket->body = request->body;
        request->body = (struct srv_body){0};
    }
    return srv_call_await_record(request, ticket, SRV_WITH_BODY);
}

static enum srv_step begin_what_if(struct srv_request *request)
{
    if (!check_parent(request))
        return SRV_STEP_REPLY;
    if (!srv_hash_end(request->hash, &request->key)) {
        SRV_REFUSE(request, PROTO_INTERNAL, "the document cannot be hashed");
        return SRV_STEP_REPLY;
    }
    return srv_call_find_known(request) ? SRV_STEP_REPLY
                                        : begin_composing(request);
}

/* The document is there: from here on it is a call like any that makes jobs. */
static enum srv_step end_composing(struct srv_request *request)
{
    struct srv_job *ticket = request->job;

    if (!request->saw_end)
        srv_call_refuse_late(request);
    else
        request->problem = ticket->problem;
    if (request->problem.kind == PROTO_QUEUE_FULL)
        request->retry_after_s = srv_pool_retry_after(&request->server->pool);
    if (request->problem.kind != PROTO_NO_PROBLEM)
        return SRV_STEP_REPLY;
    request->body = ticket->body;
    ticket->body = (struct srv_body){0};
    srv_job_unref(ticket);
    request->job = NULL;
    request->saw_end = false;
    return srv_call_make(request);
}

/* The client posted a part of the document, and is told of places in that. */
static void point_into_posted(struct srv_request *request)
{
    static const char part[] = "/what_if";
    char *pointer = request->problem.pointer;
    const size_t n = sizeof part - 1;

    if (strncmp(pointer, part, n) == 0 &&
        (pointer[n] == '/' || pointer[n] == '\0'))
        memmove(pointer, pointer + n, strlen(pointer + n) + 1);
}

static enum srv_step end_what_if(struct srv_request *request)
{
    enum srv_step step = SRV_STEP_REPLY;

    if (request->problem.kind == PROTO_NO_PROBLEM)
        step = request->job->composes ? end_composing(request)
                                      : srv_call_make_end(request);
    if (step == SRV_STEP_REPLY)
        point_into_posted(request);
    return step;
}

/* ---- which call -------------------------------------------------------- */

enum srv_step srv_call_derive_begin(struct srv_request *request)
{
    return request->route->call == SRV_CALL_WHAT_IF ? begin_what_if(request)
                                                    : begin_looking(request);
}

enum srv_step srv_call_derive_end(struct srv_request *request)
{
    if (request->route->call == SRV_CALL_WHAT_IF)
        return end_what_if(request);
    end_looking(request);
    return SRV_STEP_REPLY;
}
