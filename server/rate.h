/*
 * rate.h: how much one principal may ask for: requests a second, and jobs that
 * wait or run at the same time.
 *
 * Lock-free, for any thread. The clock is the caller's.
 */
#ifndef SRV_RATE_H
#define SRV_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SRV_RATE_MOST UINT64_C(1000000)

/*
 * A token bucket that holds a second's worth of requests and starts full. All
 * zero is a new one. What is kept is when the bucket will be full again, in
 * nanoseconds of a monotonic clock.
 */
struct srv_bucket {
    atomic_uint_fast64_t full_ns;
};

/* Takes a request out of a bucket into which `rate` flow in a second: 0. When
 * it is empty, nothing is taken, and what comes back is how long until one
 * could be, in ns. Rate 0: no limit; at most SRV_RATE_MOST. O(1). */
uint64_t srv_bucket_take(struct srv_bucket *bucket, uint64_t rate,
                         uint64_t now_ns);
/* A Retry-After in seconds: not before the wait is over, at least 1. */
unsigned srv_retry_after_s(uint64_t wait_ns);

/* Takes one of `limit` places; false when all are taken. Limit 0: no limit, but
 * it is counted. O(1). */
bool srv_place_take(atomic_uint_fast64_t *n_taken, uint64_t limit);
void srv_place_give(atomic_uint_fast64_t *n_taken);

#endif
