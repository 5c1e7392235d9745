/* allow-size: all that others may know of core stands in one place */
/*
 * remat.h: the only header of core that others include. It brings in the others
 * of this folder: remat_pass.h, remat_frontier.h, remat_ranks.h, remat_why.h,
 * remat_network.h.
 *
 * libremat decides which values of a training step's joint forward+backward
 * graph the forward saves for the backward and which are computed again. It is
 * pure: no I/O, no clock, no threads, no global state. A decision is a function
 * of the graph and the options alone.
 *
 * Use: remat_job_new, remat_graph_add for every node in execution order,
 * remat_graph_seal, remat_plan_solve, read the plan, remat_job_free.
 *
 * Ownership: a job owns an arena. Everything a job hands out (graph, plan,
 * diagnostics, strings) lives in that arena and dies with remat_job_free. What
 * is passed *in* by pointer (names, arguments, values) is kept by reference:
 * take it from remat_job_alloc, or make it outlive the job.
 *
 * Threads: a job belongs to one thread at a time; jobs share nothing.
 *
 * Units: sizes are bytes, weights are the bytes-times-distance of the network
 * (dimensionless), steps are units of solver effort (never time).
 */
#ifndef REMAT_H
#define REMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define REMAT_NODISCARD __attribute__((warn_unused_result))
#else
#define REMAT_NODISCARD
#endif

/* A node is its position in the document (0-based). */
typedef uint32_t remat_node;
#define REMAT_NONE UINT32_MAX

/* ---- errors ------------------------------------------------------------ */

/* X(enumerator, stable code, meaning) */
#define REMAT_STATUS_MAP(X)                                                    \
    X(REMAT_OK, "ok", "done")                                                  \
    X(REMAT_E_GRAPH, "invalid-graph", "the graph breaks a rule of the format") \
    X(REMAT_E_SIZE, "size-unknown", "a size the decision needs is not known")  \
    X(REMAT_E_OPTION, "unknown-option", "an option has a value out of range")  \
    X(REMAT_E_NODES, "too-large", "the graph has more nodes than the limit")   \
    X(REMAT_E_LIMIT, "too-large", "the job needs more memory than its limit")  \
    X(REMAT_E_WEIGHT, "too-large", "the weights add up past 2^62")             \
    X(REMAT_E_STEPS, "step-limit", "the job needs more steps than its limit")  \
    X(REMAT_E_STOPPED, "deadline-exceeded",                                    \
      "the caller asked the job to stop")                                      \
    X(REMAT_E_NOMEM, "out-of-memory", "the allocator returned nothing")        \
    X(REMAT_E_BUG, "internal-error", "the plan failed its own verification")

enum remat_status {
#define X(name, code, text) name,
    REMAT_STATUS_MAP(X)
#undef X
};

/* Caller-owned; every function takes NULL too. The first message wins. */
struct remat_error {
    enum remat_status status;
    remat_node node;  /* REMAT_NONE when no node is to blame */
    char detail[256]; /* "where: what, expected"; no node index, no full stop */
};

/* The stable code of a status ("size-unknown"); never NULL. */
const char *remat_status_code(enum remat_status status);

/* ---- jobs -------------------------------------------------------------- */

/* What a job is doing; announced through remat_limits.phase. */
enum remat_phase {
    REMAT_PHASE_BUILD,    /* between job_new and plan_solve */
    REMAT_PHASE_CLASSIFY, /* dead code, tags, classes, distance, bans */
    REMAT_PHASE_NETWORK,  /* graph to flow network */
    REMAT_PHASE_FLOW,     /* maximum flow and canonical cut */
    REMAT_PHASE_EXTRACT,  /* cut to saved and recomputed values */
    REMAT_PHASE_VERIFY,   /* the independent check */
    REMAT_PHASE_DONE
};

