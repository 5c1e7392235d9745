/*
 * seal.c: ends the construction of a graph: references become compressed rows,
 * and what every pass asks of a node is looked up once.
 */
#include "arg_walk.h"
#include "base.h"
#include "error.h"
#include "job.h"

#include <string.h>

static const uint32_t class_bits = REMAT_VIEW | REMAT_RANDOM |
                                   REMAT_COMPUTE_INTENSIVE |
                                   REMAT_RECOMPUTABLE | REMAT_FUSIBLE;

/* ---- rows -------------------------------------------------------------- */

/* Appends the not yet seen references among some arguments. seen[p] is v + 1
 * when p is already an input of v. */
static uint32_t collect(const struct remat_arg *args, uint32_t n_args,
                        remat_node v, uint32_t *seen, remat_node *items,
                        uint32_t n_items)
{
    struct remat_arg_walk walk;
    remat_node input;

    remat_arg_walk_init(&walk, args, n_args);
    while ((input = remat_arg_walk_next(&walk)) != REMAT_NONE) {
        if (seen[input] == v + 1)
            continue;
        seen[input] = v + 1;
        items[n_items++] = input;
    }
    return n_items;
}

static bool build_inputs(struct remat_arena *arena, struct remat_graph *g)
{
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)g->n + 1);
    remat_node *items = REMAT_NEW_ARRAY(arena, remat_node, g->n_references);
    struct remat_mark mark = remat_arena_mark(arena);
    uint32_t *seen = REMAT_NEW_ARRAY(arena, uint32_t, g->n);
    uint32_t n_items = 0;

    if (begin == NULL || items == NULL || seen == NULL)
        return false;
    for (remat_node v = 0; v < g->n; v++) {
        const struct remat_node_spec *spec = g->specs[v];

        begin[v] = n_items;
        n_items = collect(spec->args, spec->n_args, v, seen, items, n_items);
        n_items =
            collect(spec->kwargs, spec->n_kwargs, v, seen, items, n_items);
    }
    begin[g->n] = n_items;
    g->inputs = (struct remat_rows){begin, items};
    remat_arena_rewind(arena, mark);
    return true;
}

static bool build_users(struct remat_arena *arena, struct remat_graph *g)
{
    const struct remat_rows inputs = g->inputs;
    uint32_t n_items = inputs.begin[g->n];
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)g->n + 1);
    remat_node *items = REMAT_NEW_ARRAY(arena, remat_node, n_items);
    uint32_t sum = 0;

    if (begin == NULL || items == NULL)
        return false;
    for (uint32_t i = 0; i < n_items; i++)
        begin[inputs.items[i]]++;
    for (remat_node v = 0; v <= g->n; v++) {
        uint32_t count = begin[v];

        begin[v] = sum;
        sum += count;
    }
    /* begin[p] is moved to the end of row p here ... */
    for (remat_node v = 0; v < g->n; v++)
        for (uint32_t i = inputs.begin[v]; i < inputs.begin[v + 1]; i++)
            items[begin[inputs.items[i]]++] = v;
    /* ... which is the begin of row p + 1. */
    memmove(begin + 1, begin, (size_t)g->n * sizeof(*begin));
    begin[0] = 0;
    g->users = (struct remat_rows){begin, items};
    return true;
}

/* ---- facts of a node --------------------------------------------------- */

static enum remat_role role_of(const struct remat_node_spec *spec)
{
    if (spec->op != REMAT_PLACEHOLDER)
        return REMAT_NO_ROLE;
    if (strstr(spec->target, "tangents") != NULL)
        return REMAT_TANGENT;
    if (strstr(spec->target, "bwd_seed") != NULL ||
        strstr(spec->target, "bwd_base_offset") != NULL)
        return REMAT_BACKWARD_SEED;
    if (strstr(spec->target, "fwd_seed") != NULL ||
        strstr(spec->target, "fwd_base_offset") != NULL)
        return REMAT_FORWARD_SEED;
    return REMAT_PRIMAL;
}

static uint32_t traits_of(const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = g->specs[v];
    uint32_t traits = spec->traits_added;

    if (g->op[v] != NULL)
        traits |= g->op[v]->traits;
    else
        traits &= ~class_bits; /* only operators are in classes */
    return traits & ~spec->traits_denied;
}

/* Sum over the direct tensor members; what is nested deeper counts nothing. */
static enum remat_status members_bytes(const struct remat_value *value,
                                       remat_node v, int64_t *n_bytes,
                                       struct remat_error *err)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < value->n_members; i++) {
        if (value->members[i].kind != REMAT_VALUE_TENSOR)
            continue;
        if (!remat_add_i64(sum, value->members[i].n_bytes, &sum))
            return remat_error_set(err, REMAT_E_GRAPH, v,
                                   "val: the members need 2^63 bytes or more");
    }
    *n_bytes = sum;
    return REMAT_OK;
}

