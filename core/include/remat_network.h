/*
 * remat_network.h: what a decision was computed with: the flow network of its
 * last cut, and the knapsack of a budget. Part of remat.h.
 */
#ifndef REMAT_PUBLIC_NETWORK_H
#define REMAT_PUBLIC_NETWORK_H

#include "remat.h"

#define REMAT_INFINITE  INT64_MAX
#define REMAT_NO_VERTEX UINT32_MAX

struct remat_edge {
    uint32_t from; /* vertices */
    uint32_t to;
    int64_t capacity; /* >= 0; REMAT_INFINITE */
};

/*
 * The network: every node v of the graph that takes part is split in two
 * vertices, v_in and v_out; the edge between them costs what saving v costs.
 * Vertices are numbered, and edges listed, in the order in which they are first
 * mentioned. Arrays belong to the job.
 */
struct remat_network_view {
    uint32_t n_vertices;
    uint32_t n_edges;
    const struct remat_edge *edges;
    uint32_t source; /* REMAT_NO_VERTEX when no edge mentions it */
    uint32_t sink;   /* likewise */
    /* where the graph lies in it; REMAT_NO_VERTEX: not there */
    const uint32_t *in;      /* vertex v_in by node */
    const uint32_t *out;     /* vertex v_out by node */
    const uint32_t *through; /* edge v_in -> v_out by node */
    const remat_node *node;  /* by vertex; REMAT_NONE: source and sink */
    /* By vertex, whether it is on the sink's side of the canonical minimum cut;
     * NULL when the flow is infinite or source and sink are not both there. */
    const bool *sink_side;
};

/* How an activation-memory budget was kept. NaN stands for what was not needed:
 * a budget of 1 or 0 needs nothing, and the cuts before the last may do. */
struct remat_packing {
    double budget;   /* in force: 0 to 1 */
    double least_gb; /* GB (1e9 bytes) of the inputs */
    double most_gb;  /* GB of what the first cut saves */
    /* What the second and third cut save, in parts of most_gb - least_gb beyond
     * the inputs. */
    double parts[2];

    /* The knapsack: values that may be saved or computed again, largest first;
     * none when none was packed. */
    struct remat_nodes offered;
    const double *memory;  /* by position in `offered`, in the same parts */
    const double *runtime; /* likewise, in the unit of the estimator */
    const bool *keep;      /* likewise: to be saved */
    /* The same as positions, each in the order of PyTorch's solver. */
    const uint32_t *saved;
    const uint32_t *recomputed;
    uint32_t n_saved;
    uint32_t n_recomputed;
    double saved_runtime; /* of what is saved, added up as the solver does */
};

#endif
