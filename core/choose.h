/*
 * choose.h: which nodes are to be saved: one cut, or a sequence of cuts and a
 * knapsack under an activation-memory budget (semantics 8). Private to core.
 */
#ifndef REMAT_CHOOSE_H
#define REMAT_CHOOSE_H

#include "cut.h"
#include "notes.h"

enum {
    REMAT_MOST_CUTS = 4
};

struct remat_choice {
    struct remat_cut_work *cuts[REMAT_MOST_CUTS];
    uint32_t n_cuts;
    bool unbounded; /* the last cut is: no choice */
    struct remat_nodes chosen;
    struct remat_packing packing;
};

/* The budget in force: the first node's own, or the option. REMAT_E_OPTION
 * outside 0 to 1. O(nodes). */
REMAT_NODISCARD enum remat_status remat_budget(const struct remat_work *w,
                                               double *budget,
                                               struct remat_error *err);
/* Decides. REMAT_E_SIZE names a node whose size is needed and not known. At
 * most five cuts and a knapsack. */
REMAT_NODISCARD enum remat_status
remat_choose(struct remat_work *w, double budget, struct remat_notes *notes,
             struct remat_choice *choice, struct remat_error *err);
/* Whether a value never enters the knapsack: it has to be kept (8.8). */
bool remat_is_fixed(const struct remat_work *w, remat_node v);

/* choose_rules.c: the rules of cut 1, 2 and 3. */
struct remat_rules remat_rules_of(const struct remat_options *o);
struct remat_rules remat_rules_without_fusion(struct remat_rules rules,
                                              bool compat);
struct remat_rules remat_rules_without_allow_list(struct remat_rules rules,
                                                  bool compat);

/* packing.c: lists and adds up what a solver chose, from packing->offered,
 * memory, runtime and keep. O(n log n). */
REMAT_NODISCARD enum remat_status
remat_packing_list(struct remat_job *job, enum remat_knapsack solver,
                   struct remat_packing *packing, struct remat_error *err);

#endif
