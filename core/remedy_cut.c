/*
 * remedy_cut.c: a minimum cut through the tags of all conflicts.
 *
 * The network is the infinite part of the decision's own: what may not be
 * computed again hangs from the source, what has to be hangs from the sink, and
 * cutting such an edge costs what changing the tag behind it costs. Everything
 * else is a fact and cannot be cut. A cut is a set of changes that breaks all
 * conflicts there are; changing tags can make new ones.
 */
#include "remedy_work.h"

#include "mincut.h"

#include <string.h>

/* What one end of a conflict costs. */
typedef int64_t price(const struct remat_remedy_work *r,
                      const struct remat_probe *probe, remat_node v);

struct tag_cut {
    struct remat_remedy_work *r;
    const struct remat_probe *probe;
    struct remat_network net;
    bool is_infinite;
    int64_t value;
    bool *sink_side; /* by vertex; NULL when infinite */
};

static void add_edge(struct remat_network *net, uint32_t from, uint32_t to,
                     int64_t capacity)
{
    net->edges[net->n_edges++] = (struct remat_edge){from, to, capacity};
}

/* Node i of the part is vertex 2i where conflicts enter it and 2i + 1 where
 * they leave it. */
static void add_node(struct tag_cut *c, uint32_t i, price *start_price,
                     price *end_price)
{
    const struct remat_path_graph *g = &c->probe->part.graph;
    remat_node v = c->probe->part.nodes[i];
    bool goes_through = g->length[i] > 1;

    if (g->is_start[i])
        add_edge(&c->net, c->net.source, 2 * i, start_price(c->r, c->probe, v));
    if (g->is_end[i])
        add_edge(&c->net, goes_through ? 2 * i + 1 : 2 * i, c->net.sink,
                 goes_through ? REMAT_INFINITE : end_price(c->r, c->probe, v));
    if (goes_through)
        add_edge(&c->net, 2 * i, 2 * i + 1, REMAT_INFINITE);
    for (uint32_t e = g->next.begin[i]; e < g->next.begin[i + 1]; e++)
        add_edge(&c->net, 2 * i + 1, 2 * g->next.items[e], REMAT_INFINITE);
}

static enum remat_status solve(struct tag_cut *c, price *start_price,
                               price *end_price)
{
    const struct remat_path_graph *g = &c->probe->part.graph;
    struct remat_job *job = c->r->w->job;
    struct remat_residual residual;
    struct remat_flow flow;
    enum remat_status status;

    c->net = (struct remat_network){
        .n_vertices = 2 * g->n + 2, .source = 2 * g->n, .sink = 2 * g->n + 1};
    c->net.edges = REMAT_NEW_ARRAY(&job->arena, struct remat_edge,
                                   3 * (size_t)g->n + g->next.begin[g->n]);
    if (c->net.edges == NULL)
        return remat_job_no_memory(job, c->r->err);
    for (uint32_t i = 0; i < g->n; i++)
        add_node(c, i, start_price, end_price);
    status = remat_residual_build(job, &c->net, &residual, c->r->err);
    if (status != REMAT_OK)
        return status;
    c->is_infinite = residual.infinite;
    if (c->is_infinite)
        return REMAT_OK;
    status = remat_maxflow(job, &residual, &flow, c->r->err);
    if (status != REMAT_OK)
        return status;
    c->value = flow.value;
    return remat_mincut_sink_side(job, &residual, &c->sink_side, c->r->err);
}

enum remat_status remat_remedy_bound(struct remat_remedy_work *r,
                                     const struct remat_probe *probe,
                                     int64_t *bound)
{
    struct tag_cut c = {.r = r, .probe = probe};
    enum remat_status status =
        solve(&c, remat_remedy_start_bound, remat_remedy_end_bound);

    *bound = c.is_infinite ? REMAT_NO_WAY : c.value;
    return status;
}

/* ---- what the cut changes ---------------------------------------------- */

static int64_t start_price(const struct remat_remedy_work *r,
                           const struct remat_probe *probe, remat_node v)
{
    return remat_remedy_start_way(r, probe, v).cost;
}

static int64_t end_price(const struct remat_remedy_work *r,
                         const struct remat_probe *probe, remat_node v)
{
    return remat_remedy_end_way(r, probe, v).cost;
}

static void take(struct remat_remedy_work *r, struct remat_way way,
                 struct remat_way *ways, uint32_t *n)
{
    if (!r->is_decided[way.node])
        r->place[way.node] = (*n)++;
    way.cost = remat_remedy_cost(r, way.node);
    ways[r->place[way.node]] = way;
    r->is_decided[way.node] = true;
}

enum remat_status remat_remedy_cut(struct remat_remedy_work *r,
                                   const struct remat_probe *probe,
                                   struct remat_way *ways, uint32_t *n,
                                   bool *is_stuck)
{
    const struct remat_path_graph *g = &probe->part.graph;
    struct tag_cut c = {.r = r, .probe = probe};
    enum remat_status status = solve(&c, start_price, end_price);

    *is_stuck = c.is_infinite;
    if (status != REMAT_OK || c.sink_side == NULL)
        return status;
    for (size_t i = 0; i < g->n; i++) {
        if (g->is_start[i] && c.sink_side[2 * i])
            take(r, remat_remedy_start_way(r, probe, probe->part.nodes[i]),
                 ways, n);
        if (g->is_end[i] && g->length[i] == 1 && !c.sink_side[2 * i])
            take(r, remat_remedy_end_way(r, probe, probe->part.nodes[i]), ways,
                 n);
    }
    for (uint32_t k = 0; k < *n; k++)
        remat_remedy_apply(r, ways[k].node, ways[k].policy);
    return REMAT_OK;
}
