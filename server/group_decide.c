/*
 * group_decide.c: one decision, and everybody's answer.
 */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "group_record.h"
#include "server.h"

/* Verdict and what is kept of it. */
struct settling {
    struct proto_rank_verdict verdict;
    struct srv_answer **answers; /* as in the group */
    const char **names;
    char *name_bytes;
    struct srv_answer *record;
};

static uint32_t number_of(const struct proto_rank_verdict *verdict,
                          const struct proto_rank_document *document)
{
    uint32_t i = 0;

    while (i < verdict->n_answers &&
           strcmp(proto_rank_document_name(verdict->answers[i].document),
                  proto_rank_document_name(document)) != 0)
        i++;
    return i;
}

static struct srv_answer *share(struct proto_rank_answer *answer)
{
    struct srv_answer *shared =
        srv_answer_new_take(answer->body, answer->length);

    if (shared == NULL)
        return NULL;
    answer->body = NULL;
    snprintf(shared->type, sizeof shared->type, "application/json");
    snprintf(shared->outcome, sizeof shared->outcome, "%s", answer->outcome);
    return shared;
}

static bool make_record(struct settling *s, const struct srv_group *g)
{
    uint32_t *of = calloc(g->world_size, sizeof *of);

    for (uint32_t i = 0; of != NULL && i < g->world_size; i++)
        of[i] = number_of(&s->verdict, g->members[i].document);
    if (of != NULL)
        s->record = srv_group_record_new(s->names, s->verdict.n_answers, of,
                                         g->world_size);
    free(of);
    return s->record != NULL;
}

static bool make_answers(struct settling *s, const struct srv_group *g)
{
    const uint32_t n = s->verdict.n_answers;
    size_t used = 0;

    s->answers = calloc(n, sizeof(*s->answers));
    s->names = calloc(n, sizeof(*s->names));
    s->name_bytes = calloc(n, SRV_ETAG_SIZE);
    if (s->answers == NULL || s->names == NULL || s->name_bytes == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        s->names[i] = s->name_bytes + used;
        used += (size_t)snprintf(
                    s->name_bytes + used, SRV_ETAG_SIZE, "%s",
                    proto_rank_document_name(s->verdict.answers[i].document)) +
                1;
        s->answers[i] = share(&s->verdict.answers[i]);
        if (s->answers[i] == NULL)
            return false;
    }
    return make_record(s, g);
}

static void keep(const struct srv_job *job, const struct settling *s)
{
    for (uint32_t i = 0; i < s->verdict.n_answers; i++)
        srv_group_keep(job, s->names[i], s->answers[i]);
    srv_group_keep_record(job, s->record);
}

/* Into the job itself, which is this worker's, or, of others, beside it. */
static void give_result(const struct settling *s, const struct srv_group *g,
                        const struct srv_job *job, struct srv_answer **answer,
                        struct proto_problem *problem)
{
    if (s->verdict.problem.kind == PROTO_NO_PROBLEM)
        *answer = srv_answer_ref(
            s->answers[number_of(&s->verdict, g->members[job->rank].document)]);
    else
        *problem = s->verdict.problem;
}

/* With the lock held: all jobs have their result; those that are parked, which
 * the caller tells. */
static struct srv_job *give_results(const struct settling *s,
                                    struct srv_group *g, struct srv_job *own)
{
    struct srv_job *parked = NULL;
    struct srv_job *job = g->waiting;

    give_result(s, g, own, &own->answer, &own->problem);
    g->waiting = NULL;
    while (job != NULL) {
        struct srv_job *next = job->next_in_group;

        give_result(s, g, job, &job->group_answer, &job->group_problem);
        job->is_waiting = false;
        job->is_decided = true;
        if (job->is_parked) {
            job->next_in_group = parked;
            parked = job;
        }
        job->is_parked = false;
        job = next;
    }
    return parked;
}

/* With the lock held. */
static void end_deciding(struct srv_groups *groups, struct srv_group *g,
                         struct settling *s)
{
    g->touched_ns = srv_now_ns();
    if (s->verdict.problem.kind == PROTO_RANKS_DISAGREE) {
        g->state = SRV_GROUP_DISAGREED;
        g->problem = s->verdict.problem;
        return;
    }
    g->world_size = 0; /* after a fault of ours or a limit: from the start */
    g->state = SRV_GROUP_GATHERING;
    if (s->verdict.problem.kind == PROTO_NO_PROBLEM) {
        g->state = SRV_GROUP_OVER;
        g->record = s->record;
        g->answers = s->answers;
        g->names = s->names;
        g->name_bytes = s->name_bytes;
        g->n_answers = s->verdict.n_answers;
        s->record = NULL;
        s->answers = NULL;
        s->names = NULL;
        s->name_bytes = NULL;
    }
    srv_group_release_documents(groups, g);
}

static void release_settling(struct settling *s)
{
    for (uint32_t i = 0; s->answers != NULL && i < s->verdict.n_answers; i++)
        srv_answer_unref(s->answers[i]);
    free(s->answers);
    free(s->names);
    free(s->name_bytes);
    srv_answer_unref(s->record);
    proto_rank_verdict_release(&s->verdict);
}

void srv_group_decide(struct srv_groups *groups, struct srv_job *job,
                      const struct proto_env *env)
{
    struct srv_group *g = job->group;
    const struct proto_rank_group all = {g->key, g->members, g->world_size};
    struct settling s = {.answers = NULL};
    struct srv_job *parked;

    proto_ranks_decide(env, &all, &s.verdict);
    job->n_steps += s.verdict.n_steps;
    if (s.verdict.problem.kind == PROTO_NO_PROBLEM && !make_answers(&s, g))
        proto_problem_set(&s.verdict.problem, PROTO_OUT_OF_MEMORY, NULL,
                          "no memory for the answers of the group");
    if (s.verdict.problem.kind == PROTO_NO_PROBLEM)
        keep(job, &s);
    pthread_mutex_lock(&groups->lock);
    parked = give_results(&s, g, job);
    end_deciding(groups, g, &s);
    pthread_mutex_unlock(&groups->lock);
    while (parked != NULL) {
        struct srv_job *next = parked->next_in_group;

        parked->next_in_group = NULL;
        srv_desk_mail(&job->server->desk, parked, SRV_MAIL_DECIDED);
        parked = next;
    }
    release_settling(&s);
}
