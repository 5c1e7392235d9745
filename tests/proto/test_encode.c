/*
 * The plan document: its members and their order at each level of explanation,
 * answers without a plan, and that the same request gives the same bytes.
 */
#include "documents.h"
#include "suite.h"

static const char plain[] = SMALL_GRAPH(Y_ARGS, "");

#define CUT "{\"value\":35,\"vertices\":11,\"edges\":12,\"nodes\":[\"x\"]}"
#define HEAD                                                                \
    "{\"schema\":\"remat/plan/v1\",\"outcome\":\"plan\",\"saved\":[\"x\"]," \
    "\"saved_sym\":[],\"saved_opaque\":[],\"recomputed\":[],\"cut\":" CUT
#define MEMORY                                                            \
    ",\"memory\":{\"saved_bytes\":32,\"saved_storage_bytes\":32,"         \
    "\"static_bytes\":0,\"peak_forward_bytes\":64,"                       \
    "\"peak_backward_bytes\":32,\"peak_nodes\":[\"x\",\"y\"]},\"cost\":{" \
    "\"forward_flops\":0,"                                                \
    "\"recomputed_flops\":0},\"diagnostics\":[]"
#define FACTS                                                              \
    ",\"tags\":{},\"classes\":{\"fw\":[\"w\",\"x\",\"y\"],"                \
    "\"bw\":[\"t\",\"g\",\"output\"],"                                     \
    "\"tangents_closure\":[\"t\",\"g\",\"output\"],\"unclaimed\":[]},"     \
    "\"dist\":{\"w\":1000000000,\"x\":1,\"y\":1000000000,\"t\":0,\"g\":0," \
    "\"output\":1000000000},\"bans\":[{\"node\":\"w\","                    \
    "\"reason\":\"is an input of the graph\"},{\"node\":\"x\","            \
    "\"reason\":\"is an input of the graph\"},{\"node\":\"y\","            \
    "\"reason\":\"is materialised for a user outside the forward\"}],"     \
    "\"weights\":{\"w\":0,\"x\":35,\"y\":440979}"
#define TAIL \
    ",\"passes\":[],\"engine\":\"" PROTO_ENGINE "\",\"digest\":\"%s\"}\n"

static void check_document(const char *options, const char *format)
{
    struct proto_answer answer = ask(plain, options, PROTO_JSON);
    char expected[4096];

    ck_assert_int_eq(answer.result, PROTO_PLAN);
    ck_assert_str_eq(answer.outcome, "plan");
    /* the format is one of the literals below */
    snprintf(expected, sizeof(expected), "%s", format);
    snprintf(strstr(expected, "%s"), 80, "%s\"}\n", answer.digest);
    ck_assert_str_eq(answer.body, expected);
    ck_assert_uint_eq(answer.length, strlen(expected));
    ck_assert_uint_eq(answer.n_nodes, 6);
    ck_assert_uint_gt(answer.n_steps, 0);
    proto_answer_release(&answer);
}

START_TEST(explain_says_more_or_less)
{
    proto_start();
    check_document("{\"explain\":\"none\"}", HEAD MEMORY TAIL);
    check_document(NULL, HEAD ",\"cuts\":[" CUT "]" MEMORY TAIL);
    check_document("{\"explain\":\"summary\"}",
                   HEAD ",\"cuts\":[" CUT "]" MEMORY TAIL);
    check_document("{\"explain\":\"full\"}",
                   HEAD ",\"cuts\":[" CUT "]" MEMORY FACTS TAIL);
}
END_TEST

/* Names of the members of an object, joined with spaces. */
static void list_members(json_t *object, char out[512])
{
    const char *key;
    json_t *member;
    size_t n = 0;

    out[0] = '\0';
    json_object_foreach (object, key, member) {
        n += (size_t)snprintf(out + n, 512 - n, "%s%s", n == 0 ? "" : " ", key);
    }
}

