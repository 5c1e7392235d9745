/*
 * chains.c: the two rules that look along chains of fusible operators
 * (semantics 5.4, 5.5).
 *
 * PyTorch searches anew from every value for 5.4, which takes quadratic time on
 * graphs whose values are read again far away. Where such a search stops does
 * not depend on where it started, so here one reverse walk answers all of them.
 */
#include "chains.h"

/* ---- 5.4: used far apart ------------------------------------------------ */

/*
 * first_unfusible[v]: the least order that a required-fw chain from v enters by
 * an unfusible step, every step before it being fusible; REMAT_NONE: none.
 *
 * The search of 5.4 from a set F visits nodes by increasing order and stops at
 * the first that an unfusible step leads to. Whatever it has visited by then is
 * reachable from F by fusible steps, so it stops at the least first_unfusible
 * of F, or at its limit where that is less.
 */
static void find_first_unfusible(const struct remat_work *w,
                                 uint32_t *first_unfusible)
{
    for (remat_node v = w->g->n; v-- > 0;) {
        uint32_t least = REMAT_NONE;

        REMAT_FOR_USERS (w, v, i) {
            remat_node user = w->users.items[i];
            uint32_t stop;

            if (!w->fw[user])
                continue;
            stop = w->fusible[i] ? first_unfusible[user] : w->order[user];
            if (stop < least)
                least = stop;
        }
        first_unfusible[v] = least;
    }
}

/* Where the search from the forward users of v stops, or REMAT_NONE when v has
 * none. */
static uint32_t where_it_stops(const struct remat_work *w, remat_node v,
                               const uint32_t *first_unfusible)
{
    uint32_t stop = REMAT_NONE;
    uint32_t limit = 0;
    bool has_users = false;

    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];

        if (!w->fw[user])
            continue;
        has_users = true;
        if (w->order[user] > limit)
            limit = w->order[user];
        if (first_unfusible[user] < stop)
            stop = first_unfusible[user];
    }
    if (!has_users)
        return REMAT_NONE;
    return stop < limit ? stop : limit;
}

enum remat_status remat_ban_used_far_apart(struct remat_work *w,
                                           struct remat_bans *bans,
                                           struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    uint32_t *first_unfusible = REMAT_NEW_ARRAY(arena, uint32_t, w->g->n);

    if (first_unfusible == NULL)
        return remat_job_no_memory(w->job, err);
    find_first_unfusible(w, first_unfusible);
    for (remat_node v = 0; v < w->g->n; v++) {
        uint32_t stop;

        if (!w->fw[v])
            continue;
        stop = where_it_stops(w, v, first_unfusible);
        if (stop == REMAT_NONE)
            continue;
        REMAT_FOR_USERS (w, v, i) {
            remat_node user = w->users.items[i];

            if (w->fw[user] && w->order[user] > stop && w->fusible[i])
                remat_ban(w, bans, user, REMAT_BAN_FAR_APART);
        }
    }
    remat_arena_rewind(arena, mark);
    return remat_job_spend(w->job, w->users.begin[w->g->n], "used-far-apart",
                           err);
}

/* ---- 5.5: long chains --------------------------------------------------- */

enum {
    LONG_CHAIN = 100
};

/* A binary heap of orders, least on top; equal entries stay apart. */
struct heap {
    uint32_t *at;
    uint32_t n;
};

static void heap_push(struct heap *heap, uint32_t order)
{
    uint32_t i = heap->n++;

    while (i > 0 && heap->at[(i - 1) / 2] > order) {
        heap->at[i] = heap->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap->at[i] = order;
}

static uint32_t heap_pop(struct heap *heap)
{
    uint32_t top = heap->at[0];
    uint32_t last = heap->at[--heap->n];
    uint32_t i = 0;

    while (2 * i + 1 < heap->n) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < heap->n && heap->at[child + 1] < heap->at[child])
            child++;
        if (heap->at[child] >= last)
            break;
        heap->at[i] = heap->at[child];
        i = child;
    }
    heap->at[i] = last;
    return top;
}

struct chains {
    struct heap heap;
    remat_node *at_order; /* required-fw nodes by order */
    bool *visited;        /* by node; shared by all starts */
};

static bool allocate(struct remat_work *w, struct chains *chains)
{
    struct remat_arena *arena = &w->job->arena;
    uint32_t n = w->g->n;

    /* A start, and each pair pushed at most once: a node is expanded once. */
    chains->heap = (struct heap){
        REMAT_NEW_ARRAY(arena, uint32_t, (size_t)w->users.begin[n] + 1), 0};
    chains->at_order = REMAT_NEW_ARRAY(arena, remat_node, n);
    chains->visited = REMAT_NEW_ARRAY(arena, bool, n);
    if (arena->status != REMAT_OK)
        return false;
    for (remat_node v = 0; v < n; v++)
        if (w->fw[v])
            chains->at_order[w->order[v]] = v;
    return true;
}

/* Follows the chain that starts at s until it is long and has narrowed to one
 * node, which is banned. */
static void follow_chain(const struct remat_work *w, struct remat_bans *bans,
                         struct chains *chains, remat_node s)
{
    struct heap *heap = &chains->heap;

    heap_push(heap, w->order[s]);
    while (heap->n > 0) {
        uint32_t order = heap_pop(heap);
        remat_node c = chains->at_order[order];

        if (chains->visited[c])
            continue;
        chains->visited[c] = true;
        /* A leftover duplicate keeps the heap from being empty: as specified.
         */
        if (order > w->order[s] + LONG_CHAIN && heap->n == 0) {
            remat_ban(w, bans, c, REMAT_BAN_LONG_CHAIN);
            return;
        }
        REMAT_FOR_USERS (w, c, i) {
            remat_node user = w->users.items[i];

            if (w->fw[user] && w->fusible[i] &&
                bans->reason[user] == REMAT_BAN_NONE)
                heap_push(heap, w->order[user]);
        }
    }
}

enum remat_status remat_ban_long_chains(struct remat_work *w,
                                        struct remat_bans *bans,
                                        struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&w->job->arena);
    struct chains chains;

    if (!allocate(w, &chains))
        return remat_job_no_memory(w->job, err);
    for (remat_node s = 0; s < w->g->n; s++)
        if (w->fw[s])
            follow_chain(w, bans, &chains, s);
    remat_arena_rewind(&w->job->arena, mark);
    return remat_job_spend(w->job, w->users.begin[w->g->n], "long-chains", err);
}
