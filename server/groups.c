/*
 * groups.c: the table of groups, who holds and who waits in one.
 */
#include "group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "clock.h"
#include "key.h"
#include "server.h"

/* A decided group answers for that long by itself; by then the store has it. */
#define SETTLED_NS (UINT64_C(60) * SRV_NS_PER_S)

int srv_groups_init(struct srv_groups *groups, struct srv_server *server)
{
    *groups = (struct srv_groups){.server = server};
    return pthread_mutex_init(&groups->lock, NULL);
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

bool srv_group_key_decode(const char *segment, char key[SRV_PARAM_SIZE])
{
    size_t n = 0;

    for (const char *at = segment; *at != '\0'; at++) {
        char c = *at;

        if (c == '%') {
            if (hex_of(at[1]) < 0 || hex_of(at[2]) < 0)
                return false;
            c = (char)(hex_of(at[1]) * 16 + hex_of(at[2]));
            at += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f || n == SRV_PARAM_SIZE - 1)
            return false;
        key[n++] = c;
    }
    key[n] = '\0';
    return n > 0;
}

void srv_group_key_encode(const char *key, char segment[SRV_KEY_SEGMENT_SIZE])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    for (const char *at = key; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL)
            *segment++ = *at;
        else
            segment += snprintf(segment, 4, "%%%02X", (unsigned char)*at);
    }
    *segment = '\0';
}

void srv_groups_begin_key(struct srv_request *request)
{
    srv_hash_text(request->hash, request->param);
    /* what is kept on disk keeps its document, too */
    srv_hash_text(request->hash, request->asked_async ? "async" : "");
}

bool srv_groups_accept(struct srv_request *request)
{
    char key[SRV_PARAM_SIZE];

    if (!srv_group_key_decode(request->param, key))
        SRV_REFUSE(request, PROTO_BAD_REQUEST,
                   "the key of a group is 1 to 128 bytes of printable text, "
                   "%%XX for what a path cannot hold");
    else if (request->format == PROTO_TEXT)
        SRV_REFUSE(request, PROTO_NOT_ACCEPTABLE,
                   "a group is answered in application/json");
    return request->problem.kind == PROTO_NO_PROBLEM;
}

/* ---- one group --------------------------------------------------------- */

/* The documents are not needed any more. */
void srv_group_release_documents(struct srv_groups *groups, struct srv_group *g)
{
    for (size_t i = 0; i < g->n_documents; i++)
        proto_rank_document_free(g->documents[i]);
    free(g->documents);
    free(g->members);
    g->documents = NULL;
    g->members = NULL;
    g->n_documents = 0;
    g->n_here = 0;
    srv_budget_give(&groups->server->budget, g->charged_bytes);
    g->charged_bytes = 0;
}

static void free_group(struct srv_groups *groups, struct srv_group *g)
{
    srv_group_release_documents(groups, g);
    for (uint32_t i = 0; i < g->n_answers; i++)
        srv_answer_unref(g->answers[i]);
    srv_answer_unref(g->record);
    free(g->answers);
    free(g->names);
    free(g->name_bytes);
    free(g);
}

static struct srv_group *new_group(const struct srv_job *job,
                                   const struct srv_key *id)
{
    struct srv_group *g = calloc(1, sizeof *g);

    if (g == NULL)
        return NULL;
    g->id = *id;
    g->n_users = 1;
    snprintf(g->owner, sizeof g->owner, "%s", job->owner);
    snprintf(g->key, sizeof g->key, "%s", job->group_key);
    return g;
}

/* The job's group, held by it; false without memory. */
/* NOLINTNEXTLINE(readability-function-*): the macros of uthash */
bool srv_group_hold(struct srv_groups *groups, struct srv_job *job)
{
    const char *const texts[] = {"group", job->owner, job->group_key};
    struct srv_group *g = NULL;
    struct srv_key id;

    if (job->group != NULL)
        return true;
    if (!srv_key_of(texts, 3, &id))
        return false;
    pthread_mutex_lock(&groups->lock);
    HASH_FIND(hh, groups->table, id.bytes, sizeof id.bytes, g);
    if (g == NULL) {
        g = new_group(job, &id);
        if (g != NULL)
            HASH_ADD(hh, groups->table, id.bytes, sizeof g->id.bytes, g);
        if (g != NULL && g->is_lost) {
            free(g);
            g = NULL;
        }
        if (g != NULL)
            g->is_listed = true;
    }
    if (g != NULL) {
        g->n_users++;
        g->touched_ns = srv_now_ns();
    }
    job->group = g;
    pthread_mutex_unlock(&groups->lock);
    return g != NULL;
}

void srv_groups_drop(struct srv_job *job)
{
    struct srv_groups *groups = &job->server->groups;
    struct srv_group *g = job->group;
    bool is_last;

    if (g == NULL)
        return;
    pthread_mutex_lock(&groups->lock);
    is_last = --g->n_users == 0;
    pthread_mutex_unlock(&groups->lock);
    job->group = NULL;
    if (is_last)
        free_group(groups, g);
}

