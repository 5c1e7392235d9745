/*
 * test_rate.c: buckets and places at one less, the limit and one more, and
 * from many threads.
 */
#include "rate.h"

#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "suite.h"

static const uint64_t start_ns = 1000 * SRV_NS_PER_S;

START_TEST(test_a_second_at_once)
{
    static const uint64_t rates[] = {1,  2,    3,      7,
                                     10, 1000, 999999, SRV_RATE_MOST};

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct srv_bucket bucket = {0};
        const uint64_t rate = rates[i];
        uint64_t n_refused = 0;

        for (uint64_t n = 0; n < rate; n++)
            n_refused += srv_bucket_take(&bucket, rate, start_ns) != 0;
        ck_assert_uint_eq(n_refused, 0);
        ck_assert_uint_gt(srv_bucket_take(&bucket, rate, start_ns), 0);
        ck_assert_uint_le(srv_bucket_take(&bucket, rate, start_ns),
                          SRV_NS_PER_S / rate);
    }
}
END_TEST

START_TEST(test_what_it_says_is_exact)
{
    struct srv_bucket bucket = {0};

    for (int n = 0; n < 5; n++)
        ck_assert_uint_eq(srv_bucket_take(&bucket, 5, start_ns), 0);
    const uint64_t wait_ns = srv_bucket_take(&bucket, 5, start_ns);
    ck_assert_uint_eq(wait_ns, SRV_NS_PER_S / 5);
    ck_assert_uint_gt(srv_bucket_take(&bucket, 5, start_ns + wait_ns - 1), 0);
    ck_assert_uint_eq(srv_bucket_take(&bucket, 5, start_ns + wait_ns), 0);
    ck_assert_uint_gt(srv_bucket_take(&bucket, 5, start_ns + wait_ns), 0);
}
END_TEST

START_TEST(test_it_fills_up_and_no_more)
{
    struct srv_bucket bucket = {0};
    const uint64_t later_ns = start_ns + 3600 * SRV_NS_PER_S;

    for (int n = 0; n < 3; n++)
        ck_assert_uint_eq(srv_bucket_take(&bucket, 3, start_ns), 0);
    for (int n = 0; n < 3; n++)
        ck_assert_uint_eq(srv_bucket_take(&bucket, 3, later_ns), 0);
    ck_assert_uint_gt(srv_bucket_take(&bucket, 3, later_ns), 0);
}
END_TEST

/* Over a long time exactly `rate` a second, however the requests come. */
START_TEST(test_steady_rate)
{
    struct srv_bucket bucket = {0};
    uint64_t n_taken = 0;

    for (uint64_t ms = 0; ms < 10000; ms++)
        n_taken +=
            srv_bucket_take(&bucket, 50, start_ns + ms * SRV_NS_PER_MS) == 0;
    ck_assert_uint_ge(n_taken, 50 * 10 + 49);
    ck_assert_uint_le(n_taken, 50 * 11);
}
END_TEST

START_TEST(test_no_limit)
{
    struct srv_bucket bucket = {0};

    for (int n = 0; n < 1000; n++)
        ck_assert_uint_eq(srv_bucket_take(&bucket, 0, start_ns), 0);
}
END_TEST

START_TEST(test_limit_that_changes)
{
    struct srv_bucket bucket = {0};

    ck_assert_uint_eq(srv_bucket_take(&bucket, 1, start_ns), 0);
    ck_assert_uint_gt(srv_bucket_take(&bucket, 1, start_ns), 0);
    ck_assert_uint_eq(srv_bucket_take(&bucket, 0, start_ns), 0);
    /* A tenth flows in at ten times the speed. */
    ck_assert_uint_eq(
        srv_bucket_take(&bucket, 10, start_ns + SRV_NS_PER_S / 10), 0);
}
END_TEST

START_TEST(test_retry_after)
{
    ck_assert_uint_eq(srv_retry_after_s(0), 1);
    ck_assert_uint_eq(srv_retry_after_s(1), 1);
    ck_assert_uint_eq(srv_retry_after_s(SRV_NS_PER_S - 1), 1);
    ck_assert_uint_eq(srv_retry_after_s(SRV_NS_PER_S), 1);
    ck_assert_uint_eq(srv_retry_after_s(SRV_NS_PER_S + 1), 2);
    ck_assert_uint_eq(srv_retry_after_s(UINT64_MAX) > 1, 1);
}
END_TEST

START_TEST(test_places)
{
    atomic_uint_fast64_t n = 0;

    ck_assert(srv_place_take(&n, 2));
    ck_assert(srv_place_take(&n, 2));
    ck_assert(!srv_place_take(&n, 2));
    ck_assert(srv_place_take(&n, 3)); /* a reload raised it */
    ck_assert(!srv_place_take(&n, 1));
    srv_place_give(&n);
    ck_assert(!srv_place_take(&n, 2));
    srv_place_give(&n);
    ck_assert(srv_place_take(&n, 2));
    ck_assert(srv_place_take(&n, 0)); /* no limit, but counted */
    ck_assert_uint_eq(atomic_load(&n), 3);
}
END_TEST

/* ---- threads ----------------------------------------------------------- */

struct shared {
    struct srv_bucket bucket;
    atomic_uint_fast64_t n_places;
    atomic_uint_fast64_t n_taken;
    atomic_uint_fast64_t n_most;
};

static void *take_many(void *context)
{
    struct shared *shared = context;

    for (int i = 0; i < 8000; i++) {
        if (srv_bucket_take(&shared->bucket, 12000, start_ns) == 0)
            atomic_fetch_add(&shared->n_taken, 1);
        if (srv_place_take(&shared->n_places, 3)) {
            const uint64_t n = atomic_load(&shared->n_places);

            if (n > 3)
                atomic_store(&shared->n_most, n);
            srv_place_give(&shared->n_places);
        }
    }
    return NULL;
}

START_TEST(test_threads_do_not_share_a_request)
{
    struct shared shared;
    pthread_t threads[4];

    memset(&shared, 0, sizeof shared);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_many, &shared),
                         0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&shared.n_taken), 12000);
    ck_assert_uint_eq(atomic_load(&shared.n_most), 0);
    ck_assert_uint_eq(atomic_load(&shared.n_places), 0);
}
END_TEST

SUITE("rate", test_a_second_at_once, test_what_it_says_is_exact,
      test_it_fills_up_and_no_more, test_steady_rate, test_no_limit,
      test_limit_that_changes, test_retry_after, test_places,
      test_threads_do_not_share_a_request)
