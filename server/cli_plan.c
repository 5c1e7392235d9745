/*
 * cli_plan.c: `remat plan`, a plan without the daemon.
 */
#include "cli_args.h"

enum cli_exit cli_print_plan(const struct cli_args *args,
                             const struct proto_answer *answer)
{
    (void)args;
    if (!cli_write(answer->body, answer->length))
        return CLI_INTERNAL;
    return answer->result == PROTO_PLAN ? CLI_DONE : CLI_NO_PLAN;
}

enum cli_exit cli_plan(int argc, char **argv)
{
    struct cli_args args = {.format = "json"};
    const enum cli_exit code = cli_args_parse("plan", argc, argv, &args);

    return code == CLI_DONE ? cli_args_answer(&args, proto_plan, cli_print_plan)
                            : code;
}
