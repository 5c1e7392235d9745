/*
 * cli_args.h: what the commands that read a document have in common.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli.h"

struct cli_args {
    const char *file;
    const char *options;
    const char *passes;
    const char *format;
    bool timings;
    uint64_t max_body; /* this and the following: 0 when not given */
    uint64_t max_nodes;
    uint64_t max_steps;
    uint64_t memory;
};

/* Sets what the flags say; `format` is left alone without --format. CLI_USAGE
 * after a message. */
enum cli_exit cli_args_parse(const char *command, int argc, char **argv,
                             struct cli_args *args);

typedef void cli_args_ask(const struct proto_env *env,
                          const struct proto_request *request,
                          struct proto_answer *answer);
/* Prints an answer that is no problem. */
typedef enum cli_exit cli_args_print(const struct proto_answer *answer);

/* That of plan and frontier (cli_plan.c): exit 3 when there is no plan. */
cli_args_print cli_print_plan;

/* Reads the document, asks, prints the answer or the problem; the exit code. */
enum cli_exit cli_args_answer(const struct cli_args *args, cli_args_ask *ask,
                              cli_args_print *print);

#endif
