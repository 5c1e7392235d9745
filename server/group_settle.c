/*
 * group_settle.c: what was decided before, from memory, cache or store.
 */
#include "group.h"

#include <inttypes.h>
#include <string.h>

#include "group_record.h"
#include "key.h"
#include "server.h"

static bool key_of(const struct srv_job *job, const char *what,
                   const char *document, struct srv_key *key)
{
    const char *const texts[] = {what, job->owner, job->group_key, document};

    return srv_key_of(texts, document == NULL ? 3 : 4, key);
}

static struct srv_answer *get(const struct srv_job *job, const char *what,
                              const char *document)
{
    struct srv_server *server = job->server;
    struct srv_answer *answer = NULL;
    struct srv_key key;

    if (!key_of(job, what, document, &key))
        return NULL;
    answer = srv_cache_get(&server->cache, &key);
    if (answer == NULL)
        (void)srv_store_get_answer(server->store, &key, &answer);
    return answer;
}

static void put(const struct srv_job *job, const char *what,
                const char *document, struct srv_answer *answer)
{
    struct srv_server *server = job->server;
    struct srv_key key;

    if (!key_of(job, what, document, &key))
        return;
    srv_cache_put(&server->cache, &key, answer);
    srv_store_put_answer(server->store, &key, answer);
}

/* Of the group in memory; both are references or NULL. */
static void get_settled(struct srv_job *job, const char *document,
                        struct srv_answer **record, struct srv_answer **answer)
{
    struct srv_groups *groups = &job->server->groups;
    const struct srv_group *g = job->group;

    *record = NULL;
    *answer = NULL;
    pthread_mutex_lock(&groups->lock);
    if (g->state == SRV_GROUP_OVER) {
        *record = srv_answer_ref(g->record);
        for (uint32_t i = 0; i < g->n_answers && *answer == NULL; i++)
            if (strcmp(g->names[i], document) == 0)
                *answer = srv_answer_ref(g->answers[i]);
    }
    pthread_mutex_unlock(&groups->lock);
}

void srv_group_refuse_other(struct srv_job *job, const struct proto_rank *rank)
{
    proto_problem_set(&job->problem, PROTO_RANKS_DISAGREE, NULL,
                      "rank %" PRIu32 " of the group has sent another document "
                      "before; another attempt needs another key",
                      rank->rank);
}

void srv_group_refuse_world(struct srv_job *job, const struct proto_rank *rank,
                            uint32_t world_size)
{
    proto_problem_set(&job->problem, PROTO_RANKS_DISAGREE, "/world_size",
                      "rank %" PRIu32 " says that there are %" PRIu32
                      " ranks, the group has %" PRIu32,
                      rank->rank, rank->world_size, world_size);
}

bool srv_group_settle(struct srv_job *job, const struct proto_rank *rank,
                      const char *document)
{
    struct srv_answer *record;
    struct srv_answer *answer;
    uint32_t world_size = 0;
    bool done = true;

    get_settled(job, document, &record, &answer);
    if (record == NULL)
        record = get(job, "group-record", NULL);
    if (record == NULL)
        return false;
    switch (srv_group_record_match(record, rank, document, &world_size)) {
    case SRV_RECORD_SAME:
        job->answer =
            answer != NULL ? answer : get(job, "group-plan", document);
        answer = NULL;
        done = job->answer != NULL; /* retention may have taken it */
        break;
    case SRV_RECORD_OTHER:
        srv_group_refuse_other(job, rank);
        break;
    case SRV_RECORD_OTHER_WORLD:
        srv_group_refuse_world(job, rank, world_size);
        break;
    }
    srv_answer_unref(answer);
    srv_answer_unref(record);
    return done;
}

void srv_group_keep(const struct srv_job *job, const char *document,
                    struct srv_answer *answer)
{
    put(job, "group-plan", document, answer);
}

void srv_group_keep_record(const struct srv_job *job, struct srv_answer *record)
{
    put(job, "group-record", NULL, record);
}