static json_t *first_diagnostic(json_t *plan, const char *code)
{
    json_t *diagnostic =
        json_array_get(json_object_get(plan, "diagnostics"), 0);

    ck_assert_str_eq(json_string_value(json_object_get(diagnostic, "code")),
                     code);
    ck_assert_str_eq(json_string_value(json_object_get(diagnostic, "severity")),
                     "error");
    return diagnostic;
}

START_TEST(an_infinite_flow_is_explained_and_nothing_else)
{
    char *body = read_case("G01", NULL);
    char members[512];
    json_t *plan;
    json_t *path;

    proto_start();
    plan = ask_plan(body, "{\"profile\":\"plain\"}");
    list_members(plan, members);
    ck_assert_str_eq(members, "schema outcome cuts diagnostics passes engine "
                              "digest");
    list_members(json_array_get(json_object_get(plan, "cuts"), 0), members);
    ck_assert_str_eq(members, "unbounded vertices edges");
    path = json_object_get(first_diagnostic(plan, "infinite-flow"), "path");
    ck_assert_uint_eq(json_array_size(path), 4);
    list_members(json_array_get(path, 0), members);
    ck_assert_str_eq(members, "node side reason origin");
    list_members(json_array_get(path, 3), members);
    ck_assert_str_eq(members, "node reason origin");
    ck_assert(json_is_null(json_object_get(json_array_get(path, 3), "node")));
    json_decref(plan);
    plan = ask_plan(body, "{\"profile\":\"plain\",\"explain\":\"none\"}");
    first_diagnostic(plan, "infinite-flow");
    json_decref(plan);
    free(body);
}
END_TEST

START_TEST(an_invalid_output_has_path_and_counts)
{
    char body[4096];
    json_t *diagnostic;
    json_t *plan;

    proto_start();
    snprintf(body, sizeof(body), "%s", plain);
    memcpy(strstr(body, "outputs\":1"), "outputs\":2", 10);
    plan = ask_plan(body, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(plan, "outcome")),
                     "invalid_output");
    ck_assert_ptr_null(json_object_get(plan, "saved"));
    ck_assert_ptr_null(json_object_get(plan, "memory"));
    ck_assert_ptr_null(json_object_get(plan, "cut"));
    diagnostic = first_diagnostic(plan, "invalid-output");
    ck_assert_str_eq(json_string_value(json_object_get(diagnostic, "node")),
                     "g");
    ck_assert_uint_eq(json_array_size(json_object_get(diagnostic, "path")), 2);
    ck_assert_int_eq(
        json_integer_value(json_object_get(diagnostic, "num_fwd_outputs")), 2);
    ck_assert_int_eq(
        json_integer_value(json_object_get(diagnostic, "num_bwd_outputs")), 1);
    json_decref(plan);
}
END_TEST

/* Without anything for a backward there is no cut to speak of. */
START_TEST(no_backward_means_no_cut)
{
    static const char body[] =
        "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":1,\"nodes\":["
        "{\"name\":\"x\",\"op\":\"placeholder\",\"target\":\"primals_1\","
        "\"val\":" SMALL_VALUE "},{\"name\":\"output\",\"op\":\"output\","
        "\"args\":[\"%x\"]}]}";
    json_t *plan;

    proto_start();
    plan = ask_plan(body, NULL);
    ck_assert_ptr_null(json_object_get(plan, "cut"));
    ck_assert_uint_eq(json_array_size(json_object_get(plan, "cuts")), 0);
    ck_assert(json_is_array(json_object_get(plan, "cuts")));
    ck_assert_uint_eq(json_array_size(json_object_get(plan, "saved")), 0);
    json_decref(plan);
    plan = ask_plan(body, "{\"explain\":\"full\"}");
    ck_assert_ptr_null(json_object_get(plan, "bans"));
    ck_assert_ptr_null(json_object_get(plan, "weights"));
    json_decref(plan);
}
END_TEST