static enum remat_status value_bytes(const struct remat_graph *g, remat_node v,
                                     int64_t *n_bytes, struct remat_error *err)
{
    const struct remat_value *value = &g->specs[v]->value;

    *n_bytes = -1;
    switch (value->kind) {
    case REMAT_VALUE_TENSOR:
        *n_bytes = value->n_bytes;
        break;
    case REMAT_VALUE_SYM_INT:
    case REMAT_VALUE_SYM_FLOAT:
    case REMAT_VALUE_SYM_BOOL:
        *n_bytes = 1;
        break;
    case REMAT_VALUE_TUPLE:
    case REMAT_VALUE_DICT:
        return members_bytes(value, v, n_bytes, err);
    case REMAT_VALUE_ABSENT:
        if (g->specs[v]->op == REMAT_GET_ATTR ||
            remat_has_trait(g, v, REMAT_NO_RETURNS))
            *n_bytes = 0;
        break;
    case REMAT_VALUE_NULL:
    case REMAT_VALUE_CONST:
    case REMAT_VALUE_OPAQUE:
        break;
    }
    return REMAT_OK;
}

static remat_node storage_of(const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = g->specs[v];

    if (spec->value.kind != REMAT_VALUE_TENSOR || spec->value.no_storage)
        return REMAT_NONE;
    return spec->alias_of != REMAT_NONE ? spec->alias_of : v;
}

static enum remat_status describe_nodes(struct remat_graph *g,
                                        struct remat_error *err)
{
    for (remat_node v = 0; v < g->n; v++) {
        const struct remat_node_spec *spec = g->specs[v];
        enum remat_status status;

        if (spec->op == REMAT_CALL_FUNCTION)
            g->op[v] =
                &g->operators[remat_names_find(&g->targets, spec->target)];
        g->traits[v] = traits_of(g, v);
        g->role[v] = (uint8_t)role_of(spec);
        g->storage[v] = storage_of(g, v);
        g->policy[v] = (uint8_t)spec->policy;
        g->has_ac_graph_id[v] = spec->has_ac_graph_id;
        g->ac_graph_id[v] = spec->ac_graph_id;
        status = value_bytes(g, v, &g->n_bytes[v], err);
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

/* ---- inputs and outputs of the graph ----------------------------------- */

static bool list_role(struct remat_arena *arena, const struct remat_graph *g,
                      enum remat_role role, struct remat_nodes *list)
{
    uint32_t n = 0;
    remat_node *at;

    for (remat_node v = 0; v < g->n; v++)
        n += g->role[v] == role;
    at = REMAT_NEW_ARRAY(arena, remat_node, n);
    if (at == NULL)
        return false;
    n = 0;
    for (remat_node v = 0; v < g->n; v++)
        if (g->role[v] == role)
            at[n++] = v;
    *list = (struct remat_nodes){at, n};
    return true;
}

static enum remat_status split_outputs(struct remat_job *job,
                                       uint32_t n_fwd_outputs,
                                       struct remat_error *err)
{
    struct remat_graph *g = &job->graph;
    const struct remat_node_spec *output = g->specs[g->n - 1];
    remat_node *at;

    if (output->op != REMAT_OUTPUT)
        return remat_error_set(err, REMAT_E_GRAPH, g->n - 1,
                               "op: the last node must be the output node");
    if (n_fwd_outputs > output->n_args)
        return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                               "num_fwd_outputs: %u, must be at most the %u "
                               "outputs",
                               n_fwd_outputs, output->n_args);
    at = REMAT_NEW_ARRAY(&job->arena, remat_node, output->n_args);
    if (at == NULL)
        return remat_job_no_memory(job, err);
    for (uint32_t i = 0; i < output->n_args; i++) {
        enum remat_arg_kind kind = output->args[i].kind;

        if (kind != REMAT_ARG_NODE && kind != REMAT_ARG_NULL)
            return remat_error_set(err, REMAT_E_GRAPH, g->n - 1,
                                   "args: output %u must be a reference or "
                                   "null",
                                   i);
        at[i] = remat_arg_node(g, g->n - 1, i);
    }
    g->fwd_outputs = (struct remat_nodes){at, n_fwd_outputs};
    g->bwd_outputs = (struct remat_nodes){at + n_fwd_outputs,
                                          output->n_args - n_fwd_outputs};
    return REMAT_OK;
}

static enum remat_status mark_static(struct remat_graph *g,
                                     const uint32_t *static_inputs,
                                     uint32_t n_static_inputs,
                                     struct remat_error *err)
{
    for (uint32_t i = 0; i < n_static_inputs; i++) {
        if (static_inputs[i] >= g->primals.n)
            return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                                   "static_lifetime_inputs: entry %u is %u, "
                                   "must be less than the %u primals",
                                   i, static_inputs[i], g->primals.n);
        g->is_static[g->primals.at[static_inputs[i]]] = true;
    }
    return REMAT_OK;
}

