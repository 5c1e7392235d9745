/*
 * plan_lines: many requests through proto in one process, for tests.
 *
 * Reads a request per line on stdin, answers each at once on stdout with
 * "KIND LENGTH STEPS\n" and LENGTH bytes of document; KIND is plan, no-plan or
 * problem. Line oriented so that a test can keep one process for ten thousand
 * graphs and still knows which one made it crash.
 */
#include "proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_name(enum proto_result result)
{
    switch (result) {
    case PROTO_PLAN:
        return "plan";
    case PROTO_NO_PLAN:
        return "no-plan";
    case PROTO_PROBLEM:
    case PROTO_KNOWN:
    case PROTO_DEFERRED:
        break;
    }
    return "problem";
}

static int print_answer(const char *kind, const char *body, size_t length,
                        uint64_t n_steps)
{
    printf("%s %zu %" PRIu64 "\n", kind, length, n_steps);
    fwrite(body, 1, length, stdout);
    return fflush(stdout);
}

static int answer_line(const struct proto_env *env, const char *line,
                       size_t length)
{
    struct proto_request request = {.body = line, .length = length};
    struct proto_answer answer;
    char *problem = NULL;
    int failed;

    proto_plan(env, &request, &answer);
    if (answer.result == PROTO_PROBLEM) {
        problem = proto_problem_encode(&answer.problem, NULL);
        if (problem == NULL)
            return -1;
        failed =
            print_answer("problem", problem, strlen(problem), answer.n_steps);
        proto_free(problem);
    } else {
        failed = print_answer(kind_name(answer.result), answer.body,
                              answer.length, answer.n_steps);
    }
    proto_answer_release(&answer);
    return failed;
}

int main(void)
{
    struct proto_env env;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int failed = 0;

    memset(&env, 0, sizeof env);
    proto_start();
    proto_limits_init(&env.limits);
    while (!failed && (length = getline(&line, &capacity, stdin)) > 0)
        failed = answer_line(&env, line, (size_t)length);
    free(line);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