struct remat_limits {
    size_t memory_bytes; /* of the arena; 0: no limit */
    uint32_t n_nodes;    /* of the graph; 0: no limit */
    uint64_t n_steps;    /* of all solves of the job together; 0: no limit */
    /* Polled at every phase, after every linear walk, and every 2^14 steps of
     * the flow; non-zero stops the job with REMAT_E_STOPPED. May be NULL. */
    int (*stop)(void *context);
    /* Told when a phase begins; may be NULL. Core has no clock: a caller that
     * wants timings reads its own here. */
    void (*phase)(void *context, enum remat_phase phase);
    /* Told how far a solve is: `done` of `total` parts, never less than before;
     * total 0: nobody knows. Parts are minimum cuts, points of the frontier,
     * and under a memory limit first plans, then hundredths of the steps that
     * the search may take. It may end before all are done. May be NULL. */
    void (*progress)(void *context, uint32_t done, uint32_t total);
    void *context;
    /* Chunk allocator, for tests and accounting; NULL: malloc and free. */
    void *(*allocate)(void *context, size_t n_bytes);
    void (*release)(void *context, void *chunk, size_t n_bytes);
};

struct remat_job;

/* A new job with an empty graph, or NULL when there is no memory. `limits` is
 * copied; NULL means none. The caller frees it. */
struct remat_job *remat_job_new(const struct remat_limits *limits);
void remat_job_free(struct remat_job *job); /* NULL is fine */

/* n * size zeroed bytes that live as long as the job; NULL when the limit or
 * the allocator says no (the next fallible call then reports it). O(n). */
void *remat_job_alloc(struct remat_job *job, size_t n, size_t size);
/* A copy of a string in the job's arena, or NULL. */
char *remat_job_strdup(struct remat_job *job, const char *text);
/* REMAT_OK, or why an allocation of this job failed. */
enum remat_status remat_job_status(const struct remat_job *job);
/* Bytes of arena held; steps spent so far. */
size_t remat_job_memory_bytes(const struct remat_job *job);
uint64_t remat_job_steps(const struct remat_job *job);

/* ---- the graph document ------------------------------------------------ */

enum remat_op {
    REMAT_PLACEHOLDER,
    REMAT_GET_ATTR,
    REMAT_CALL_FUNCTION,
    REMAT_OUTPUT
};

/* Checkpoint tags, in the order of the format. */
#define REMAT_POLICY_MAP(X)                       \
    X(REMAT_MUST_SAVE, "must_save")               \
    X(REMAT_PREFER_SAVE, "prefer_save")           \
    X(REMAT_PREFER_RECOMPUTE, "prefer_recompute") \
    X(REMAT_MUST_RECOMPUTE, "must_recompute")     \
    X(REMAT_MUST_CPU_OFFLOAD, "must_cpu_offload") \
    X(REMAT_PREFER_CPU_OFFLOAD, "prefer_cpu_offload")
enum remat_policy {
    REMAT_UNTAGGED,
#define X(name, text) name,
    REMAT_POLICY_MAP(X)
#undef X
    REMAT_N_POLICIES
};
/* "must_save", or "untagged" where there is no tag. Static text, O(1). */
const char *remat_policy_text(enum remat_policy policy);

#define REMAT_PLACEMENT_MAP(X)                        \
    X(REMAT_IS_FORWARD, "is_forward")                 \
    X(REMAT_IS_BACKWARD, "is_backward")               \
    X(REMAT_MUST_BE_IN_FORWARD, "must_be_in_forward") \
    X(REMAT_MUST_BE_IN_BACKWARD, "must_be_in_backward")
enum remat_placement {
    REMAT_UNPLACED,
#define X(name, text) name,
    REMAT_PLACEMENT_MAP(X)
#undef X
    REMAT_N_PLACEMENTS
};

/* Traits and operator classes, one bit each. The first group may stand in a
 * document (also with "-" to deny); the second comes from the table only. */
#define REMAT_TRAIT_MAP(X)                             \
    X(REMAT_MUTABLE, 0, "mutable")                     \
    X(REMAT_SEEDED, 1, "seeded")                       \
    X(REMAT_IMPURE, 2, "impure")                       \
    X(REMAT_EFFECTS, 3, "effects")                     \
    X(REMAT_NO_RETURNS, 4, "no_returns")               \
    X(REMAT_CUSTOM, 5, "custom")                       \
    X(REMAT_VIEW, 6, "view")                           \
    X(REMAT_RANDOM, 7, "random")                       \
    X(REMAT_COMPUTE_INTENSIVE, 8, "compute_intensive") \
    X(REMAT_RECOMPUTABLE, 9, "recomputable")           \
    X(REMAT_FUSIBLE, 10, "fusible")                    \
    X(REMAT_NO_RECOMPUTE, 11, "no_recompute")
