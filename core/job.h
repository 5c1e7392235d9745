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
    uint64_t next_poll; /* n_steps at which stop is asked again */
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
/* The arena's refusal as an error. */
enum remat_status remat_job_no_memory(const struct remat_job *job,
                                      struct remat_error *err);

#endif
