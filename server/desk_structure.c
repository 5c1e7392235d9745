/*
 * desk_structure.c: who solves a structure, and who waits for it.
 */
#include <utlist.h>

#include "desk_parts.h"
#include "server.h"

bool srv_desk_lead(struct srv_desk *desk, struct srv_job *job,
                   const struct srv_key *structure)
{
    struct srv_job *leader = NULL;

    pthread_mutex_lock(&desk->lock);
    HASH_FIND(by_structure, desk->by_structure, structure->bytes,
              sizeof structure->bytes, leader);
    job->structure = *structure;
    if (leader == NULL) {
        job->is_lost = false;
        HASH_ADD(by_structure, desk->by_structure, structure.bytes,
                 sizeof job->structure.bytes, job);
        job->leads = !job->is_lost; /* without memory nobody follows */
    }
    pthread_mutex_unlock(&desk->lock);
    return leader == NULL;
}

/* A job that waits for another one waits like those in the queue: it counts
 * for --queue and for what its owner may have there. */
static void take_place(struct srv_desk *desk, struct srv_job *job)
{
    srv_pool_reserve_anyway(&desk->server->pool);
    if (job->who != NULL)
        job->has_place = srv_place_take(&job->who->n_queued, 0);
}

static void give_place(struct srv_desk *desk, struct srv_job *job)
{
    srv_pool_unreserve(&desk->server->pool);
    if (job->has_place)
        srv_place_give(&job->who->n_queued);
    job->has_place = false;
}

/* Waits for the end of the job that leads, if there still is one; else it is
 * queued again, to lead or to find the answer. Takes the pool's reference. */
void srv_desk_follow(struct srv_desk *desk, struct srv_job *job)
{
    struct srv_job *leader = NULL;

    take_place(desk, job);
    pthread_mutex_lock(&desk->lock);
    job->state = SRV_STATE_QUEUED;
    job->begun_ns = 0;
    HASH_FIND(by_structure, desk->by_structure, job->structure.bytes,
              sizeof job->structure.bytes, leader);
    job->leader = leader;
    if (leader != NULL)
        LL_APPEND2(leader->followers, job, next_follower);
    pthread_mutex_unlock(&desk->lock);
    if (leader == NULL)
        srv_pool_submit(&desk->server->pool, job);
}

/* A follower that is told to stop waits no longer. */
bool srv_desk_unfollow(struct srv_desk *desk, struct srv_job *job)
{
    bool followed;

    pthread_mutex_lock(&desk->lock);
    followed = job->leader != NULL;
    if (followed)
        LL_DELETE2(job->leader->followers, job, next_follower);
    job->leader = NULL;
    pthread_mutex_unlock(&desk->lock);
    if (followed)
        give_place(desk, job);
    return followed;
}

/* A leader is over: its followers find the answer, or one of them leads. */
void srv_desk_release_followers(struct srv_desk *desk, struct srv_job *leader)
{
    struct srv_job *job;

    pthread_mutex_lock(&desk->lock);
    if (leader->leads)
        HASH_DELETE(by_structure, desk->by_structure, leader);
    leader->leads = false;
    job = leader->followers;
    leader->followers = NULL;
    for (struct srv_job *each = job; each != NULL; each = each->next_follower)
        each->leader = NULL;
    pthread_mutex_unlock(&desk->lock);
    while (job != NULL) {
        struct srv_job *next = job->next_follower;

        job->next_follower = NULL;
        srv_pool_submit(&desk->server->pool, job); /* it has its place */
        job = next;
    }
}
