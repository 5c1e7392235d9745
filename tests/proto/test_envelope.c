/*
 * The bodies of jobs about other jobs: joined from two texts so that neither
 * can reach into the other, and read as the plan request that asks for the
 * same.
 */
#include "documents.h"
#include "suite.h"

#define TINY                                                                 \
    "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":1,\"nodes\":["       \
    "{\"name\":\"x\",\"op\":\"placeholder\",\"target\":\"primals_1\","       \
    "\"val\":{\"dtype\":\"float32\",\"shape\":[64]}},"                       \
    "{\"name\":\"t\",\"op\":\"placeholder\",\"target\":\"tangents_1\","      \
    "\"val\":{\"dtype\":\"float32\",\"shape\":[64]}},"                       \
    "{\"name\":\"y\",\"op\":\"call_function\",\"target\":\"aten.sin."        \
    "default\",\"args\":[\"%x\"],\"val\":{\"dtype\":\"float32\",\"shape\":"  \
    "[64]}},"                                                                \
    "{\"name\":\"g\",\"op\":\"call_function\",\"target\":\"aten.mul."        \
    "Tensor\",\"args\":[\"%t\",\"%y\"],\"val\":{\"dtype\":\"float32\","      \
    "\"shape\":[64]}},"                                                      \
    "{\"name\":\"output\",\"op\":\"output\",\"target\":\"output\",\"args\":" \
    "[\"%y\",\"%g\"]}]"

static char *join(const char *base, const char *what_if,
                  struct proto_problem *problem)
{
    const struct proto_what_if_parts parts = {base, strlen(base), what_if,
                                              strlen(what_if)};
    struct proto_limits limits;
    size_t length = 0;
    char *body = NULL;

    *problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
    proto_start();
    proto_limits_init(&limits);
    if (proto_what_if_body(&limits, &parts, &body, &length, problem)) {
        ck_assert_int_eq(problem->kind, PROTO_NO_PROBLEM);
        ck_assert_uint_eq(strlen(body), length);
    } else {
        ck_assert_ptr_null(body);
        ck_assert_int_ne(problem->kind, PROTO_NO_PROBLEM);
    }
    return body;
}

START_TEST(test_join)
{
    struct proto_problem problem;
    char *body = join(" {\"a\":[\"]}\\\"\"]}\n", "{\"tags\":{}}", &problem);
    json_t *tree = json_loads(body, 0, NULL);

    ck_assert_str_eq(
        body, "{\"base\": {\"a\":[\"]}\\\"\"]}\n,\"what_if\":{\"tags\":{}}}");
    ck_assert_uint_eq(json_object_size(tree), 2);
    json_decref(tree);
    free(body);
}
END_TEST

START_TEST(test_what_is_posted)
{
    static const struct {
        const char *text;
        enum proto_problem_kind kind;
    } posted[] = {
        {"", PROTO_MALFORMED_JSON},
        {"{", PROTO_MALFORMED_JSON},
        {"{}}", PROTO_MALFORMED_JSON},
        {"{},\"base\":{}", PROTO_MALFORMED_JSON},
        {"{\"a\":1,\"a\":2}", PROTO_INVALID_GRAPH},
        {"[]", PROTO_INVALID_GRAPH},
        {"null", PROTO_INVALID_GRAPH},
        {"\"{}\"", PROTO_INVALID_GRAPH},
    };
    struct proto_problem problem;

    for (size_t i = 0; i < sizeof(posted) / sizeof(posted[0]); i++) {
        ck_assert_ptr_null(join("{}", posted[i].text, &problem));
        ck_assert_msg(problem.kind == posted[i].kind, "%s: %s", posted[i].text,
                      problem.detail);
    }
}
END_TEST

/* Bases that would become something else within the whole. */
START_TEST(test_bases)
{
    static const char *const wrong[] = {
        "",     " ",         "1",     "[]",          "\"{}\"", "{",
        "{}}",  "{}{}",      "{},{}", "{\"a",        "{\"a\\", "{\"a\\\"}",
        "{} x", "{[}]},{1}", "x {}",  "{},\"a\":{}", "}{",     "{}}{"};
    struct proto_problem problem;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_msg(join(wrong[i], "{}", &problem) == NULL, "%s", wrong[i]);
        ck_assert_int_eq(problem.kind, PROTO_INVALID_GRAPH);
    }
    free(join("{\"malformed\" but in brackets}", "{}", &problem));
    ck_assert_int_eq(problem.kind, PROTO_NO_PROBLEM);
}
END_TEST

static struct proto_answer ask_of_job(const char *body)
{
    struct proto_request request = {
        .body = body, .length = strlen(body), .is_of_job = true};
    struct proto_answer answer;
    struct proto_env env;

