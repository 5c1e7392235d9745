/*
 * sort.h: stable orders of indices by key, without recursion.
 */
#ifndef REMAT_SORT_H
#define REMAT_SORT_H

#include <stdint.h>

#include "arena.h"

/* Indices 0..n-1 by key, equal keys in index order; NULL without room.
 * O(n log n). */
uint32_t *remat_sort_ascending(struct remat_arena *arena, const uint64_t *keys,
                               uint32_t n);
uint32_t *remat_sort_descending(struct remat_arena *arena, const double *keys,
                                uint32_t n);

#endif
