/*
 * maxflow.c: shortest augmenting paths between two regions.
 *
 * The networks of training steps are long and nearly serial, with terminals all
 * along: a path from the source to the sink is short although the network is
 * not. What infinite edges tie to the source or the sink (residual.c) is a
 * terminal as a whole, so the search only ever looks at the vertices between.
 *
 *   sweep          exact distances to the sink's region, breadth first
 *   serve          takes the edges that leave the source's region by increasing
 *                  distance, like the phases of Dinic, and empties each
 *   find_path      walks down the distances, repairing them on the way
 *   bury           gives up what cannot reach the sink any more
 *   settle         carries the flow through the two regions to the terminals
 *
 * Distances are repaired locally (Ahuja & Orlin, Distance-directed augmenting
 * path algorithms, Naval Research Logistics 38(3), 1991) and computed anew only
 * when that has cost more than a few sweeps would (global relabelling:
 * Cherkassky & Goldberg, Algorithmica 19(4), 1997).
 *
 * Cost: O(V^2 E) at worst; on training steps a few times O(E).
 *
 * No sum overflows: see the bound in residual.c; the flow never exceeds it.
 */
#include "maxflow.h"

#include <string.h>

#define DEAD UINT32_MAX /* distance of what cannot reach the sink */

enum {
    SWEEP_AFTER = 6, /* looks at every arc since the last sweep */
    PROBE = 8        /* looks of a probe for each one of the vain search */
};

struct search {
    struct remat_job *job;
    struct remat_residual *r;
    struct remat_flow *flow;
    struct remat_error *err;

    uint32_t *dist;    /* to the sink's region */
    uint32_t *current; /* arc at which to go on looking */
    uint32_t *path;    /* arcs from the head of the leaving arc on */
    uint32_t *queue;   /* of sweep and bury */
    uint32_t *probed;  /* last probe that met a vertex */
    uint32_t probe;
    int64_t *carried; /* flow that enters or leaves a region vertex */

    uint32_t *leaving; /* arcs that leave the source's region */
    uint32_t *next;    /* links the leaving arcs of one distance */
    uint32_t *bucket;  /* first leaving arc by distance of its head */
    uint32_t n_leaving;
    uint32_t farthest; /* no bucket beyond this is used */

    uint64_t work;  /* arcs looked at so far */
    uint64_t spent; /* of them, what the job's budget knows of */
    uint64_t swept; /* work when the last sweep was done */
};

/* ---- set-up ------------------------------------------------------------ */

static bool allocate(struct search *s)
{
    struct remat_arena *arena = &s->job->arena;
    size_t n = s->r->n_vertices;

    s->dist = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->current = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->path = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->queue = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->probed = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->carried = REMAT_NEW_ARRAY(arena, int64_t, n);
    s->bucket = REMAT_NEW_ARRAY(arena, uint32_t, n + 1);
    return arena->status == REMAT_OK;
}

static bool leaves_source(const struct remat_residual *r, uint32_t a)
{
    return r->residual[a] > 0 && r->region[r->head[a]] != REMAT_AT_SOURCE;
}

static bool list_leaving(struct search *s)
{
    const struct remat_residual *r = s->r;
    uint32_t n = 0;

    s->leaving = REMAT_NEW_ARRAY(&s->job->arena, uint32_t, r->n_arcs / 2);
    if (s->leaving == NULL)
        return false;
    for (uint32_t i = 0; i < r->n_at_source; i++) {
        uint32_t v = r->region_order[i];

        for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++)
            if (leaves_source(r, a))
                s->leaving[n++] = a;
    }
    s->n_leaving = n;
    s->next = REMAT_NEW_ARRAY(&s->job->arena, uint32_t, n);
    return s->next != NULL;
}

static enum remat_status spend(struct search *s)
{
    uint64_t n = s->work - s->spent;

    s->spent = s->work;
    return remat_job_spend(s->job, n, "maximum flow", s->err);
}

/* ---- distances --------------------------------------------------------- */

/* Exact distances of all vertices between the regions, backwards from the
 * sink's region, whose vertices have distance 0. Those at the source stay dead:
 * a path never comes back to them. */
static enum remat_status sweep(struct search *s)
{
    const struct remat_residual *r = s->r;
    uint32_t n = r->n_at_sink;

    memset(s->dist, 0xff, r->n_vertices * sizeof(*s->dist));
    memcpy(s->queue, r->region_order + r->n_at_source, n * sizeof(*s->queue));
    for (uint32_t i = 0; i < n; i++)
        s->dist[s->queue[i]] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = s->queue[i];

