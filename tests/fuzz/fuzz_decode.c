/*
 * fuzz_decode: any bytes as a request body. Whatever they are, there is an
 * answer within the limits, it has either a body or a problem, both are
 * well-formed JSON, and asking again gives the same bytes. Exports of the same
 * bytes keep to that too, and so do the reader of PyTorch's traces and what is
 * asked about a job with such a body.
 */
#include "proto.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    proto_start();
    return 0;
}

static void check_json(const char *text, size_t length)
{
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

    require(json_is_object(json));
    json_decref(json);
}

static void check_problem(const struct proto_problem *problem)
{
    char *text = proto_problem_encode(problem, NULL);

    require(text != NULL);
    require(problem->kind != PROTO_NO_PROBLEM);
    require(problem->kind != PROTO_INTERNAL);
    require(problem->detail[0] != '\0');
    require(problem->pointer[0] == '\0' || problem->pointer[0] == '/');
    check_json(text, strlen(text));
    proto_free(text);
}

static void check_answer(const struct proto_request *request,
                         const struct proto_answer *answer, size_t memory_bytes)
{
    require((answer->result == PROTO_PROBLEM) == (answer->body == NULL));
    require(answer->memory_bytes <= memory_bytes);
    if (answer->body == NULL) {
        check_problem(&answer->problem);
        return;
    }
    require(strlen(answer->body) == answer->length);
    require(answer->body[answer->length - 1] == '\n');
    require(strlen(answer->digest) == 64);
    if (request->format == PROTO_JSON)
        check_json(answer->body, answer->length);
}

/* What the calls about a job make of a job with such a body. */
static void try_as_body_of_job(const struct proto_env *env,
                               const struct proto_request *request)
{
    struct proto_request other = *request;
    struct proto_answer answer;

    other.format = PROTO_JSON;
    other.is_of_job = true;
    proto_plan(env, &other, &answer);
    check_answer(&other, &answer, env->limits.memory_bytes);
    proto_answer_release(&answer);
    proto_what_if(env, &other, &answer);
    check_answer(&other, &answer, env->limits.memory_bytes);
    proto_answer_release(&answer);
    proto_node(env, &other, "x", &answer);
    check_answer(&other, &answer, env->limits.memory_bytes);
    proto_answer_release(&answer);
    proto_report(env, &other, PROTO_REPORT_FRAGMENT, &answer);
    require((answer.result == PROTO_PROBLEM) == (answer.body == NULL));
    proto_answer_release(&answer);
}

/* What other calls make of the same bytes. */
static void try_others(const struct proto_env *env,
                       const struct proto_request *request)
{
    static const struct proto_export_params exports[] = {
        {.as = "min-cut-information"},
        {.as = "dot"},
        {.as = "dimacs", .around = "x"}};
    struct proto_request other = *request;
    struct proto_answer answer;

    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        other.format = i == 0 ? PROTO_JSON : PROTO_TEXT;
        proto_export(env, &other, &exports[i], &answer);
        check_answer(&other, &answer, env->limits.memory_bytes);
        proto_answer_release(&answer);
    }
    other.format = PROTO_TEXT;
    proto_explain(env, &other, &answer);
    check_answer(&other, &answer, env->limits.memory_bytes);
    proto_answer_release(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct proto_env env = {.limits = {.body_bytes = 1 << 20,
                                             .depth = 64,
                                             .n_nodes = 4096,
                                             .memory_bytes = 8 << 20,
                                             .n_steps = 2000000}};
    struct proto_request request = {.body = (const char *)data, .length = size};
    struct proto_answer first;
    struct proto_answer again;
    struct proto_answer text;

    proto_plan(&env, &request, &first);
    check_answer(&request, &first, env.limits.memory_bytes);
    proto_plan(&env, &request, &again);
    require(first.result == again.result);
    require(strcmp(first.problem.detail, again.problem.detail) == 0);
    require(first.body == NULL || strcmp(first.body, again.body) == 0);
    request.format = PROTO_TEXT;
    proto_plan(&env, &request, &text);
    check_answer(&request, &text, env.limits.memory_bytes);
    try_others(&env, &request);
    try_as_body_of_job(&env, &request);
    proto_answer_release(&text);
    proto_answer_release(&again);
    proto_answer_release(&first);
    return 0;
}
