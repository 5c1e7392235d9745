/*
 * graph.c: building the graph document. Sealing is in seal.c.
 */
#include "graph.h"

#include "arg_walk.h"
#include "base.h"
#include "error.h"
#include "job.h"

#include <string.h>

enum remat_status remat_tensor_bytes(const int64_t *dims, uint32_t n_dims,
                                     int64_t element_bytes, int64_t *n_bytes,
                                     struct remat_error *err)
{
    int64_t product = element_bytes;
    bool is_empty = false;
    bool fits = true;

    for (uint32_t i = 0; i < n_dims; i++) {
        if (dims[i] < 0)
            return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                                   "size %u is %lld, must be 0 or more", i,
                                   (long long)dims[i]);
        is_empty = is_empty || dims[i] == 0;
        fits = fits && remat_mul_i64(product, dims[i], &product);
    }
    if (is_empty)
        product = 0;
    else if (!fits)
        return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                               "tensor needs 2^63 bytes or more");
    *n_bytes = product;
    return REMAT_OK;
}

bool remat_is_opaque_type(const struct remat_graph *g, remat_node v,
                          const char *type_name)
{
    const struct remat_value *value = &g->specs[v]->value;

    return value->kind == REMAT_VALUE_OPAQUE && value->type_name != NULL &&
           strcmp(value->type_name, type_name) == 0;
}

remat_node remat_arg_node(const struct remat_graph *g, remat_node v, uint32_t i)
{
    const struct remat_node_spec *spec = g->specs[v];

    if (i >= spec->n_args || spec->args[i].kind != REMAT_ARG_NODE)
        return REMAT_NONE;
    return spec->args[i].as.node;
}

const struct remat_arg *remat_kwarg(const struct remat_graph *g, remat_node v,
                                    const char *key)
{
    const struct remat_node_spec *spec = g->specs[v];

    for (uint32_t i = 0; i < spec->n_kwargs; i++)
        if (strcmp(spec->kwargs[i].key, key) == 0)
            return &spec->kwargs[i];
    return NULL;
}

remat_node remat_graph_find(const struct remat_job *job, const char *name)
{
    return remat_names_find(&job->graph.names, name);
}

uint32_t remat_graph_n_nodes(const struct remat_job *job)
{
    return job->graph.n;
}

const struct remat_node_spec *remat_graph_node(const struct remat_job *job,
                                               remat_node node)
{
    assert(node < job->graph.n);
    return job->graph.specs[node];
}

const char *remat_graph_name(const struct remat_job *job, remat_node node)
{
    assert(node < job->graph.n);
    return job->graph.names.keys[node]; /* a name's number is its node's */
}

void remat_graph_rename(struct remat_job *job, remat_node node,
                        const char *name)
{
    assert(node < job->graph.n);
    job->graph.specs[node]->name = name;
}

bool remat_graph_has_target(const struct remat_job *job, const char *target)
{
    return remat_names_find(&job->graph.targets, target) != REMAT_NONE;
}

static bool make_room(struct remat_arena *arena, struct remat_graph *g)
{
    uint32_t capacity = g->capacity == 0 ? 256 : g->capacity * 2;
    struct remat_node_spec **specs;

    if (g->n < g->capacity)
        return true;
    specs = REMAT_NEW_ARRAY(arena, struct remat_node_spec *, capacity);
    if (specs == NULL)
        return false;
    if (g->n > 0)
        memcpy(specs, g->specs, g->n * sizeof(*specs));
    g->specs = specs;
    g->capacity = capacity;
    return true;
}

