/*
 * What the decoder makes of a valid document: every field of a node, literals
 * and references in arguments, values and their sizes, options.
 */
#include "decode.h"
#include "documents.h"
#include "parse.h"
#include "suite.h"

#include <math.h>

/* A decoded graph that outlives its JSON tree, as in a request. */
struct decoded {
    struct proto_budget budget;
    struct proto_problem problem;
    struct proto_notes notes;
    struct remat_job *job;
};

static void decode(const char *body, struct decoded *out)
{
    struct proto_limits limits;
    struct proto_parts parts;
    struct proto_json json;
    struct proto_decoder decoder = {
        .budget = &out->budget, .problem = &out->problem, .limits = &limits};
    json_t *tree;

    *out = (struct decoded){0};
    proto_limits_init(&limits);
    out->job = remat_job_new(NULL);
    decoder.job = out->job;
    proto_json_begin(&json, &out->budget);
    tree =
        proto_json_parse(&json, (struct proto_source){body, strlen(body), NULL},
                         64, &out->problem);
    ck_assert_msg(tree != NULL, "%s", out->problem.detail);
    ck_assert(proto_decode_parts(&out->problem, tree, NULL, NULL, &parts));
    ck_assert_msg(proto_decode_graph(&decoder, &parts), "%s: %s",
                  out->problem.pointer, out->problem.detail);
    proto_json_end(&json);
    out->notes = decoder.notes;
    ck_assert_uint_eq(out->budget.used_bytes, 0);
}

/* The spec of y in the small graph with these fields. */
static const struct remat_node_spec *node_y(const struct decoded *d)
{
    remat_node y = remat_graph_find(d->job, "y");

    ck_assert_uint_eq(y, 2);
    return remat_graph_node(d->job, y);
}

START_TEST(every_field_of_a_node_is_read)
{
    struct decoded d;
    const struct remat_node_spec *y;

    proto_start();
    decode(
        SMALL_GRAPH(
            Y_ARGS
            "\"kwargs\":{\"alpha\":2},\"alias_of\":\"x\","
            "\"recompute\":\"prefer_recompute\",\"ac_graph_id\":-7,"
            "\"partitioner_tag\":\"must_be_in_forward\","
            "\"has_backward_hook\":true,\"no_vc_check\":true,"
            "\"opaque\":true,\"binds\":\"s0\",\"mutated_args\":[\"a\",\"b\"],"
            "\"memory_budget\":1,\"runtime\":2.5,\"module\":\"layers.0\","
            "\"stack\":\"x.py:1\",\"traits\":[\"custom\",\"-impure\","
            "\"no_recompute\"],",
            ""),
        &d);
    y = node_y(&d);
    ck_assert_str_eq(y->name, "y");
    ck_assert_str_eq(y->target, "aten.mul.Tensor");
    ck_assert_int_eq(y->op, REMAT_CALL_FUNCTION);
    ck_assert_uint_eq(y->n_args, 2);
    ck_assert_uint_eq(y->args[0].as.node, 1);
    ck_assert_uint_eq(y->args[1].as.node, 0);
    ck_assert_ptr_null(y->args[0].key);
    ck_assert_uint_eq(y->n_kwargs, 1);
    ck_assert_str_eq(y->kwargs[0].key, "alpha");
    ck_assert_uint_eq(y->alias_of, 1);
    ck_assert_int_eq(y->policy, REMAT_PREFER_RECOMPUTE);
    ck_assert(y->has_ac_graph_id);
    ck_assert_int_eq(y->ac_graph_id, -7);
    ck_assert_int_eq(y->placement, REMAT_MUST_BE_IN_FORWARD);
    ck_assert(y->has_backward_hook && y->no_vc_check && y->opaque);
    ck_assert_str_eq(y->binds, "s0");
    ck_assert_uint_eq(y->n_mutated_args, 2);
    ck_assert_str_eq(y->mutated_args[1], "b");
    ck_assert(y->has_memory_budget && y->memory_budget == 1.0);
    ck_assert(y->has_runtime && y->runtime == 2.5);
    ck_assert_str_eq(y->module, "layers.0");
    ck_assert_str_eq(y->stack, "x.py:1");
    ck_assert_uint_eq(y->traits_added, REMAT_CUSTOM | REMAT_NO_RECOMPUTE);
    ck_assert_uint_eq(y->traits_denied, REMAT_IMPURE);
    remat_job_free(d.job);
}
END_TEST