#define REMAT_TABLE_TRAIT_MAP(X)           \
    X(REMAT_IS_VIEW_SCHEMA, 12, "is_view") \
    X(REMAT_POINTWISE, 13, "pointwise")    \
    X(REMAT_FLOPS, 14, "flops")
enum remat_trait {
#define X(name, bit, text) name = 1 << bit,
    REMAT_TRAIT_MAP(X) REMAT_TABLE_TRAIT_MAP(X)
#undef X
};

/* An argument: literals keep their type, references are node ids. */
enum remat_arg_kind {
    REMAT_ARG_NULL,
    REMAT_ARG_BOOL,
    REMAT_ARG_INT,
    REMAT_ARG_FLOAT,
    REMAT_ARG_STRING, /* the literal, already without its "%%" escape */
    REMAT_ARG_NODE,
    REMAT_ARG_LIST,
    REMAT_ARG_DICT,  /* items carry keys */
    REMAT_ARG_SLICE, /* three items */
    REMAT_ARG_OTHER  /* dtype, device, ...: nothing the decision reads */
};
struct remat_arg {
    enum remat_arg_kind kind;
    uint32_t n_items;
    const char *key; /* keyword or dict key; NULL for positional items */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *text;
        remat_node node;
        const struct remat_arg *items;
    } as;
};

enum remat_value_kind {
    REMAT_VALUE_ABSENT, /* the document says nothing */
    REMAT_VALUE_NULL,
    REMAT_VALUE_TENSOR,
    REMAT_VALUE_SYM_INT,
    REMAT_VALUE_SYM_FLOAT,
    REMAT_VALUE_SYM_BOOL,
    REMAT_VALUE_TUPLE,
    REMAT_VALUE_DICT,
    REMAT_VALUE_CONST,
    REMAT_VALUE_OPAQUE
};
struct remat_value {
    enum remat_value_kind kind;
    bool no_storage;
    int64_t n_bytes;       /* tensor: from remat_tensor_bytes; else 0 */
    const char *type_name; /* tensor: dtype; opaque: type; else NULL */
    const int64_t *dims;   /* tensor: hinted sizes */
    const struct remat_value *members; /* tuple and dict */
    const char *const *symbols; /* free size symbols of a tensor or symbol */
    uint32_t n_dims;
    uint32_t n_members;
    uint32_t n_symbols;
};

struct remat_node_spec {
    const char *name;   /* unique, not empty */
    const char *target; /* operator with overload, or a placeholder's label */
    enum remat_op op;
    const struct remat_arg *args;
    const struct remat_arg *kwargs; /* every item has a key */
    uint32_t n_args;
    uint32_t n_kwargs;
    struct remat_value value;
    remat_node alias_of; /* REMAT_NONE: its own storage */
    enum remat_policy policy;
    enum remat_placement placement;
    uint32_t traits_added;  /* bits of enum remat_trait */
    uint32_t traits_denied; /* bits of enum remat_trait */
    bool has_ac_graph_id;
    bool has_backward_hook;
    bool no_vc_check;
    bool opaque;
    bool has_memory_budget;
    bool has_runtime;
    int64_t ac_graph_id;
    double memory_budget;
    double runtime;
    const char *binds;  /* size symbol this node introduces, or NULL */
    const char *module; /* or NULL */
    const char *stack;  /* or NULL */
    const char *const *mutated_args;
    uint32_t n_mutated_args;
};

/* Bytes of one element of a dtype, 0 when the name is unknown. */
int64_t remat_dtype_bytes(const char *dtype);
/* *n_bytes = product of dims times element_bytes. REMAT_E_GRAPH when a size is
 * negative or the product needs more than 63 bits. O(n_dims). */
REMAT_NODISCARD enum remat_status
remat_tensor_bytes(const int64_t *dims, uint32_t n_dims, int64_t element_bytes,
                   int64_t *n_bytes, struct remat_error *err);

/* Appends a node; *node is its position. The spec is copied, what it points to
 * is not. REMAT_E_GRAPH: the name is empty or taken, a reference or alias does
 * not name an earlier node, a placeholder or get_attr has a reference, anything
 * follows the output node. O(size of the spec). */
REMAT_NODISCARD enum remat_status
remat_graph_add(struct remat_job *job, const struct remat_node_spec *spec,
                remat_node *node, struct remat_error *err);
