/*
 * network.c: graph, classes and bans to vertices and edges.
 *
 *   remat_weight   what saving a value costs (6.5)
 *   add_node       the edges of one node (6.3 - 6.6)
 *   add_late_bans  those of the chain rules (6.7)
 */
#include "network.h"

#include "error.h"
#include "fusible.h"

static const double powers[] = {
#include "powers.inc"
};

/* ---- weights ----------------------------------------------------------- */

static bool is_free_object(const struct remat_graph *g, remat_node v)
{
    return remat_spec(g, v)->opaque ||
           remat_is_opaque_type(g, v, "BackwardState") ||
           remat_is_opaque_type(g, v, "FakeScriptObject");
}

static uint32_t exponent_of(uint32_t dist)
{
    uint32_t last = REMAT_ARRAY_LEN(powers) - 1;

    if (dist < 1)
        return 1;
    return dist > last ? last : dist;
}

double remat_distance_factor(uint32_t dist)
{
    return powers[exponent_of(dist)];
}

/* trunc(size * 1.1^k), twice that when the value would not be written to memory
 * anyway. The doubling comes after the truncation. */
static int64_t distance_weight(const struct remat_work *w, remat_node v,
                               bool is_doubled)
{
    double product = (double)w->g->n_bytes[v] * powers[exponent_of(w->dist[v])];
    int64_t weight;

    if (product >= (double)REMAT_WEIGHT_MAX)
        return REMAT_WEIGHT_MAX;
    weight = (int64_t)product;
    if (is_doubled)
        weight *= 2;
    return weight < REMAT_WEIGHT_MAX ? weight : REMAT_WEIGHT_MAX;
}

enum remat_weight_kind remat_weight_kind(const struct remat_work *w,
                                         remat_node v)
{
    const struct remat_graph *g = w->g;

    if (remat_is_symbol(g, v))
        return REMAT_WEIGHT_SYMBOL;
    if (!remat_is_tensor(g, v))
        return is_free_object(g, v) ? REMAT_WEIGHT_OBJECT
                                    : REMAT_WEIGHT_NO_TENSOR;
    if (w->options.treat_parameters_as_free_to_save && g->is_static[v])
        return REMAT_WEIGHT_STATIC;
    if (remat_is_plain(w))
        return REMAT_WEIGHT_BYTES;
    if (w->options.recompute_views && remat_has_trait(g, v, REMAT_VIEW))
        return REMAT_WEIGHT_VIEW;
    return remat_is_materialised(w, v) ? REMAT_WEIGHT_DISTANCE
                                       : REMAT_WEIGHT_DOUBLED;
}

int64_t remat_weight(const struct remat_work *w, remat_node v)
{
    const struct remat_graph *g = w->g;
    enum remat_weight_kind kind = remat_weight_kind(w, v);

    switch (kind) {
    case REMAT_WEIGHT_SYMBOL:
        return remat_spec(g, v)->value.kind == REMAT_VALUE_SYM_FLOAT ? 4 : 1;
    case REMAT_WEIGHT_OBJECT:
    case REMAT_WEIGHT_STATIC:
        return 0;
    case REMAT_WEIGHT_BYTES:
        return g->n_bytes[v] < REMAT_WEIGHT_MAX ? g->n_bytes[v]
                                                : REMAT_WEIGHT_MAX;
    case REMAT_WEIGHT_DISTANCE:
    case REMAT_WEIGHT_DOUBLED:
        return distance_weight(w, v, kind == REMAT_WEIGHT_DOUBLED);
    case REMAT_WEIGHT_ABSENT:
    case REMAT_WEIGHT_NO_TENSOR:
    case REMAT_WEIGHT_VIEW:
        break;
    }
    return REMAT_INFINITE;
}

/* ---- edges ------------------------------------------------------------- */

static uint32_t new_vertex(struct remat_network *net, remat_node v)
{
    net->node[net->n_vertices] = v;
    return net->n_vertices++;
}

static uint32_t in_vertex(struct remat_network *net, remat_node v)
{
    if (net->in[v] == REMAT_NO_VERTEX)
        net->in[v] = new_vertex(net, v);
    return net->in[v];
}

static uint32_t out_vertex(struct remat_network *net, remat_node v)
{
    if (net->out[v] == REMAT_NO_VERTEX)
        net->out[v] = new_vertex(net, v);
    return net->out[v];
}

