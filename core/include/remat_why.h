/*
 * remat_why.h: why a graph has no plan and what to change, what two plans
 * differ in. Part of remat.h.
 */
#ifndef REMAT_PUBLIC_WHY_H
#define REMAT_PUBLIC_WHY_H

#include "remat.h"

/* ---- remedies ---------------------------------------------------------- */

/*
 * The changes of tags of the least total cost that make a graph without a plan
 * feasible. They were applied and the graph solved again; without any one of
 * them it has no plan. Taking a tag away costs by whose it is and how strict it
 * is: a pass's prefer_*, a document's prefer_*, a pass's must_*, a document's
 * must_*, each ten times the one before. A tag on a node that has none
 * costs more than all of these and is the last resort.
 */
enum {
    REMAT_COST_PASS_PREFER = 1,
    REMAT_COST_PREFER = 10,
    REMAT_COST_PASS_MUST = 100,
    REMAT_COST_MUST = 1000,
    REMAT_COST_NEW_TAG = 1000000
};

struct remat_remedy {
    const struct remat_tag_change *changes; /* node order, tags as after the
                                               passes; n 0: no tag helps */
    uint32_t n_changes;
    int64_t cost;
    bool is_least; /* nothing that costs less gives a plan; otherwise that is
                      not known */
    const struct remat_plan *plan; /* with the changes; NULL when n is 0 */
    /* When no tag helps: what would have to be different, one step for each
     * fact in the way, with node, reason and origin. */
    const struct remat_step *facts;
    uint32_t n_facts;
};

/* ---- differences ------------------------------------------------------- */

enum remat_place {
    REMAT_PLACE_NONE,      /* neither saved nor computed again */
    REMAT_PLACE_SAVED,     /* in any of the three lists */
    REMAT_PLACE_RECOMPUTED /* in `recomputed` */
};

struct remat_move {
    remat_node node;
    enum remat_place before;
    enum remat_place after;
    int64_t n_bytes; /* of the value; -1 when unknown */
    int64_t flops;   /* of the operator */
    const char *why; /* what about this node is different, in words */
};

/* After minus before. */
struct remat_diff {
    const struct remat_move *moves; /* node order */
    uint32_t n_moves;
    int64_t saved_bytes;
    int64_t recomputed_flops;
    int64_t peak_bytes; /* of the greater peak of both halves */
};

/* What two plans of one graph differ in; REMAT_E_OPTION when one of them is no
 * plan. Lives in the job. O(nodes + edges). */
REMAT_NODISCARD enum remat_status
remat_plan_diff(struct remat_job *job, const struct remat_plan *before,
                const struct remat_plan *after, struct remat_diff *diff,
                struct remat_error *err);
/* A plan and the job it lives in; both are only read. */
struct remat_solved {
    const struct remat_job *job;
    const struct remat_plan *plan;
};
/* The same for plans of two graphs. counterpart[v] is the node of the graph
 * before that node v of the graph after stands for, no two the same, or
 * REMAT_NONE: then v moves nowhere. Lives in the job after; the other one is
 * read alone. O(nodes + edges of both). */
REMAT_NODISCARD enum remat_status
remat_plan_diff_graphs(const struct remat_solved *before, struct remat_job *job,
                       const struct remat_plan *after,
                       const remat_node *counterpart, struct remat_diff *diff,
                       struct remat_error *err);

/* ---- one node ---------------------------------------------------------- */

/* X(enumerator, words): how the weight of a value came about. The last two are
 * trunc(bytes times 1.1 to the distance from the backward, at least 1 and
 * limited), and twice that. */
#define REMAT_WEIGHT_MAP(X)                                                    \
    X(REMAT_WEIGHT_ABSENT, "there is no edge to cut")                          \
    X(REMAT_WEIGHT_SYMBOL, "is a scalar symbol")                               \
    X(REMAT_WEIGHT_OBJECT, "is an object that is free to save")                \
    X(REMAT_WEIGHT_NO_TENSOR, "is no tensor and cannot be saved")              \
    X(REMAT_WEIGHT_STATIC, "is a static input, free to save")                  \
    X(REMAT_WEIGHT_BYTES, "its bytes, as the profile plain has it")            \
    X(REMAT_WEIGHT_VIEW, "is a view, which recompute_views keeps from being "  \
                         "saved")                                              \
    X(REMAT_WEIGHT_DISTANCE, "its bytes times a factor for the distance from " \
                             "the backward")                                   \
    X(REMAT_WEIGHT_DOUBLED, "twice its bytes times a factor for the distance " \
                            "from the backward: it would not be written to "   \
                            "memory otherwise")
enum remat_weight_kind {
#define X(name, text) name,
    REMAT_WEIGHT_MAP(X)
#undef X
};
const char *remat_weight_text(enum remat_weight_kind kind);
/* 1.1 to the power k, as weights have it. */
double remat_distance_factor(uint32_t dist);

/* Where the last cut left a node. */
enum remat_cut_side {
    REMAT_CUT_NONE,   /* the network does not have it, or there is no cut */
    REMAT_CUT_SOURCE, /* with the inputs */
    REMAT_CUT_SINK,   /* with the backward */
    REMAT_CUT_BETWEEN /* the cut goes through it */
};

/* By node: enum remat_place; NULL without memory. O(nodes). */
const uint8_t *remat_plan_places(struct remat_job *job,
                                 const struct remat_plan *plan);
/* What a node reads, and what reads it, each once, dead nodes included. */
struct remat_nodes remat_graph_inputs(const struct remat_job *job,
                                      remat_node node);
struct remat_nodes remat_graph_users(const struct remat_job *job,
                                     remat_node node);
/* By node: whether the backward computes it, for the second time or alone; of
 * the output node, false. `places` as above. NULL without memory. O(nodes +
 * edges). */
const bool *remat_plan_backward(struct remat_job *job,
                                const struct remat_plan *plan,
                                const uint8_t *places);
/* Whether the backward returns the node. O(outputs). */
bool remat_graph_is_backward_output(const struct remat_job *job,
                                    remat_node node);

#endif
