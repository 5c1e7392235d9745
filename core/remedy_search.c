/*
 * remedy_search.c: all remedies that cost less than the best so far, by branch
 * and bound.
 *
 * With some tags changed there is a conflict, and every remedy that builds on
 * these changes has one of the ways that break it (remedy_ways.c). They are
 * tried one after the other, cheapest first; a way that was tried is excluded
 * from what is tried behind it, so no set of changes is met twice. A branch is
 * given up when what it costs so far and must cost more (remedy_cut.c) is not
 * less than the best.
 */
#include "remedy_work.h"

#include <string.h>

enum {
    MOST_DEPTH = 64,
    MOST_FRAMES = 20000
};

struct frame {
    struct remat_ways ways;
    uint32_t at;  /* the way under way, ways.n: none is left */
    int64_t cost; /* of the changes before it */
};

struct search {
    struct remat_remedy_work *r;
    struct frame *frames;
    uint32_t depth;
    uint32_t n_frames; /* ever */
};

enum remat_status remat_remedy_take_best(struct remat_remedy_work *r,
                                         const struct remat_way *ways,
                                         uint32_t n)
{
    struct remat_arena *arena = &r->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    const struct remat_plan *plan = NULL;
    enum remat_status status = remat_remedy_solve(r, &plan);
    int64_t cost = 0;

    if (status != REMAT_OK)
        return status;
    remat_arena_rewind(arena, mark);
    for (uint32_t k = 0; k < n; k++)
        cost += ways[k].cost;
    if (plan == NULL || (r->n_best > 0 && cost >= r->best_cost))
        return REMAT_OK;
    memcpy(r->best, ways, n * sizeof(*ways));
    r->n_best = n;
    r->best_cost = cost;
    return REMAT_OK;
}

/* The way under way of every frame. */
static enum remat_status take_best(struct search *s)
{
    struct remat_way ways[MOST_DEPTH];
    uint32_t n = 0;

    for (uint32_t k = 0; k + 1 < s->depth; k++)
        ways[n++] = s->frames[k].ways.at[s->frames[k].at];
    return remat_remedy_take_best(s->r, ways, n);
}

/* What to try with the tags as they are now, for the newest frame. */
static enum remat_status look(struct search *s, struct frame *frame)
{
    struct remat_remedy_work *r = s->r;
    uint32_t n_before = r->n_best;
    int64_t cost_before = r->best_cost;
    struct remat_probe probe;
    int64_t bound = 0;
    enum remat_status status = remat_remedy_probe(r, &probe);

    if (status != REMAT_OK)
        return status;
    if (probe.part.graph.n == 0) {
        status = probe.is_refused ? REMAT_OK : take_best(s);
        if (status != REMAT_OK ||
            (r->n_best > 0 && (n_before == 0 || r->best_cost < cost_before)))
            return status;
        /* No conflict and yet no plan: any change may matter. */
        remat_remedy_invalid_ways(r, &frame->ways);
        return REMAT_OK;
    }
    status = remat_remedy_bound(r, &probe, &bound);
    if (status != REMAT_OK || bound == REMAT_NO_WAY ||
        (r->n_best > 0 && frame->cost + bound >= r->best_cost))
        return status;
    return remat_remedy_ways(r, &probe, &frame->ways);
}

static enum remat_status push(struct search *s, int64_t cost)
{
    struct remat_arena *arena = &s->r->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct frame *frame = &s->frames[s->depth++];
    enum remat_status status;

    s->n_frames++;
    frame->cost = cost;
    frame->at = UINT32_MAX; /* before the first */
    frame->ways.n = 0;
    frame->ways.is_short = false;
    status = look(s, frame);
    if (status != REMAT_OK)
        return status;
    remat_arena_rewind(arena, mark);
    if (frame->ways.is_short)
        s->r->is_cut_short = true;
    return REMAT_OK;
}

static void exclude(struct remat_remedy_work *r, const struct remat_way *way,
                    bool excluded)
{
    uint8_t bit = (uint8_t)(1u << way->policy);

    if (excluded)
        r->excluded[way->node] |= bit;
    else
        r->excluded[way->node] &= (uint8_t)~bit;
}

static void undo(struct remat_remedy_work *r, const struct remat_way *way)
{
    remat_remedy_restore(r, way->node);
    r->is_decided[way->node] = false;
}

/* Takes the present way of the newest frame back and goes on to the next; false
 * when there is none. */
static bool advance(struct search *s)
{
    struct frame *frame = &s->frames[s->depth - 1];
    struct remat_remedy_work *r = s->r;
    const struct remat_way *way;

    if (frame->at != UINT32_MAX) {
        undo(r, &frame->ways.at[frame->at]);
        exclude(r, &frame->ways.at[frame->at], true);
    }
    frame->at++;
    if (frame->at >= frame->ways.n)
        return false;
    way = &frame->ways.at[frame->at];
    if (r->n_best > 0 && frame->cost + way->cost >= r->best_cost)
        return false; /* the ways behind it cost no less */
    remat_remedy_apply(r, way->node, way->policy);
    r->is_decided[way->node] = true;
    return true;
}

static void pop(struct search *s)
{
    struct frame *frame = &s->frames[--s->depth];

    for (uint32_t k = 0; k < frame->ways.n; k++)
        exclude(s->r, &frame->ways.at[k], false);
}

static bool is_over(const struct search *s)
{
    return s->r->n_left == 0 || s->n_frames >= MOST_FRAMES ||
           s->depth >= MOST_DEPTH;
}

enum remat_status remat_remedy_search(struct remat_remedy_work *r)
{
    struct search s = {.r = r};
    enum remat_status status;

    s.frames = REMAT_NEW_ARRAY(&r->w->job->arena, struct frame, MOST_DEPTH);
    if (s.frames == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    status = push(&s, 0);
    while (status == REMAT_OK && s.depth > 0) {
        struct frame *frame = &s.frames[s.depth - 1];

        if (!advance(&s)) {
            pop(&s);
            continue;
        }
        if (!is_over(&s)) {
            status = push(&s, frame->cost + frame->ways.at[frame->at].cost);
            continue;
        }
        r->is_cut_short = true;
    }
    return status;
}
