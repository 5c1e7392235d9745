/*
 * job.h: what a job is made of. Private to core.
 *
 * A job bundles the arena, the effort budget and the graph under construction.
 * remat_job_spend is the only way to use up effort; its callers are the named
 * poll points of the solver.
 */
#ifndef REMAT_JOB_H
#define REMAT_JOB_H

#include "arena.h"
#include "graph.h"

struct remat_job {
    struct remat_arena arena;
    struct remat_limits limits;
    uint64_t n_steps;
    uint64_t next_poll;  /* n_steps at which stop is asked again */
    uint32_t n_counting; /* solves that count parts, one inside of another */
    uint32_t n_inner;    /* solves whose plan is a step to another answer, one
                            inside of another: they make no warnings (warn.h) */
    struct remat_graph graph;
};

/* Uses up n steps. REMAT_E_STEPS past the limit, REMAT_E_STOPPED when the
 * caller says stop; `where` names the poll point in the message. */
REMAT_NODISCARD enum remat_status remat_job_spend(struct remat_job *job,
                                                  uint64_t n, const char *where,
                                                  struct remat_error *err);
/* Announces a phase and polls. */
REMAT_NODISCARD enum remat_status remat_job_enter(struct remat_job *job,
                                                  enum remat_phase phase,
                                                  struct remat_error *err);
/* A solve that counts parts begins and ends: what it calls in between may count
 * parts of its own, of which nobody is told. */
void remat_job_begin_parts(struct remat_job *job);
void remat_job_end_parts(struct remat_job *job);
void remat_job_tell(struct remat_job *job, uint32_t done, uint32_t total);
/* The arena's refusal as an error. */
enum remat_status remat_job_no_memory(const struct remat_job *job,
                                      struct remat_error *err);

#endif
