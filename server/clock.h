/*
 * clock.h: the monotonic clock, in nanoseconds, and the wall clock for people.
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

/* That many seconds from now. */
static inline uint64_t srv_after_s(uint64_t seconds)
{
    return srv_now_ns() + seconds * SRV_NS_PER_S;
}

/* Milliseconds since 1970. */
static inline int64_t srv_wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
