/*
 * fuzz_graph: graphs wrong and right through the builder, solved under tight
 * limits. Core must answer with a status of its own; an internal error is a
 * failure.
 */
#include "fuzz_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct fuzz_program program = {.bytes = bytes,
                                   .n_bytes = n_bytes,
                                   .most_nodes = FUZZ_NODES,
                                   .most_bytes = INT64_MAX};
    struct remat_limits limits;
    struct remat_options options;
    struct remat_error err = {.node = REMAT_NONE};
    const struct remat_plan *plan = NULL;
    enum remat_status status;
    struct remat_job *job;

    if (n_bytes == 0)
        return 0;
    program.wild = (bytes[n_bytes - 1] & 1) != 0;
    memset(&limits, 0, sizeof limits);
    limits.memory_bytes = (size_t)16 << 20;
    limits.n_steps = (bytes[n_bytes - 1] & 2) != 0 ? 1 + bytes[0] : 0;
    job = remat_job_new(&limits);
    if (job == NULL)
        return 0;
    fuzz_options(&program, &options);
    status = fuzz_build(&program, job, &err);
    if (status == REMAT_OK)
        status = remat_plan_solve(job, &options, &plan, &err);
    if (status == REMAT_E_BUG) {
        fprintf(stderr, "%s\n", err.detail);
        abort();
    }
    if (status == REMAT_OK && plan == NULL)
        abort();
    if (status != REMAT_OK && err.status != status)
        abort();
    remat_job_free(job);
    return 0;
}
