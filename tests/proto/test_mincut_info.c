/*
 * PyTorch's min_cut_information: what is read of it, what may be missing, what
 * is refused and where, and that its text is harmless.
 */
#include "documents.h"
#include "mincut_info.h"
#include "run.h"
#include "suite.h"

#include <math.h>

#define NODES(text) "{\"Joint Graph Node Information\":{" text "}}"
/* Two candidates, of three nodes, and more. */
#define TWO(more)                                         \
    "{\"Recomputable Banned Nodes Order\":[\"b\",\"c\"]," \
    "\"Joint Graph Node Information\":{\"a\":{},\"b\":{},\"c\":{}}" more "}"

/* A run whose trace is read; end it with proto_run_end. */
struct reading {
    struct proto_env env;
    struct proto_request request;
    struct proto_answer answer;
    struct proto_run run;
};

static bool begin(struct reading *r, const char *body)
{
    proto_start();
    *r = (struct reading){.request = {.body = body,
                                      .length = strlen(body),
                                      .format = PROTO_TEXT}};
    env_init(&r->env);
    r->run = (struct proto_run){.env = &r->env,
                                .request = &r->request,
                                .answer = &r->answer,
                                .kind = PROTO_CALL_PLAN,
                                .takes_trace = true};
    proto_run_begin(&r->run);
    return proto_run_decode(&r->run);
}

static const struct proto_mincut_info *read(struct reading *r, const char *body)
{
    ck_assert_msg(begin(r, body), "%s: %s", r->answer.problem.pointer,
                  r->answer.problem.detail);
    ck_assert_ptr_nonnull(r->run.trace);
    return r->run.trace;
}

static void refuse(const char *body, const char *pointer, const char *words)
{
    struct reading r;

    ck_assert_msg(!begin(&r, body), "%s", body);
    ck_assert_str_eq(r.answer.problem.pointer, pointer);
    ck_assert_msg(strstr(r.answer.problem.detail, words) != NULL, "%s",
                  r.answer.problem.detail);
    proto_run_end(&r.run);
}

static struct proto_answer explain(const char *body)
{
    struct proto_request request = {.body = body, .length = strlen(body)};
    struct proto_answer answer;
    struct proto_env env;

    proto_start();
    env_init(&env);
    proto_explain(&env, &request, &answer);
    return answer;
}

/* What jansson says of the same artifact. */
START_TEST(real_artifact_is_read_whole)
{
    char *body = read_trace("log", NULL);
    json_t *json = json_loads(body, 0, NULL);
    json_t *order = json_object_get(json, "Recomputable Banned Nodes Order");
    json_t *bytes = json_object_get(json, "Absolute Memories");
    json_t *saved = json_object_get(json, "Min Cut Solution Saved Values");
    json_t *kept = json_object_get(json, "Knapsack Saved Nodes");
    struct reading r;
    const struct proto_mincut_info *info = read(&r, body);
    size_t n_kept = 0;

    ck_assert_uint_eq(info->n_nodes, (size_t)json_integer_value(json_object_get(
                                         json, "Joint Graph Size")));
    ck_assert_uint_eq(
        info->n_edges,
        json_array_size(json_object_get(
            json_object_get(json, "Joint Graph Edges"), "Edges")));
    ck_assert_uint_eq(info->n_candidates, json_array_size(order));
    for (uint32_t i = 0; i < info->n_candidates; i++) {
        const struct proto_mincut_candidate *c = &info->candidates[i];

        ck_assert_str_eq(info->nodes[c->node].name,
                         json_string_value(json_array_get(order, i)));
        ck_assert(c->n_bytes == json_number_value(json_array_get(bytes, i)));
        ck_assert(c->share > 0 && c->runtime >= 1);
        ck_assert_int_ne(c->is_kept, c->is_recomputed);
        ck_assert_uint_eq(info->nodes[c->node].candidate, i);
        n_kept += c->is_kept;
    }
    ck_assert_uint_eq(n_kept, json_array_size(kept));
    ck_assert_uint_eq(info->n_saved, json_array_size(saved));
    for (uint32_t i = 0; i < info->n_saved; i++) {
        ck_assert_str_eq(info->nodes[info->saved[i]].name,
                         json_string_value(json_array_get(saved, i)));
        ck_assert(info->nodes[info->saved[i]].is_saved);
    }
    ck_assert(info->memory_budget == 0.3);
    ck_assert(info->most_gb > info->least_gb && info->saved_gb > 0);
    ck_assert(!isnan(info->more_aggressive) && !isnan(info->aggressive));
    ck_assert_uint_eq(r.answer.n_nodes, info->n_nodes);
    proto_run_end(&r.run);
    json_decref(json);
    free(body);
}
END_TEST

