/*
 * base.h: the few words every file of core uses: checked arithmetic on sizes
 * that come from input, and asserts.
 */
#ifndef REMAT_BASE_H
#define REMAT_BASE_H

#include "remat.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define REMAT_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A walk over a whole structure, only where it may cost: debug and fuzzing. */
#if defined(REMAT_SLOW_CHECKS) && REMAT_SLOW_CHECKS
#define REMAT_SLOW(expr) assert(expr)
#else
#define REMAT_SLOW(expr) ((void)0)
#endif

REMAT_NODISCARD static inline bool remat_add_i64(int64_t a, int64_t b,
                                                 int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

REMAT_NODISCARD static inline bool remat_mul_i64(int64_t a, int64_t b,
                                                 int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

REMAT_NODISCARD static inline bool remat_mul_size(size_t a, size_t b,
                                                  size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* Sum of amounts >= 0 that sticks at the greatest int64_t. */
static inline int64_t remat_add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    return remat_add_i64(a, b, &sum) ? sum : INT64_MAX;
}

#endif
