/*
 * Every refusal: tests/proto/invalid/CASE holds input.json, the body as it is
 * sent, and expect.json: status, code, pointer (null: none) and words that the
 * detail must hold; and where the case needs them options and passes (JSON text
 * as the command line hands it over) and limits. A new case is a new folder.
 */
#include "documents.h"
#include "suite.h"

static const char folder[] = "tests/proto/invalid";

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static size_t limit_of(json_t *limits, const char *name, size_t usual)
{
    json_t *limit = json_object_get(limits, name);

    return limit == NULL ? usual : (size_t)json_integer_value(limit);
}

static void ask_case(const char *name, json_t *expect,
                     struct proto_answer *answer)
{
    json_t *limits = json_object_get(expect, "limits");
    struct proto_request request = {
        .options = json_string_value(json_object_get(expect, "options")),
        .passes = json_string_value(json_object_get(expect, "passes"))};
    struct proto_env env;
    char path[512];
    char *body;

    env_init(&env);
    env.limits.body_bytes =
        limit_of(limits, "body_bytes", env.limits.body_bytes);
    env.limits.memory_bytes =
        limit_of(limits, "memory_bytes", env.limits.memory_bytes);
    env.limits.depth = (unsigned)limit_of(limits, "depth", env.limits.depth);
    env.limits.n_nodes =
        (uint32_t)limit_of(limits, "n_nodes", env.limits.n_nodes);
    snprintf(path, sizeof(path), "%s/%s/input.json", folder, name);
    body = read_text(path, &request.length);
    request.body = body;
    proto_plan(&env, &request, answer);
    free(body);
}

/* Whether the answer is the expected one; prints what is not. */
static bool check_answer(const char *name, json_t *expect,
                         const struct proto_answer *answer)
{
    const struct proto_problem *problem = &answer->problem;
    const char *code = json_string_value(json_object_get(expect, "code"));
    const char *pointer = json_string_value(json_object_get(expect, "pointer"));
    json_t *words = json_object_get(expect, "detail");
    bool good = answer->result == PROTO_PROBLEM && answer->body == NULL &&
                code != NULL && json_array_size(words) > 0;
    json_t *word;
    size_t i;

    good = good && strcmp(proto_problem_code(problem->kind), code) == 0 &&
           proto_problem_status(problem->kind) ==
               json_integer_value(json_object_get(expect, "status")) &&
           problem->has_pointer == (pointer != NULL) &&
           (pointer == NULL || strcmp(problem->pointer, pointer) == 0);
    json_array_foreach (words, i, word) {
        good = good && strstr(problem->detail, json_string_value(word)) != NULL;
    }
    if (!good)
        printf("%s: got %d %s at \"%s\": %s\n", name,
               proto_problem_status(problem->kind),
               proto_problem_code(problem->kind),
               problem->has_pointer ? problem->pointer : "(none)",
               problem->detail);
    return good;
}

static bool run_case(const char *name)
{
    struct proto_answer answer;
    char path[512];
    json_t *expect;
    bool good;

    snprintf(path, sizeof(path), "%s/%s/expect.json", folder, name);
    expect = json_load_file(path, 0, NULL);
    ck_assert_msg(expect != NULL, "%s: cannot read", path);
    ask_case(name, expect, &answer);
    good = check_answer(name, expect, &answer);
    proto_answer_release(&answer);
    json_decref(expect);
    return good;
}

START_TEST(every_refusal_names_place_and_remedy)
{
    struct dirent **cases = NULL;
    int n = scandir(folder, &cases, is_case, alphasort);
    int n_bad = 0;

    proto_start();
    ck_assert_msg(n > 0, "%s: no cases", folder);
    for (int i = 0; i < n; i++) {
        n_bad += !run_case(cases[i]->d_name);
        free(cases[i]);
    }
    free(cases);
    ck_assert_msg(n_bad == 0, "%d of %d cases failed", n_bad, n);
}
END_TEST

/* A place deep down, with the pointer cut where it does not fit. */
START_TEST(long_pointers_are_cut_between_characters)
{
    struct proto_answer answer;
    char body[4096];
    size_t n;

    proto_start();
    n = (size_t)snprintf(body, sizeof(body),
                         "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,"
                         "\"nodes\":[{\"name\":\"a\",\"op\":\"call_function\","
                         "\"target\":\"t\",\"kwargs\":{\"");
    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf(body + n, sizeof(body) - n, "\xC3\xA4/");
    snprintf(body + n, sizeof(body) - n, "\":\"%%b\"}}]}");
    answer = ask(body, NULL, PROTO_JSON);
    ck_assert_int_eq(answer.problem.kind, PROTO_INVALID_GRAPH);
    n = strlen(answer.problem.pointer);
    ck_assert_uint_gt(n, 240);
    ck_assert_uint_lt(n, sizeof(answer.problem.pointer));
    ck_assert_mem_eq(answer.problem.pointer, "/nodes/0/kwargs/\xC3\xA4~1", 20);
    n -= answer.problem.pointer[n - 1] == '1' ? 2 : 0;
    ck_assert_mem_eq(answer.problem.pointer + n - 2, "\xC3\xA4", 2);
}
END_TEST

SUITE("invalid", every_refusal_names_place_and_remedy,
      long_pointers_are_cut_between_characters)
