/*
 * graph.h: the graph document as core keeps it. Private to core.
 *
 * While it is built it is a list of specs and an index of names. Sealing adds
 * flat arrays: references in compressed rows both ways, and what every pass
 * asks of a node (traits, role, bytes). A node keeps its document position as
 * its id throughout; nothing is ever renumbered.
 */
#ifndef REMAT_GRAPH_H
#define REMAT_GRAPH_H

#include "names.h"
#include "optable.h"

enum remat_role {
    REMAT_NO_ROLE, /* not a placeholder */
    REMAT_PRIMAL,
    REMAT_FORWARD_SEED,
    REMAT_BACKWARD_SEED,
    REMAT_TANGENT
};

/* Compressed rows: row v is items[begin[v] .. begin[v+1]). */
struct remat_rows {
    const uint32_t *begin;
    const remat_node *items;
};

struct remat_graph {
    /* under construction */
    struct remat_names names;
    struct remat_names targets;
    struct remat_operator *operators; /* by number in targets */
    uint32_t operators_capacity;
    struct remat_node_spec **specs;
    uint32_t n;
    uint32_t capacity;
    uint64_t n_references; /* with repetitions */
    bool has_output;
    bool sealed;

    /* sealed */
    struct remat_rows inputs; /* distinct, order of first mention */
    struct remat_rows users;  /* distinct, node order */
    uint32_t *traits;
    const struct remat_operator **op; /* NULL unless call_function */
    uint8_t *role;                    /* enum remat_role */
    bool *is_static;                  /* a static-lifetime primal */
    int64_t *n_bytes;                 /* -1: unknown */
    remat_node *storage; /* root of the storage, REMAT_NONE: none */

    /* tags: the document's, as the passes left them */
    uint8_t *policy; /* enum remat_policy */
    bool *has_ac_graph_id;
    int64_t *ac_graph_id;
    bool *tag_by_pass; /* a pass wrote it */

    struct remat_nodes primals;
    struct remat_nodes forward_seeds;
    struct remat_nodes backward_seeds;
    struct remat_nodes tangents;
    struct remat_nodes fwd_outputs; /* REMAT_NONE for null */
    struct remat_nodes bwd_outputs;
};

static inline const struct remat_node_spec *
remat_spec(const struct remat_graph *g, remat_node v)
{
    return g->specs[v];
}

static inline bool remat_is_call(const struct remat_graph *g, remat_node v)
{
    return g->specs[v]->op == REMAT_CALL_FUNCTION;
}

static inline enum remat_special remat_special(const struct remat_graph *g,
                                               remat_node v)
{
    return g->op[v] == NULL ? REMAT_ORDINARY : g->op[v]->special;
}

static inline bool remat_has_trait(const struct remat_graph *g, remat_node v,
                                   enum remat_trait trait)
{
    return (g->traits[v] & (uint32_t)trait) != 0;
}

static inline bool remat_is_collective(const struct remat_graph *g,
                                       remat_node v)
{
    return g->op[v] != NULL && g->op[v]->is_collective;
}

static inline bool remat_is_symbol(const struct remat_graph *g, remat_node v)
{
    enum remat_value_kind kind = g->specs[v]->value.kind;

    return kind == REMAT_VALUE_SYM_INT || kind == REMAT_VALUE_SYM_FLOAT ||
           kind == REMAT_VALUE_SYM_BOOL;
}

static inline bool remat_is_tensor(const struct remat_graph *g, remat_node v)
{
    return g->specs[v]->value.kind == REMAT_VALUE_TENSOR;
}

/* Whether the value is an opaque object of that type name. */
bool remat_is_opaque_type(const struct remat_graph *g, remat_node v,
                          const char *type_name);
/* The positional argument i as a reference, or REMAT_NONE. */
remat_node remat_arg_node(const struct remat_graph *g, remat_node v,
                          uint32_t i);
/* The keyword argument of that name, or NULL. O(keywords). */
const struct remat_arg *remat_kwarg(const struct remat_graph *g, remat_node v,
                                    const char *key);

#endif
