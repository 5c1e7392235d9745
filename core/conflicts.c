/*
 * conflicts.c: which paths of an infinite flow are reported.
 *
 *   remat_infinite_part   the nodes and edges that matter, as a small graph
 *   find_reported         the path that PyTorch prints
 *   remat_find_conflicts  a largest disjoint set around it, in order
 *
 * PyTorch searches breadth first from the source in the order in which edges
 * were made, and follows an edge of capacity exactly 10^6 as if it were
 * infinite. Such a path is no conflict; whether there is one at all is decided
 * without that (residual.c). When it is one it is a shortest one.
 */
#include "conflicts.h"

#include <string.h>

enum {
    TAKEN_FOR_INFINITE = 1000000
};

#define NO_EDGE UINT32_MAX

bool remat_is_infinite_through(const struct remat_network *net, remat_node v)
{
    return net->through[v] != REMAT_NO_VERTEX &&
           net->edges[net->through[v]].capacity == REMAT_INFINITE;
}

/* ---- the infinite part ------------------------------------------------- */

struct builder {
    struct remat_work *w;
    const struct remat_network *net;
    bool *is_start; /* by node */
    bool *is_end;
    bool *is_reached; /* from a start */
    bool *is_part;    /* and reaches an end */
    uint32_t *number; /* in the part, from 0 */
    remat_node *nodes;
    uint32_t n;
};

static bool allocate(struct builder *b)
{
    struct remat_arena *arena = &b->w->job->arena;
    size_t n = b->w->g->n;

    b->is_start = REMAT_NEW_ARRAY(arena, bool, n);
    b->is_end = REMAT_NEW_ARRAY(arena, bool, n);
    b->is_reached = REMAT_NEW_ARRAY(arena, bool, n);
    b->is_part = REMAT_NEW_ARRAY(arena, bool, n);
    b->number = REMAT_NEW_ARRAY(arena, uint32_t, n);
    b->nodes = REMAT_NEW_ARRAY(arena, remat_node, n);
    return arena->status == REMAT_OK;
}

static void mark_terminals(struct builder *b)
{
    const struct remat_network *net = b->net;

    for (uint32_t e = 0; e < net->n_edges; e++) {
        const struct remat_edge *edge = &net->edges[e];

        if (edge->from == net->source)
            b->is_start[net->node[edge->to]] = true;
        else if (edge->to == net->sink &&
                 (remat_is_in_vertex(net, edge->from) ||
                  remat_is_infinite_through(net, net->node[edge->from])))
            b->is_end[net->node[edge->from]] = true;
    }
}

/* Users come behind what they read, so one walk each way is enough. A node that
 * is not passed through infinitely ends the paths that reach it. */
static void find_part(struct builder *b)
{
    const struct remat_work *w = b->w;

    for (remat_node v = 0; v < w->g->n; v++) {
        b->is_reached[v] = b->is_reached[v] || b->is_start[v];
        if (!b->is_reached[v] || !remat_is_infinite_through(b->net, v))
            continue;
        REMAT_FOR_USERS (w, v, i)
            if (b->net->in[w->users.items[i]] != REMAT_NO_VERTEX)
                b->is_reached[w->users.items[i]] = true;
    }
    for (remat_node v = w->g->n; v-- > 0;) {
        b->is_part[v] = b->is_reached[v] && b->is_end[v];
        if (!b->is_reached[v] || !remat_is_infinite_through(b->net, v))
            continue;
        REMAT_FOR_USERS (w, v, i)
            if (b->is_part[w->users.items[i]])
                b->is_part[v] = true;
    }
    for (remat_node v = 0; v < w->g->n; v++)
        if (b->is_part[v]) {
            b->number[v] = b->n;
            b->nodes[b->n++] = v;
        }
}

static bool allocate_rows(struct remat_arena *arena, uint32_t n,
                          uint64_t n_items, uint32_t **begin, uint32_t **items)
{
    *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
    *items = REMAT_NEW_ARRAY(arena, uint32_t, n_items);
    return *begin != NULL && *items != NULL;
}

