/*
 * cli_frontier.c: `remat frontier`, saved bytes against recomputed FLOPs.
 */
#include "cli_args.h"

enum cli_exit cli_frontier(int argc, char **argv)
{
    struct cli_args args = {.format = "json"};
    const enum cli_exit code = cli_args_parse("frontier", argc, argv, &args);

    return code == CLI_DONE
               ? cli_args_answer(&args, proto_frontier, cli_print_plan)
               : code;
}
