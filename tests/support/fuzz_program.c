/*
 * fuzz_program.c: see fuzz_program.h.
 */
#include "fuzz_program.h"

#include <stdio.h>
#include <string.h>

/* The order is part of the format. */
static const char *const targets[] = {
    "primals_1",
    "tangents_1",
    "fwd_seed_0",
    "bwd_seed_0",
    "getitem",
    "aten.add.Tensor",
    "aten.mul.Tensor",
    "aten.mm.default",
    "aten.view.default",
    "aten.reshape.default",
    "aten.cat.default",
    "aten.sum.dim_IntList",
    "aten.rand_like.default",
    "aten.full.default",
    "aten.copy_.default",
    "aten.lift_fresh_copy.default",
    "higher_order.with_effects",
    "higher_order.auto_functionalized",
    "higher_order.triton_kernel_wrapper_functional",
    "_c10d_functional.all_gather_into_tensor.default",
    "_c10d_functional.wait_tensor.default",
    "aten._assert_scalar.default",
    "aten.sym_size.int",
    "mylib.op.default",
    "mylib.op.out",
    "mylib",
    ""};
enum {
    N_TARGETS = sizeof targets / sizeof targets[0]
};

static const char *const symbols[] = {"s0", "s1", "u0", "s10"};
static const char *const keys[] = {"a", "b", "x", "zs"};

struct maker {
    const struct fuzz_program *program;
    struct remat_job *job;
    uint32_t n; /* nodes so far */
};

static uint8_t byte_at(const struct fuzz_program *p, size_t i)
{
    return i < p->n_bytes ? p->bytes[i] : 0;
}

void fuzz_options(const struct fuzz_program *program,
                  struct remat_options *options)
{
    unsigned bits = byte_at(program, 0) + 256u * byte_at(program, 1);

    remat_options_init(options);
#define X(name, value)                                     \
    options->name = (bits & 1u) != 0 ? !(value) : (value); \
    bits >>= 1;
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    if ((bits & 1u) != 0)
        options->profile = REMAT_PROFILE_PLAIN;
    if ((bits & 2u) != 0)
        options->max_dist_from_bw = 2;
    if ((bits & 4u) != 0)
        options->activation_memory_budget = 0.5;
    if ((bits & 8u) != 0)
        options->activation_memory_budget_solver = REMAT_KNAPSACK_GREEDY;
}

static remat_node reference(const struct maker *m, uint8_t byte)
{
    if (m->program->wild)
        return byte;
    return byte % m->n;
}

static struct remat_arg *new_args(struct maker *m, size_t n)
{
    return remat_job_alloc(m->job, n, sizeof(struct remat_arg));
}

/* The inputs as they stand, in a list, or in keyword arguments the way the
 * higher-order operators take them. */
static void set_args(struct maker *m, const uint8_t *r,
                     struct remat_node_spec *spec)
{
    uint32_t n = m->n == 0 && !m->program->wild ? 0 : r[8] % 4;
    bool is_call = r[0] % 3 == REMAT_CALL_FUNCTION;
    struct remat_arg *args = new_args(m, 8);
    struct remat_arg *outer = new_args(m, 2);

    if (args == NULL || outer == NULL || (!is_call && !m->program->wild))
        return; /* what is not called reads nothing */
    for (uint32_t i = 0; i < n; i++) {
        args[i].kind = REMAT_ARG_NODE;
        args[i].as.node = reference(m, r[9 + i]);
        args[i].key = keys[i];
    }
    if ((r[8] & 4) != 0) { /* getitem(h, "a") */
        args[n].kind = REMAT_ARG_STRING;
        args[n].key = keys[n];
        args[n++].as.text = keys[r[11] % 4];
    }
    outer[0] = (struct remat_arg){.kind = (r[8] & 8) != 0 ? REMAT_ARG_DICT
                                                          : REMAT_ARG_LIST,
                                  .n_items = n,
                                  .key = "kwargs"};
    outer[0].as.items = args;
    switch (r[8] >> 4 & 3) {
    case 0:
        spec->args = args;
        spec->n_args = n;
        break;
    case 1:
        spec->args = outer;
        spec->n_args = 1;
        break;
    case 2:
        spec->kwargs = args;
        spec->n_kwargs = n;
        break;
    default:
        spec->kwargs = outer;
        spec->n_kwargs = 1;
        break;
    }
    if ((r[8] & 0x40) != 0) {
        spec->mutated_args = keys;
        spec->n_mutated_args = 1 + r[12] % 4;
    }
    if ((r[8] & 0x80) != 0) { /* tensors_to_clone */
        outer[1] = (struct remat_arg){
            .kind = REMAT_ARG_LIST, .key = "tensors_to_clone", .n_items = 1};
        args[7].kind = REMAT_ARG_STRING;
        args[7].as.text = keys[r[12] % 4];
        outer[1].as.items = &args[7];
        if (spec->kwargs == outer)
            spec->n_kwargs = 2;
    }
}

static void set_value(struct maker *m, const uint8_t *r,
                      struct remat_value *value)
{
    int64_t n_bytes = (int64_t)((uint64_t)r[3] << r[4] % 64 & INT64_MAX);
    struct remat_value *member;