/* Who follows whom inside the part, both ways. */
static bool build_rows(struct builder *b, struct remat_path_graph *graph)
{
    struct remat_arena *arena = &b->w->job->arena;
    const struct remat_work *w = b->w;
    uint32_t *next_begin;
    uint32_t *next;
    uint32_t *previous_begin;
    uint32_t *previous;
    uint64_t n_items = 0;
    uint32_t n = 0;

    for (uint32_t k = 0; k < b->n; k++)
        n_items +=
            w->users.begin[b->nodes[k] + 1] - w->users.begin[b->nodes[k]];
    if (!allocate_rows(arena, b->n, n_items, &next_begin, &next) ||
        !allocate_rows(arena, b->n, n_items, &previous_begin, &previous))
        return false;
    for (uint32_t k = 0; k < b->n; k++) {
        remat_node v = b->nodes[k];

        if (remat_is_infinite_through(b->net, v))
            REMAT_FOR_USERS (w, v, i)
                if (b->is_part[w->users.items[i]]) {
                    next[n++] = b->number[w->users.items[i]];
                    previous_begin[next[n - 1] + 2]++;
                }
        next_begin[k + 1] = n;
    }
    for (uint32_t k = 0; k < b->n; k++)
        previous_begin[k + 2] += previous_begin[k + 1];
    for (uint32_t k = 0; k < b->n; k++)
        for (uint32_t i = next_begin[k]; i < next_begin[k + 1]; i++)
            previous[previous_begin[next[i] + 1]++] = k;
    graph->next = (struct remat_rows){next_begin, next};
    graph->previous = (struct remat_rows){previous_begin, previous};
    return true;
}

static bool describe(struct builder *b, struct remat_path_graph *graph)
{
    struct remat_arena *arena = &b->w->job->arena;
    uint8_t *length = REMAT_NEW_ARRAY(arena, uint8_t, b->n);
    bool *is_start = REMAT_NEW_ARRAY(arena, bool, b->n);
    bool *is_end = REMAT_NEW_ARRAY(arena, bool, b->n);

    if (length == NULL || is_start == NULL || is_end == NULL)
        return false;
    for (uint32_t k = 0; k < b->n; k++) {
        remat_node v = b->nodes[k];

        length[k] = remat_is_infinite_through(b->net, v) ? 2 : 1;
        is_start[k] = b->is_start[v];
        is_end[k] = b->is_end[v];
    }
    graph->n = b->n;
    graph->length = length;
    graph->is_start = is_start;
    graph->is_end = is_end;
    return true;
}

enum remat_status remat_infinite_part(struct remat_work *w,
                                      const struct remat_network *net,
                                      struct remat_infinite_part *part,
                                      struct remat_error *err)
{
    struct builder b = {.w = w, .net = net};

    if (!allocate(&b))
        return remat_job_no_memory(w->job, err);
    mark_terminals(&b);
    find_part(&b);
    part->nodes = b.nodes;
    if (!build_rows(&b, &part->graph) || !describe(&b, &part->graph))
        return remat_job_no_memory(w->job, err);
    return remat_job_spend(w->job, net->n_edges, "conflicts", err);
}

/* ---- PyTorch's path ---------------------------------------------------- */

/* Edges in rows by the vertex they leave, each row in the order of making. */
static bool rows_by_tail(struct remat_arena *arena,
                         const struct remat_network *net,
                         struct remat_rows *rows)
{
    uint32_t n = net->n_vertices;
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
    uint32_t *items = REMAT_NEW_ARRAY(arena, uint32_t, net->n_edges);

    if (begin == NULL || items == NULL)
        return false;
    for (uint32_t e = 0; e < net->n_edges; e++)
        begin[net->edges[e].from + 2]++;
    for (uint32_t v = 0; v < n; v++)
        begin[v + 2] += begin[v + 1];
    for (uint32_t e = 0; e < net->n_edges; e++)
        items[begin[net->edges[e].from + 1]++] = e;
    *rows = (struct remat_rows){begin, items};
    return true;
}

