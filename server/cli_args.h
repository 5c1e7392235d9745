/*
 * cli_args.h: what the commands that read a document have in common.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli.h"

struct cli_args {
    const char *file;
    const char *second; /* behind it, for the command that takes_second */
    bool takes_second;
    const char *options;
    const char *passes;
    const char *format;
    const char *output; /* of --output, for the command that takes_output */
    bool takes_output;
    bool timings;
    uint64_t max_body; /* this and the following: 0 when not given */
    uint64_t max_nodes;
    uint64_t max_steps;
    uint64_t memory;
};

/* A flag of one command alone, followed by a text. */
struct cli_flag {
    const char *name; /* "--as" */
    const char **text;
};

/* Sets what the flags say; `format` is left alone without --format. CLI_USAGE
 * after a message. */
enum cli_exit cli_args_parse(const char *command, int argc, char **argv,
                             struct cli_args *args);
/* The same with flags of the command's own. */
enum cli_exit cli_args_parse_with(const char *command, int argc, char **argv,
                                  const struct cli_flag *own, size_t n_own,
                                  struct cli_args *args);

typedef void cli_args_ask(const struct proto_env *env,
                          const struct proto_request *request,
                          struct proto_answer *answer);
/* Prints an answer that is no problem. */
typedef enum cli_exit cli_args_print(const struct cli_args *args,
                                     const struct proto_answer *answer);

/* That of plan and frontier (cli_plan.c): exit 3 when there is no plan. */
cli_args_print cli_print_plan;

/* As cli_args_ask, with what the command wants to know besides. */
typedef void cli_args_ask_with(void *context, const struct proto_env *env,
                               const struct proto_request *request,
                               struct proto_answer *answer);
enum cli_exit cli_args_answer_with(const struct cli_args *args,
                                   cli_args_ask_with *ask, void *context,
                                   cli_args_print *print);
/* Reads the document, asks, prints the answer or the problem; the exit code. */
enum cli_exit cli_args_answer(const struct cli_args *args, cli_args_ask *ask,
                              cli_args_print *print);

#endif