    if (n_bytes > m->program->most_bytes)
        n_bytes = r[3];
    value->kind = (enum remat_value_kind)(r[2] % (REMAT_VALUE_OPAQUE + 1));
    value->no_storage = (r[12] & 0x80) != 0;
    if ((r[2] & 0x80) != 0) {
        value->symbols = &symbols[r[2] >> 4 & 3];
        value->n_symbols = 1;
    }
    switch (value->kind) {
    case REMAT_VALUE_TENSOR:
        value->n_bytes = n_bytes;
        value->type_name = "uint8";
        break;
    case REMAT_VALUE_OPAQUE:
        value->type_name =
            (r[2] & 0x40) != 0 ? "BackwardState" : "FakeScriptObject";
        break;
    case REMAT_VALUE_TUPLE:
    case REMAT_VALUE_DICT:
        member = remat_job_alloc(m->job, 1, sizeof *member);
        if (member == NULL)
            return;
        member->kind = REMAT_VALUE_TENSOR;
        member->n_bytes = n_bytes;
        member->type_name = "uint8";
        value->members = member;
        value->n_members = 1;
        break;
    case REMAT_VALUE_ABSENT:
    case REMAT_VALUE_NULL:
    case REMAT_VALUE_SYM_INT:
    case REMAT_VALUE_SYM_FLOAT:
    case REMAT_VALUE_SYM_BOOL:
    case REMAT_VALUE_CONST:
        break;
    }
}

static const char *name_of(struct maker *m, const uint8_t *r)
{
    char text[16];

    if (m->program->wild && r[12] == 0xff)
        return "";
    snprintf(text, sizeof text, "n%u",
             m->program->wild && r[12] == 0xfe ? r[11] : m->n);
    return remat_job_strdup(m->job, text);
}

static enum remat_status add_node(struct maker *m, const uint8_t *r,
                                  struct remat_error *err)
{
    struct remat_node_spec spec;

    memset(&spec, 0, sizeof spec);
    spec.op = (enum remat_op)(r[0] % (m->program->wild ? 4 : 3));
    spec.target = targets[r[1] % N_TARGETS];
    spec.name = name_of(m, r);
    set_args(m, r, &spec);
    set_value(m, r, &spec.value);
    if (remat_job_status(m->job) != REMAT_OK)
        return remat_job_status(m->job);
    spec.policy = (enum remat_policy)((r[5] & 15) % REMAT_N_POLICIES);
    spec.placement =
        (enum remat_placement)((r[5] >> 4 & 7) % REMAT_N_PLACEMENTS);
    spec.opaque = (r[5] & 0x80) != 0;
    spec.traits_added = (uint32_t)r[6] << (r[12] & 1 ? 4 : 0);
    spec.traits_denied = r[7] >= 0x80 ? (uint32_t)(r[7] & 0x7f) << 6 : 0;
    spec.has_ac_graph_id = r[7] < 0x80 && r[7] != 0;
    spec.ac_graph_id = r[7] & 7;
    spec.has_backward_hook = (r[12] & 2) != 0;
    spec.no_vc_check = (r[12] & 4) != 0;
    if ((r[12] & 8) != 0)
        spec.binds = symbols[r[12] >> 4 & 3];
    spec.alias_of =
        (r[12] & 0x40) != 0 && m->n > 0 ? reference(m, r[9]) : REMAT_NONE;
    return remat_graph_add(m->job, &spec, NULL, err);
}

static enum remat_status add_output(struct maker *m, uint32_t n_outputs,
                                    struct remat_error *err)
{
    struct remat_node_spec spec;
    struct remat_arg *args = new_args(m, (size_t)n_outputs + 1);

    if (args == NULL)
        return remat_job_status(m->job);
    for (uint32_t i = 0; i < n_outputs; i++) {
        uint8_t byte = byte_at(m->program, FUZZ_HEAD + i);

        if (byte == 255 || (m->n == 0 && !m->program->wild))
            continue;
        args[i].kind = REMAT_ARG_NODE;
        args[i].as.node = reference(m, byte);
    }
    memset(&spec, 0, sizeof spec);
    spec.op = REMAT_OUTPUT;
    spec.name = spec.target = "output";
    spec.alias_of = REMAT_NONE;
    spec.args = args;
    spec.n_args = n_outputs;
    return remat_graph_add(m->job, &spec, NULL, err);
}

/* Primals that core will find: the mask may only name those in a tame graph. */
static uint32_t list_static(const struct fuzz_program *p, uint32_t n_primals,
                            uint32_t list[8])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < 8; i++)
        if ((byte_at(p, 3) >> i & 1) != 0 && (p->wild || i < n_primals))
            list[n++] = i;
    return n;
}

static uint32_t count_primals(const struct remat_job *job)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < remat_graph_n_nodes(job); v++) {
        const struct remat_node_spec *spec = remat_graph_node(job, v);

        n += spec->op == REMAT_PLACEHOLDER &&
             strstr(spec->target, "tangents") == NULL &&
             strstr(spec->target, "_seed") == NULL;
    }
    return n;
}

enum remat_status fuzz_build(const struct fuzz_program *program,
                             struct remat_job *job, struct remat_error *err)
{
    struct maker m = {program, job, 0};
    uint32_t n_outputs = byte_at(program, 4);
    size_t at = FUZZ_HEAD + (size_t)n_outputs;
    uint32_t n_forward = byte_at(program, 2);
    uint32_t statics[8];
    uint32_t n_static;
    enum remat_status status = REMAT_OK;

    while (at + FUZZ_RECORD <= program->n_bytes && m.n < program->most_nodes) {
        status = add_node(&m, program->bytes + at, err);
        if (status != REMAT_OK)
            return status;
        m.n++;
        at += FUZZ_RECORD;
    }
    status = add_output(&m, n_outputs, err);
    if (status != REMAT_OK)
        return status;
    if (!program->wild)
        n_forward %= n_outputs + 1;
    n_static = list_static(program, count_primals(job), statics);
    return remat_graph_seal(job, n_forward, statics, n_static, err);
}
