/*
 * job.h: one plan being made on a pool thread.
 *
 * A job has its own body, answer and flag, and touches nothing else: it may
 * outlive the request that asked for it.
 */
#ifndef SRV_JOB_H
#define SRV_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "body.h"
#include "config.h"
#include "proto.h"

struct srv_request;
struct srv_server;

struct srv_job {
    uv_work_t work; /* libuv's while the job runs */
    struct srv_server *server;
    struct srv_job *next; /* of the inbox or the queue: pool.c */
    struct srv_job *previous;
    struct srv_job *next_cancelled; /* of a sweep's list */
    struct srv_request *request;    /* who waits; guarded by the registry */
    bool running;                   /* loop thread only */
    atomic_bool cancelled;

    struct srv_body body;
    enum proto_format format;
    bool wants_frontier; /* else a plan */
    struct proto_answer answer;
    bool answered;       /* `answer` is to be released */
    uint64_t queued_ns;  /* accepted; also what deadline_ms counts from */
    uint64_t started_ns; /* a worker took it */
    uint64_t finished_ns;
};

/* A job that owns the body, which becomes empty; NULL without memory (the body
 * then stays with the caller). */
struct srv_job *srv_job_new_take(struct srv_server *server,
                                 struct srv_body *body,
                                 enum proto_format format);
/* Makes the plan. On a pool thread; frees the body and gives back what the
 * allocator kept of a large job. */
void srv_job_run(struct srv_job *job);
void srv_job_free(struct srv_job *job); /* NULL is fine */

#endif