START_TEST(absent_fields_are_absent)
{
    struct decoded d;
    const struct remat_node_spec *y;
    const struct remat_node_spec *output;

    proto_start();
    decode(SMALL_GRAPH(Y_ARGS, ""), &d);
    y = node_y(&d);
    ck_assert_uint_eq(y->alias_of, REMAT_NONE);
    ck_assert_int_eq(y->policy, REMAT_UNTAGGED);
    ck_assert_int_eq(y->placement, REMAT_UNPLACED);
    ck_assert(!y->has_ac_graph_id && !y->has_memory_budget && !y->has_runtime);
    ck_assert(y->binds == NULL && y->module == NULL && y->stack == NULL);
    output = remat_graph_node(d.job, 5);
    ck_assert_int_eq(output->op, REMAT_OUTPUT);
    ck_assert_uint_eq(output->n_args, 3);
    ck_assert_int_eq(output->args[2].kind, REMAT_ARG_NULL);
    ck_assert_int_eq(output->value.kind, REMAT_VALUE_ABSENT);
    ck_assert_uint_eq(d.notes.n_fields, 0);
    ck_assert_ptr_null(d.notes.untested_version);
    remat_job_free(d.job);
}
END_TEST

START_TEST(literals_keep_their_kind)
{
    struct decoded d;
    const struct remat_arg *a;

    proto_start();
    decode(SMALL_GRAPH(
               "\"args\":[\"%x\",\"%%x\",\"%%\",\"plain\",\"\",3,-4.5,7.0,true,"
               "false,null,{\"float\":\"inf\"},{\"float\":\"-inf\"},"
               "{\"float\":\"nan\"},{\"dtype\":\"bfloat16\"},"
               "{\"device\":\"cuda:0\"},{\"layout\":\"strided\"},"
               "{\"memory_format\":\"contiguous_format\"},"
               "{\"op\":\"aten.add_.Tensor\"},{\"repr\":\"<x>\"},1e300],",
               ""),
           &d);
    a = node_y(&d)->args;
    ck_assert_uint_eq(node_y(&d)->n_args, 21);
    ck_assert(a[0].kind == REMAT_ARG_NODE && a[0].as.node == 1);
    ck_assert_int_eq(a[1].kind, REMAT_ARG_STRING);
    ck_assert_str_eq(a[1].as.text, "%x");
    ck_assert_str_eq(a[2].as.text, "%");
    ck_assert_str_eq(a[3].as.text, "plain");
    ck_assert_str_eq(a[4].as.text, "");
    ck_assert(a[5].kind == REMAT_ARG_INT && a[5].as.integer == 3);
    ck_assert(a[6].kind == REMAT_ARG_FLOAT && a[6].as.real == -4.5);
    ck_assert(a[7].kind == REMAT_ARG_INT && a[7].as.integer == 7);
    ck_assert(a[8].kind == REMAT_ARG_BOOL && a[8].as.boolean);
    ck_assert(a[9].kind == REMAT_ARG_BOOL && !a[9].as.boolean);
    ck_assert_int_eq(a[10].kind, REMAT_ARG_NULL);
    ck_assert(a[11].kind == REMAT_ARG_FLOAT && isinf(a[11].as.real));
    ck_assert(isinf(a[12].as.real) && a[12].as.real < 0);
    ck_assert(isnan(a[13].as.real));
    for (int i = 14; i < 20; i++)
        ck_assert_int_eq(a[i].kind, REMAT_ARG_OTHER);
    ck_assert(a[20].kind == REMAT_ARG_FLOAT && a[20].as.real == 1e300);
    remat_job_free(d.job);
}
END_TEST