START_TEST(every_field_may_be_missing)
{
    struct reading r;
    const struct proto_mincut_info *info = read(&r, "{\"Joint Graph Size\":3}");

    ck_assert_uint_eq(info->n_nodes + info->n_edges + info->n_saved, 0);
    ck_assert(isnan(info->memory_budget) && isnan(info->expected_runtime));
    proto_run_end(&r.run);

    info = read(&r, "{\"Min Cut Solution Saved Values\":[\"x\",\"y\"],"
                    "\"Memory Budget\":null,\"of a later version\":[[]]}");
    ck_assert_uint_eq(info->n_nodes, 2);
    ck_assert(!info->nodes[0].is_described && info->nodes[0].is_saved);
    proto_run_end(&r.run);
}
END_TEST

START_TEST(nodes_stand_in_the_order_of_the_graph)
{
    struct reading r;
    const struct proto_mincut_info *info =
        read(&r, NODES("\"b\":{\"index\":1,\"shape\":\"\"},\"c\":{\"index\":2},"
                       "\"a\":{\"index\":0,\"target\":\"primals_1\"}"));

    ck_assert_str_eq(info->nodes[0].name, "a");
    ck_assert_str_eq(info->nodes[0].target, "primals_1");
    ck_assert_str_eq(info->nodes[2].name, "c");
    ck_assert_ptr_null(info->nodes[1].shape);
    proto_run_end(&r.run);

    /* what cannot be an order is none */
    info = read(&r, NODES("\"b\":{\"index\":1},\"a\":{\"index\":1}"));
    ck_assert_str_eq(info->nodes[0].name, "b");
    proto_run_end(&r.run);
    info = read(&r, NODES("\"b\":{\"index\":1},\"a\":{\"index\":-7}"));
    ck_assert_str_eq(info->nodes[0].name, "b");
    proto_run_end(&r.run);
}
END_TEST

START_TEST(edges_from_either_place)
{
    struct reading r;
    const struct proto_mincut_info *info =
        read(&r, NODES("\"a\":{},\"b\":{\"input_arguments\":[\"a\",\"z\"]}"));

    ck_assert_uint_eq(info->n_edges, 2);
    ck_assert_uint_eq(info->edges[0].from, 0);
    ck_assert_uint_eq(info->edges[0].to, 1);
    ck_assert_str_eq(info->nodes[info->edges[1].from].name, "z");
    proto_run_end(&r.run);

    info = read(&r, "{\"Joint Graph Edges\":{\"Total\":9,\"Edges\":"
                    "[[\"x\",\"y\"]]},\"Joint Graph Node Information\":{}}");
    ck_assert_uint_eq(info->n_edges, 1);
    ck_assert_str_eq(info->nodes[info->edges[0].to].name, "y");
    proto_run_end(&r.run);
}
END_TEST

/* Without "Absolute Memories", a candidate's memory is the knapsack's. */
START_TEST(older_artifacts)
{
    struct reading r;
    const struct proto_mincut_info *info = read(
        &r, "{\"Recomputable Banned Nodes Order\":[\"a\"],\"Knapsack Input "
            "Memories\":[0.25],\"Joint Graph Node Information\":{\"a\":"
            "{\"recomputable_candidate_info\":{\"memory\":0.25,\"runtime\":7,"
            "\"is_saved\":true,\"is_recomputed\":false}}}}");

    ck_assert(isnan(info->candidates[0].n_bytes));
    ck_assert(info->candidates[0].share == 0.25);
    ck_assert(info->candidates[0].runtime == 7);
    ck_assert(info->candidates[0].is_kept &&
              !info->candidates[0].is_recomputed);
    ck_assert(info->kept_bytes == 0 && info->offered_runtime == 7);
    proto_run_end(&r.run);
}
END_TEST