        for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++) {
            uint32_t u = r->head[a];

            if (s->dist[u] != DEAD || r->region[u] != REMAT_BETWEEN ||
                r->residual[r->twin[a]] == 0)
                continue;
            s->dist[u] = s->dist[v] + 1;
            s->queue[n++] = u;
        }
        s->work += r->first[v + 1] - r->first[v];
    }
    memcpy(s->current, r->first, r->n_vertices * sizeof(*s->current));
    s->flow->n_sweeps++;
    return spend(s);
}

/* The least distance that an arc of v allows it now. */
static void repair(struct search *s, uint32_t v)
{
    const struct remat_residual *r = s->r;
    uint32_t least = DEAD;

    for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++)
        if (r->residual[a] > 0 && s->dist[r->head[a]] < least)
            least = s->dist[r->head[a]];
    s->dist[v] = least < r->n_vertices ? least + 1 : DEAD;
    s->current[v] = r->first[v];
    s->work += r->first[v + 1] - r->first[v];
}

/* ---- paths ------------------------------------------------------------- */

/* The next arc of v that leads one step nearer, or DEAD. */
static uint32_t admissible_arc(struct search *s, uint32_t v)
{
    const struct remat_residual *r = s->r;
    uint32_t a = s->current[v];
    uint32_t nearer = s->dist[v] - 1;

    while (a < r->first[v + 1] &&
           (r->residual[a] == 0 || s->dist[r->head[a]] != nearer))
        a++;
    s->work += a - s->current[v] + 1;
    s->current[v] = a;
    return a < r->first[v + 1] ? a : DEAD;
}

static void send(struct remat_residual *r, uint32_t a, int64_t amount)
{
    r->residual[a] -= amount;
    r->residual[r->twin[a]] += amount;
}

/* Sends what fits along the leaving arc and the path. Returns how much of the
 * path is still open: up to the first arc that is full now. */
static uint32_t augment(struct search *s, uint32_t leaving, uint32_t n)
{
    struct remat_residual *r = s->r;
    uint32_t last = n > 0 ? s->path[n - 1] : leaving;
    int64_t amount = r->residual[leaving];
    uint32_t open = n;

    for (uint32_t i = 0; i < n; i++)
        if (r->residual[s->path[i]] < amount)
            amount = r->residual[s->path[i]];
    send(r, leaving, amount);
    for (uint32_t i = n; i-- > 0;) {
        send(r, s->path[i], amount);
        if (r->residual[s->path[i]] == 0)
            open = i;
    }
    s->carried[r->head[r->twin[leaving]]] += amount;
    s->carried[r->head[last]] += amount;
    s->flow->value += amount;
    s->flow->n_paths++;
    s->work += n + 1;
    return r->residual[leaving] == 0 ? 0 : open;
}

/* Empties a leaving arc along shortest paths, for as long as its head keeps its
 * distance. */
static enum remat_status find_path(struct search *s, uint32_t leaving)
{
    struct remat_residual *r = s->r;
    const uint32_t start = r->head[leaving];
    const uint32_t dist = s->dist[start];
    uint32_t n = 0; /* arcs on the path */
    uint32_t v = start;

    while (r->residual[leaving] > 0 && s->dist[start] == dist) {
        uint32_t a;

        if (s->dist[v] == 0) {
            n = augment(s, leaving, n);
            v = n > 0 ? r->head[s->path[n - 1]] : start;
            continue;
        }
        a = admissible_arc(s, v);
        if (a != DEAD) {
            s->path[n++] = a;
            v = r->head[a];
            continue;
        }
        repair(s, v);
        if (n > 0)
            v = r->head[r->twin[s->path[--n]]];
        if (s->work - s->spent >= 1 << 12) {
            enum remat_status status = spend(s);

            if (status != REMAT_OK)
                return status;
        }
    }
    return REMAT_OK;
}

/* ---- dead ends --------------------------------------------------------- */

/*
 * bury: marks v and all it reaches dead when none of it reaches the sink's
 * region. They stay so: a path never enters them, so no arc out of them opens.
 *
 * Without this a part of the network that is cut off would have its distances
 * repaired step by step up to the number of vertices. A probe that meets the
 * sink's region, or would have to look at more than `most` arcs, was in vain.
 */
