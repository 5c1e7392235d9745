/*
 * rate.c: see rate.h.
 *
 * The bucket is kept as a time (the generic cell rate algorithm): every request
 * moves the time at which the bucket is full again by what one request takes to
 * flow in. It is empty when that time is more than a second ahead.
 */
#include "rate.h"

#include <assert.h>
#include <limits.h>

#include "clock.h"

uint64_t srv_bucket_take(struct srv_bucket *bucket, uint64_t rate,
                         uint64_t now_ns)
{
    uint_fast64_t before = atomic_load(&bucket->full_ns);
    uint64_t after;

    assert(rate <= SRV_RATE_MOST);
    if (rate == 0)
        return 0;
    const uint64_t one_ns = SRV_NS_PER_S / rate;
    do {
        after = (before > now_ns ? before : now_ns) + one_ns;
        /* rate * one_ns is a second, up to rounding. */
        if (after - now_ns > rate * one_ns)
            return after - now_ns - rate * one_ns;
    } while (!atomic_compare_exchange_weak(&bucket->full_ns, &before, after));
    return 0;
}

unsigned srv_retry_after_s(uint64_t wait_ns)
{
    const uint64_t seconds =
        wait_ns / SRV_NS_PER_S + (wait_ns % SRV_NS_PER_S != 0);

    if (seconds == 0)
        return 1;
    return seconds > UINT_MAX ? UINT_MAX : (unsigned)seconds;
}

bool srv_place_take(atomic_uint_fast64_t *n_taken, uint64_t limit)
{
    uint_fast64_t n = atomic_load(n_taken);

    do {
        if (limit > 0 && n >= limit)
            return false;
    } while (!atomic_compare_exchange_weak(n_taken, &n, n + 1));
    return true;
}

void srv_place_give(atomic_uint_fast64_t *n_taken)
{
    const uint_fast64_t before = atomic_fetch_sub(n_taken, 1);

    assert(before > 0);
    (void)before;
}
