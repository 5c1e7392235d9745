/*
 * cli_explain.c: `remat explain`, a plan or one node with every reason.
 */
#include "cli_args.h"

struct question {
    const char *node;
};

static void ask_node(void *context, const struct proto_env *env,
                     const struct proto_request *request,
                     struct proto_answer *answer)
{
    const struct question *question = context;

    proto_node(env, request, question->node, answer);
}

static void ask_plan(void *context, const struct proto_env *env,
                     const struct proto_request *request,
                     struct proto_answer *answer)
{
    (void)context;
    if (request->format == PROTO_TEXT)
        proto_explain(env, request, answer); /* takes PyTorch's trace too */
    else
        proto_plan(env, request, answer);
}

enum cli_exit cli_explain(int argc, char **argv)
{
    struct cli_args args = {.format = "text", .takes_second = true};
    struct question question = {NULL};
    const enum cli_exit code = cli_args_parse("explain", argc, argv, &args);

    if (code != CLI_DONE)
        return code;
    question.node = args.second;
    return cli_args_answer_with(&args,
                                args.second == NULL ? ask_plan : ask_node,
                                &question, cli_print_plan);
}
