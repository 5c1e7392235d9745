/*
 * conflict_flow.c: a largest set of node-disjoint paths, by successive shortest
 * augmenting paths.
 *
 * Every node is two vertices, 2i where paths enter and 2i + 1 where they leave
 * it, with an arc of capacity 1 and the node's length between them; all other
 * arcs have length 0. The flow is kept as the paths themselves (previous and
 * next node of each used one), so residual arcs need no storage:
 *
 *   from 2i      unused: on to 2i + 1; used: back to where its path came from
 *   from 2i + 1  on to every next node it has no flow to, or out at the end;
 *                used: back to 2i, giving its length back
 *
 *   parts     what is connected
 *   measure   distances to the end, by buckets over what they grew by (Dial's
 *             form of Dijkstra's search, with the last distances as potentials)
 *   augment   new paths along arcs that lead exactly one step of them nearer,
 *             depth first with a stack of its own
 *
 * Parts of the graph that no edge joins are worked on one after the other:
 * conflicts mostly have nothing to do with each other.
 *
 * A vertex that cannot reach the end never can again: new residual arcs only
 * join vertices that could.
 */
#include "conflict_flow.h"

#include <string.h>

#define NOBODY   UINT32_MAX
#define TERMINAL (UINT32_MAX - 1) /* before a start, behind an end */
#define NEVER    INT32_MAX

struct flow {
    struct remat_job *job;
    const struct remat_path_graph *g;
    const bool *blocked;
    struct remat_error *err;

    const uint32_t *members; /* of the part under work */
    uint32_t n_members;

    bool *is_used;
    uint32_t *from; /* of a used node: NOBODY, TERMINAL or the node before */
    uint32_t *to;
    uint32_t n_paths;

    int32_t *height; /* by vertex: distance to the end, NEVER: cannot */
    int32_t *growth; /* of the height, in the search under way */
    uint32_t *bucket;
    uint32_t *entry_vertex;
    uint32_t *entry_next;
    uint32_t n_entries;
    bool *is_seen; /* by the depth-first search */
    uint32_t *stack;
    uint32_t *cursor;
};

/* The vertices of a node. */
static uint32_t entry(uint32_t i)
{
    return 2 * i;
}

static uint32_t exit_of(uint32_t i)
{
    return 2 * i + 1;
}

static bool allocate(struct flow *f)
{
    struct remat_arena *arena = &f->job->arena;
    size_t n = f->g->n;
    size_t n_arcs = f->g->next.begin[n] + 3 * n + 1;

    f->is_used = REMAT_NEW_ARRAY(arena, bool, n);
    f->from = REMAT_NEW_ARRAY(arena, uint32_t, n);
    f->to = REMAT_NEW_ARRAY(arena, uint32_t, n);
    f->height = REMAT_NEW_ARRAY(arena, int32_t, 2 * n);
    f->growth = REMAT_NEW_ARRAY(arena, int32_t, 2 * n);
    f->bucket = REMAT_NEW_ARRAY(arena, uint32_t, 8 * n + 2);
    f->entry_vertex = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n_arcs);
    f->entry_next = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n_arcs);
    f->is_seen = REMAT_NEW_ARRAY(arena, bool, 2 * n);
    f->stack = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n + 1);
    f->cursor = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n);
    if (arena->status != REMAT_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        f->from[i] = f->to[i] = NOBODY;
    return true;
}

/* ---- distances --------------------------------------------------------- */

/* The vertex `u` comes before one of the given new height by an arc of that
 * length. */
static void reach(struct flow *f, uint32_t u, int32_t length, int32_t height)
{
    int32_t growth;

    if (f->height[u] == NEVER || (f->blocked != NULL && f->blocked[u / 2]))
        return;
    growth = height + length - f->height[u];
    if (growth >= f->growth[u])
        return;
    f->growth[u] = growth;
    f->entry_vertex[f->n_entries] = u;
    f->entry_next[f->n_entries] = f->bucket[growth];
    f->bucket[growth] = f->n_entries++;
}

/* All residual arcs into v. */
static void reach_before(struct flow *f, uint32_t v, int32_t height)
{
    const struct remat_path_graph *g = f->g;
    uint32_t i = v / 2;

    if (v % 2 == 1) {
        if (!f->is_used[i])
            reach(f, 2 * i, g->length[i], height);
        else if (f->to[i] < TERMINAL)
            reach(f, 2 * f->to[i], 0, height);
        return;
    }
    if (f->is_used[i])
        reach(f, 2 * i + 1, -g->length[i], height);
    for (uint32_t k = g->previous.begin[i]; k < g->previous.begin[i + 1]; k++)
        if (f->from[i] != g->previous.items[k])
            reach(f, 2 * g->previous.items[k] + 1, 0, height);
}