/* reached_by: the edge by which each vertex was first reached, or NO_EDGE. */
static void search(const struct remat_network *net, struct remat_rows rows,
                   uint32_t *reached_by, uint32_t *queue)
{
    uint32_t n = 0;

    memset(reached_by, 0xff, net->n_vertices * sizeof(*reached_by));
    queue[n++] = net->source;
    for (uint32_t i = 0; i < n && reached_by[net->sink] == NO_EDGE; i++) {
        uint32_t v = queue[i];

        for (uint32_t j = rows.begin[v]; j < rows.begin[v + 1]; j++) {
            const struct remat_edge *edge = &net->edges[rows.items[j]];

            if (edge->to == net->source || reached_by[edge->to] != NO_EDGE ||
                (edge->capacity != REMAT_INFINITE &&
                 edge->capacity != TAKEN_FOR_INFINITE))
                continue;
            reached_by[edge->to] = rows.items[j];
            queue[n++] = edge->to;
        }
    }
}

static enum remat_status find_reported(struct remat_work *w,
                                       const struct remat_network *net,
                                       struct remat_conflicts *c,
                                       struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    uint32_t *vertices = REMAT_NEW_ARRAY(arena, uint32_t, net->n_vertices);
    struct remat_mark mark = remat_arena_mark(arena);
    uint32_t *reached_by = REMAT_NEW_ARRAY(arena, uint32_t, net->n_vertices);
    uint32_t *queue = REMAT_NEW_ARRAY(arena, uint32_t, net->n_vertices);
    struct remat_rows rows;
    uint32_t n = 0;

    if (arena->status != REMAT_OK || !rows_by_tail(arena, net, &rows))
        return remat_job_no_memory(w->job, err);
    search(net, rows, reached_by, queue);
    for (uint32_t v = net->sink; v != net->source;
         v = net->edges[reached_by[v]].from)
        n++;
    c->reported = vertices;
    c->n_reported = n;
    for (uint32_t v = net->sink; v != net->source;
         v = net->edges[reached_by[v]].from)
        vertices[--n] = v;
    remat_arena_rewind(arena, mark);
    return remat_job_spend(w->job, net->n_edges, "conflicts", err);
}

/* ---- the set ----------------------------------------------------------- */

struct finder {
    struct remat_work *w;
    const struct remat_network *net;
    struct remat_error *err;
    struct remat_infinite_part part;
    struct remat_conflicts *result;
    uint32_t *first; /* PyTorch's path in numbers of the part */
    uint32_t n_first;
    bool *is_first; /* by number */
};