static void bury(struct search *s, uint32_t v, uint64_t most)
{
    const struct remat_residual *r = s->r;
    const uint64_t begin = s->work;
    uint32_t n = 0;

    s->probe++;
    s->queue[n++] = v;
    s->probed[v] = s->probe;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u = s->queue[i];

        s->work += r->first[u + 1] - r->first[u];
        if (s->work - begin > most)
            return;
        for (uint32_t a = r->first[u]; a < r->first[u + 1]; a++) {
            uint32_t to = r->head[a];

            if (r->residual[a] == 0 || s->dist[to] == DEAD ||
                s->probed[to] == s->probe)
                continue;
            if (s->dist[to] == 0)
                return;
            s->probed[to] = s->probe;
            s->queue[n++] = to;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        s->dist[s->queue[i]] = DEAD;
}

/* ---- order of service -------------------------------------------------- */

static void put(struct search *s, uint32_t i)
{
    uint32_t dist = s->dist[s->r->head[s->leaving[i]]];

    if (dist == DEAD)
        return;
    s->next[i] = s->bucket[dist];
    s->bucket[dist] = i;
    if (dist > s->farthest)
        s->farthest = dist;
}

static enum remat_status restart(struct search *s)
{
    enum remat_status status = sweep(s);

    memset(s->bucket, 0xff,
           ((size_t)s->r->n_vertices + 1) * sizeof(*s->bucket));
    s->farthest = 0;
    for (uint32_t i = s->n_leaving; i-- > 0;)
        if (s->r->residual[s->leaving[i]] > 0)
            put(s, i);
    s->swept = s->work;
    return status;
}

/* Empties a leaving arc as far as it goes at this distance; looks whether it is
 * worth trying again at another. */
static enum remat_status drain(struct search *s, uint32_t leaving)
{
    uint64_t begin = s->work;
    enum remat_status status = find_path(s, leaving);

    if (s->r->residual[leaving] > 0)
        bury(s, s->r->head[leaving], PROBE * (s->work - begin + 1));
    return status;
}

/* Serves the leaving arcs whose head is at distance `dist`; one that moved away
 * meanwhile is put where it belongs now. */
static enum remat_status serve(struct search *s, uint32_t dist)
{
    enum remat_status status = REMAT_OK;

    while (s->bucket[dist] != DEAD && status == REMAT_OK) {
        uint32_t i = s->bucket[dist];
        uint32_t a = s->leaving[i];

        s->bucket[dist] = s->next[i];
        if (s->dist[s->r->head[a]] == dist)
            status = drain(s, a);
        if (s->r->residual[a] > 0)
            put(s, i);
    }
    return status;
}

static enum remat_status run(struct search *s)
{
    enum remat_status status = restart(s);

    for (uint32_t dist = 0; dist <= s->farthest && status == REMAT_OK; dist++) {
        status = serve(s, dist);
        if (status == REMAT_OK)
            status = spend(s);
        if (status == REMAT_OK &&
            s->work - s->swept > (uint64_t)SWEEP_AFTER * s->r->n_arcs)
            status = restart(s);
    }
    return status;
}

/* ---- through the regions ----------------------------------------------- */

/* Every region vertex hands what it carries to the next one nearer to the
 * terminal, farthest first. Most carry nothing. */
static void settle(struct search *s)
{
    struct remat_residual *r = s->r;

    for (uint32_t i = r->n_at_source; i-- > 1;) {
        uint32_t v = r->region_order[i];
        uint32_t a = r->region_arc[v];

        if (s->carried[v] == 0)
            continue;
        send(r, a, s->carried[v]);
        s->carried[r->head[r->twin[a]]] += s->carried[v];
    }
    for (uint32_t i = r->n_at_source + r->n_at_sink;
         i-- > r->n_at_source + 1;) {
        uint32_t v = r->region_order[i];
        uint32_t a = r->region_arc[v];

        if (s->carried[v] == 0)
            continue;
        send(r, a, s->carried[v]);
        s->carried[r->head[a]] += s->carried[v];
    }
}

enum remat_status remat_maxflow(struct remat_job *job, struct remat_residual *r,
                                struct remat_flow *flow,
                                struct remat_error *err)
{
    struct search s = {.job = job, .r = r, .flow = flow, .err = err};
    struct remat_mark mark = remat_arena_mark(&job->arena);
    enum remat_status status;

    *flow = (struct remat_flow){.value = 0};
    if (!allocate(&s) || !list_leaving(&s))
        return remat_job_no_memory(job, err);
    status = run(&s);
    if (status == REMAT_OK)
        settle(&s);
    remat_arena_rewind(&job->arena, mark);
    return status;
}
