/*
 * mincut.h: the canonical minimum cut of a maximum flow (semantics 7.2, 7.3).
 * Private to core.
 */
#ifndef REMAT_MINCUT_H
#define REMAT_MINCUT_H

#include "residual.h"

/* The smallest sink side: sink_side[v] says whether v still reaches the sink in
 * the residual network. It is the same for every maximum flow. O(arcs). */
REMAT_NODISCARD enum remat_status
remat_mincut_sink_side(struct remat_job *job, const struct remat_residual *r,
                       bool **sink_side, struct remat_error *err);
/* Nodes whose edge v_in -> v_out crosses from the other side into the sink
 * side, in node order. sink_side NULL: nothing does. O(nodes). */
REMAT_NODISCARD enum remat_status
remat_mincut_nodes(struct remat_work *w, const struct remat_network *net,
                   const bool *sink_side, struct remat_nodes *nodes,
                   struct remat_error *err);

#endif
