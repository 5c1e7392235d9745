/*
 * page_repeats.c: where a sequence of operators repeats itself.
 *
 * Every run of a few operators votes for the distance to its last occurrence;
 * of the distances with the most votes, the one with the longest stretch that
 * equals what stands that far behind it wins.
 */
#include "page_blocks.h"

enum {
    GRAM = 8,       /* operators of a run that votes */
    CANDIDATES = 8, /* distances that are looked at closely */
    SHORTEST = 4,   /* of a repeated part */
    PARTS = 12      /* where nothing repeats */
};

struct stretch {
    uint32_t from;
    uint32_t length; /* operators that equal the one `period` behind */
    uint32_t period;
};

/* Votes by distance; NULL: no memory. */
static uint32_t *count_votes(struct remat_job *job, const uint32_t *kinds,
                             uint32_t n)
{
    uint32_t size = 1;
    uint32_t *last;
    uint32_t *votes = remat_job_alloc(job, (size_t)n + 1, sizeof(*votes));

    while (size < n && size < (UINT32_C(1) << 30))
        size *= 2;
    last = remat_job_alloc(job, size, sizeof(*last)); /* position + 1 */
    if (votes == NULL || last == NULL)
        return NULL;
    for (uint32_t i = 0; i + GRAM <= n; i++) {
        uint64_t hash = UINT64_C(14695981039346656037);
        uint32_t *slot;

        for (uint32_t j = 0; j < GRAM; j++)
            hash = (hash ^ kinds[i + j]) * UINT64_C(1099511628211);
        slot = &last[(hash >> 20) & (size - 1)];
        if (*slot != 0)
            votes[i + 1 - *slot]++;
        *slot = i + 1;
    }
    return votes;
}

static struct stretch longest_stretch(const uint32_t *kinds, uint32_t n,
                                      uint32_t period)
{
    struct stretch best = {0, 0, period};
    uint32_t from = 0;

    for (uint32_t i = 0; i + period < n; i++) {
        if (kinds[i] != kinds[i + period]) {
            from = i + 1;
            continue;
        }
        if (i + 1 - from > best.length) {
            best.from = from;
            best.length = i + 1 - from;
        }
    }
    return best;
}

/* The distance with the most votes, which it loses; 0: none has any. */
static uint32_t take_distance(uint32_t *votes, uint32_t n)
{
    uint32_t best = 0;

    for (uint32_t d = SHORTEST; d < n; d++)
        if (votes[d] > (best == 0 ? 0 : votes[best]))
            best = d;
    votes[best] = 0;
    return best;
}

static struct stretch find_stretch(const uint32_t *kinds, uint32_t n,
                                   uint32_t *votes)
{
    struct stretch best = {0, 0, 0};

    for (int i = 0; i < CANDIDATES; i++) {
        uint32_t period = take_distance(votes, n);
        struct stretch stretch;

        if (period == 0)
            break;
        stretch = longest_stretch(kinds, n, period);
        if (stretch.length < period || stretch.length <= best.length)
            continue;
        best = stretch;
    }
    return best;
}

static uint32_t split_evenly(uint32_t n, uint32_t *part)
{
    uint32_t parts = n < PARTS ? n : PARTS;

    for (uint32_t i = 0; i < n; i++)
        part[i] = (uint32_t)((uint64_t)i * parts / n);
    return parts;
}

uint32_t proto_repeats_find(struct remat_job *job, const uint32_t *kinds,
                            uint32_t n, uint32_t *part)
{
    uint32_t *votes = count_votes(job, kinds, n);
    struct stretch best;
    uint32_t times;
    uint32_t end;
    uint32_t before;

    if (votes == NULL || n == 0)
        return 0;
    best = find_stretch(kinds, n, votes);
    if (best.period == 0)
        return split_evenly(n, part);
    times = best.length / best.period + 1;
    end = best.from + times * best.period;
    before = best.from > 0;
    for (uint32_t i = 0; i < n; i++)
        part[i] = i < best.from ? 0
                  : i < end     ? before + (i - best.from) / best.period
                                : before + times;
    return before + times + (end < n);
}
