/*
 * mincut_info.h: the artifact min_cut_information of PyTorch's structured
 * trace, read for viewing. Private to proto.
 *
 * PyTorch 2.13 writes it where a budget made it fill a knapsack; older versions
 * leave fields out. So every field may be missing here, and unknown ones are
 * passed over; a known one of another type is a problem.
 */
#ifndef PROTO_MINCUT_INFO_H
#define PROTO_MINCUT_INFO_H

#include "decode.h"

#define PROTO_NO_CANDIDATE UINT32_MAX

/* Strings are never empty: NULL stands for nothing said. */
struct proto_mincut_node {
    const char *name;   /* never NULL; may be empty */
    const char *target; /* as Python prints it */
    const char *shape;  /* likewise: "torch.Size([8, 64])" */
    const char *stack;  /* lines, outermost frame first */
    uint32_t candidate; /* position among candidates; PROTO_NO_CANDIDATE */
    bool is_described;  /* otherwise only its name is mentioned somewhere */
    bool is_saved;      /* among the saved values of the last cut */
};

struct proto_mincut_edge {
    uint32_t from; /* positions among nodes: value and who reads it */
    uint32_t to;
};

/* What the knapsack chose from: a value that cut 3 did not let the backward
 * compute again. NaN: not said. */
struct proto_mincut_candidate {
    uint32_t node;
    double n_bytes;
    double share; /* of what may be saved beyond the inputs */
    double runtime;
    bool is_kept;       /* the knapsack keeps it */
    bool is_recomputed; /* the knapsack lets it be computed again */
};

/* X(member, key): numbers of the whole; NaN: not said. */
#define PROTO_MINCUT_NUMBER_MAP(X)                               \
    X(expected_runtime, "Expected Runtime")                      \
    X(memory_budget, "Memory Budget")                            \
    X(least_gb, "Min Activation Size (GB)")                      \
    X(most_gb, "Max Activation Size (GB)")                       \
    X(saved_gb, "Saved Values Activation Size (GB)")             \
    X(more_aggressive, "More Aggressive Saved Values Mem Ratio") \
    X(aggressive, "Aggressive Recomputation Saved Values Mem Ratio")

/* Everything lives in the job it was read into. */
struct proto_mincut_info {
    const struct proto_mincut_node *nodes; /* in the order of the graph, then
                                              those only mentioned */
    uint32_t n_nodes;
    const struct proto_mincut_edge *edges; /* of the document's list, or where
                                              it has none of input_arguments */
    uint32_t n_edges;
    const struct proto_mincut_candidate *candidates; /* largest first */
    uint32_t n_candidates;
    const uint32_t *saved; /* of the last cut, positions among nodes */
    uint32_t n_saved;
#define X(name, key) double name;
    PROTO_MINCUT_NUMBER_MAP(X)
#undef X
    double kept_bytes; /* sums over candidates whose n_bytes is known */
    double recomputed_bytes;
    double offered_runtime; /* and runtime */
};

/* Whether a document is such an artifact and no request: it has one of the
 * artifact's keys, and neither "nodes" nor "graph". */
bool proto_mincut_is(json_t *body);
/* Says what it is and where it can be looked at; always false. */
bool proto_mincut_refuse(struct proto_problem *problem);
/* Reads it, in the JSON session of `body`, with at most limits->n_nodes nodes.
 * False and a problem: invalid-graph with the pointer of a member of another
 * type, of a position outside of its list, of lists whose lengths differ;
 * too-large; out-of-memory. O(document). */
bool proto_mincut_read(struct proto_decoder *d, json_t *body,
                       const struct proto_mincut_info **info);
/* Lower-case hex SHA-256 of engine and canonical JSON. False: no memory. */
bool proto_mincut_digest(json_t *body, struct proto_budget *budget,
                         char hex[65]);

#endif
