/*
 * simulate.h: bytes alive at every step of a plan. Private to core.
 *
 * The model, which tests/memory/simulator.py states once more by other means:
 *
 *   Storage   Memory belongs to storages. A value holds the storage of its
 *             alias_of root, which counts the root's bytes once. A value
 *             computed again is a new storage beside the saved one; a view of
 *             it, or of a saved value, holds the storage of what it was made
 *             from. Symbols, opaque objects and values of unknown size count 0.
 *   Tuples    A tuple or dict holds the bytes of its tensors until a getitem
 *             takes its part over; the result of a view operator (split) holds
 *             none.
 *   Kinds     Static inputs and attributes are always there and never counted
 *             with the rest. Gradients are what depends on a tangent. All else
 *             is activations: what the plan decides about.
 *   Forward   Step 0 holds the inputs. Then the operators of the forward half
 *             in document order.
 *   Backward  Step 0 holds what was saved, tangents and seeds. Then the
 *             operators from the first that reads a tangent on, in document
 *             order, each after what it lacks of the recomputed values, those
 *             in document order too. A copy_ before them all comes first. Last,
 *             outputs not computed so far. What nothing needs is not run.
 *   Lifetime  At a step, what it reads and what it makes is alive. A storage is
 *             alive from the first to the last step that touches a value in it;
 *             outputs of a half, saved values among them, to its end.
 */
#ifndef REMAT_SIMULATE_H
#define REMAT_SIMULATE_H

#include "extract.h"

enum remat_memory_kind {
    REMAT_ACTIVATION,
    REMAT_GRADIENT,
    REMAT_STATIC
};

/* What does not change from plan to plan, and room for one run. */
struct remat_simulator {
    struct remat_work *w;
    remat_node *root; /* by node */
    int64_t *bytes;   /* by root */
    uint8_t *kind;    /* enum remat_memory_kind, by root */
    bool *is_container;

    /* one run; storages are numbered by root, recomputed ones n further on */
    uint32_t *storage; /* by node; REMAT_NONE: not in this half */
    uint32_t *step;    /* by node: when it was made */
    uint32_t *key;     /* by node: which operator's turn it is run in */
    uint32_t *begin;   /* by storage */
    uint32_t *last;
    int64_t *rest;    /* of a container: not yet taken over */
    remat_node *name; /* the first value in it */
    uint32_t *seen;   /* storages of this run */
    uint32_t n_seen;
    remat_node *sequence;
    uint32_t *place;
};

/* A step-by-step record; arrays have n_steps entries. */
struct remat_trace {
    uint32_t n_steps;
    int64_t *bytes[REMAT_STATIC]; /* by kind, static ones left out */
    remat_node *node;             /* REMAT_NONE at step 0 */
    int64_t peak;                 /* of activations */
    uint32_t peak_step;           /* the first with it */
};

REMAT_NODISCARD enum remat_status
remat_simulator_init(struct remat_work *w, struct remat_simulator *s,
                     struct remat_error *err);
/* Room for a trace of either half. */
REMAT_NODISCARD bool remat_trace_init(struct remat_work *w,
                                      struct remat_trace *trace);
/* One half; half->backward says which. O(nodes + edges), allocates nothing. */
void remat_simulate_half(struct remat_simulator *s,
                         const struct remat_subgraph *half,
                         struct remat_trace *trace);
/* The activations alive at a step of the half simulated last, by their first
 * name, node order. `at` has room for every node. O(nodes + edges). */
uint32_t remat_list_alive(const struct remat_simulator *s, uint32_t step,
                          remat_node *at);
/* Both halves of a plan. */
REMAT_NODISCARD enum remat_status
remat_simulate(struct remat_work *w, const struct remat_extraction *x,
               struct remat_memory *memory, struct remat_error *err);

#endif