/* The node of that name, or REMAT_NONE. O(length of the name). */
remat_node remat_graph_find(const struct remat_job *job, const char *name);
uint32_t remat_graph_n_nodes(const struct remat_job *job);
/* The spec of a node as it was added; node < n_nodes. */
const struct remat_node_spec *remat_graph_node(const struct remat_job *job,
                                               remat_node node);

/* The name under which a node was added; node < n_nodes. */
const char *remat_graph_name(const struct remat_job *job, remat_node node);
/* What diagnostics and remat_graph_node call the node from now on. `name` is
 * kept by reference; remat_graph_find and remat_graph_name keep to the name
 * under which it was added. No decision reads a name. */
void remat_graph_rename(struct remat_job *job, remat_node node,
                        const char *name);
/* Whether any node has that target. O(length). */
bool remat_graph_has_target(const struct remat_job *job, const char *target);

/* Ends construction. The output node is last and its args are one flat list of
 * references and nulls, of which the first n_fwd_outputs belong to the forward;
 * static_inputs index the primals (placeholders that are no tangent and no
 * seed). REMAT_E_GRAPH otherwise. O(nodes + references). */
REMAT_NODISCARD enum remat_status
remat_graph_seal(struct remat_job *job, uint32_t n_fwd_outputs,
                 const uint32_t *static_inputs, uint32_t n_static_inputs,
                 struct remat_error *err);
/* What the target of a placeholder makes of it, as a small number: primal,
 * seeds or tangent; 0 for other nodes. Of a placeholder's target without a dot,
 * "getitem" apart, decisions read nothing else. */
unsigned remat_graph_role(const struct remat_job *job, remat_node node);
/* Primals of the sealed graph. */
uint32_t remat_graph_n_primals(const struct remat_job *job);

/* ---- options ----------------------------------------------------------- */

enum remat_profile {
    REMAT_PROFILE_PYTORCH,
    REMAT_PROFILE_PLAIN
};
enum remat_knapsack {
    REMAT_KNAPSACK_DP,
    REMAT_KNAPSACK_GREEDY,
    REMAT_KNAPSACK_ILP,
    REMAT_KNAPSACK_HIRSCHBERG
};
enum remat_estimator {
    REMAT_ESTIMATE_FLOPS,
    REMAT_ESTIMATE_TESTING,
    REMAT_ESTIMATE_GIVEN
};

/* X(name, default): PyTorch's functorch settings and our own, all booleans. */
#define REMAT_BOOL_OPTION_MAP(X)                       \
    X(aggressive_recomputation, false)                 \
    X(recompute_views, false)                          \
    X(treat_parameters_as_free_to_save, true)          \
    X(ban_recompute_used_far_apart, true)              \
    X(ban_recompute_long_fusible_chains, true)         \
    X(ban_recompute_materialized_backward, true)       \
    X(ban_recompute_not_in_allowlist, true)            \
    X(ban_recompute_reductions, true)                  \
    X(is_non_builtin_to_include, false)                \
    X(unsafe_allow_optimization_of_collectives, false) \
    X(impure_random, false)                            \
    X(compat, false)

struct remat_options {
#define X(name, value) bool name;
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    enum remat_profile profile;
    int64_t max_dist_from_bw;
    double activation_memory_budget; /* 0 to 1 */
    enum remat_knapsack activation_memory_budget_solver;
    enum remat_estimator activation_memory_budget_runtime_estimator;
    /* -1: none. Of the peak of activations (struct remat_memory): the plan that
     * recomputes least under it; activation_memory_budget is not read then. */
    int64_t memory_limit_bytes;
};
void remat_options_init(struct remat_options *options);

/* ---- the plan ---------------------------------------------------------- */

enum remat_outcome {
    REMAT_PLAN,
    REMAT_INFINITE_FLOW,
    REMAT_INVALID_OUTPUT
};

struct remat_nodes {
    const remat_node *at;
    uint32_t n;
};

