/*
 * remat_ranks.h: one graph on several ranks. Part of remat.h.
 */
#ifndef REMAT_PUBLIC_RANKS_H
#define REMAT_PUBLIC_RANKS_H

#include "remat.h"

/*
 * What two graphs have in common that differ only in names (of nodes and size
 * symbols, placeholders' labels, sources, process groups), in the order of
 * independent nodes, in sizes and hints, and in measured runtimes. Structure is
 * all else: operators, references, literals, types, numbers of dimensions, the
 * document's tags (before any pass), placements, traits, roles, which inputs
 * are static, storages, the order of the outputs; modules only when asked for.
 */
struct remat_structure {
    uint64_t print[2];       /* equal for equal structures */
    const remat_node *order; /* by place: what of two graphs stands at the same
                                place corresponds */
    const uint32_t *place;   /* by node: the inverse */
};

/* The structure of a sealed graph, in the job. O((nodes + references) log
 * nodes); what the output does not read may cost more, in steps of the job
 * (core/form_rest.c). */
REMAT_NODISCARD enum remat_status
remat_structure_find(struct remat_job *job, bool with_modules,
                     struct remat_structure *structure,
                     struct remat_error *err);

struct remat_difference {
    bool found;
    remat_node node[2]; /* in the first and the second graph; REMAT_NONE: it is
                           not there */
    char what[256];  /* "operator aten.mm.default against aten.bmm.default" */
    char where[160]; /* who reads both, or "" */
};
/* The first difference, by the position in the first graph; not found: none.
 * Takes scratch from both jobs. O((nodes + references) log nodes). */
REMAT_NODISCARD enum remat_status
remat_structure_differ(struct remat_job *a, struct remat_job *b,
                       bool with_modules, struct remat_difference *difference,
                       struct remat_error *err);

/* Decides. REMAT_OK also for a graph without an answer (outcome says so); then
 * `diagnostics` explains. Every plan has passed the independent verifier.
 * REMAT_E_OPTION names an option or a budget that is out of range. A sealed
 * graph may be solved any number of times. O(nodes + edges) memory; time that
 * and the maximum flow. */
REMAT_NODISCARD enum remat_status
remat_plan_solve(struct remat_job *job, const struct remat_options *options,
                 const struct remat_plan **plan, struct remat_error *err);

/* The plan that hands these nodes over, whoever decided so: extracted, verified
 * and measured as any other, without cuts and weights. Outcome
 * REMAT_INVALID_OUTPUT when a half cannot be computed. Of plan->limit, is_asked
 * and is_met alone. Each node stands once in the list. O(nodes + edges). */
REMAT_NODISCARD enum remat_status
remat_plan_carry_out(struct remat_job *job, const struct remat_options *options,
                     struct remat_nodes handed_over,
                     const struct remat_plan **plan, struct remat_error *err);

#endif
