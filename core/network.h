/*
 * network.h: the flow network of a graph (semantics 6). Private to core.
 *
 * Every node v of the graph is split in two vertices, v_in and v_out; the edge
 * between them costs what saving v costs. Vertices are numbered and edges
 * listed in the order in which they are first mentioned, which is the adjacency
 * order that diagnostics follow.
 */
#ifndef REMAT_NETWORK_H
#define REMAT_NETWORK_H

#include "bans.h"

/* Weights stick here; a cut this dear is refused (see maxflow.h). */
#define REMAT_WEIGHT_MAX ((int64_t)1 << 62)

struct remat_network {
    uint32_t n_vertices;
    uint32_t n_edges;
    struct remat_edge *edges;
    uint32_t source; /* REMAT_NO_VERTEX when no edge mentions it */
    uint32_t sink;   /* likewise */

    /* where the graph lies in it; REMAT_NO_VERTEX: not there */
    uint32_t *in;      /* vertex v_in by node */
    uint32_t *out;     /* vertex v_out by node */
    uint32_t *through; /* edge v_in -> v_out by node */
    uint32_t *node;    /* node by vertex; REMAT_NONE: source and sink */
};

/* What saving v costs: REMAT_INFINITE when it cannot be saved. O(users). */
int64_t remat_weight(const struct remat_work *w, remat_node v);
/* How that came about, never REMAT_WEIGHT_ABSENT. O(users). */
enum remat_weight_kind remat_weight_kind(const struct remat_work *w,
                                         remat_node v);
/* O(nodes + edges) time and memory. REMAT_E_NODES: 2^32 edges or more. */
REMAT_NODISCARD enum remat_status
remat_network_build(struct remat_work *w, const struct remat_bans *bans,
                    struct remat_network *net, struct remat_error *err);

static inline bool remat_is_in_vertex(const struct remat_network *net,
                                      uint32_t vertex)
{
    return net->node[vertex] != REMAT_NONE &&
           net->in[net->node[vertex]] == vertex;
}

#endif
