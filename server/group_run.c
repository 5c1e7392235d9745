/*
 * group_run.c: a rank's job on a worker: its document is opened and brought to
 * the group.
 */
#include "group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "clock.h"
#include "server.h"

/* ---- opening ----------------------------------------------------------- */

static uint64_t now_ns(void *context)
{
    (void)context;
    return srv_now_ns();
}

static int is_cancelled(void *context)
{
    const struct srv_job *job = context;

    return atomic_load_explicit(&job->cancelled, memory_order_relaxed);
}

/* A decision is for all ranks: none of them alone can stop it. */
static int is_stopping(void *context)
{
    const struct srv_job *job = context;

    return atomic_load(&job->server->phase) == SRV_STOPPING;
}

static struct proto_env environment(struct srv_job *job)
{
    const struct srv_config *config = &job->server->config;
    struct proto_env env = {.now_ns = now_ns,
                            .cancelled = is_cancelled,
                            .context = job,
                            .started_ns = job->queued_ns};

    proto_limits_init(&env.limits);
    env.limits.body_bytes = (size_t)config->max_body;
    env.limits.n_nodes = (uint32_t)config->max_nodes;
    env.limits.memory_bytes = (size_t)config->job_memory;
    env.limits.n_steps = config->max_steps;
    return env;
}

static struct proto_rank_document *find_document(struct srv_group *g,
                                                 const char *name)
{
    for (size_t i = 0; i < g->n_documents; i++)
        if (strcmp(proto_rank_document_name(g->documents[i]), name) == 0)
            return g->documents[i];
    return NULL;
}

struct opening {
    struct srv_job *job;
    char name[SRV_ETAG_SIZE]; /* of the document, once it is known */
};

static enum proto_found find(void *context, const char *name,
                             const struct proto_rank *rank,
                             struct proto_rank_document **document)
{
    struct opening *opening = context;
    struct srv_job *job = opening->job;
    struct srv_groups *groups = &job->server->groups;

    *document = NULL;
    snprintf(opening->name, sizeof opening->name, "%s", name);
    if (srv_group_settle(job, rank, name))
        return PROTO_KNOWN_ANSWER;
    pthread_mutex_lock(&groups->lock);
    *document = find_document(job->group, name);
    pthread_mutex_unlock(&groups->lock);
    return *document == NULL ? PROTO_SOLVE : PROTO_KNOWN_ANSWER;
}

/* ---- contributing, with the lock held ---------------------------------- */

static bool start_gathering(struct srv_group *g, uint32_t world_size)
{
    free(g->members);
    g->members = calloc(world_size, sizeof *g->members);
    g->world_size = g->members == NULL ? 0 : world_size;
    g->n_here = 0;
    g->state = SRV_GROUP_GATHERING;
    g->problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
    return g->members != NULL;
}

/* The group has the document from then on, or an equal one: *document. False
 * when there is no room. */
static bool take_document(struct srv_groups *groups, struct srv_group *g,
                          struct proto_rank_document **document, bool is_new)
{
    const size_t n_bytes = proto_rank_document_bytes(*document);
    struct proto_rank_document *same =
        is_new ? find_document(g, proto_rank_document_name(*document))
               : *document;
    struct proto_rank_document **grown;

    if (same != NULL) {
        if (is_new)
            proto_rank_document_free(*document);
        *document = same;
        return true;
    }
    if (!srv_budget_take(&groups->server->budget, n_bytes))
        return false;
    grown = realloc(g->documents, (g->n_documents + 1) * sizeof(*grown));
    if (grown == NULL) {
        srv_budget_give(&groups->server->budget, n_bytes);
        return false;
    }
    g->documents = grown;
    g->documents[g->n_documents++] = *document;
    g->charged_bytes += n_bytes;
    return true;
}

enum contribution {
    REFUSED, /* the job has a problem */
    WAITS,
    COMPLETES, /* it was the last: decide */
    IS_OVER,   /* decided meanwhile */
    IS_GONE    /* the document that was found is no longer there */
};

static bool is_same(const struct proto_rank *member,
                    const struct proto_rank *rank)
{
    return strcmp(proto_rank_document_name(member->document),
                  proto_rank_document_name(rank->document)) == 0;
}

