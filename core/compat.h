/*
 * compat.h: where the option `compat` decides something else. Private to core.
 */
#ifndef REMAT_COMPAT_H
#define REMAT_COMPAT_H

#include "extract.h"
#include "notes.h"

/* Decides once more without `compat` and holds the result against a decision
 * made with it, `x` if it is a plan. Where they differ, a `compat-fault` names
 * each value that PyTorch computes again although it must stay or would differ;
 * without such a value one names what else is different. Fails as a decision
 * does, for want of steps or memory; a graph that is refused without `compat`
 * is a difference. O(a decision). */
REMAT_NODISCARD enum remat_status
remat_compat_compare(struct remat_work *w, double budget,
                     enum remat_outcome outcome,
                     const struct remat_extraction *x,
                     struct remat_notes *notes, struct remat_error *err);

#endif