/* X(enumerator, words, origin): why a value may not be computed again. */
#define REMAT_BAN_MAP(X)                                                       \
    X(REMAT_BAN_NONE, "", DATAFLOW)                                            \
    X(REMAT_BAN_PRIMAL, "is an input of the graph", INTRINSIC)                 \
    X(REMAT_BAN_FORWARD_SEED, "is a forward random seed", INTRINSIC)           \
    X(REMAT_BAN_MUST_SAVE, "is tagged must_save", ANNOTATION)                  \
    X(REMAT_BAN_NO_RECOMPUTE, "may not be computed twice", ANNOTATION)         \
    X(REMAT_BAN_NOT_ALLOWED, "is not on the list of recomputable operators",   \
      HEURISTIC)                                                               \
    X(REMAT_BAN_RANDOM, "draws random numbers", HEURISTIC)                     \
    X(REMAT_BAN_COMPUTE, "is compute intensive", HEURISTIC)                    \
    X(REMAT_BAN_NON_BUILTIN, "is not a built-in operator", HEURISTIC)          \
    X(REMAT_BAN_MATERIALISED,                                                  \
      "is materialised for a user outside the forward", HEURISTIC)             \
    X(REMAT_BAN_TOO_FAR, "is further from the backward than max_dist_from_bw", \
      HEURISTIC)                                                               \
    X(REMAT_BAN_REDUCTION,                                                     \
      "is a reduction: its result is much smaller than "                       \
      "what it reads",                                                         \
      HEURISTIC)                                                               \
    X(REMAT_BAN_FAR_APART,                                                     \
      "is used far apart from the value it is computed "                       \
      "from",                                                                  \
      HEURISTIC)                                                               \
    X(REMAT_BAN_LONG_CHAIN, "ends a long chain of fusible operators", HEURISTIC)
enum remat_ban_reason {
#define X(name, text, origin) name,
    REMAT_BAN_MAP(X)
#undef X
};
const char *remat_ban_text(enum remat_ban_reason reason);

struct remat_ban {
    remat_node node;
    enum remat_ban_reason reason;
};

struct remat_cut {
    bool unbounded; /* infinite flow: value and nodes say nothing */
    int64_t value;  /* sum of the weights of `nodes` */
    uint64_t n_vertices;
    uint64_t n_edges;
    struct remat_nodes nodes;     /* before extraction, node order */
    const struct remat_ban *bans; /* in the order they were made */
    uint32_t n_bans;
};

enum remat_side {
    REMAT_SIDE_IN,
    REMAT_SIDE_OUT,
    REMAT_SIDE_NONE
};
enum remat_origin {
    REMAT_ORIGIN_ANNOTATION,
    REMAT_ORIGIN_HEURISTIC,
    REMAT_ORIGIN_INTRINSIC,
    REMAT_ORIGIN_DATAFLOW
};
const char *remat_origin_text(enum remat_origin origin);
/* Where a reason not to compute a value again comes from. O(1). */
enum remat_origin remat_ban_origin(enum remat_ban_reason reason);

/* One vertex of a path and the edge that leads into it. The last step of an
 * infinite flow is the edge to the sink: node REMAT_NONE, REMAT_SIDE_NONE. */
struct remat_step {
    remat_node node;
    enum remat_side side;
    enum remat_origin origin;
    const char *reason;
};

enum remat_severity {
    REMAT_ERROR,
    REMAT_WARNING,
    REMAT_INFO
};

struct remat_diagnostic {
    const char *code; /* a stable word: "infinite-flow", ... */
    enum remat_severity severity;
    remat_node node; /* or REMAT_NONE */
    const char *message;
    const struct remat_step *path;
    uint32_t n_path;
    bool has_counts; /* invalid-output: both output counts */
    uint32_t n_fwd_outputs;
    uint32_t n_bwd_outputs;
    bool has_floor; /* budget-below-floor: the least budget that can be kept */
    double floor;
    struct remat_nodes nodes; /* the values that form the floor; the nodes that
                                 share a remark */
};

/* Per-node facts behind a plan, indexed by node; dead nodes are in no class. */
struct remat_facts {
    const bool *live; /* not removed as dead code */
    const bool *required_fw;
    const bool *required_bw;
    const bool *tangents_closure;
    const uint8_t *tag;    /* enum remat_policy after clean-up */
    const uint32_t *dist;  /* 10^9: reaches only outputs */
    const int64_t *weight; /* of the last cut; -1: infinite, -2: no such edge */
    const uint8_t *weight_kind; /* enum remat_weight_kind, of that weight */
    const uint8_t *side;        /* enum remat_cut_side, of the last cut */
};

