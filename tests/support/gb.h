/*
 * gb.h: graphs for C tests, a node a line.
 *
 * A gb wraps a job. The first failure is kept in `status`; every call after it
 * does nothing, so a test may build a whole graph and look once, which is what
 * allocation tests need.
 */
#ifndef GB_H
#define GB_H

#include "remat.h"

enum {
    GB_MAX_INPUTS = 8
};

struct gb {
    struct remat_job *job; /* NULL: no memory for it */
    enum remat_status status;
    struct remat_error err;
    uint32_t n;
};

/* What differs from an untagged tensor of `bytes` bytes. Zero is
 * the default everywhere; inputs end at n_inputs. */
struct gb_node {
    const char *name;   /* NULL: n0, n1, ... */
    const char *target; /* NULL: aten.add.Tensor, or the name */
    enum remat_op op;   /* as given: REMAT_PLACEHOLDER is 0 */
    int64_t bytes;
    uint32_t n_inputs;
    remat_node inputs[GB_MAX_INPUTS];
    bool in_list;               /* the inputs are one list argument */
    enum remat_value_kind kind; /* ABSENT means tensor here */
    bool no_value;              /* no value at all */
    const char *opaque_type;    /* of REMAT_VALUE_OPAQUE */
    const char *symbol;         /* the value mentions it */
    const char *binds;
    bool opaque;
    bool no_vc_check;
    bool has_backward_hook;
    bool has_ac_graph_id;
    int64_t ac_graph_id;
    enum remat_policy policy;
    enum remat_placement placement;
    uint32_t traits;
    uint32_t denied;
    bool has_memory_budget;
    double memory_budget;
};

void gb_init(struct gb *b, const struct remat_limits *limits);
void gb_free(struct gb *b);
/* The new node, or 0 after a failure. */
remat_node gb_add(struct gb *b, const struct gb_node *node);
#define GB(b, ...) gb_add((b), &(struct gb_node){__VA_ARGS__})

/* Short forms; name NULL is fine. */
remat_node gb_primal(struct gb *b, const char *name, int64_t bytes);
remat_node gb_tangent(struct gb *b, const char *name, int64_t bytes);
/* Reads `first` and, unless REMAT_NONE, `second`. */
remat_node gb_call(struct gb *b, const char *name, const char *target,
                   int64_t bytes, remat_node first, remat_node second);
/* The output node (REMAT_NONE entries are null) and the seal; no static
 * inputs. */
void gb_output(struct gb *b, uint32_t n_forward, uint32_t n,
               const remat_node *outputs);
void gb_seal(struct gb *b, uint32_t n_forward, uint32_t n,
             const remat_node *outputs, const uint32_t *static_inputs,
             uint32_t n_static);

/* Solves with options (NULL: defaults); NULL and b->status on failure. */
const struct remat_plan *gb_solve(struct gb *b,
                                  const struct remat_options *options);
/* Whether a list holds exactly these nodes, in order. */
bool gb_is(struct remat_nodes nodes, uint32_t n, const remat_node *wanted);
#define GB_IS(nodes, ...)                                                    \
    gb_is((nodes), sizeof((remat_node[]){__VA_ARGS__}) / sizeof(remat_node), \
          (remat_node[]){__VA_ARGS__})

/* Ready-made graphs, sealed. */

/* x -> a chain of n pointwise operators -> y, and a backward that reads each
 * value of the chain, from the last to the first. */
void gb_chain(struct gb *b, uint32_t n);
/* A tuple tagged must_save whose getitem must be recomputed: infinite flow. */
void gb_conflict(struct gb *b);
/* A forward output that depends on a tangent: invalid output. */
void gb_misplaced(struct gb *b);

#endif
