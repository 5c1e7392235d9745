/*
 * cut.h: one minimum cut, from bans to nodes. Private to core.
 */
#ifndef REMAT_CUT_H
#define REMAT_CUT_H

#include "maxflow.h"
#include "mincut.h"
#include "network.h"

/* Everything behind one cut; the verifier looks at all of it. */
struct remat_cut_work {
    struct remat_bans bans;
    struct remat_network net;
    struct remat_residual residual; /* with the flow in it, unless trivial */
    struct remat_flow flow;
    bool trivial;    /* no edge leaves the source, or none enters the sink */
    bool *sink_side; /* by vertex; NULL when trivial or unbounded */
    struct remat_cut cut;
};

/* Finds the canonical cut under some rules. An infinite flow is no error:
 * c->cut.unbounded. O(nodes + edges) and the maximum flow. */
REMAT_NODISCARD enum remat_status
remat_cut_solve(struct remat_work *w, const struct remat_rules *rules,
                const bool *dont_ban, struct remat_cut_work *c,
                struct remat_error *err);
/* The network and the cut as others see them, in the job; NULL when there is no
 * memory. O(1). */
const struct remat_network_view *remat_cut_view(struct remat_job *job,
                                                const struct remat_cut_work *c);

#endif
