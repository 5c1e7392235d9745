/*
 * cli_diff.c: `remat diff`, what two documents decide differently, or one with
 * changes.
 */
#include "cli_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- two documents ----------------------------------------------------- */

static void ask_two(void *context, const struct proto_env *env,
                    const struct proto_request *request,
                    struct proto_answer *answer)
{
    const struct cli_args *args = context;
    struct proto_request other = *request;
    char *body;

    *answer = (struct proto_answer){.result = PROTO_PROBLEM};
    body = cli_read(args->second, env->limits.body_bytes, &other.length,
                    &answer->problem);
    if (body == NULL)
        return;
    other.body = body;
    proto_diff(env, request, &other, answer);
    free(body);
}

/* ---- one with changes -------------------------------------------------- */

struct changes {
    const char *json;
};

/* The document is the base: pointers lead into it. */
static void point_into_document(struct proto_problem *problem)
{
    static const char base[] = "/base";
    const size_t n = sizeof base - 1;

    if (strncmp(problem->pointer, base, n) == 0)
        memmove(problem->pointer, problem->pointer + n,
                strlen(problem->pointer + n) + 1);
}

/* What is wrong with the flag's own text; its places are its own. It is no
 * graph. */
static void blame_flag(const struct proto_problem *problem,
                       struct proto_answer *answer)
{
    proto_problem_set(&answer->problem,
                      problem->kind == PROTO_INVALID_GRAPH ? PROTO_BAD_REQUEST
                                                           : problem->kind,
                      NULL, "--what-if: %s", problem->detail);
}

static void ask_what_if(void *context, const struct proto_env *env,
                        const struct proto_request *request,
                        struct proto_answer *answer)
{
    const struct changes *changes = context;
    const struct proto_what_if_parts nothing = {.base = "{}",
                                                .base_length = 2,
                                                .what_if = changes->json,
                                                .what_if_length =
                                                    strlen(changes->json)};
    struct proto_what_if_parts parts = nothing;
    struct proto_request whole = *request;
    struct proto_env wider = *env;
    struct proto_problem problem = {0};
    char *body = NULL;

    *answer = (struct proto_answer){.result = PROTO_PROBLEM};
    if (!proto_what_if_body(&env->limits, &nothing, &body, &whole.length,
                            &problem)) {
        blame_flag(&problem, answer);
        return;
    }
    free(body);
    parts.base = request->body;
    parts.base_length = request->length;
    if (request->length > env->limits.body_bytes ||
        !proto_what_if_body(&env->limits, &parts, &body, &whole.length,
                            &problem)) {
        proto_plan(env, request, answer); /* says what is wrong with it */
        return;
    }
    whole.body = body;
    wider.limits.body_bytes += whole.length - request->length;
    proto_what_if(&wider, &whole, answer);
    point_into_document(&answer->problem);
    free(body);
}

enum cli_exit cli_diff(int argc, char **argv)
{
    struct cli_args args = {.format = "json", .takes_second = true};
    struct changes changes = {NULL};
    const struct cli_flag own[] = {{"--what-if", &changes.json}};
    const enum cli_exit code =
        cli_args_parse_with("diff", argc, argv, own, 1, &args);

    if (code != CLI_DONE)
        return code;
    if ((args.second == NULL) == (changes.json == NULL))
        return cli_usage_error("diff: a second document, or --what-if JSON?");
    if (changes.json != NULL)
        return cli_args_answer_with(&args, ask_what_if, &changes,
                                    cli_print_plan);
    if (strcmp(args.file, "-") == 0 && strcmp(args.second, "-") == 0)
        return cli_usage_error("diff: only one document can be on standard "
                               "input");
    return cli_args_answer_with(&args, ask_two, &args, cli_print_plan);
}