START_TEST(problems_name_the_place)
{
    refuse("{\"Joint Graph Node Information\":[]}",
           "/Joint Graph Node Information", "an object");
    refuse(NODES("\"a/b\":7"), "/Joint Graph Node Information/a~1b",
           "an object");
    refuse(NODES("\"a\":{\"target\":[]}"),
           "/Joint Graph Node Information/a/target", "a string");
    refuse(NODES("\"a\":{\"input_arguments\":\"b\"}"),
           "/Joint Graph Node Information/a/input_arguments", "a list");
    refuse(NODES("\"a\":{\"input_arguments\":[0]}"),
           "/Joint Graph Node Information/a/input_arguments/0", "name");
    refuse("{\"Joint Graph Edges\":[]}", "/Joint Graph Edges", "an object");
    refuse("{\"Joint Graph Edges\":{\"Edges\":3}}", "/Joint Graph Edges/Edges",
           "a list");
    refuse("{\"Joint Graph Edges\":{\"Edges\":[[\"a\"]]}}",
           "/Joint Graph Edges/Edges/0", "two names");
    refuse("{\"Joint Graph Edges\":{\"Edges\":[[\"a\",null]]}}",
           "/Joint Graph Edges/Edges/0/1", "name");
    refuse("{\"Recomputable Banned Nodes Order\":[\"a\",\"a\"]}",
           "/Recomputable Banned Nodes Order/1", "twice");
    refuse("{\"Joint Graph Size\":1,\"Memory Budget\":\"half\"}",
           "/Memory Budget", "a number");
    refuse("{\"Min Cut Solution Saved Values\":{}}",
           "/Min Cut Solution Saved Values", "a list");
}
END_TEST

START_TEST(lists_that_do_not_fit_together)
{
    refuse(TWO(",\"Absolute Memories\":[1]"), "/Absolute Memories",
           "1 numbers for the 2 nodes");
    refuse(TWO(",\"Knapsack Input Runtimes\":[1,\"x\"]"),
           "/Knapsack Input Runtimes/1", "a number");
    refuse(TWO(",\"Knapsack Saved Nodes\":[0,2]"), "/Knapsack Saved Nodes/1",
           "has 2 nodes");
    refuse(TWO(",\"Knapsack Recomputed Nodes\":[-1]"),
           "/Knapsack Recomputed Nodes/0", "a position");
    refuse(TWO(",\"Knapsack Recomputed Nodes\":[0.5]"),
           "/Knapsack Recomputed Nodes/0", "a position");
    refuse("{\"Recomputable Banned Nodes Order\":[\"a\"],\"Joint Graph Node "
           "Information\":{\"a\":{\"recomputable_candidate_info\":"
           "{\"is_saved\":1}}}}",
           "/Joint Graph Node Information/a/recomputable_candidate_info/"
           "is_saved",
           "true or false");
}
END_TEST

START_TEST(limits_hold)
{
    struct reading r;
    const char *body =
        "{\"Min Cut Solution Saved Values\":[\"a\",\"b\",\"c\"]}";

    proto_start();
    ck_assert(begin(&r, body));
    proto_run_end(&r.run);
    r = (struct reading){.request = {.body = body, .length = strlen(body)}};
    env_init(&r.env);
    r.env.limits.n_nodes = 2;
    r.run = (struct proto_run){.env = &r.env,
                               .request = &r.request,
                               .answer = &r.answer,
                               .takes_trace = true};
    proto_run_begin(&r.run);
    ck_assert(!proto_run_decode(&r.run));
    ck_assert_int_eq(r.answer.problem.kind, PROTO_TOO_LARGE);
    ck_assert_str_eq(r.answer.problem.pointer,
                     "/Min Cut Solution Saved Values/2");
    proto_run_end(&r.run);
}
END_TEST

