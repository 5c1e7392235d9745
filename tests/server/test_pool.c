/*
 * test_pool.c: whose turn it is, in a pool without workers.
 */
#include "pool.h"

#include <string.h>

#include "clock.h"
#include "suite.h"

#define N_JOBS 4

struct bench {
    uv_loop_t loop;
    uv_async_t wake;
    struct srv_pool pool;
    struct srv_job jobs[N_JOBS];
};

static void on_wake(uv_async_t *wake)
{
    (void)wake;
}

static void on_job(struct srv_job *job)
{
    (void)job;
    ck_abort_msg("a pool without workers runs nothing");
}

static void begin(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    ck_assert_int_eq(uv_async_init(&bench->loop, &bench->wake, on_wake), 0);
    ck_assert_int_eq(
        srv_pool_init(&bench->pool, 0, N_JOBS, &bench->wake, on_job, on_job),
        0);
}

static void end(struct bench *bench)
{
    srv_pool_release(&bench->pool);
    uv_close((uv_handle_t *)&bench->wake, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
}

static void queue(struct bench *bench, int i, enum srv_priority priority,
                  uint64_t seconds)
{
    struct srv_job *job = &bench->jobs[i];

    job->priority = priority;
    job->queued_ns = (1000 + seconds) * SRV_NS_PER_S;
    ck_assert(srv_pool_reserve(&bench->pool));
    srv_pool_submit(&bench->pool, job);
    srv_pool_pump(&bench->pool);
}

static size_t n_before(struct bench *bench, int i)
{
    return srv_pool_n_before(&bench->pool, &bench->jobs[i]);
}

START_TEST(test_interactive_goes_first)
{
    struct bench bench;

    begin(&bench);
    queue(&bench, 0, SRV_BATCH, 0);
    queue(&bench, 1, SRV_INTERACTIVE, 1);
    queue(&bench, 2, SRV_INTERACTIVE, 2);
    queue(&bench, 3, SRV_BATCH, 3);
    ck_assert_uint_eq(n_before(&bench, 1), 0);
    ck_assert_uint_eq(n_before(&bench, 2), 1);
    ck_assert_uint_eq(n_before(&bench, 0), 2);
    ck_assert_uint_eq(n_before(&bench, 3), 3);
    end(&bench);
}
END_TEST

START_TEST(test_nobody_starves)
{
    struct bench bench;

    /* Ten seconds later is late enough for a batch job to go first. */
    begin(&bench);
    queue(&bench, 0, SRV_BATCH, 0);
    queue(&bench, 1, SRV_INTERACTIVE, 9);
    queue(&bench, 2, SRV_INTERACTIVE, 11);
    ck_assert_uint_eq(n_before(&bench, 1), 0);
    ck_assert_uint_eq(n_before(&bench, 0), 1);
    ck_assert_uint_eq(n_before(&bench, 2), 2);
    end(&bench);
}
END_TEST

START_TEST(test_a_removed_job_is_out_of_the_way)
{
    struct bench bench;

    begin(&bench);
    for (int i = 0; i < N_JOBS; i++)
        queue(&bench, i, SRV_INTERACTIVE, (uint64_t)i);
    ck_assert(!srv_pool_reserve(&bench.pool)); /* full */
    ck_assert(srv_pool_remove(&bench.pool, &bench.jobs[1]));
    ck_assert(!srv_pool_remove(&bench.pool, &bench.jobs[1]));
    ck_assert_uint_eq(n_before(&bench, 1), 0);
    ck_assert_uint_eq(n_before(&bench, 3), 2);
    ck_assert(srv_pool_reserve(&bench.pool)); /* its place is free */
    end(&bench);
}
END_TEST

SUITE("pool", test_interactive_goes_first, test_nobody_starves,
      test_a_removed_job_is_out_of_the_way)
