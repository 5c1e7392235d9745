/*
 * diagnose.h: why a graph has no plan (semantics 11). Private to core.
 */
#ifndef REMAT_DIAGNOSE_H
#define REMAT_DIAGNOSE_H

#include "network.h"
#include "notes.h"
#include "subgraph.h"

/* `infinite-flow` for each conflict (conflicts.h), each edge with its reason;
 * then `pytorch-path` where PyTorch reports another path than the first, and
 * `more-conflicts` where there are too many to list. */
REMAT_NODISCARD enum remat_status
remat_diagnose_infinite(struct remat_work *w, const struct remat_network *net,
                        const struct remat_bans *bans,
                        struct remat_notes *notes, struct remat_error *err);
/* `invalid-output`: from s->invalid back to what keeps it from this side. */
REMAT_NODISCARD enum remat_status
remat_diagnose_invalid(struct remat_work *w, const struct remat_subgraph *s,
                       struct remat_diagnostic *d, struct remat_error *err);

#endif