START_TEST(text_tells_what_was_decided)
{
    char *body = read_trace("llama", NULL);
    struct proto_answer answer = explain(body);

    ck_assert_int_eq(answer.result, PROTO_PLAN);
    ck_assert_str_eq(answer.outcome, "plan");
    ck_assert_uint_eq(strlen(answer.digest), 64);
    ck_assert_ptr_nonnull(strstr(answer.body, "The forward saves "));
    ck_assert_ptr_nonnull(strstr(answer.body, "the knapsack keeps it"));
    ck_assert_ptr_nonnull(strstr(answer.body, "is an input of the graph"));
    ck_assert_ptr_nonnull(strstr(answer.body, "may be recomputed"));
    ck_assert_ptr_nonnull(strstr(answer.body, "memory budget"));
    ck_assert_ptr_nonnull(strstr(answer.body, "families.py\", line "));
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(text_is_harmless)
{
    struct proto_answer answer = explain(
        "{\"Min Cut Solution Saved Values\":[\"\\u001b[31m\\u0007\\r\"],"
        "\"Joint Graph Node "
        "Information\":{\"\\u001b[31m\\u0007\\r\":{\"shape\":"
        "\"torch.Size(\\u001b)\",\"stack_trace\":\"File "
        "\\\"\\u009b\\n\\u001b\","
        "\"target\":\"primals_\\u0000x\"}}}");

    /* \u0000 is nothing that a string of this service may hold */
    ck_assert_int_eq(answer.result, PROTO_PROBLEM);
    proto_answer_release(&answer);
    answer = explain(
        "{\"Min Cut Solution Saved Values\":[\"\\u001b[31m\\u0007\\r\"],"
        "\"Joint Graph Node "
        "Information\":{\"\\u001b[31m\\u0007\\r\":{\"shape\":"
        "\"torch.Size(\\u001b)\",\"stack_trace\":\"File "
        "\\\"\\u009b\\n\\u001b\","
        "\"target\":\"primals_x\"}},\"Absolute Memories\":[]}");
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    for (const char *at = answer.body; *at != '\0'; at++)
        ck_assert((unsigned char)*at >= 0x20 || *at == '\n');
    ck_assert_ptr_null(strstr(answer.body, "\xC2\x9B"));
    proto_answer_release(&answer);
}
END_TEST

START_TEST(a_graph_is_explained_as_a_plan)
{
    char *body = read_corpus("dropout", NULL);
    struct proto_request request = {
        .body = body, .length = strlen(body), .format = PROTO_TEXT};
    struct proto_answer answer = explain(body);
    struct proto_answer plan;
    struct proto_env env;

    env_init(&env);
    proto_plan(&env, &request, &plan);
    ck_assert_str_eq(answer.body, plan.body);
    proto_answer_release(&plan);
    proto_answer_release(&answer);
    answer = explain("{");
    ck_assert_int_eq(answer.problem.kind, PROTO_MALFORMED_JSON);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(digest_is_of_the_content)
{
    struct proto_answer a = explain("{\"Joint Graph Size\":1,\"x\":[]}");
    struct proto_answer b = explain("{ \"x\" : [ ], \"Joint Graph Size\": 1}");
    struct proto_answer c = explain("{\"Joint Graph Size\":2,\"x\":[]}");

    ck_assert_str_eq(a.digest, b.digest);
    ck_assert_str_ne(a.digest, c.digest);
    proto_answer_release(&a);
    proto_answer_release(&b);
    proto_answer_release(&c);
}
END_TEST

SUITE("mincut_info", real_artifact_is_read_whole, every_field_may_be_missing,
      nodes_stand_in_the_order_of_the_graph, edges_from_either_place,
      older_artifacts, problems_name_the_place, lists_that_do_not_fit_together,
      limits_hold, text_tells_what_was_decided, text_is_harmless,
      a_graph_is_explained_as_a_plan, digest_is_of_the_content)
