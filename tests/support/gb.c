/*
 * gb.c: see gb.h.
 */
#include "gb.h"

#include <stdio.h>
#include <string.h>

void gb_init(struct gb *b, const struct remat_limits *limits)
{
    *b = (struct gb){.job = remat_job_new(limits)};
    b->err.node = REMAT_NONE;
    if (b->job == NULL)
        b->status = REMAT_E_NOMEM;
}

void gb_free(struct gb *b)
{
    remat_job_free(b->job);
    b->job = NULL;
}

/* ---- nodes ------------------------------------------------------------- */

/* Whatever a spec points to has to live as long as the job. */
static void *keep(struct gb *b, size_t n, size_t size)
{
    void *memory = remat_job_alloc(b->job, n, size);

    if (memory == NULL && b->status == REMAT_OK)
        b->status = remat_job_status(b->job);
    return memory;
}

static const char *keep_name(struct gb *b, const char *name)
{
    char text[16];
    char *copy;

    if (name == NULL) {
        snprintf(text, sizeof text, "n%u", b->n);
        name = text;
    }
    copy = remat_job_strdup(b->job, name);
    if (copy == NULL && b->status == REMAT_OK)
        b->status = remat_job_status(b->job);
    return copy;
}

static void set_args(struct gb *b, const struct gb_node *node,
                     struct remat_node_spec *spec)
{
    struct remat_arg *args = keep(b, node->n_inputs + 1, sizeof *args);

    if (args == NULL)
        return;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        args[i].kind = REMAT_ARG_NODE;
        args[i].as.node = node->inputs[i];
    }
    spec->args = args;
    spec->n_args = node->n_inputs;
    if (node->in_list) {
        args[node->n_inputs].kind = REMAT_ARG_LIST;
        args[node->n_inputs].n_items = node->n_inputs;
        args[node->n_inputs].as.items = args;
        spec->args = args + node->n_inputs;
        spec->n_args = 1;
    }
}

static void set_symbol(struct gb *b, const char *symbol,
                       struct remat_value *value)
{
    const char **symbols;

    if (symbol == NULL)
        return;
    symbols = keep(b, 1, sizeof *symbols);
    if (symbols == NULL)
        return;
    symbols[0] = symbol;
    value->symbols = symbols;
    value->n_symbols = 1;
}

static void set_value(struct gb *b, const struct gb_node *node,
                      struct remat_value *value)
{
    struct remat_value *member;

    if (node->no_value)
        return;
    value->kind =
        node->kind == REMAT_VALUE_ABSENT ? REMAT_VALUE_TENSOR : node->kind;
    value->type_name = node->opaque_type;
    set_symbol(b, node->symbol, value);
    if (value->kind == REMAT_VALUE_TENSOR) {
        value->n_bytes = node->bytes;
        value->type_name = "uint8";
    }
    if (value->kind == REMAT_VALUE_TUPLE && node->bytes > 0) {
        member = keep(b, 1, sizeof *member);
        if (member == NULL)
            return;
        member->kind = REMAT_VALUE_TENSOR;
        member->type_name = "uint8";
        member->n_bytes = node->bytes;
        value->members = member;
        value->n_members = 1;
    }
}

static const char *target_of(const struct gb_node *node, const char *name)
{
    if (node->target != NULL)
        return node->target;
    return node->op == REMAT_CALL_FUNCTION ? "aten.add.Tensor" : name;
}

remat_node gb_add(struct gb *b, const struct gb_node *node)
{
    struct remat_node_spec spec;
    remat_node added = 0;

    if (b->status != REMAT_OK)
        return 0;
    memset(&spec, 0, sizeof spec);
    spec.alias_of = REMAT_NONE;
    spec.op = node->op;
    spec.name = keep_name(b, node->name);
    spec.target = target_of(node, spec.name);
    set_args(b, node, &spec);
    set_value(b, node, &spec.value);
    spec.policy = node->policy;
    spec.placement = node->placement;
    spec.traits_added = node->traits;
    spec.traits_denied = node->denied;
    spec.has_ac_graph_id = node->has_ac_graph_id;
    spec.ac_graph_id = node->ac_graph_id;
    spec.has_backward_hook = node->has_backward_hook;
    spec.no_vc_check = node->no_vc_check;
    spec.opaque = node->opaque;
    spec.binds = node->binds;
    spec.has_memory_budget = node->has_memory_budget;
    spec.memory_budget = node->memory_budget;
    if (b->status == REMAT_OK)
        b->status = remat_graph_add(b->job, &spec, &added, &b->err);
    b->n++;
    return b->status == REMAT_OK ? added : 0;
}

