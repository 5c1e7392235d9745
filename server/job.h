/*
 * job.h: one piece of work for a pool thread: a plan, a frontier, a batch.
 *
 * A job may outlive the requests that asked for it, and several requests may
 * wait for one job. It is counted: each request that points to it, the pool
 * while it has it, and the desk while its id is known hold a reference.
 *
 * Who may touch what: `waiters`, `is_over` and `is_acked` are the registry's
 * (under its lock), the parts "pool" and "desk" those of theirs; the result
 * belongs to the pool thread while the
 * job runs, and does not change any more once it is over.
 */
#ifndef SRV_JOB_H
#define SRV_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "answer.h"
#include "body.h"
#include "config.h"
#include "metrics.h"
#include "proto.h"
#include "question.h"
#include "request.h"
#include "route.h"
#include "store.h"
#include "table.h"

struct srv_group;
struct srv_server;

/* Why a job is told to stop; the first reason counts. */
enum srv_stop {
    SRV_STOP_NONE,
    SRV_STOP_CANCELED,  /* by DELETE */
    SRV_STOP_ABANDONED, /* nobody waits any more, and nobody knows its id */
    SRV_STOP_EXPIRED,   /* the time limits of the configuration */
    SRV_STOP_SHUTDOWN   /* it goes on after the next start, if it is stored */
};

/* What other threads tell the loop thread about a job, as bits. */
enum srv_mail {
    SRV_MAIL_CANCEL = 1,     /* a client said DELETE */
    SRV_MAIL_KEEP = 2,       /* a client is to be told its id */
    SRV_MAIL_ACKED = 4,      /* it is on disk */
    SRV_MAIL_ACK_FAILED = 8, /* it could not be written */
    SRV_MAIL_ACK_FULL = 16,  /* because the disk is full */
    SRV_MAIL_SAVED = 32,     /* its end is on disk */
    SRV_MAIL_SAVE_FAILED = 64,
    SRV_MAIL_OVER = 128,    /* a ticket: see srv_job_new_ticket */
    SRV_MAIL_DECIDED = 256, /* its group is: see groups.h */
    SRV_MAIL_READ = 512     /* a ticket: its record is to be read */
};

struct srv_job {
    uv_work_t work; /* libuv's while the job runs */
    struct srv_server *server;
    atomic_size_t n_users;

    /* Fixed when it is made. */
    char owner[SRV_OWNER_SIZE];
    char
        request_id[SRV_REQUEST_ID_SIZE]; /* who opened it; "" after a restart */
    char trace_id[SRV_TRACE_ID_SIZE];    /* of his trace, or "" */
    struct srv_principal *who;           /* the owner; a reference, or NULL */
    enum srv_call call;
    enum proto_format format;
    enum srv_priority priority;
    enum srv_coding coding; /* that the answer will be wanted in */
    struct srv_key key; /* of the request as it came: equal ones are merged */
    uint64_t queued_ns; /* monotonic; also what deadline_ms counts from */
    int64_t created_ms; /* since 1970 */

    /* The pool. */
    struct srv_job *next; /* of the inbox or a queue */
    struct srv_job *previous;
    bool is_queued;
    bool has_place; /* is counted as waiting among the owner's */

    /* The registry. */
    struct srv_request *waiters;
    bool is_over;
    bool is_acked;

    /* The desk. */
    char id[SRV_JOB_ID_SIZE]; /* "" as long as nobody was told */
    enum srv_state state;
    enum srv_stop stop;
    size_t n_interested; /* requests it runs for */
    bool is_kept;        /* runs on without them; its id is known */
    bool is_listed;      /* in the table of ids, which has a reference */
    bool is_merging;     /* in the table of what is in flight */
    bool is_in_group;    /* waits, or has waited, for other ranks */
    bool is_lost;        /* a table had no memory for it */
    bool is_unsaved;     /* its end is not on disk yet */
    bool was_acked;      /* of the loop thread */
    uint64_t begun_ns;   /* of the loop thread: a worker takes it; 0: not yet */
    enum srv_state end_state; /* what `state` becomes when it is revealed */
    uint32_t attempts;
    int64_t started_ms;
    int64_t finished_ms;
    struct srv_job
        *next_alive; /* a list with `previous` of the first the last */
    struct srv_job *previous_alive;
    UT_hash_handle by_id;
    UT_hash_handle by_key;
    UT_hash_handle by_structure;
    struct srv_key structure;  /* of what it leads, or waits for */
    bool leads;                /* works on it; others wait */
    struct srv_job *followers; /* who wait */
    struct srv_job *leader;    /* whom it waits for */
    struct srv_job *next_follower;
    struct srv_job *next_mail;
    unsigned mail; /* enum srv_mail, as bits */

    /* Of a group's member: groups.h */
    char group_key[SRV_PARAM_SIZE]; /* fixed when it is made; "" for none */
    bool keeps_body;                /* likewise */
    struct srv_group *group;        /* held; NULL as long as it has not run */
    uint32_t rank;
    bool is_waiting; /* in the group's list, with next_in_group */
    bool is_parked;  /* the group has the pool's reference */
    bool is_decided; /* what follows is the result, to be taken over */
    struct srv_answer *group_answer;
    struct proto_problem group_problem;
    struct srv_job *next_in_group;

    atomic_bool cancelled;      /* polled while it runs */
    atomic_uint_fast64_t event; /* counts what there is to tell: events.h */
    atomic_uint progress_phase; /* enum proto_phase */
    atomic_uint progress_done;
    atomic_uint progress_total;

    /* Of a ticket: a job that is read from the store. */
    struct srv_job_record record;
    unsigned read_with; /* SRV_WITH_...; 0: nothing is */
    bool composes;      /* of it and its body a document is made: compose.h */

    /* Of a job without a document: what is asked about another's. Fixed when it
     * is made. */
    char
        about_id[SRV_JOB_ID_SIZE]; /* whose document it reads; "" for its own */
    struct srv_question question;

    /* Input and result. */
    struct srv_body body;
    bool body_is_stored;       /* and has to be read first: after a restart */
    struct srv_answer *answer; /* NULL: there is a problem */
    struct proto_problem problem; /* kind PROTO_NO_PROBLEM: there is none */
    size_t charged_bytes;         /* of the budget, for the answer */
    enum srv_cache_result source; /* where it came from */
    bool is_deferred; /* no result: another job works on the same structure */
    uint32_t n_nodes;
    uint64_t n_steps;
    size_t memory_bytes;
    uint64_t phase_ns[PROTO_N_PHASES];
    uint64_t started_ns; /* monotonic: a worker took it; 0: none did */
    uint64_t finished_ns;
};

/* A job that owns the request's body, which becomes empty; with one reference.
 * NULL without memory (the body then stays). */
struct srv_job *srv_job_new_take(struct srv_request *request);
/* Not work, but something of the store's that a request waits for: it is over
 * when SRV_MAIL_OVER says so. `problem` is what came of it. With one reference;
 * NULL without memory. */
struct srv_job *srv_job_new_ticket(struct srv_request *request);
/* A job that the store kept over a restart. Its body is read when it runs. */
struct srv_job *srv_job_new_stored(struct srv_server *server,
                                   const struct srv_job_record *record);
struct srv_job *srv_job_ref(struct srv_job *job);
void srv_job_unref(struct srv_job *job); /* NULL is fine */
/* Does the work. On a pool thread; frees the body and gives back what the
 * allocator kept of a large job. */
void srv_job_run(struct srv_job *job);

#endif
