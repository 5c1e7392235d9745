/*
 * parametric_chain.c: the minimum cuts between two that cost the same.
 *
 * A sink side is minimum when no residual arc leads into it from outside
 * (Picard & Queyranne, Mathematical Programming Study 13, 1980): it grows by
 * whole strongly connected components, each after those with an arc into it.
 * The components come out successors first (Tarjan, SIAM Journal on Computing
 * 1(2), 1972; here with a stack of its own), so the order is turned around.
 */
#include "parametric.h"

struct components {
    struct remat_parametric *s;
    struct remat_part part;
    uint32_t *index;   /* when a vertex was met; 0: not yet */
    uint32_t *low;     /* the earliest it leads back to */
    bool *open;        /* its component is not complete */
    uint32_t *waiting; /* vertices of open components */
    uint32_t n_waiting;
    uint32_t n_met;
    uint32_t *closed; /* vertices, components one after the other */
    uint32_t n_closed;
    uint32_t *starts; /* of the components in `closed` */
    uint32_t n_starts;
};

static bool allocate(struct components *c)
{
    struct remat_arena *arena = &c->s->job->arena;
    size_t n = c->s->net->n_vertices;
    size_t n_part = c->part.end - c->part.begin;

    c->index = REMAT_NEW_ARRAY(arena, uint32_t, n);
    c->low = REMAT_NEW_ARRAY(arena, uint32_t, n);
    c->open = REMAT_NEW_ARRAY(arena, bool, n);
    c->waiting = REMAT_NEW_ARRAY(arena, uint32_t, n_part);
    c->closed = REMAT_NEW_ARRAY(arena, uint32_t, n_part);
    c->starts = REMAT_NEW_ARRAY(arena, uint32_t, n_part);
    return arena->status == REMAT_OK;
}

static void meet(struct components *c, uint32_t v)
{
    c->index[v] = c->low[v] = ++c->n_met;
    c->open[v] = true;
    c->waiting[c->n_waiting++] = v;
    c->s->current[v] = c->s->first[v];
}

static void close_component(struct components *c, uint32_t root)
{
    uint32_t v;

    c->starts[c->n_starts++] = c->n_closed;
    do {
        v = c->waiting[--c->n_waiting];
        c->open[v] = false;
        c->closed[c->n_closed++] = v;
    } while (v != root);
}

/* An unmet vertex that v leads to, or REMAT_NONE when all are met. */
static uint32_t step(struct components *c, uint32_t v)
{
    struct remat_parametric *s = c->s;

    for (; s->current[v] < s->first[v + 1]; s->current[v]++) {
        uint32_t a = s->current[v];
        uint32_t u = s->head[a];

        s->work++;
        if (s->place[u] < c->part.begin || s->place[u] >= c->part.end ||
            s->residual[a] == 0)
            continue;
        if (c->index[u] == 0)
            return u;
        if (c->open[u] && c->index[u] < c->low[v])
            c->low[v] = c->index[u];
    }
    return REMAT_NONE;
}

static void search_from(struct components *c, uint32_t root)
{
    uint32_t *path = c->s->path;
    uint32_t n = 0;

    meet(c, root);
    path[n++] = root;
    while (n > 0) {
        uint32_t v = path[n - 1];
        uint32_t u = step(c, v);

        if (u != REMAT_NONE) {
            meet(c, u);
            path[n++] = u;
            continue;
        }
        if (c->low[v] == c->index[v])
            close_component(c, v);
        n--;
        if (n > 0 && c->low[v] < c->low[path[n - 1]])
            c->low[path[n - 1]] = c->low[v];
    }
}

enum remat_status remat_parametric_chain(struct remat_parametric *s,
                                         struct remat_part part,
                                         uint32_t *stops, uint32_t *n_stops)
{
    struct remat_mark mark = remat_arena_mark(&s->job->arena);
    struct components c = {.s = s, .part = part};
    uint64_t work;

    if (!allocate(&c))
        return remat_job_no_memory(s->job, s->err);
    for (uint32_t i = part.begin; i < part.end; i++)
        if (c.index[s->order[i]] == 0)
            search_from(&c, s->order[i]);
    for (uint32_t i = 0; i < c.n_closed; i++) {
        s->order[part.end - 1 - i] = c.closed[i];
        s->place[c.closed[i]] = part.end - 1 - i;
    }
    *n_stops = c.n_starts;
    for (uint32_t i = 0; i < c.n_starts; i++)
        stops[c.n_starts - 1 - i] = part.end - c.starts[i];
    remat_arena_rewind(&s->job->arena, mark);
    work = s->work + s->net->n_vertices / 8;
    s->work = 0;
    return remat_job_spend(s->job, work, "frontier", s->err);
}