/* Bytes alive step by step. Step 0 is before the first operator. */
struct remat_curve {
    uint32_t n_steps;
    const remat_node *node; /* the operator of the step; REMAT_NONE at step 0 */
    const int64_t *activation_bytes;
    const int64_t *gradient_bytes;
};

/* What a plan holds when it runs (the model: core/simulate.h). Activations are
 * what the plan decides about; static inputs and gradients are not part of the
 * peaks of the halves. */
struct remat_memory {
    int64_t peak_forward_bytes;  /* activations, at their most in the forward */
    int64_t peak_backward_bytes; /* the same in the backward */
    struct remat_nodes peak_nodes; /* activations alive at the first greatest of
                                      all steps, one name a storage */
    int64_t static_bytes; /* static inputs and attributes, always there */
    int64_t peak_gradient_bytes; /* what depends on a tangent, at its most */
    int64_t peak_total_bytes;    /* all three together, at their most */
    struct remat_curve forward;
    struct remat_curve backward;
};

/* How a plan stands to memory_limit_bytes. The peak that is held against it is
 * the greater of the two of struct remat_memory. */
struct remat_limit_report {
    bool is_asked;       /* the option was given; else the rest says nothing */
    bool is_met;         /* otherwise the plan has the lowest peak found */
    bool is_optimal;     /* no other set of saved values does better */
    int64_t floor_bytes; /* no plan has a lower peak */
    int64_t flops_bound; /* no plan under the limit recomputes less */
};

struct remat_remedy; /* remat_why.h */

struct remat_plan {
    enum remat_outcome outcome;
    /* PyTorch's order; empty unless outcome is REMAT_PLAN */
    struct remat_nodes saved;
    struct remat_nodes saved_sym;
    struct remat_nodes saved_opaque;
    struct remat_nodes recomputed; /* node order */
    const struct remat_cut *cuts;
    uint32_t n_cuts;
    const struct remat_diagnostic *diagnostics;
    uint32_t n_diagnostics;
    struct remat_facts facts;
    int64_t forward_flops;       /* of all operators the forward runs */
    int64_t recomputed_flops;    /* of those that run again */
    int64_t saved_bytes;         /* of `saved`, every name counted */
    int64_t saved_storage_bytes; /* each storage counted once */
    int64_t static_bytes;        /* the part of saved_bytes in static inputs */
    struct remat_memory memory;
    struct remat_limit_report limit;
    /* Everything the forward hands over, whatever list it is in (script objects
     * are in none): what remat_plan_carry_out takes. No particular order. */
    struct remat_nodes handed_over;
    bool no_backward; /* nothing is required by the backward: nothing saved */
    /* What to change, for an infinite flow; NULL otherwise, and where the
     * search for it would have gone past the job's limits. */
    const struct remat_remedy *remedy;
    /* Of the last of `cuts`; NULL when there is none. */
    const struct remat_network_view *network;
    /* Of activation_memory_budget; NULL where another option decided. */
    const struct remat_packing *packing;
};

/* ---- facts ------------------------------------------------------------- */

/* Bytes of a node's value (see the format: 1 for a symbol); -1 when unknown. */
int64_t remat_node_bytes(const struct remat_job *job, remat_node node);
/* Traits of a node: the table's and the document's, less what it denies. */
uint32_t remat_node_traits(const struct remat_job *job, remat_node node);
/* Floating-point operations of a node with hinted shapes, as PyTorch's counter
 * gives them; 0 for what it does not count. Sticks at 2^63 - 1. */
int64_t remat_node_flops(const struct remat_job *job, remat_node node);
/* What a node of a sealed graph reads, each once, in the order of first
 * mention; the nodes that read it, in node order. O(1). */
struct remat_nodes remat_node_inputs(const struct remat_job *job,
                                     remat_node node);
struct remat_nodes remat_node_users(const struct remat_job *job,
                                    remat_node node);
/* The first value in a node's storage, itself without alias_of; REMAT_NONE: it
 * has none. O(1). */
remat_node remat_node_storage(const struct remat_job *job, remat_node node);
/* Whether it is an input of static lifetime. */
bool remat_node_is_static(const struct remat_job *job, remat_node node);
/* PyTorch release whose operator table is compiled in ("2.13.0"). */
const char *remat_table_version(void);

#include "remat_frontier.h"
#include "remat_network.h"
#include "remat_pass.h"
#include "remat_ranks.h"
#include "remat_why.h"

#endif
