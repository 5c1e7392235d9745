/*
 * sort.c: a stable order of indices by key, merging runs bottom up.
 */
#include "knapsack.h"

static void merge(const double *keys, const uint32_t *from, uint32_t *to,
                  uint32_t low, uint32_t middle, uint32_t high)
{
    uint32_t a = low;
    uint32_t b = middle;

    for (uint32_t i = low; i < high; i++) {
        bool from_second =
            a == middle || (b < high && keys[from[b]] > keys[from[a]]);

        to[i] = from_second ? from[b++] : from[a++];
    }
}

uint32_t *remat_sort_descending(struct remat_arena *arena, const double *keys,
                                uint32_t n)
{
    uint32_t *order = REMAT_NEW_ARRAY(arena, uint32_t, n);
    uint32_t *other = REMAT_NEW_ARRAY(arena, uint32_t, n);

    if (order == NULL || other == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint64_t width = 1; width < n; width *= 2) {
        uint32_t *swap = order;

        for (uint64_t low = 0; low < n; low += 2 * width) {
            uint64_t middle = low + width < n ? low + width : n;
            uint64_t high = low + 2 * width < n ? low + 2 * width : n;

            merge(keys, order, other, (uint32_t)low, (uint32_t)middle,
                  (uint32_t)high);
        }
        order = other;
        other = swap;
    }
    return order;
}
