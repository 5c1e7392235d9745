/*
 * cli_tags.c: `remat tags`, the tags of a graph after passes over them.
 */
#include "cli_args.h"

#include <stdio.h>
#include <string.h>

static enum cli_exit print_tags(const struct cli_args *args,
                                const struct proto_answer *answer)
{
    (void)args;
    if (answer->remarks != NULL)
        fputs(answer->remarks, stderr);
    return cli_write(answer->body, answer->length) ? CLI_DONE : CLI_INTERNAL;
}

enum cli_exit cli_tags(int argc, char **argv)
{
    struct cli_args args = {.format = "json"};
    const enum cli_exit code = cli_args_parse("tags", argc, argv, &args);

    if (code != CLI_DONE)
        return code;
    if (strcmp(args.format, "json") != 0)
        return cli_usage_error("tags: there is no --format text");
    return cli_args_answer(&args, proto_tags, print_tags);
}