static void settle_bucket(struct flow *f, uint32_t growth)
{
    while (f->bucket[growth] != NOBODY) {
        uint32_t first = f->bucket[growth];
        uint32_t v = f->entry_vertex[first];

        f->bucket[growth] = f->entry_next[first];
        if (f->growth[v] != (int32_t)growth || f->is_seen[v])
            continue; /* it was found nearer */
        f->is_seen[v] = true;
        reach_before(f, v, f->height[v] + f->growth[v]);
    }
}

static void rise(struct flow *f, uint32_t v)
{
    if (f->growth[v] == NEVER)
        f->height[v] = NEVER;
    else
        f->height[v] += f->growth[v];
}

/* New heights of all vertices. */
static enum remat_status measure(struct flow *f)
{
    const struct remat_path_graph *g = f->g;

    uint32_t n_buckets = 8 * f->n_members + 2;
    uint64_t n_looked = n_buckets;

    memset(f->bucket, 0xff, n_buckets * sizeof(*f->bucket));
    f->n_entries = 0;
    for (uint32_t k = 0; k < f->n_members; k++) {
        uint32_t i = f->members[k];

        f->is_seen[entry(i)] = f->is_seen[exit_of(i)] = false;
        f->growth[entry(i)] = f->growth[exit_of(i)] = NEVER;
        n_looked += g->next.begin[i + 1] - g->next.begin[i];
    }
    for (uint32_t k = 0; k < f->n_members; k++)
        if (g->is_end[f->members[k]] && f->to[f->members[k]] != TERMINAL)
            reach(f, 2 * f->members[k] + 1, 0, 0);
    for (uint32_t growth = 0; growth < n_buckets; growth++)
        settle_bucket(f, growth);
    for (uint32_t k = 0; k < f->n_members; k++) {
        rise(f, 2 * f->members[k]);
        rise(f, 2 * f->members[k] + 1);
    }
    return remat_job_spend(f->job, n_looked, "conflicts", f->err);
}

/* ---- new paths --------------------------------------------------------- */

static bool is_open(const struct flow *f, uint32_t v, int32_t height)
{
    return f->height[v] != NEVER && f->height[v] == height && !f->is_seen[v];
}

/* Where a way goes on from the entry of node i: through it, or back to where
 * its path came from. */
static uint32_t step_from_entry(struct flow *f, uint32_t i, int32_t height)
{
    uint32_t to = exit_of(i);

    if (f->cursor[entry(i)]++ > 0)
        return NOBODY;
    if (f->is_used[i]) {
        if (f->from[i] >= TERMINAL)
            return NOBODY;
        to = exit_of(f->from[i]);
    } else {
        height -= f->g->length[i];
    }
    return is_open(f, to, height) ? to : NOBODY;
}

/* From its exit: out at the end, back through it, or on to the next nodes. */
static uint32_t step_from_exit(struct flow *f, uint32_t i, int32_t height)
{
    const struct remat_path_graph *g = f->g;
    uint32_t *cursor = &f->cursor[exit_of(i)];

    if (g->is_end[i] && f->to[i] != TERMINAL && height == 0)
        return TERMINAL;
    if (*cursor == 0) {
        *cursor = 1;
        if (f->is_used[i] && is_open(f, entry(i), height + g->length[i]))
            return entry(i);
    }
    while (g->next.begin[i] + *cursor - 1 < g->next.begin[i + 1]) {
        uint32_t next = g->next.items[g->next.begin[i] + (*cursor)++ - 1];

        if (f->to[i] != next && is_open(f, entry(next), height))
            return entry(next);
    }
    return NOBODY;
}

/* The next vertex to go to from v on a shortest way, NOBODY when there is none,
 * TERMINAL at the end. */
static uint32_t step_on(struct flow *f, uint32_t v)
{
    return v % 2 == 0 ? step_from_entry(f, v / 2, f->height[v])
                      : step_from_exit(f, v / 2, f->height[v]);
}

/* Takes the n vertices of the stack into the paths. A used node that the way
 * goes back through is not used any more. */
static void take(struct flow *f, uint32_t n)
{
    uint32_t first = f->stack[0] / 2;

    f->from[first] = TERMINAL;
    for (uint32_t k = 0; k + 1 < n; k++) {
        uint32_t u = f->stack[k] / 2;
        uint32_t v = f->stack[k + 1] / 2;

        if (u == v && f->stack[k] % 2 == 0) {
            f->is_used[u] = true;
        } else if (u == v) {
            f->is_used[u] = false;
            f->from[u] = f->to[u] = NOBODY;
        } else if (f->stack[k] % 2 == 1) {
            f->to[u] = v;
            f->from[v] = u;
        }
    }
    f->to[f->stack[n - 1] / 2] = TERMINAL;
    f->n_paths++;
}

static bool find_path(struct flow *f, uint32_t start)
{
    uint32_t n = 0;

    f->is_seen[start] = true;
    f->stack[n++] = start;
    while (n > 0) {
        uint32_t to = step_on(f, f->stack[n - 1]);

        if (to == TERMINAL) {
            take(f, n);
            return true;
        }
        if (to == NOBODY) {
            n--;
            continue;
        }
        f->is_seen[to] = true;
        f->stack[n++] = to;
    }
    return false;
}

