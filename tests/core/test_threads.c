/*
 * Jobs share nothing: many threads plan at once, each with jobs of its own, and
 * all get the same answers. Run under the thread sanitizer.
 */
#include "gb.h"
#include "suite.h"

#include <pthread.h>
#include <stdint.h>

enum {
    N_THREADS = 8,
    N_ROUNDS = 12
};

/* What a plan says, folded into a number. */
static uint64_t fold(uint64_t sum, struct remat_nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        sum = (sum ^ nodes.at[i]) * 1099511628211u;
    return (sum ^ nodes.n) * 1099511628211u;
}

static uint64_t plan_once(unsigned round)
{
    struct remat_options options;
    const struct remat_plan *plan;
    uint64_t sum = 14695981039346656037u;
    struct gb b;

    remat_options_init(&options);
    options.profile =
        round % 2 == 0 ? REMAT_PROFILE_PYTORCH : REMAT_PROFILE_PLAIN;
    gb_init(&b, NULL);
    if (round % 3 == 0)
        gb_conflict(&b);
    else if (round % 3 == 1)
        gb_misplaced(&b);
    else
        gb_chain(&b, 50 + 40 * round);
    plan = gb_solve(&b, &options);
    if (plan != NULL) {
        sum = fold(sum + (unsigned)plan->outcome, plan->saved);
        sum = fold(sum, plan->recomputed);
    }
    gb_free(&b);
    return sum;
}

struct worker {
    pthread_t thread;
    uint64_t sums[N_ROUNDS];
};

static void *work(void *context)
{
    struct worker *worker = context;

    for (unsigned round = 0; round < N_ROUNDS; round++)
        worker->sums[round] = plan_once(round);
    return NULL;
}

START_TEST(threads_plan_side_by_side)
{
    struct worker workers[N_THREADS];
    uint64_t alone[N_ROUNDS];

    for (unsigned round = 0; round < N_ROUNDS; round++)
        alone[round] = plan_once(round);
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        for (unsigned round = 0; round < N_ROUNDS; round++)
            ck_assert_uint_eq(workers[i].sums[round], alone[round]);
    ck_assert_uint_ne(alone[2], alone[5]);
}
END_TEST

SUITE("threads", threads_plan_side_by_side)
