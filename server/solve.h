/*
 * solve.h: one document to one answer: known, made from the answer to another
 * graph of the same structure, or worked out. On a pool thread.
 */
#ifndef SRV_SOLVE_H
#define SRV_SOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "job.h"

/* A document of a job: its body, or a line of it. */
struct srv_document {
    const char *bytes;
    size_t length;
    enum srv_call call; /* not SRV_CALL_BATCH or SRV_CALL_GROUP */
    enum proto_format format;
    const struct srv_question *question; /* of a call that derives */
    bool may_defer; /* to another job that works on the same structure */
};

struct srv_solution {
    struct srv_answer *answer; /* a reference; NULL: `problem`, or deferred */
    struct proto_problem problem;
    bool is_deferred; /* the job has joined the followers: see desk.h */
    enum srv_cache_result source;
    uint32_t n_nodes;
    uint64_t n_steps;
    size_t memory_bytes;
    uint64_t phase_ns[PROTO_N_PHASES];
};

/* Fills the solution. The job is who asks: its owner, its flag, its progress.
 */
void srv_solve(struct srv_job *job, const struct srv_document *document,
               struct srv_solution *solution);

#endif