/* Looks a target up once per graph, not once per node. */
static bool learn_target(struct remat_arena *arena, struct remat_graph *g,
                         const char *target)
{
    if (remat_names_find(&g->targets, target) != REMAT_NONE)
        return true;
    if (!remat_names_add(arena, &g->targets, target))
        return false;
    if (g->targets.n > g->operators_capacity) {
        struct remat_operator *operators =
            REMAT_NEW_ARRAY(arena, struct remat_operator, g->targets.capacity);

        if (operators == NULL)
            return false;
        if (g->operators_capacity > 0)
            memcpy(operators, g->operators,
                   g->operators_capacity * sizeof(*operators));
        g->operators = operators;
        g->operators_capacity = g->targets.capacity;
    }
    g->operators[g->targets.n - 1] = remat_operator_lookup(target);
    return true;
}

/* Every reference must name an earlier node. Counts them. */
static enum remat_status check_references(struct remat_graph *g,
                                          const struct remat_arg *args,
                                          uint32_t n_args,
                                          struct remat_error *err)
{
    struct remat_arg_walk walk;
    remat_node input;

    remat_arg_walk_init(&walk, args, n_args);
    while ((input = remat_arg_walk_next(&walk)) != REMAT_NONE) {
        if (input >= g->n)
            return remat_error_set(err, REMAT_E_GRAPH, g->n,
                                   "argument: reference to node %u, must be "
                                   "an earlier node",
                                   input);
        g->n_references++;
    }
    if (walk.too_deep)
        return remat_error_set(err, REMAT_E_GRAPH, g->n,
                               "argument: nested deeper than %d levels",
                               REMAT_ARG_DEPTH);
    return REMAT_OK;
}

static enum remat_status check_spec(struct remat_job *job,
                                    const struct remat_node_spec *spec,
                                    struct remat_error *err)
{
    struct remat_graph *g = &job->graph;
    enum remat_status status;
    uint64_t before;

    if (g->sealed || g->has_output)
        return remat_error_set(err, REMAT_E_GRAPH, g->n,
                               "node: nothing may follow the output node");
    if (job->limits.n_nodes != 0 && g->n >= job->limits.n_nodes)
        return remat_error_set(err, REMAT_E_NODES, REMAT_NONE,
                               "graph: more nodes than the limit of %u",
                               job->limits.n_nodes);
    if (spec->name == NULL || spec->name[0] == '\0')
        return remat_error_set(err, REMAT_E_GRAPH, g->n,
                               "name: must not be empty");
    if (remat_graph_find(job, spec->name) != REMAT_NONE)
        return remat_error_set(err, REMAT_E_GRAPH, g->n,
                               "name: taken by an earlier node");
    if (spec->alias_of != REMAT_NONE && spec->alias_of >= g->n)
        return remat_error_set(err, REMAT_E_GRAPH, g->n,
                               "alias_of: must be an earlier node");
    before = g->n_references;
    status = check_references(g, spec->args, spec->n_args, err);
    if (status == REMAT_OK)
        status = check_references(g, spec->kwargs, spec->n_kwargs, err);
    if (status == REMAT_OK && g->n_references > before &&
        (spec->op == REMAT_PLACEHOLDER || spec->op == REMAT_GET_ATTR))
        return remat_error_set(err, REMAT_E_GRAPH, g->n,
                               "args: a placeholder or get_attr reads no other "
                               "node, remove its references");
    return status;
}

enum remat_status remat_graph_add(struct remat_job *job,
                                  const struct remat_node_spec *spec,
                                  remat_node *node, struct remat_error *err)
{
    struct remat_graph *g = &job->graph;
    enum remat_status status = check_spec(job, spec, err);
    struct remat_node_spec *copy;

    if (status != REMAT_OK)
        return status;
    copy = REMAT_NEW(&job->arena, struct remat_node_spec);
    if (copy == NULL || !make_room(&job->arena, g) ||
        !remat_names_add(&job->arena, &g->names, spec->name) ||
        !learn_target(&job->arena, g, spec->target))
        return remat_job_no_memory(job, err);
    *copy = *spec;
    g->specs[g->n] = copy;
    g->has_output = spec->op == REMAT_OUTPUT;
    if (node != NULL)
        *node = g->n;
    g->n++;
    return REMAT_OK;
}
