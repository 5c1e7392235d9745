/*
 * sort.c: a stable order of indices by key, merging runs bottom up.
 */
#include "sort.h"

#include <stdbool.h>

/* Whether index a has to stand before b, which came first. */
typedef bool goes_before(const void *keys, uint32_t a, uint32_t b);

static bool is_less(const void *keys, uint32_t a, uint32_t b)
{
    const uint64_t *key = keys;

    return key[a] < key[b];
}

static bool is_more(const void *keys, uint32_t a, uint32_t b)
{
    const double *key = keys;

    return key[a] > key[b];
}

struct order {
    const void *keys;
    goes_before *before;
    uint32_t *from;
    uint32_t *to;
};

static void merge(const struct order *order, uint64_t low, uint64_t middle,
                  uint64_t high)
{
    const uint32_t *from = order->from;
    uint64_t a = low;
    uint64_t b = middle;

    for (uint64_t i = low; i < high; i++) {
        bool from_second =
            a == middle ||
            (b < high && order->before(order->keys, from[b], from[a]));

        order->to[i] = from_second ? from[b++] : from[a++];
    }
}

static uint32_t *sort(struct remat_arena *arena, struct order order, uint32_t n)
{
    order.from = REMAT_NEW_ARRAY(arena, uint32_t, n);
    order.to = REMAT_NEW_ARRAY(arena, uint32_t, n);
    if (order.from == NULL || order.to == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        order.from[i] = i;
    for (uint64_t width = 1; width < n; width *= 2) {
        uint32_t *swap = order.from;

        for (uint64_t low = 0; low < n; low += 2 * width) {
            uint64_t middle = low + width < n ? low + width : n;
            uint64_t high = low + 2 * width < n ? low + 2 * width : n;

            merge(&order, low, middle, high);
        }
        order.from = order.to;
        order.to = swap;
    }
    return order.from;
}

uint32_t *remat_sort_ascending(struct remat_arena *arena, const uint64_t *keys,
                               uint32_t n)
{
    return sort(arena, (struct order){.keys = keys, .before = is_less}, n);
}

uint32_t *remat_sort_descending(struct remat_arena *arena, const double *keys,
                                uint32_t n)
{
    return sort(arena, (struct order){.keys = keys, .before = is_more}, n);
}
