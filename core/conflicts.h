/*
 * conflicts.h: all conflicts of an infinite flow as paths of nodes. Private to
 * core.
 */
#ifndef REMAT_CONFLICTS_H
#define REMAT_CONFLICTS_H

#include "conflict_flow.h"
#include "network.h"

/* The infinite part of a network: what a cut can neither take nor go around. A
 * node is listed when a path of infinite edges from source to sink goes through
 * one of its vertices. */
struct remat_infinite_part {
    struct remat_path_graph graph; /* numbers are positions in `nodes` */
    const remat_node *nodes;       /* node order */
};

/* Needs a network with source and sink. O(vertices + edges). */
REMAT_NODISCARD enum remat_status
remat_infinite_part(struct remat_work *w, const struct remat_network *net,
                    struct remat_infinite_part *part, struct remat_error *err);

struct remat_conflicts {
    /* A largest set of infinite paths that share no node: the one that PyTorch
     * reports where it is in some largest set, then the shortest first, equal
     * ones in node order. Items are nodes. */
    struct remat_path_set paths;
    /* The vertices of PyTorch's path behind the source, with the sink. */
    const uint32_t *reported;
    uint32_t n_reported;
    bool is_reported_first; /* it is the first of `paths` */
};

/* Whether the edge through a node (in to out) is infinite. O(1). */
bool remat_is_infinite_through(const struct remat_network *net, remat_node v);

/* The network must have an infinite path. See remat_disjoint_paths for the
 * cost. */
REMAT_NODISCARD enum remat_status
remat_find_conflicts(struct remat_work *w, const struct remat_network *net,
                     struct remat_conflicts *conflicts,
                     struct remat_error *err);

#endif