static bool allocate_sealed(struct remat_arena *arena, struct remat_graph *g)
{
    g->traits = REMAT_NEW_ARRAY(arena, uint32_t, g->n);
    g->op = REMAT_NEW_ARRAY(arena, const struct remat_operator *, g->n);
    g->role = REMAT_NEW_ARRAY(arena, uint8_t, g->n);
    g->is_static = REMAT_NEW_ARRAY(arena, bool, g->n);
    g->n_bytes = REMAT_NEW_ARRAY(arena, int64_t, g->n);
    g->storage = REMAT_NEW_ARRAY(arena, remat_node, g->n);
    g->policy = REMAT_NEW_ARRAY(arena, uint8_t, g->n);
    g->has_ac_graph_id = REMAT_NEW_ARRAY(arena, bool, g->n);
    g->ac_graph_id = REMAT_NEW_ARRAY(arena, int64_t, g->n);
    g->tag_by_pass = REMAT_NEW_ARRAY(arena, bool, g->n);
    return arena->status == REMAT_OK;
}

enum remat_status remat_graph_seal(struct remat_job *job,
                                   uint32_t n_fwd_outputs,
                                   const uint32_t *static_inputs,
                                   uint32_t n_static_inputs,
                                   struct remat_error *err)
{
    struct remat_arena *arena = &job->arena;
    struct remat_graph *g = &job->graph;
    enum remat_status status;

    if (g->sealed || g->n == 0)
        return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                               g->sealed ? "graph: sealed already"
                                         : "graph: has no nodes");
    if (g->n_references >= UINT32_MAX)
        return remat_error_set(err, REMAT_E_NODES, REMAT_NONE,
                               "graph: 2^32 references or more");
    status = split_outputs(job, n_fwd_outputs, err);
    if (status != REMAT_OK)
        return status;
    if (!allocate_sealed(arena, g) || !build_inputs(arena, g) ||
        !build_users(arena, g))
        return remat_job_no_memory(job, err);
    status = describe_nodes(g, err);
    if (status != REMAT_OK)
        return status;
    if (!list_role(arena, g, REMAT_PRIMAL, &g->primals) ||
        !list_role(arena, g, REMAT_FORWARD_SEED, &g->forward_seeds) ||
        !list_role(arena, g, REMAT_BACKWARD_SEED, &g->backward_seeds) ||
        !list_role(arena, g, REMAT_TANGENT, &g->tangents))
        return remat_job_no_memory(job, err);
    status = mark_static(g, static_inputs, n_static_inputs, err);
    g->sealed = status == REMAT_OK;
    return status;
}

unsigned remat_graph_role(const struct remat_job *job, remat_node node)
{
    assert(job->graph.sealed && node < job->graph.n);
    return job->graph.role[node];
}

uint32_t remat_graph_n_primals(const struct remat_job *job)
{
    return job->graph.primals.n;
}

static struct remat_nodes row_of(const struct remat_rows *rows, remat_node v)
{
    return (struct remat_nodes){rows->items + rows->begin[v],
                                rows->begin[v + 1] - rows->begin[v]};
}

struct remat_nodes remat_node_inputs(const struct remat_job *job,
                                     remat_node node)
{
    return row_of(&job->graph.inputs, node);
}

struct remat_nodes remat_node_users(const struct remat_job *job,
                                    remat_node node)
{
    return row_of(&job->graph.users, node);
}

remat_node remat_node_storage(const struct remat_job *job, remat_node node)
{
    return job->graph.storage[node];
}

bool remat_node_is_static(const struct remat_job *job, remat_node node)
{
    return job->graph.is_static[node];
}

int64_t remat_node_bytes(const struct remat_job *job, remat_node node)
{
    assert(job->graph.sealed && node < job->graph.n);
    return job->graph.n_bytes[node];
}

uint32_t remat_node_traits(const struct remat_job *job, remat_node node)
{
    assert(job->graph.sealed && node < job->graph.n);
    return job->graph.traits[node];
}