static uint32_t number_of(const struct remat_infinite_part *part, remat_node v)
{
    uint32_t low = 0;
    uint32_t high = part->graph.n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (part->nodes[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether every edge of PyTorch's path is infinite; then its nodes too. */
static bool is_infinite(struct finder *f)
{
    const struct remat_conflicts *c = f->result;
    const struct remat_network *net = f->net;

    for (uint32_t i = 0; i + 1 < c->n_reported; i++) {
        remat_node v = net->node[c->reported[i]];

        if (!remat_is_in_vertex(net, c->reported[i]))
            continue;
        if (c->reported[i + 1] == net->out[v] &&
            !remat_is_infinite_through(net, v))
            return false;
        f->first[f->n_first++] = number_of(&f->part, v);
    }
    for (uint32_t k = 0; k < f->n_first; k++)
        f->is_first[f->first[k]] = true;
    return true;
}

/* Paths around PyTorch's own when the set stays as large with it; without it
 * else. */
static enum remat_status choose(struct finder *f, struct remat_path_set *set)
{
    const struct remat_path_graph *g = &f->part.graph;
    struct remat_path_set rest;
    enum remat_status status;

    status = remat_disjoint_paths(f->w->job, g, NULL, set, f->err);
    if (status != REMAT_OK || !is_infinite(f))
        return status;
    status = remat_disjoint_paths(f->w->job, g, f->is_first, &rest, f->err);
    if (status != REMAT_OK || rest.n + 1 != set->n)
        return status;
    *set = rest;
    f->result->is_reported_first = true;
    return REMAT_OK;
}

struct sorter {
    const struct remat_path_graph *graph;
    const struct remat_path_set *set;
};

static uint32_t path_length(const struct sorter *s, uint32_t path)
{
    uint32_t length = 0;

    for (uint32_t i = s->set->begin[path]; i < s->set->begin[path + 1]; i++)
        length += s->graph->length[s->set->nodes[i]];
    return length;
}

/* Shortest first. The set lists paths by their first nodes, which differ, so a
 * stable sort leaves equal ones in node order. Counting: lengths are small. */
static bool sort_paths(struct remat_arena *arena, const struct sorter *s,
                       uint32_t *order)
{
    uint32_t n_lengths = 2 * s->graph->n + 2;
    uint32_t *at = REMAT_NEW_ARRAY(arena, uint32_t, n_lengths);

    if (at == NULL)
        return false;
    for (uint32_t p = 0; p < s->set->n; p++)
        at[path_length(s, p) + 1]++;
    for (uint32_t k = 0; k + 1 < n_lengths; k++)
        at[k + 1] += at[k];
    for (uint32_t p = 0; p < s->set->n; p++)
        order[at[path_length(s, p)]++] = p;
    return true;
}

/* The paths in order, with nodes for numbers. */
static bool list(struct finder *f, const struct remat_path_set *set)
{
    struct remat_arena *arena = &f->w->job->arena;
    const struct sorter sorter = {&f->part.graph, set};
    uint32_t *order = REMAT_NEW_ARRAY(arena, uint32_t, set->n);
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)set->n + 2);
    remat_node *nodes = REMAT_NEW_ARRAY(arena, remat_node, f->part.graph.n);
    uint32_t n_paths = 0;
    uint32_t n = 0;

    if (order == NULL || begin == NULL || nodes == NULL ||
        !sort_paths(arena, &sorter, order))
        return false;
    if (f->result->is_reported_first) {
        for (uint32_t k = 0; k < f->n_first; k++)
            nodes[n++] = f->part.nodes[f->first[k]];
        begin[++n_paths] = n;
    }
    for (uint32_t p = 0; p < set->n; p++) {
        for (uint32_t i = set->begin[order[p]]; i < set->begin[order[p] + 1];
             i++)
            nodes[n++] = f->part.nodes[set->nodes[i]];
        begin[++n_paths] = n;
    }
    f->result->paths = (struct remat_path_set){n_paths, begin, nodes};
    return true;
}

enum remat_status remat_find_conflicts(struct remat_work *w,
                                       const struct remat_network *net,
                                       struct remat_conflicts *conflicts,
                                       struct remat_error *err)
{
    struct finder f = {.w = w, .net = net, .err = err, .result = conflicts};
    struct remat_path_set set;
    enum remat_status status;

    *conflicts = (struct remat_conflicts){.is_reported_first = false};
    status = find_reported(w, net, conflicts, err);
    if (status == REMAT_OK)
        status = remat_infinite_part(w, net, &f.part, err);
    if (status != REMAT_OK)
        return status;
    f.first = REMAT_NEW_ARRAY(&w->job->arena, uint32_t, conflicts->n_reported);
    f.is_first = REMAT_NEW_ARRAY(&w->job->arena, bool, f.part.graph.n);
    if (f.first == NULL || f.is_first == NULL)
        return remat_job_no_memory(w->job, err);
    status = choose(&f, &set);
    if (status == REMAT_OK && !list(&f, &set))
        return remat_job_no_memory(w->job, err);
    return status;
}
