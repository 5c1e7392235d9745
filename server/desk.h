/*
 * desk.h: all jobs that are alive, and what becomes of them.
 *
 *   join     a request that asks for what is being made already waits for it
 *   open     else a new job is queued
 *   keep     a client is told the job's id; from then on it is on disk, and
 * runs whether or not somebody waits leave    a request gives up; a job that
 * nobody waits for and that is not kept is told to stop cancel   a client's
 * DELETE finish   the end: on disk first if it is kept, then told to who waits
 *
 * Threads: join, open, find and the readers may be called from any thread; the
 * rest only in the loop thread, except srv_desk_mail, by which other threads
 * tell the loop thread. The desk's lock guards its tables and the part "desk"
 * of every job; the locks of registry and pool are never taken while it is
 * held, nor it while they are.
 */
#ifndef SRV_DESK_H
#define SRV_DESK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "job.h"

struct srv_desk {
    struct srv_server *server;
    uv_async_t *wake;
    pthread_mutex_t lock;
    struct srv_job *by_id;  /* kept and not yet over, or its end not stored */
    struct srv_job *by_key; /* queued or running, for merging */
    struct srv_job *by_structure; /* being solved, for others to follow */
    struct srv_job *mail;         /* newest first */
    struct srv_job *alive;        /* between open and the end, oldest first */
    size_t n_alive;
    size_t n_unsaved;
    size_t n_reading;  /* of the loop thread: tickets that are being read */
    uint64_t saved_ns; /* when ends were last written again */
};

/* 0, or an errno. */
int srv_desk_init(struct srv_desk *desk, struct srv_server *server,
                  uv_async_t *wake);
void srv_desk_release(struct srv_desk *desk);

/* A reference to the job that makes the same for the same principal, which now
 * runs for one request more; or NULL. */
struct srv_job *srv_desk_join(struct srv_desk *desk, const struct srv_key *key);
/* Queues a new job, admitted before, for one request. Consumes no reference. */
void srv_desk_open(struct srv_desk *desk, struct srv_job *job);
/* A reference to the living job with that id, if it is the owner's; or NULL. */
struct srv_job *srv_desk_find(struct srv_desk *desk, const char *id,
                              const char *owner);

/* What a job looks like at one moment. */
struct srv_job_view {
    char id[SRV_JOB_ID_SIZE];
    enum srv_state state;
    int64_t created_ms;
    int64_t started_ms;  /* 0: not yet */
    int64_t finished_ms; /* 0: not yet */
    size_t n_before;     /* of a queued one */
    uint32_t attempts;
};
struct srv_job_view srv_desk_view(struct srv_desk *desk,
                                  const struct srv_job *job);
/* What an operator sees of a running job. */
struct srv_running {
    char id[SRV_JOB_ID_SIZE]; /* "" as long as nobody was told */
    char owner[SRV_OWNER_SIZE];
    enum srv_call call;
    enum proto_phase phase;
    unsigned done; /* of `total` steps of the phase; total 0: not known */
    unsigned total;
    int64_t created_ms;
    int64_t started_ms;
};
/* The oldest running jobs, at most so many; how many there are in `jobs`.
 * O(jobs alive). */
size_t srv_desk_running(struct srv_desk *desk, struct srv_running *jobs,
                        size_t most);
/* Jobs between their opening and their end, and tickets that are being read.
 * Loop thread. */
size_t srv_desk_n_alive(struct srv_desk *desk);
/* Whether there are none, and every end that has to be on disk is. */
bool srv_desk_is_idle(struct srv_desk *desk);

/* Whether the job is the one to solve that structure now; else it is deferred.
 * On a pool thread, by the job that runs there. */
bool srv_desk_lead(struct srv_desk *desk, struct srv_job *job,
                   const struct srv_key *structure);

/* Tells the loop thread something about a job; takes a reference meanwhile. */
void srv_desk_mail(struct srv_desk *desk, struct srv_job *job,
                   enum srv_mail what);

/* ---- loop thread ---- */

/* Reads the mail. */
void srv_desk_read(struct srv_desk *desk);
/* Gives the job an id, if it has none, and writes it to the store; what comes
 * of it is told by mail. */
void srv_desk_keep(struct srv_desk *desk, struct srv_job *job);
void srv_desk_leave(struct srv_desk *desk, struct srv_job *job);
/* A pool thread takes the job. */
void srv_desk_begun(struct srv_job *job);
/* The pool is done with the job; takes the pool's reference. */
void srv_desk_done(struct srv_job *job);
/* Ends what waited or ran too long, and writes again what could not be. */
void srv_desk_tick(struct srv_desk *desk, uint64_t now_ns);
/* Tells every job to stop; what is stored goes on after the next start. */
void srv_desk_stop(struct srv_desk *desk);
/* Queues again what the store says was not finished. The number of jobs, or -1
 * when it cannot be read. */
long srv_desk_recover(struct srv_desk *desk);

#endif
