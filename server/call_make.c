/*
 * call_make.c: calls that make something of a document: known, joined, or a job
 * that is waited for; and what is answered in the end.
 */
#include <inttypes.h>

#include "call_parts.h"
#include "clock.h"
#include "count.h"
#include "desk.h"
#include "job_document.h"
#include "route.h"
#include "server.h"

#define ACK_S         30U /* until a write to the store is given up */
#define LAST_RESORT_S 60U /* a wait, when the job cannot be deferred */

/* ---- answers ------------------------------------------------------------ */

/* Takes over the reference; NULL is a lack of memory. */
enum srv_step srv_call_reply(struct srv_request *request,
                             struct srv_answer *answer)
{
    request->answer = answer;
    if (answer == NULL)
        SRV_REFUSE(request, PROTO_OUT_OF_MEMORY, "no memory for the answer");
    return SRV_STEP_REPLY;
}

/* What is said of a job by its own document. */
enum srv_step srv_call_reply_job(struct srv_request *request)
{
    return srv_call_reply(
        request, srv_job_document(&request->server->desk, request->job));
}

/* Result of a job that is over. */
void srv_call_take_result(struct srv_request *request)
{
    const struct srv_job *job = request->job;

    if (job->answer != NULL)
        request->answer = srv_answer_ref(job->answer);
    else
        request->problem = job->problem;
}

/* ---- making a plan ----------------------------------------------------- */

/* One of the places that the principal's jobs may wait in. */
static bool take_place(struct srv_request *request)
{
    struct srv_principal *who = request->who;
    const uint64_t most = atomic_load(&who->queue);

    if (srv_place_take(&who->n_queued, most))
        return true;
    SRV_REFUSE(request, PROTO_RATE_LIMITED,
               "%" PRIu64 " jobs of %s wait, as many as may", most, who->name);
    request->retry_after_s = srv_pool_retry_after(&request->server->pool);
    return false;
}

/* A new job, queued; NULL when there is none, and the problem says why. */
static struct srv_job *open_job(struct srv_request *request)
{
    struct srv_server *server = request->server;

    if (!take_place(request))
        return NULL;
    if (!srv_pool_reserve(&server->pool)) {
        srv_place_give(&request->who->n_queued);
        SRV_REFUSE(request, PROTO_QUEUE_FULL,
                   "%" PRIu64 " requests are waiting (--queue)",
                   server->config.queue);
        request->retry_after_s = srv_pool_retry_after(&server->pool);
        return NULL;
    }
    struct srv_job *job = srv_job_new_take(request);
    if (job == NULL) {
        srv_place_give(&request->who->n_queued);
        srv_pool_unreserve(&server->pool);
        SRV_REFUSE(request, PROTO_OUT_OF_MEMORY,
                   "no memory for another request");
        return NULL;
    }
    job->has_place = true;
    srv_desk_open(&server->desk, job);
    return job;
}

static enum srv_step wait_for_job(struct srv_request *request)
{
    struct srv_server *server = request->server;

    request->is_interested = true;
    request->last_resort_ns = srv_after_s(LAST_RESORT_S);
    if (request->asked_async) {
        request->awaits = SRV_AWAITS_ACK;
        request->until_ns = srv_after_s(ACK_S);
        srv_desk_mail(&server->desk, request->job, SRV_MAIL_KEEP);
    } else {
        request->awaits = SRV_AWAITS_END;
        request->may_defer = srv_route_defers(request->route);
        request->until_ns = srv_after_s(request->wait_s);
    }
    return SRV_STEP_WAIT;
}

/* A group's answers are kept by group. */
bool srv_call_find_known(struct srv_request *request)
{
    struct srv_server *server = request->server;

    if (request->asked_async || request->route->call == SRV_CALL_GROUP)
        return false;
    request->answer = srv_cache_get(&server->cache, &request->key);
    if (request->answer == NULL)
        return false;
    srv_count_cache(server, SRV_CACHE_HIT);
    srv_body_release(&request->body, &server->budget);
    return true;
}

/* Who asks for a job of its own gets one, with an id that nobody else can
 * cancel: the desk sees to it that it is not solved twice. */
enum srv_step srv_call_make(struct srv_request *request)
{
    struct srv_server *server = request->server;

    if (srv_call_find_known(request))
        return SRV_STEP_REPLY;
    if (!request->asked_async)
        request->job = srv_desk_join(&server->desk, &request->key);
    request->has_joined = request->job != NULL;
    if (request->has_joined) {
        srv_count_cache(server, SRV_CACHE_MERGE);
        srv_body_release(&request->body, &server->budget);
    } else {
        request->job = open_job(request);
    }
    return request->job == NULL ? SRV_STEP_REPLY : wait_for_job(request);
}

enum srv_step srv_call_make_begin(struct srv_request *request)
{
    if (request->route->call == SRV_CALL_GROUP && !srv_groups_accept(request))
        return SRV_STEP_REPLY;
    if (srv_hash_end(request->hash, &request->key))
        return srv_call_make(request);
    SRV_REFUSE(request, PROTO_INTERNAL, "the document cannot be hashed");
    return SRV_STEP_REPLY;
}

/* Somebody cancelled the job, who knew its id. Who only waited for its answer
 * has not asked for that: it is asked for anew. */
static enum srv_step make_again(struct srv_request *request)
{
    struct srv_server *server = request->server;
    const struct srv_body *body = &request->job->body;
    const uint64_t until_ns = request->until_ns;

    if (srv_body_append(&request->body, &server->budget,
                        (size_t)server->config.max_body, body->data,
                        body->length) != SRV_BODY_OK) {
        SRV_REFUSE(request, PROTO_OUT_OF_MEMORY,
                   "no memory for another request");
        return SRV_STEP_REPLY;
    }
    srv_job_unref(request->job);
    request->job = NULL;
    request->is_interested = false;
    const enum srv_step step = srv_call_make(request);
    if (step == SRV_STEP_WAIT)
        request->until_ns = until_ns;
    return step;
}

enum srv_step srv_call_make_end(struct srv_request *request)
{
    if (request->awaits == SRV_AWAITS_ACK) {
        request->success = 202;
        return srv_call_reply_job(request);
    }
    if (request->route->call == SRV_CALL_GROUP && !request->saw_end) {
        srv_groups_tell_missing(request->job, &request->problem);
        return SRV_STEP_REPLY;
    }
    if (request->job->problem.kind == PROTO_CANCELED &&
        request->route->call != SRV_CALL_GROUP)
        return make_again(request);
    srv_call_take_result(request);
    return SRV_STEP_REPLY;
}