START_TEST(odd_names_are_escaped)
{
    static const char body[] =
        "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,\"nodes\":["
        "{\"name\":\"a\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\",\"op\":\"placeholder\","
        "\"target\":\"primals_1\",\"val\":" SMALL_VALUE "},"
        "{\"name\":\"t\",\"op\":\"placeholder\",\"target\":\"tangents_1\","
        "\"val\":" SMALL_VALUE "},{\"name\":\"g\",\"op\":\"call_function\","
        "\"target\":\"aten.mul.Tensor\","
        "\"args\":[\"%t\",\"%a\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"],"
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"output\",\"op\":\"output\",\"args\":[\"%g\"]}]}";
    struct proto_answer answer;

    proto_start();
    answer = ask(body, NULL, PROTO_JSON);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    ck_assert_ptr_nonnull(strstr(
        answer.body, "\"saved\":[\"a\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"]"));
    proto_answer_release(&answer);
}
END_TEST

static uint64_t ticking(void *context)
{
    uint64_t *now = context;

    return *now += 977 * (*now % 13 + 1);
}

/* A clock, another clock, other limits: same bytes. */
START_TEST(the_same_request_gives_the_same_bytes)
{
    static const char *const names[] = {"moe", "dropout_ac", "unet"};

    proto_start();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *body = read_corpus(names[i], NULL);
        struct proto_answer first =
            ask(body, "{\"explain\":\"full\"}", PROTO_JSON);

        ck_assert_ptr_nonnull(first.body);
        for (uint64_t seed = 1; seed < 5; seed++) {
            struct proto_request request = {.body = body,
                                            .length = strlen(body),
                                            .options =
                                                "{\"explain\":\"full\"}"};
            uint64_t now = seed;
            struct proto_answer again;
            struct proto_env env;

            env_init(&env);
            env.now_ns = ticking;
            env.context = &now;
            env.limits.memory_bytes *= seed;
            proto_plan(&env, &request, &again);
            ck_assert_str_eq(first.body, again.body);
            proto_answer_release(&again);
        }
        proto_answer_release(&first);
        free(body);
    }
}
END_TEST

START_TEST(problem_documents_are_valid_json)
{
    struct proto_problem problem = {0};
    json_t *json;
    char *text;

    proto_start();
    proto_problem_set(&problem, PROTO_INVALID_GRAPH, "/nodes/1/na\"me",
                      "bad \xFF\xC3 \x01 \xE2\x82\xAC \xED\xA0\x80 %d", 7);
    proto_problem_set(&problem, PROTO_INTERNAL, NULL, "later ones are ignored");
    text = proto_problem_encode(&problem, "id\n1");
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(json != NULL, "%s", text);
    ck_assert_str_eq(json_string_value(json_object_get(json, "code")),
                     "invalid-graph");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "status")), 422);
    ck_assert_str_eq(json_string_value(json_object_get(json, "request_id")),
                     "id\n1");
    ck_assert_str_eq(
        json_string_value(json_object_get(
            json_array_get(json_object_get(json, "errors"), 0), "pointer")),
        "/nodes/1/na\"me");
    ck_assert_str_eq(json_string_value(json_object_get(json, "detail")),
                     "bad \xEF\xBF\xBD\xEF\xBF\xBD \x01 \xE2\x82\xAC "
                     "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD 7");
    json_decref(json);
    proto_free(text);
}
END_TEST

START_TEST(every_problem_has_code_and_status)
{
    for (int kind = 0; kind <= PROTO_STEP_LIMIT; kind++) {
        ck_assert_uint_gt(
            strlen(proto_problem_code((enum proto_problem_kind)kind)), 1);
        ck_assert_int_ge(proto_problem_status((enum proto_problem_kind)kind),
                         200);
    }
    for (int phase = 0; phase < PROTO_N_PHASES; phase++)
        ck_assert_uint_gt(strlen(proto_phase_name((enum proto_phase)phase)), 3);
}
END_TEST

SUITE("encode", explain_says_more_or_less,
      an_infinite_flow_is_explained_and_nothing_else,
      an_invalid_output_has_path_and_counts, no_backward_means_no_cut,
      odd_names_are_escaped, the_same_request_gives_the_same_bytes,
      problem_documents_are_valid_json, every_problem_has_code_and_status)
