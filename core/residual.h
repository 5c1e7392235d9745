/*
 * residual.h: a flow network as the solver holds it. Private to core.
 *
 * Every edge is two arcs, one each way, that know each other as twins; the arcs
 * of a vertex lie side by side. residual[a] is what can still be sent along a;
 * for the twin of an edge that is the flow on the edge.
 */
#ifndef REMAT_RESIDUAL_H
#define REMAT_RESIDUAL_H

#include "network.h"

enum remat_region {
    REMAT_BETWEEN,
    REMAT_AT_SOURCE, /* reached from the source over infinite edges */
    REMAT_AT_SINK    /* reaches the sink over infinite edges */
};

struct remat_residual {
    uint32_t n_vertices;
    uint32_t n_arcs;
    uint32_t source;
    uint32_t sink;
    const uint32_t *first; /* arcs of v: first[v] .. first[v+1] - 1 */
    const uint32_t *head;
    const uint32_t *twin;
    const uint32_t *arc; /* of an edge, in its own direction */
    int64_t *residual;

    uint8_t *region; /* enum remat_region by vertex */
    uint32_t
        *region_order; /* vertices at source, then at sink, nearest first */
    uint32_t n_at_source;
    uint32_t n_at_sink;
    uint32_t *region_arc; /* arc that joins v to its region, from the nearer
                             vertex (source) or to it (sink) */
    bool infinite;        /* the regions touch: no finite cut */
};

/* Lays out the arcs and finds the regions; infinite says whether a path of
 * infinite edges leads from source to sink. Otherwise every capacity is clipped
 * at one more than the value of a known finite cut, which changes no minimum
 * cut and keeps all sums below 2^63. REMAT_E_WEIGHT when no known cut is below
 * 2^62. The network must have a source and a sink. O(vertices + edges). */
REMAT_NODISCARD enum remat_status
remat_residual_build(struct remat_job *job, const struct remat_network *net,
                     struct remat_residual *r, struct remat_error *err);

#endif
