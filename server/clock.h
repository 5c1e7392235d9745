/*
 * clock.h: the monotonic clock, in nanoseconds.
 */
#ifndef SRV_CLOCK_H
#define SRV_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SRV_NS_PER_S  UINT64_C(1000000000)
#define SRV_NS_PER_MS UINT64_C(1000000)

static inline uint64_t srv_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SRV_NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