remat_node gb_primal(struct gb *b, const char *name, int64_t bytes)
{
    return GB(b, .name = name, .target = "primals_1", .bytes = bytes);
}

remat_node gb_tangent(struct gb *b, const char *name, int64_t bytes)
{
    return GB(b, .name = name, .target = "tangents_1", .bytes = bytes);
}

remat_node gb_call(struct gb *b, const char *name, const char *target,
                   int64_t bytes, remat_node first, remat_node second)
{
    return GB(b, .name = name, .target = target, .op = REMAT_CALL_FUNCTION,
              .bytes = bytes, .n_inputs = second == REMAT_NONE ? 1 : 2,
              .inputs = {first, second});
}

/* ---- the end ----------------------------------------------------------- */

void gb_seal(struct gb *b, uint32_t n_forward, uint32_t n,
             const remat_node *outputs, const uint32_t *static_inputs,
             uint32_t n_static)
{
    struct remat_node_spec spec;
    struct remat_arg *args;

    if (b->status != REMAT_OK)
        return;
    memset(&spec, 0, sizeof spec);
    spec.name = spec.target = "output";
    spec.op = REMAT_OUTPUT;
    spec.alias_of = REMAT_NONE;
    args = keep(b, n, sizeof *args);
    if (args == NULL)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (outputs[i] != REMAT_NONE) {
            args[i].kind = REMAT_ARG_NODE;
            args[i].as.node = outputs[i];
        }
    spec.args = args;
    spec.n_args = n;
    b->status = remat_graph_add(b->job, &spec, NULL, &b->err);
    if (b->status == REMAT_OK)
        b->status = remat_graph_seal(b->job, n_forward, static_inputs, n_static,
                                     &b->err);
}

void gb_output(struct gb *b, uint32_t n_forward, uint32_t n,
               const remat_node *outputs)
{
    gb_seal(b, n_forward, n, outputs, NULL, 0);
}

const struct remat_plan *gb_solve(struct gb *b,
                                  const struct remat_options *options)
{
    struct remat_options defaults;
    const struct remat_plan *plan = NULL;

    if (b->status != REMAT_OK)
        return NULL;
    if (options == NULL) {
        remat_options_init(&defaults);
        options = &defaults;
    }
    b->err = (struct remat_error){.node = REMAT_NONE};
    b->status = remat_plan_solve(b->job, options, &plan, &b->err);
    return b->status == REMAT_OK ? plan : NULL;
}

bool gb_is(struct remat_nodes nodes, uint32_t n, const remat_node *wanted)
{
    if (nodes.n != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (nodes.at[i] != wanted[i])
            return false;
    return true;
}

/* ---- ready-made graphs -------------------------------------------------- */

void gb_chain(struct gb *b, uint32_t n)
{
    remat_node x = gb_primal(b, "x", 64);
    remat_node gradient = gb_tangent(b, "t", 64);
    remat_node y = x;
    remat_node first = x + 2;

    for (uint32_t i = 0; i < n; i++)
        y = gb_call(b, NULL, "aten.mul.Tensor", 64, y, REMAT_NONE);
    for (uint32_t i = n; i-- > 0;)
        gradient = gb_call(b, NULL, "aten.mul.Tensor", 64, gradient, first + i);
    gb_output(b, 1, 2, (remat_node[]){y, gradient});
}

void gb_conflict(struct gb *b)
{
    remat_node x = gb_primal(b, "x", 64);
    remat_node t = gb_tangent(b, "t", 64);
    remat_node pair =
        GB(b, .name = "pair", .target = "mylib.attention.default",
           .op = REMAT_CALL_FUNCTION, .n_inputs = 1, .inputs = {x}, .bytes = 64,
           .kind = REMAT_VALUE_TUPLE, .policy = REMAT_MUST_SAVE);
    remat_node item =
        GB(b, .name = "item", .target = "getitem", .op = REMAT_CALL_FUNCTION,
           .n_inputs = 1, .inputs = {pair}, .bytes = 64,
           .policy = REMAT_PREFER_RECOMPUTE);
    remat_node g = gb_call(b, "g", "aten.mul.Tensor", 64, t, item);

    gb_output(b, 1, 2, (remat_node[]){item, g});
}

void gb_misplaced(struct gb *b)
{
    remat_node x = gb_primal(b, "x", 64);
    remat_node t = gb_tangent(b, "t", 64);
    remat_node g = gb_call(b, "g", "aten.mul.Tensor", 64, t, x);

    gb_output(b, 1, 2, (remat_node[]){g, g});
}