START_TEST(references_are_found_at_any_depth)
{
    struct decoded d;
    const struct remat_arg *a;
    const struct remat_arg *k;

    proto_start();
    decode(SMALL_GRAPH("\"args\":[[1,[\"%x\",[]],null],"
                       "{\"slice\":[null,\"%w\",2]},"
                       "{\"dict\":{\"b\":\"%x\",\"a\":{\"dict\":{}}}}],"
                       "\"kwargs\":{\"k\":[{\"dict\":{\"\":\"%w\"}}]},",
                       ""),
           &d);
    a = node_y(&d)->args;
    ck_assert_int_eq(a[0].kind, REMAT_ARG_LIST);
    ck_assert_uint_eq(a[0].n_items, 3);
    ck_assert_uint_eq(a[0].as.items[1].as.items[0].as.node, 1);
    ck_assert_uint_eq(a[0].as.items[1].as.items[1].n_items, 0);
    ck_assert_int_eq(a[1].kind, REMAT_ARG_SLICE);
    ck_assert_uint_eq(a[1].n_items, 3);
    ck_assert_int_eq(a[1].as.items[0].kind, REMAT_ARG_NULL);
    ck_assert_uint_eq(a[1].as.items[1].as.node, 0);
    ck_assert_int_eq(a[2].kind, REMAT_ARG_DICT);
    ck_assert_str_eq(a[2].as.items[1].key, "b"); /* in canonical order */
    ck_assert_uint_eq(a[2].as.items[1].as.node, 1);
    ck_assert_int_eq(a[2].as.items[0].kind, REMAT_ARG_DICT);
    k = node_y(&d)->kwargs;
    ck_assert_str_eq(k[0].key, "k");
    ck_assert_str_eq(k[0].as.items[0].as.items[0].key, "");
    ck_assert_uint_eq(k[0].as.items[0].as.items[0].as.node, 0);
    remat_job_free(d.job);
}
END_TEST

static const struct value_case {
    const char *name; /* the JSON */
    enum remat_value_kind kind;
    int64_t n_bytes; /* of the value itself */
    int64_t size;    /* of the node, -1: unknown */
} value_cases[] = {
    {"null", REMAT_VALUE_NULL, 0, -1},
    {"{\"dtype\":\"bfloat16\",\"shape\":[3,5]}", REMAT_VALUE_TENSOR, 30, 30},
    {"{\"dtype\":\"float64\",\"shape\":[]}", REMAT_VALUE_TENSOR, 8, 8},
    {"{\"dtype\":\"float64\",\"shape\":[4,0]}", REMAT_VALUE_TENSOR, 0, 0},
    {"{\"dtype\":\"int8\",\"shape\":[\"s0\",2],\"hint\":[7,2],"
     "\"symbols\":[\"s0\",\"s1\"]}",
     REMAT_VALUE_TENSOR, 14, 14},
    {"{\"dtype\":\"int8\",\"shape\":[\"u0\"],\"numel_hint\":9}",
     REMAT_VALUE_TENSOR, 9, 9},
    {"{\"dtype\":\"float32\",\"shape\":[\"u0\",2],\"hint\":[4,2],"
     "\"numel_hint\":3,\"no_storage\":true}",
     REMAT_VALUE_TENSOR, 12, 12},
    {"{\"dtype\":\"uint8\",\"shape\":[9223372036854775807]}",
     REMAT_VALUE_TENSOR, INT64_MAX, INT64_MAX},
    {"{\"sym\":\"int\",\"hint\":8,\"expr\":\"s0*2\",\"symbols\":[\"s0\"]}",
     REMAT_VALUE_SYM_INT, 0, 1},
    {"{\"sym\":\"float\",\"hint\":0.5}", REMAT_VALUE_SYM_FLOAT, 0, 1},
    {"{\"sym\":\"bool\",\"hint\":null}", REMAT_VALUE_SYM_BOOL, 0, 1},
    {"{\"tuple\":[" SMALL_VALUE ",null,{\"tuple\":[" SMALL_VALUE "]},"
     "{\"const\":{\"any\":[1]}}]}",
     REMAT_VALUE_TUPLE, 0, 32},
    {"{\"dict\":{\"a\":" SMALL_VALUE ",\"b\":" SMALL_VALUE "}}",
     REMAT_VALUE_DICT, 0, 64},
    {"{\"tuple\":[]}", REMAT_VALUE_TUPLE, 0, 0},
    {"{\"const\":null}", REMAT_VALUE_CONST, 0, -1},
    {"{\"opaque\":\"FakeScriptObject\"}", REMAT_VALUE_OPAQUE, 0, -1},
};

