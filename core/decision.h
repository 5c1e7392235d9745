/*
 * decision.h: one decision, and the plan it becomes. Private to core.
 *
 *   decide.c   what is saved, or why that cannot be told
 *   report.c   lists, facts and totals
 *   solve.c    both
 *
 * Everything lies in the job's arena.
 */
#ifndef REMAT_DECISION_H
#define REMAT_DECISION_H

#include "choose.h"
#include "extract.h"

struct remat_decision {
    struct remat_work work;
    struct remat_subgraph forward;
    struct remat_choice choice;
    double budget;
    struct remat_notes notes;
    struct remat_extraction extraction;
    struct remat_plan *plan;
    const struct remat_nodes *given; /* what to hand over; NULL: decide */
};

/* The cut that was taken; NULL: there was none to make. */
static inline const struct remat_cut_work *
remat_decision_last_cut(const struct remat_decision *d)
{
    return d->choice.n_cuts == 0 ? NULL : d->choice.cuts[d->choice.n_cuts - 1];
}

/* ---- decide.c ---- */

/* Sets the outcome and, where it is a plan, the extraction, verified. */
REMAT_NODISCARD enum remat_status remat_decide(struct remat_decision *d,
                                               struct remat_error *err);

/* ---- report.c ---- */

/* The end of the decision. */
REMAT_NODISCARD enum remat_status
remat_decision_report(struct remat_decision *d, const struct remat_plan **plan,
                      struct remat_error *err);

/* ---- solve.c ---- */

/* Checks the options. `given`: what to hand over, or NULL to decide that. */
REMAT_NODISCARD enum remat_status
remat_decision_begin(struct remat_job *job, const struct remat_options *options,
                     const struct remat_nodes *given, struct remat_decision **d,
                     struct remat_error *err);
/* From beginning to end, without looking for a remedy. */
REMAT_NODISCARD enum remat_status
remat_decision_solve(struct remat_job *job, const struct remat_options *options,
                     const struct remat_nodes *given,
                     const struct remat_plan **plan, struct remat_error *err);

#endif
