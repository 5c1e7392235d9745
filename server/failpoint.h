/*
 * failpoint.h: named places where a test ends the process as kill -9 would.
 *
 * REMATD_FAIL_POINT=name, or name:n, in the environment arms one: the first or
 * the n-th time a thread comes by, the process sends itself SIGKILL. Nothing is
 * written, closed or told before. With a '!' at the end the thread aborts
 * instead, as if it were at fault. Unarmed, a place costs one relaxed load.
 *
 * Threads: srv_fail_point_start before any other exists; places anywhere.
 */
#ifndef SRV_FAILPOINT_H
#define SRV_FAILPOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* X(enumerator, name, where it stands). The store's come first. */
#define SRV_FAIL_POINT_MAP(X)                                                \
    X(SRV_FAIL_MIGRATE, "migrate", "inside the transaction of a migration")  \
    X(SRV_FAIL_MIGRATED, "migrated", "a migration is committed")             \
    X(SRV_FAIL_RECOVER, "recover", "recovery done, not committed")           \
    X(SRV_FAIL_RECOVERED, "recovered",                                       \
      "recovery committed, crash marker not yet cleared")                    \
    X(SRV_FAIL_PUT_ROW, "put-row", "a job's row written, its body not yet")  \
    X(SRV_FAIL_PUT_BODY, "put-body", "row and body written, no commit yet")  \
    X(SRV_FAIL_COMMIT, "commit", "a batch applied, before its commit")       \
    X(SRV_FAIL_COMMITTED, "committed", "a batch committed, nobody told yet") \
    X(SRV_FAIL_TOLD, "told", "a batch committed and everybody told")         \
    X(SRV_FAIL_START, "start", "a job marked as running, no commit yet")     \
    X(SRV_FAIL_FINISH, "finish", "before a job's final state is written")    \
    X(SRV_FAIL_FINISH_CONTENT, "finish-content",                             \
      "the answer is written, the job's state not yet")                      \
    X(SRV_FAIL_FINISHED, "finished", "final state written, no commit yet")   \
    X(SRV_FAIL_ANSWER, "answer", "an answer by key written, no commit yet")  \
    X(SRV_FAIL_REMOVE, "remove",                                             \
      "a job's tombstone written, the job not yet removed")                  \
    X(SRV_FAIL_SWEEP, "sweep", "a step of retention, before its commit")     \
    X(SRV_FAIL_VACUUM, "vacuum", "before pages are given back")              \
    X(SRV_FAIL_CHECKPOINT, "checkpoint", "before the log is checkpointed")   \
    X(SRV_FAIL_JOB_KEEP, "job-keep", "a job has an id, and nobody knows it") \
    X(SRV_FAIL_JOB_ACKED, "job-acked",                                       \
      "a job is on disk, its client not told")                               \
    X(SRV_FAIL_JOB_BEGUN, "job-begun", "a worker takes a job")               \
    X(SRV_FAIL_JOB_RUN, "job-run", "a worker is about to solve a job")       \
    X(SRV_FAIL_JOB_SOLVED, "job-solved", "a job is done, on its worker")     \
    X(SRV_FAIL_JOB_END, "job-end", "before a job's end goes to the store")   \
    X(SRV_FAIL_JOB_SAVED, "job-saved",                                       \
      "a job's end is on disk, and nobody was told")                         \
    X(SRV_FAIL_JOB_TOLD, "job-told", "who waited for a job was told")        \
    X(SRV_FAIL_JOBS_RECOVERED, "jobs-recovered",                             \
      "unfinished jobs are queued again, before the first request")          \
    X(SRV_FAIL_COMPOSED, "composed",                                         \
      "the document of a what-if is made, and there is no job yet")

enum srv_fail_point {
    SRV_FAIL_NONE,
#define X(name, text, where) name,
    SRV_FAIL_POINT_MAP(X)
#undef X
    SRV_N_FAIL_POINTS
};
#define SRV_N_STORE_FAIL_POINTS SRV_FAIL_CHECKPOINT /* counted from 1 */

extern atomic_int srv_fail_armed; /* an enum srv_fail_point */

/* Reads REMATD_FAIL_POINT. False when it names no point: `message` then says
 * which there are. */
bool srv_fail_point_start(char *message, size_t size);
/* Counts, and does not return the time that was asked for. */
void srv_fail_point_hit(void);

static inline void srv_fail_point(enum srv_fail_point point)
{
    if (atomic_load_explicit(&srv_fail_armed, memory_order_relaxed) ==
        (int)point)
        srv_fail_point_hit();
}

#endif