static uint32_t source(struct remat_network *net)
{
    if (net->source == REMAT_NO_VERTEX)
        net->source = new_vertex(net, REMAT_NONE);
    return net->source;
}

static uint32_t sink(struct remat_network *net)
{
    if (net->sink == REMAT_NO_VERTEX)
        net->sink = new_vertex(net, REMAT_NONE);
    return net->sink;
}

static void add_edge(struct remat_network *net, uint32_t from, uint32_t to,
                     int64_t capacity)
{
    net->edges[net->n_edges++] = (struct remat_edge){from, to, capacity};
}

static void add_ban(struct remat_network *net, remat_node v)
{
    uint32_t from = source(net);

    add_edge(net, from, in_vertex(net, v), REMAT_INFINITE);
}

static void add_node(const struct remat_work *w, struct remat_network *net,
                     remat_node v, bool is_banned)
{
    uint32_t vertex;

    if (w->bw[v]) {
        vertex = w->closure[v] ? in_vertex(net, v) : out_vertex(net, v);
        add_edge(net, vertex, sink(net), REMAT_INFINITE);
        if (w->closure[v])
            return;
    }
    if (remat_wants_recompute(w->tag[v])) {
        vertex = in_vertex(net, v);
        add_edge(net, vertex, sink(net), REMAT_INFINITE);
        return;
    }
    if (is_banned)
        add_ban(net, v);
    vertex = in_vertex(net, v);
    net->through[v] = net->n_edges;
    add_edge(net, vertex, out_vertex(net, v), remat_weight(w, v));
    REMAT_FOR_USERS (w, v, i)
        add_edge(net, net->out[v], in_vertex(net, w->users.items[i]),
                 REMAT_INFINITE);
}

static void add_late_bans(struct remat_network *net,
                          const struct remat_bans *bans)
{
    for (uint32_t i = bans->n_static; i < bans->n; i++)
        add_ban(net, bans->list[i].node);
}

static bool allocate(struct remat_work *w, struct remat_network *net,
                     uint64_t n_edges)
{
    struct remat_arena *arena = &w->job->arena;
    size_t n = w->g->n;

    *net = (struct remat_network){.source = REMAT_NO_VERTEX,
                                  .sink = REMAT_NO_VERTEX};
    net->edges = REMAT_NEW_ARRAY(arena, struct remat_edge, n_edges);
    net->in = REMAT_NEW_ARRAY(arena, uint32_t, n);
    net->out = REMAT_NEW_ARRAY(arena, uint32_t, n);
    net->through = REMAT_NEW_ARRAY(arena, uint32_t, n);
    net->node = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n + 2);
    if (arena->status != REMAT_OK)
        return false;
    for (size_t v = 0; v < n; v++)
        net->in[v] = net->out[v] = net->through[v] = REMAT_NO_VERTEX;
    return true;
}

/* At most: one edge through each node, two to the sink, one ban, and one for
 * each pair of value and user. */
static uint64_t most_edges(const struct remat_work *w)
{
    return 4 * (uint64_t)w->g->n + w->users.begin[w->g->n];
}

enum remat_status remat_network_build(struct remat_work *w,
                                      const struct remat_bans *bans,
                                      struct remat_network *net,
                                      struct remat_error *err)
{
    struct remat_mark mark;
    bool *banned_early;

    if (most_edges(w) >= UINT32_MAX)
        return remat_error_set(err, REMAT_E_NODES, REMAT_NONE,
                               "graph: its network has 2^32 edges or more");
    if (!allocate(w, net, most_edges(w)))
        return remat_job_no_memory(w->job, err);
    mark = remat_arena_mark(&w->job->arena);
    banned_early = REMAT_NEW_ARRAY(&w->job->arena, bool, w->g->n);
    if (banned_early == NULL)
        return remat_job_no_memory(w->job, err);
    for (uint32_t i = 0; i < bans->n_static; i++)
        banned_early[bans->list[i].node] = true;
    for (remat_node v = 0; v < w->g->n; v++)
        if (w->live[v] && remat_spec(w->g, v)->op != REMAT_OUTPUT)
            add_node(w, net, v, banned_early[v]);
    add_late_bans(net, bans);
    remat_arena_rewind(&w->job->arena, mark);
    return remat_job_spend(w->job, net->n_edges, "network", err);
}