/* A call named z with that value, in a graph of its own. */
START_TEST(values_are_read_with_their_sizes)
{
    proto_start();
    for (size_t i = 0; i < sizeof(value_cases) / sizeof(*value_cases); i++) {
        const struct value_case *c = &value_cases[i];
        char body[1024];
        struct decoded d;
        const struct remat_value *value;

        snprintf(body, sizeof(body),
                 "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,"
                 "\"nodes\":[{\"name\":\"z\",\"op\":\"call_function\","
                 "\"target\":\"f\",\"val\":%s},{\"name\":\"output\","
                 "\"op\":\"output\"}]}",
                 c->name);
        decode(body, &d);
        value = &remat_graph_node(d.job, 0)->value;
        ck_assert_msg(value->kind == c->kind, "%s", c->name);
        ck_assert_msg(value->n_bytes == c->n_bytes, "%s", c->name);
        ck_assert_msg(remat_node_bytes(d.job, 0) == c->size, "%s", c->name);
        remat_job_free(d.job);
    }
}
END_TEST

START_TEST(details_of_values_are_kept)
{
    struct decoded d;
    const struct remat_value *v;

    proto_start();
    decode("{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,\"nodes\":["
           "{\"name\":\"a\",\"op\":\"get_attr\",\"target\":\"f\","
           "\"val\":{\"tuple\":[{\"dtype\":\"int8\",\"shape\":[\"s0\",2],"
           "\"hint\":[7,2],\"symbols\":[\"s0\",\"s1\"],\"no_storage\":true},"
           "{\"sym\":\"int\",\"symbols\":[\"s2\"]},"
           "{\"opaque\":\"Thing\"}]}},"
           "{\"name\":\"output\",\"op\":\"output\"}]}",
           &d);
    v = &remat_graph_node(d.job, 0)->value;
    ck_assert_uint_eq(v->n_members, 3);
    ck_assert_str_eq(v->members[0].type_name, "int8");
    ck_assert_uint_eq(v->members[0].n_dims, 2);
    ck_assert_int_eq(v->members[0].dims[0], 7);
    ck_assert(v->members[0].no_storage);
    ck_assert_uint_eq(v->members[0].n_symbols, 2);
    ck_assert_str_eq(v->members[0].symbols[1], "s1");
    ck_assert_str_eq(v->members[1].symbols[0], "s2");
    ck_assert_str_eq(v->members[2].type_name, "Thing");
    remat_job_free(d.job);
}
END_TEST

/* Lays JSON texts over the defaults, one after the other. */
static struct proto_options options_of(const char *first, const char *second)
{
    struct proto_problem problem = {0};
    struct proto_options options;
    json_t *a = json_loads(first, 0, NULL);
    json_t *b = json_loads(second, 0, NULL);