static bool is_free_start(const struct flow *f, uint32_t i)
{
    return f->g->is_start[i] && f->from[i] != TERMINAL &&
           (f->blocked == NULL || !f->blocked[i]) &&
           f->height[entry(i)] != NEVER;
}

/* Paths of the least length there is now; false when there are none. */
static bool augment(struct flow *f)
{
    int32_t least = NEVER;

    for (uint32_t k = 0; k < f->n_members; k++) {
        uint32_t i = f->members[k];

        f->is_seen[entry(i)] = f->is_seen[exit_of(i)] = false;
        f->cursor[entry(i)] = f->cursor[exit_of(i)] = 0;
        if (is_free_start(f, i) && f->height[entry(i)] < least)
            least = f->height[entry(i)];
    }
    for (uint32_t k = 0; k < f->n_members && least != NEVER; k++) {
        uint32_t i = f->members[k];

        if (is_free_start(f, i) && f->height[entry(i)] == least &&
            !f->is_seen[entry(i)])
            find_path(f, 2 * i);
    }
    return least != NEVER;
}

/* ---- parts ------------------------------------------------------------- */

/* Nodes in parts that no edge joins, each in node order. */
struct parts {
    uint32_t n;
    uint32_t *begin;
    uint32_t *members;
    uint32_t *part; /* by node, from 1 */
};

static void visit(struct parts *p, struct remat_rows rows, uint32_t i,
                  uint32_t *stack, uint32_t *n)
{
    for (uint32_t k = rows.begin[i]; k < rows.begin[i + 1]; k++) {
        if (p->part[rows.items[k]] != 0)
            continue;
        p->part[rows.items[k]] = p->n;
        stack[(*n)++] = rows.items[k];
    }
}

static void number_parts(const struct remat_path_graph *g, struct parts *p,
                         uint32_t *stack)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t n = 0;

        if (p->part[i] != 0)
            continue;
        p->part[i] = ++p->n;
        stack[n++] = i;
        while (n > 0) {
            uint32_t at = stack[--n];

            visit(p, g->next, at, stack, &n);
            visit(p, g->previous, at, stack, &n);
        }
    }
}

static bool find_parts(struct flow *f, struct parts *p)
{
    struct remat_arena *arena = &f->job->arena;
    uint32_t n = f->g->n;

    *p = (struct parts){0, REMAT_NEW_ARRAY(arena, uint32_t, (size_t)n + 2),
                        REMAT_NEW_ARRAY(arena, uint32_t, n),
                        REMAT_NEW_ARRAY(arena, uint32_t, n)};
    if (arena->status != REMAT_OK)
        return false;
    number_parts(f->g, p, f->stack);
    for (uint32_t i = 0; i < n; i++)
        p->begin[p->part[i] + 1]++;
    for (uint32_t k = 0; k <= p->n; k++)
        p->begin[k + 1] += p->begin[k];
    /* begin[k] is where part k's next member goes; in the end, where part
     * k + 1 begins */
    for (uint32_t i = 0; i < n; i++)
        p->members[p->begin[p->part[i]]++] = i;
    return true;
}

/* ---- the set ----------------------------------------------------------- */

static bool list_paths(struct flow *f, struct remat_path_set *set)
{
    struct remat_arena *arena = &f->job->arena;
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)f->n_paths + 1);
    uint32_t *nodes = REMAT_NEW_ARRAY(arena, uint32_t, f->g->n);
    uint32_t n = 0;

    *set = (struct remat_path_set){0, begin, nodes};
    if (begin == NULL || nodes == NULL)
        return false;
    for (uint32_t i = 0; i < f->g->n; i++) {
        if (!f->is_used[i] || f->from[i] != TERMINAL)
            continue;
        for (uint32_t v = i; v < TERMINAL; v = f->to[v])
            nodes[n++] = v;
        begin[++set->n] = n;
    }
    return true;
}

enum remat_status remat_disjoint_paths(struct remat_job *job,
                                       const struct remat_path_graph *g,
                                       const bool *blocked,
                                       struct remat_path_set *set,
                                       struct remat_error *err)
{
    struct flow f = {.job = job, .g = g, .blocked = blocked, .err = err};
    enum remat_status status = REMAT_OK;
    struct parts parts;

    if (!allocate(&f) || !find_parts(&f, &parts))
        return remat_job_no_memory(job, err);
    for (uint32_t k = 0; k < parts.n && status == REMAT_OK; k++) {
        f.members = parts.members + parts.begin[k];
        f.n_members = parts.begin[k + 1] - parts.begin[k];
        do
            status = measure(&f);
        while (status == REMAT_OK && augment(&f));
    }
    if (status == REMAT_OK && !list_paths(&f, set))
        return remat_job_no_memory(job, err);
    return status;
}
