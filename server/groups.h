/*
 * groups.h: the ranks of a job, and the one decision they get.
 *
 * A group is what one principal calls by one key. Each rank's request is a job;
 * a worker opens its document and leaves it with the group. Unless it was the
 * last, the job then waits here, without a thread, for the others: it is
 * parked. The worker that brings the last rank decides, and every job gets its
 * answer. What was decided is kept as answers in cache and store, so that late
 * and repeated ranks get it, also after a restart; of a group that is over
 * nothing stays here, except why its ranks disagreed.
 *
 *   begin     a worker looks for the group, or makes it
 *   run       opens, contributes, and decides or says that the job waits
 *   park      the loop thread has the job back from the pool
 *   leave     it is told to stop: it waits no longer
 *   missing   which ranks have not come, for whoever waited in vain
 *
 * A rank that leaves stays counted: what it brought is used.
 *
 * Threads: run on pool threads, park, leave and tick in the loop thread,
 * missing in any. One lock; no other is taken while it is held, and of the
 * others only the desk's is held when it is taken.
 */
#ifndef SRV_GROUPS_H
#define SRV_GROUPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto.h"
#include "request.h"

struct srv_group;
struct srv_job;
struct srv_server;

struct srv_groups {
    struct srv_server *server;
    pthread_mutex_t lock;
    struct srv_group *table; /* by principal and key */
};

/* 0, or an errno. */
int srv_groups_init(struct srv_groups *groups, struct srv_server *server);
/* When no job is left. */
void srv_groups_release(struct srv_groups *groups);

#define SRV_KEY_SEGMENT_SIZE (3 * SRV_PARAM_SIZE)
/* A key from the segment of a path, %XX decoded; false when it is empty, longer
 * than 128 bytes, or holds control characters or a bad %. */
bool srv_group_key_decode(const char *segment, char key[SRV_PARAM_SIZE]);
/* And back, so that nothing in it needs an escape in JSON. */
void srv_group_key_encode(const char *key, char segment[SRV_KEY_SEGMENT_SIZE]);

/* Adds to request->hash what besides the document names a member's job. */
void srv_groups_begin_key(struct srv_request *request);
/* Whether a request can be a member's; false: refused. */
bool srv_groups_accept(struct srv_request *request);

/* Does the work of a group's job on a pool thread: an answer, a problem, or
 * job->is_deferred: it is to be parked. */
void srv_groups_run(struct srv_job *job);
/* Whether the job waits now; false: its group has been decided meanwhile. Takes
 * the pool's reference if so, which comes back with SRV_MAIL_DECIDED. */
bool srv_groups_park(struct srv_job *job);
bool srv_groups_is_parked(struct srv_job *job);
/* The group was decided: the job's part of it becomes its result. */
void srv_groups_take_result(struct srv_job *job);
/* Whether the job was parked; then it is not any more. */
bool srv_groups_leave(struct srv_job *job);
/* Sets rank-missing, naming who has not come. */
void srv_groups_tell_missing(struct srv_job *job,
                             struct proto_problem *problem);
/* Forgets the groups that nobody has asked for for --group-timeout. O(groups).
 */
void srv_groups_tick(struct srv_groups *groups, uint64_t now_ns);
/* The job's hold on its group. */
void srv_groups_drop(struct srv_job *job);

#endif
