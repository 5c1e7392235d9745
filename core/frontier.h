/*
 * frontier.h: the parts of a frontier. Private to core.
 */
#ifndef REMAT_FRONTIER_H
#define REMAT_FRONTIER_H

#include "parametric.h"
#include "work.h"

/* The network of the trade: every value a plan may save or compute again as two
 * vertices, v_in and v_out, joined by the bytes of v. v_in on the sink's side:
 * v is computed again; only v_out there: v is saved; neither: nothing needs v.
 */
struct remat_frontier_network {
    struct remat_trade_network trade;
    uint32_t
        *vertex; /* v_in by node, v_out is the next; REMAT_NONE: not there */
    remat_node *room; /* scratch for lists on their way: four of every node */
};

/* O(nodes + edges). */
REMAT_NODISCARD enum remat_status
remat_frontier_network(struct remat_work *w, struct remat_frontier_network *net,
                       struct remat_error *err);
/* Whether computing v again in the backward is refused: it must be saved, gives
 * another result, has an effect, or belongs to the forward. */
bool remat_frontier_is_fixed(const struct remat_work *w, remat_node v);
/* Whether none of them is fixed. */
bool remat_frontier_is_faithful(const struct remat_work *w,
                                struct remat_nodes recomputed);
/* Copies the lists and totals of a plan, forgets all that was allocated since
 * `bottom`, the plan among it, and puts the copy there: without cuts,
 * diagnostics, memory and weights. O(lists). */
REMAT_NODISCARD enum remat_status
remat_frontier_keep(struct remat_work *w,
                    const struct remat_frontier_network *net,
                    struct remat_mark bottom, const struct remat_plan *solved,
                    const struct remat_plan **plan, struct remat_error *err);
/* Marks what a cut saves whose sink side is the first n_sink_side of the hull's
 * order; an input that several stand for is marked once. O(nodes). */
void remat_frontier_choose(const struct remat_work *w,
                           const struct remat_frontier_network *net,
                           const struct remat_hull *hull, uint32_t n_sink_side,
                           bool *is_chosen);
/* The plan of such a cut: extracted, verified, added up. *plan is NULL when the
 * halves cannot be extracted or the plan computes again what
 * remat_frontier_is_fixed says. Keeps nothing in the arena but the plan.
 * O(nodes + edges). */
REMAT_NODISCARD enum remat_status
remat_frontier_plan(struct remat_work *w,
                    const struct remat_frontier_network *net,
                    const struct remat_hull *hull, uint32_t n_sink_side,
                    const struct remat_plan **plan, struct remat_error *err);

#endif