    proto_start();
    env_init(&env);
    proto_plan(&env, &request, &answer);
    return answer;
}

static void check_same(const char *body, const char *plain)
{
    struct proto_answer got = ask_of_job(body);
    struct proto_answer want = ask(plain, NULL, PROTO_JSON);

    ck_assert_msg(want.body != NULL, "%s", want.problem.detail);
    ck_assert_msg(got.body != NULL, "%s", got.problem.detail);
    ck_assert_str_eq(got.body, want.body);
    ck_assert_str_eq(got.digest, want.digest);
    proto_answer_release(&got);
    proto_answer_release(&want);
}

START_TEST(test_what_it_stands_for)
{
    check_same(TINY "}", TINY "}");
    check_same(TINY ",\"rank\":3,\"world_size\":4}", TINY "}");
    check_same("{\"graph\":" TINY "},\"rank\":0,\"world_size\":1}",
               "{\"graph\":" TINY "}}");
    check_same("{\"base\":" TINY "},\"what_if\":{}}", TINY "}");
    check_same("{\"base\":" TINY ",\"rank\":1},\"what_if\":{\"tags\":{\"y\":"
               "\"must_save\"},\"options\":{\"explain\":\"full\"}}}",
               TINY ",\"options\":{\"explain\":\"full\"},\"passes\":[{\"pass\":"
                    "\"set_tags\",\"tags\":{\"y\":\"must_save\"}}]}");
}
END_TEST

/* The innermost first, so that the outermost wins. */
START_TEST(test_levels)
{
    check_same(
        "{\"base\":{\"base\":" TINY
        ",\"passes\":[{\"pass\":\"repair_tags\"}],\"options\":{\"explain\":"
        "\"none\",\"max_dist_from_bw\":4}},\"what_if\":{\"tags\":{\"y\":\"must_"
        "save\"},\"options\":{\"explain\":\"full\"}}},\"what_if\":{\"tags\":"
        "{\"y\":null},\"options\":{\"max_dist_from_bw\":7}}}",
        TINY ",\"options\":{\"explain\":\"full\",\"max_dist_from_bw\":7},"
             "\"passes\":[{\"pass\":\"repair_tags\"},{\"pass\":\"set_tags\","
             "\"tags\":{\"y\":\"must_save\"}},{\"pass\":\"set_tags\",\"tags\":"
             "{\"y\":null}}]}");
}
END_TEST

static void check_problem(const char *body, enum proto_problem_kind kind,
                          const char *pointer)
{
    struct proto_answer answer = ask_of_job(body);

    ck_assert_int_eq(answer.result, PROTO_PROBLEM);
    ck_assert_msg(answer.problem.kind == kind, "%s: %s", body,
                  answer.problem.detail);
    ck_assert_int_eq(answer.problem.has_pointer, pointer != NULL);
    if (pointer != NULL)
        ck_assert_str_eq(answer.problem.pointer, pointer);
    proto_answer_release(&answer);
}

START_TEST(test_problems)
{
    check_problem("{\"base\":1,\"what_if\":{}}", PROTO_UNKNOWN_OPTION, NULL);
    check_problem("{\"base\":" TINY "},\"what_if\":1}", PROTO_UNKNOWN_OPTION,
                  NULL);
    check_problem("{\"base\":" TINY "},\"what_if\":{\"tags\":1}}",
                  PROTO_UNKNOWN_OPTION, NULL);
    check_problem("{\"base\":" TINY "},\"what_if\":{\"more\":{}}}",
                  PROTO_UNKNOWN_OPTION, NULL);
    check_problem("{\"base\":" TINY
                  "},\"what_if\":{\"tags\":{\"no\":\"must_save\"}}}",
                  PROTO_UNKNOWN_OPTION, NULL);
    check_problem("{\"base\":{\"schema\":\"remat/graph/v1\",\"nodes\":1},"
                  "\"what_if\":{}}",
                  PROTO_INVALID_GRAPH, "/base/nodes");
    check_problem("{\"base\":{\"base\":{\"schema\":\"remat/graph/v1\","
                  "\"nodes\":1},\"what_if\":{}},\"what_if\":{}}",
                  PROTO_INVALID_GRAPH, "/base/base/nodes");
}
END_TEST

/* A plan request of its own is none of these. */
START_TEST(test_only_of_jobs)
{
    struct proto_answer answer;

    proto_start();
    answer = ask("{\"base\":" TINY "},\"what_if\":{}}", NULL, PROTO_JSON);
    ck_assert_int_eq(answer.problem.kind, PROTO_UNKNOWN_SCHEMA);
    proto_answer_release(&answer);
}
END_TEST

SUITE("envelope", test_join, test_what_is_posted, test_bases,
      test_what_it_stands_for, test_levels, test_problems, test_only_of_jobs)
