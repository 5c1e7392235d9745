/*
 * job.c: life of a job, its effort budget and its memory.
 */
#include "job.h"

#include "error.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS_BETWEEN_POLLS = 1 << 14
};

struct remat_job *remat_job_new(const struct remat_limits *limits)
{
    struct remat_arena arena;
    struct remat_job *job;

    remat_arena_init(&arena, limits);
    job = REMAT_NEW(&arena, struct remat_job);
    if (job == NULL) {
        remat_arena_release(&arena);
        return NULL;
    }
    job->arena = arena;
    if (limits != NULL)
        job->limits = *limits;
    job->next_poll = STEPS_BETWEEN_POLLS;
    return job;
}

void remat_job_free(struct remat_job *job)
{
    struct remat_arena arena;

    if (job == NULL)
        return;
    arena = job->arena; /* the job lies in its own arena */
    remat_arena_release(&arena);
}

void *remat_job_alloc(struct remat_job *job, size_t n, size_t size)
{
    return remat_arena_alloc(&job->arena, n, size);
}

char *remat_job_strdup(struct remat_job *job, const char *text)
{
    size_t n_bytes = strlen(text) + 1;
    char *copy = remat_arena_alloc(&job->arena, n_bytes, 1);

    return copy == NULL ? NULL : memcpy(copy, text, n_bytes);
}

enum remat_status remat_job_status(const struct remat_job *job)
{
    return job->arena.status;
}

size_t remat_job_memory_bytes(const struct remat_job *job)
{
    return job->arena.n_bytes;
}

uint64_t remat_job_steps(const struct remat_job *job)
{
    return job->n_steps;
}

static bool stop_requested(const struct remat_job *job)
{
    return job->limits.stop != NULL &&
           job->limits.stop(job->limits.context) != 0;
}

enum remat_status remat_job_spend(struct remat_job *job, uint64_t n,
                                  const char *where, struct remat_error *err)
{
    job->n_steps += n;
    if (job->limits.n_steps != 0 && job->n_steps > job->limits.n_steps)
        return remat_error_set(err, REMAT_E_STEPS, REMAT_NONE,
                               "%s: the limit of %llu steps is used up, raise "
                               "it or make the graph smaller",
                               where, (unsigned long long)job->limits.n_steps);
    if (job->n_steps < job->next_poll)
        return REMAT_OK;
    job->next_poll = job->n_steps + STEPS_BETWEEN_POLLS;
    if (stop_requested(job))
        return remat_error_set(err, REMAT_E_STOPPED, REMAT_NONE,
                               "%s: stopped on request", where);
    return REMAT_OK;
}

enum remat_status remat_job_enter(struct remat_job *job, enum remat_phase phase,
                                  struct remat_error *err)
{
    if (job->limits.phase != NULL)
        job->limits.phase(job->limits.context, phase);
    if (stop_requested(job))
        return remat_error_set(err, REMAT_E_STOPPED, REMAT_NONE,
                               "between phases: stopped on request");
    return REMAT_OK;
}

void remat_job_begin_parts(struct remat_job *job)
{
    job->n_counting++;
}

void remat_job_end_parts(struct remat_job *job)
{
    job->n_counting--;
}

void remat_job_tell(struct remat_job *job, uint32_t done, uint32_t total)
{
    if (job->n_counting == 1 && job->limits.progress != NULL)
        job->limits.progress(job->limits.context, done, total);
}

enum remat_status remat_job_no_memory(const struct remat_job *job,
                                      struct remat_error *err)
{
    if (job->arena.status == REMAT_E_NOMEM)
        return remat_error_set(err, REMAT_E_NOMEM, REMAT_NONE,
                               "job: the allocator returned nothing");
    return remat_error_set(err, REMAT_E_LIMIT, REMAT_NONE,
                           "job: more memory needed than the limit of %zu "
                           "bytes",
                           job->arena.limit_bytes);
}
