/*
 * cli_export.c: `remat export`, a decided graph in the formats of other tools.
 */
#include "cli_args.h"

#include <string.h>

static void ask(void *context, const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    proto_export(env, request, context, answer);
}

enum cli_exit cli_export(int argc, char **argv)
{
    struct proto_export_params params = {0};
    struct cli_args args = {.format = "json"};
    const struct cli_flag own[] = {{"--as", &params.as},
                                   {"--around", &params.around},
                                   {"--depth", &params.depth}};
    const enum cli_exit code = cli_args_parse_with(
        "export", argc, argv, own, sizeof own / sizeof own[0], &args);

    if (code != CLI_DONE)
        return code;
    if (proto_export_media_type(params.as) == NULL)
        return cli_usage_error("export: --as min-cut-information, --as dot or "
                               "--as dimacs?");
    if (strcmp(args.format, "json") != 0)
        return cli_usage_error("export: there is no --format, say --as");
    if (params.depth != NULL && params.around == NULL)
        return cli_usage_error("export: --depth goes with --around NODE");
    return cli_args_answer_with(&args, ask, &params, cli_print_plan);
}