/* With the lock held. */
/* NOLINTNEXTLINE(readability-function-*): the macros of uthash */
static void unlist(struct srv_groups *groups, struct srv_group *g)
{
    HASH_DELETE(hh, groups->table, g);
    g->is_listed = false;
    g->n_users--;
}

void srv_groups_tick(struct srv_groups *groups, uint64_t now_ns)
{
    const uint64_t idle_ns =
        groups->server->config.group_timeout * SRV_NS_PER_S;
    struct srv_group *gone = NULL;
    struct srv_group *g = NULL;
    struct srv_group *next = NULL;

    pthread_mutex_lock(&groups->lock);
    HASH_ITER(hh, groups->table, g, next)
    {
        uint64_t keep_ns = idle_ns;

        /* cppcheck-suppress uninitvar */
        if (g->state == SRV_GROUP_OVER)
            keep_ns = SETTLED_NS;
        if (g->n_users > 1 || now_ns < g->touched_ns + keep_ns)
            continue;
        unlist(groups, g);
        g->hh.next = gone;
        gone = g;
    }
    pthread_mutex_unlock(&groups->lock);
    while (gone != NULL) {
        g = gone;
        gone = g->hh.next;
        free_group(groups, g);
    }
}

void srv_groups_release(struct srv_groups *groups)
{
    struct srv_group *g = NULL;
    struct srv_group *next = NULL;

    HASH_ITER(hh, groups->table, g, next)
    {
        /* cppcheck-suppress uninitvar */
        unlist(groups, g);
        free_group(groups, g);
    }
    pthread_mutex_destroy(&groups->lock);
}

/* ---- who waits --------------------------------------------------------- */

bool srv_groups_park(struct srv_job *job)
{
    struct srv_groups *groups = &job->server->groups;
    bool waits;

    pthread_mutex_lock(&groups->lock);
    waits = !job->is_decided;
    job->is_parked = waits;
    pthread_mutex_unlock(&groups->lock);
    return waits;
}

void srv_groups_take_result(struct srv_job *job)
{
    struct srv_groups *groups = &job->server->groups;

    pthread_mutex_lock(&groups->lock);
    job->answer = job->group_answer;
    job->problem = job->group_problem;
    job->group_answer = NULL;
    pthread_mutex_unlock(&groups->lock);
}

bool srv_groups_is_parked(struct srv_job *job)
{
    struct srv_groups *groups = &job->server->groups;
    bool is_parked;

    pthread_mutex_lock(&groups->lock);
    is_parked = job->is_parked;
    pthread_mutex_unlock(&groups->lock);
    return is_parked;
}

bool srv_groups_leave(struct srv_job *job)
{
    struct srv_groups *groups = &job->server->groups;
    bool was_parked;

    if (job->group == NULL)
        return false;
    pthread_mutex_lock(&groups->lock);
    was_parked = job->is_parked;
    if (job->is_waiting)
        LL_DELETE2(job->group->waiting, job, next_in_group);
    job->is_waiting = false;
    job->is_parked = false;
    pthread_mutex_unlock(&groups->lock);
    return was_parked;
}

/* ---- who is missing ---------------------------------------------------- */

enum {
    MOST_NAMED = 10
};

static uint32_t list_missing(const struct srv_group *g, char *words,
                             size_t n_bytes)
{
    uint32_t n_missing = 0;
    size_t used = 0;

    for (uint32_t i = 0; i < g->world_size; i++) {
        if (g->members[i].document != NULL)
            continue;
        if (n_missing++ < MOST_NAMED)
            used += (size_t)snprintf(words + used, n_bytes - used, "%s%" PRIu32,
                                     used == 0 ? "" : ", ", i);
    }
    if (n_missing > MOST_NAMED)
        snprintf(words + used, n_bytes - used, " and %" PRIu32 " more",
                 n_missing - MOST_NAMED);
    return n_missing;
}

void srv_groups_tell_missing(struct srv_job *job, struct proto_problem *problem)
{
    struct srv_groups *groups = &job->server->groups;
    const struct srv_group *g;
    char words[200] = "";
    uint32_t n_missing = 0;

    pthread_mutex_lock(&groups->lock);
    g = job->group;
    if (g != NULL && g->members != NULL)
        n_missing = list_missing(g, words, sizeof words);
    if (n_missing > 0)
        proto_problem_set(problem, PROTO_RANK_MISSING, NULL,
                          "%" PRIu32 " of %" PRIu32
                          " ranks have not come in time: %s %s; this rank's "
                          "request stays with the group, ask again",
                          n_missing, g->world_size,
                          n_missing == 1 ? "rank" : "ranks", words);
    else
        proto_problem_set(problem, PROTO_DEADLINE, NULL,
                          "no decision within the time to wait, but nobody is "
                          "missing: ask again");
    pthread_mutex_unlock(&groups->lock);
}