/* Whether the rank has a place in the group as it is now. */
static bool check_rank(struct srv_job *job, const struct proto_rank *rank)
{
    struct srv_group *g = job->group;
    const bool fits = rank->world_size == g->world_size;
    const struct proto_rank *member = fits ? &g->members[rank->rank] : NULL;

    if (g->state == SRV_GROUP_DISAGREED) {
        if (member != NULL && member->document != NULL &&
            is_same(member, rank)) {
            job->problem = g->problem;
            return false;
        }
        return start_gathering(g, rank->world_size);
    }
    if (g->world_size == 0)
        return start_gathering(g, rank->world_size);
    if (!fits)
        srv_group_refuse_world(job, rank, g->world_size);
    else if (member != NULL && member->document != NULL &&
             !is_same(member, rank))
        srv_group_refuse_other(job, rank);
    return job->problem.kind == PROTO_NO_PROBLEM;
}

static enum contribution contribute(struct srv_groups *groups,
                                    struct srv_job *job,
                                    struct proto_rank *rank, bool is_new,
                                    const char *name)
{
    struct srv_group *g = job->group;

    if (!is_new) { /* found before, without the lock since */
        rank->document = find_document(g, name);
        if (rank->document == NULL && g->state != SRV_GROUP_OVER)
            return IS_GONE;
    }
    if (g->state == SRV_GROUP_OVER || !check_rank(job, rank) ||
        !take_document(groups, g, &rank->document, is_new)) {
        if (is_new)
            proto_rank_document_free(rank->document);
        if (g->state != SRV_GROUP_OVER)
            proto_problem_set(&job->problem, PROTO_OUT_OF_MEMORY, NULL,
                              "there is no room to keep this rank's document "
                              "until the others come, try again later");
        return g->state == SRV_GROUP_OVER ? IS_OVER : REFUSED;
    }
    g->touched_ns = srv_now_ns();
    job->rank = rank->rank;
    if (g->members[rank->rank].document == NULL) {
        g->members[rank->rank] = *rank;
        g->n_here++;
    }
    if (g->n_here == g->world_size && g->state == SRV_GROUP_GATHERING) {
        g->state = SRV_GROUP_DECIDING;
        return COMPLETES;
    }
    job->is_deferred = true;
    job->is_waiting = true;
    job->is_decided = false;
    LL_PREPEND2(g->waiting, job, next_in_group);
    return WAITS;
}

/* ---- a job ------------------------------------------------------------- */

static void take_effort(struct srv_job *job, const struct proto_answer *answer)
{
    job->n_nodes = answer->n_nodes;
    job->n_steps = answer->n_steps;
    job->memory_bytes = answer->memory_bytes;
    memcpy(job->phase_ns, answer->phase_ns, sizeof job->phase_ns);
}

/* A document that was found may be gone: when the group is over only its name
 * counts, and after a decision that failed the group starts anew: false, the
 * document has to be opened again. */
static bool bring(struct srv_groups *groups, struct srv_job *job,
                  struct proto_rank *rank, bool is_new, const char *name)
{
    enum contribution outcome;

    pthread_mutex_lock(&groups->lock);
    outcome = contribute(groups, job, rank, is_new, name);
    pthread_mutex_unlock(&groups->lock);
    if (outcome == COMPLETES) {
        struct proto_env env = environment(job);

        env.cancelled = is_stopping;
        env.started_ns = srv_now_ns();
        srv_group_decide(groups, job, &env);
    } else if (outcome == IS_OVER && !srv_group_settle(job, rank, name))
        proto_problem_set(&job->problem, PROTO_NOT_READY, NULL,
                          "the group has just been decided, ask again");
    return outcome != IS_GONE;
}

/* False: once more, see bring. */
static bool open_and_bring(struct srv_groups *groups, struct srv_job *job)
{
    struct opening opening = {.job = job};
    const struct proto_rank_finder finder = {find, &opening};
    const struct proto_request request = {
        .body = job->body.data == NULL ? "" : job->body.data,
        .length = job->body.length};
    const struct proto_env env = environment(job);
    struct proto_answer answer;
    struct proto_rank rank;
    bool done = true;

    proto_rank_open(&env, &request, &finder, &rank, &answer);
    take_effort(job, &answer);
    if (answer.result == PROTO_PROBLEM)
        job->problem = answer.problem;
    else if (rank.document != NULL)
        done = bring(groups, job, &rank, answer.result != PROTO_KNOWN,
                     opening.name);
    proto_answer_release(&answer);
    return done;
}

void srv_groups_run(struct srv_job *job)
{
    struct srv_groups *groups = &job->server->groups;

    job->source = SRV_CACHE_MISS;
    if (!srv_group_hold(groups, job))
        proto_problem_set(&job->problem, PROTO_OUT_OF_MEMORY, NULL,
                          "no memory for another group");
    else
        while (!open_and_bring(groups, job))
            continue;
    if (!job->keeps_body)
        srv_body_release(&job->body, &job->server->budget);
}
