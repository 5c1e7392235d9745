/*
 * limit.h: the least work done twice under a limit on peak memory. Private to
 * core.
 *
 * What counts: the greater of the two peaks of activations (simulate.h). Static
 * inputs and gradients do not depend on the plan and do not count.
 *
 * What may be chosen: any set of values that the forward can compute and that a
 * cut could save. Inputs, symbols, opaque objects, and what may not be computed
 * twice, are always offered to the backward, which takes what it reads; a value
 * tagged for recomputation never is.
 *
 *   limit.c         the search for the best set, and the answer
 *   limit_starts.c  sets to begin with: plans of budgets and of the frontier
 *   limit_weigh.c   one set of values: its plan, peak and work
 *   limit_search.c  better sets near a given one
 *   limit_wander.c  better sets behind worse ones
 *   limit_exact.c   all sets, for small graphs
 *   limit_floor.c   a peak that no plan goes below
 */
#ifndef REMAT_LIMIT_H
#define REMAT_LIMIT_H

#include "choose.h"
#include "simulate.h"

/* How good a set is. */
struct remat_verdict {
    bool valid;    /* both halves can be computed, nothing is computed twice
                      that may not be */
    int64_t flops; /* recomputed */
    /* bounds for this set and all its subsets, where what only the backward
     * needs may be left to it */
    bool may_be_valid;
    int64_t least_flops;
    int64_t peak;  /* bytes */
    double excess; /* bytes over the target, summed over all steps */
};

/* A set of values to pass on, by node, and its verdict. */
struct remat_set {
    bool *in;
    struct remat_verdict verdict;
    double budget; /* of the plan it was found from */
    bool is_of_hull;
};

enum {
    REMAT_LIMIT_STARTS = 23, /* parts: 21 budgets, all values and none */
    REMAT_LIMIT_PARTS = REMAT_LIMIT_STARTS + 100
};

struct remat_limit {
    struct remat_work *w;
    struct remat_error *err;
    int64_t limit;
    int64_t target; /* what excess is counted over */

    bool *can_be_saved;
    bool *always;       /* of these, in every set of the search */
    bool *is_candidate; /* and those that there is a choice about */
    bool *fixed;        /* may not be computed twice */
    bool has_idle; /* some operator runs in the backward wherever it can, needed
                      or not: then passing on less may be better than any set of
                      the search, which so proves nothing */
    int64_t *flops; /* by node */

    uint64_t cost;   /* steps of one verdict */
    uint64_t n_left; /* steps left to the present part of the search */
    uint64_t began;  /* steps of the job before the search, 0: not yet */

    struct remat_set *starts; /* what the search begins with */
    uint32_t n_starts;
    struct remat_set best;   /* least work under the limit */
    struct remat_set lowest; /* least peak */
    bool any_will_do;        /* one under the limit ends the look at all sets */
    bool is_exact;           /* nothing better than best exists */
    bool is_lowest;          /* nothing lower than lowest exists */
    bool is_complete;        /* no set of the search is lower */
    int64_t floor;           /* bytes; no plan has a lower peak */
    int64_t least_flops;     /* of any plan at all */

    uint64_t random; /* state of limit_wander.c's generator, never 0 */

    int64_t lowest_loose; /* peak of the budgets' plans that compute twice
                             what may not be */

    /* the operators of the backward that every plan runs, in order, and the
     * moments from which and to which a value is there in every plan */
    remat_node *steps;
    uint32_t n_steps;
    uint32_t *from; /* by node; REMAT_NONE: nothing is known */
    uint32_t *to;
    remat_node *coming; /* values by `from`, and by `to` */
    remat_node *going;
    uint32_t n_spans;
    uint32_t *n_alive; /* scratch, by root */

    /* of the last verdict, by node */
    bool *is_saved;
    bool *is_recomputed;

    /* scratch */
    struct remat_simulator sim;
    struct remat_trace trace;
    remat_node *chosen;
};

/* Decides. choice->chosen is the set; choice->cuts are those of the budget plan
 * that the search began with. The report lives in the job. Bounded by its own
 * step budget beside the job's; about twenty budget plans beyond that. */
REMAT_NODISCARD enum remat_status
remat_limit_choose(struct remat_work *w, const struct remat_subgraph *forward,
                   struct remat_notes *notes, struct remat_choice *choice,
                   struct remat_limit_report *report, struct remat_error *err);

/* The report for a graph that saves nothing: there is nothing to choose. */
REMAT_NODISCARD enum remat_status remat_limit_without_backward(
    struct remat_work *w, const struct remat_memory *memory,
    struct remat_notes *notes, struct remat_limit_report *report,
    struct remat_error *err);

/* limit_weigh.c */
REMAT_NODISCARD enum remat_status
remat_limit_init(struct remat_limit *l, const struct remat_subgraph *forward);
REMAT_NODISCARD bool remat_set_init(struct remat_limit *l,
                                    struct remat_set *set);
void remat_set_copy(const struct remat_limit *l, struct remat_set *to,
                    const struct remat_set *from);
/* Sets set->verdict, l->is_saved and l->is_recomputed; remembers the best. */
REMAT_NODISCARD enum remat_status remat_limit_weigh(struct remat_limit *l,
                                                    struct remat_set *set);
/* The same for the plan of a budget, which decides for itself what may be
 * computed twice. */
REMAT_NODISCARD enum remat_status remat_limit_weigh_plan(struct remat_limit *l,
                                                         struct remat_set *set);
/* Whether the step budget is used up. */
bool remat_limit_is_over(const struct remat_limit *l);
bool remat_is_under(const struct remat_limit *l, const struct remat_set *set);

/* limit_starts.c: fills l->starts; none if the graph has no plan at all. */
REMAT_NODISCARD enum remat_status
remat_limit_find_starts(struct remat_limit *l);
/* limit_search.c: from a set to better ones. */
REMAT_NODISCARD enum remat_status
remat_limit_search(struct remat_limit *l, const struct remat_set *set);
/* limit_wander.c: looks for less work under the limit from the best set so far
 * on, or for lower peaks from the lowest on until one is under it. Takes a
 * share of the steps left. */
enum remat_wander_goal {
    REMAT_WANDER_LESS,
    REMAT_WANDER_LOWER
};
REMAT_NODISCARD enum remat_status
remat_limit_wander(struct remat_limit *l, enum remat_wander_goal goal,
                   uint64_t share);
/* limit_exact.c: all sets; l->is_exact when it came to the end. */
REMAT_NODISCARD enum remat_status remat_limit_enumerate(struct remat_limit *l);
/* limit_floor.c: finds l->steps, the spans and l->floor. */
REMAT_NODISCARD enum remat_status remat_limit_find_floor(struct remat_limit *l);
/* A peak of the backward below which nothing can be that passes on all of `in`
 * that is read. O(nodes). */
int64_t remat_limit_bound(const struct remat_limit *l, const bool *in);

#endif
