/*
 * verify.h: the independent check of every answer. Private to core.
 *
 * It shares no code with the solver (network.c, residual.c, maxflow.c,
 * mincut.c, extract.c, subgraph.c, symbols.c, conflict*.c, diagnose_*.c): what
 * an edge may carry, which side a vertex is on and what each half computes is
 * worked out again here, from the graph, the classes and the bans, by other
 * means. A fault there makes an internal error here, never a wrong plan.
 */
#ifndef REMAT_VERIFY_H
#define REMAT_VERIFY_H

#include "cut.h"
#include "extract.h"

/* Capacities, conservation, flow = cut, the canonical side, and that the saved
 * nodes cut every path. REMAT_E_BUG when anything is off. O(nodes + edges). */
REMAT_NODISCARD enum remat_status
remat_verify_cut(struct remat_work *w, const struct remat_cut_work *c,
                 struct remat_error *err);
/* That the lists follow from `chosen`, that the forward can compute all of them
 * and the backward all it needs from them, and nothing is passed on or computed
 * again in vain. */
REMAT_NODISCARD enum remat_status
remat_verify_extraction(struct remat_work *w, struct remat_nodes chosen,
                        const struct remat_extraction *x,
                        struct remat_error *err);
/* That there is a conflict among the diagnostics, that every edge of every
 * conflict path is there and cannot be cut, and that no two conflicts share a
 * node. O(nodes + bans + inputs of the nodes on the paths). */
REMAT_NODISCARD enum remat_status
remat_verify_conflicts(struct remat_work *w, const struct remat_bans *bans,
                       const struct remat_diagnostic *diagnostics,
                       uint32_t n_diagnostics, struct remat_error *err);

#endif