    ck_assert(a != NULL && b != NULL);
    proto_options_init(&options);
    ck_assert_msg(proto_decode_options(&problem, a, &options), "%s",
                  problem.detail);
    ck_assert_msg(proto_decode_options(&problem, b, &options), "%s",
                  problem.detail);
    json_decref(a);
    json_decref(b);
    return options;
}

START_TEST(options_are_laid_over_each_other)
{
    struct proto_options o;

    proto_start();
    o = options_of("{}", "{}");
    ck_assert_int_eq(o.explain, PROTO_EXPLAIN_SUMMARY);
    ck_assert(!o.has_deadline && o.core.memory_limit_bytes < 0);
    o = options_of(
        "{\"profile\":\"plain\",\"recompute_views\":true,\"explain\":\"none\","
        "\"activation_memory_budget_solver\":\"greedy\",\"deadline_ms\":5,"
        "\"activation_memory_budget_runtime_estimator\":\"given\","
        "\"memory_limit_bytes\":0,\"activation_memory_budget\":0.25}",
        "{\"profile\":\"pytorch-2.13\",\"explain\":\"full\","
        "\"deadline_ms\":null,\"max_dist_from_bw\":0,\"compat\":true}");
    ck_assert_int_eq(o.core.profile, REMAT_PROFILE_PYTORCH);
    ck_assert(o.core.recompute_views && o.core.compat);
    ck_assert_int_eq(o.explain, PROTO_EXPLAIN_FULL);
    ck_assert(!o.has_deadline);
    ck_assert_int_eq(o.core.max_dist_from_bw, 0);
    ck_assert_int_eq(o.core.activation_memory_budget_solver,
                     REMAT_KNAPSACK_GREEDY);
    ck_assert_int_eq(o.core.activation_memory_budget_runtime_estimator,
                     REMAT_ESTIMATE_GIVEN);
    ck_assert_int_eq(o.core.memory_limit_bytes, 0);
    ck_assert(o.core.activation_memory_budget == 0.25);
    o = options_of("{\"profile\":\"plain\"}", "{\"explain\":\"none\"}");
    ck_assert_int_eq(o.core.profile, REMAT_PROFILE_PLAIN);
    ck_assert_int_eq(o.explain, PROTO_EXPLAIN_NONE);
}
END_TEST

#define CHECK_BOOL(name, value)                                      \
    o = options_of("{\"" #name "\":true}", "{}");                    \
    ck_assert_msg(o.core.name, #name);                               \
    o = options_of("{\"" #name "\":true}", "{\"" #name "\":false}"); \
    ck_assert_msg(!o.core.name, #name);

START_TEST(every_flag_is_its_own)
{
    struct proto_options o;

    proto_start();
    REMAT_BOOL_OPTION_MAP(CHECK_BOOL)
    ck_assert(!o.core.recompute_views);
}
END_TEST

/* As deep as documents may go, in the places where recursion is ours. */
START_TEST(the_deepest_document_is_read)
{
    char body[2048] = "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,"
                      "\"nodes\":[{\"name\":\"z\",\"op\":\"call_function\","
                      "\"target\":\"f\",\"args\":";
    size_t n = strlen(body);
    struct proto_answer answer;

    proto_start();
    for (int i = 0; i < 61; i++)
        body[n++] = '[';
    for (int i = 0; i < 61; i++)
        body[n++] = ']';
    snprintf(body + n, sizeof(body) - n,
             ",\"val\":null},{\"name\":\"output\",\"op\":\"output\"}]}");
    answer = ask(body, NULL, PROTO_JSON);
    ck_assert_msg(answer.result == PROTO_PLAN, "%s", answer.problem.detail);
    proto_answer_release(&answer);
}
END_TEST

SUITE("decode", every_field_of_a_node_is_read, absent_fields_are_absent,
      literals_keep_their_kind, references_are_found_at_any_depth,
      values_are_read_with_their_sizes, details_of_values_are_kept,
      options_are_laid_over_each_other, every_flag_is_its_own,
      the_deepest_document_is_read)
