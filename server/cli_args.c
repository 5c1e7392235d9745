/*
 * cli_args.c: the flags of the commands that read a document, and reading it.
 */
#include "cli_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "number.h"

static uint64_t now_ns(void *context)
{
    struct timespec now;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* What a flag is followed by. */
enum flag_kind {
    FLAG_ALONE,
    FLAG_TEXT,
    FLAG_NUMBER
};

/* Where a flag goes: exactly one of the three pointers is set. */
struct flag {
    const char *name;
    enum flag_kind kind;
    bool *alone;
    const char **text;
    uint64_t *number;
    uint64_t max;
};

/* The value of a flag: behind "=", else the next argument; NULL: missing. A
 * flag is no value: who forgot the value would lose that flag too. */
static const char *flag_value(const char *argument, size_t name_length,
                              int argc, char **argv, int *at)
{
    if (argument[name_length] == '=')
        return argument + name_length + 1;
    if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0)
        return NULL;
    (*at)++;
    return argv[*at];
}

/* Applies the flag in argv[*at]; CLI_DONE or CLI_USAGE after a message. */
static enum cli_exit take_flag(const struct flag *flag, int argc, char **argv,
                               int *at)
{
    const char *argument = argv[*at];
    const size_t length = strlen(flag->name);

    if (flag->kind == FLAG_ALONE) {
        if (argument[length] != '\0')
            return cli_usage_error("%s takes no value", flag->name);
        *flag->alone = true;
        return CLI_DONE;
    }
    const char *value = flag_value(argument, length, argc, argv, at);
    if (value == NULL)
        return cli_usage_error("%s needs a value%s%s", flag->name,
                               *at + 1 < argc ? ", not the flag " : "",
                               *at + 1 < argc ? argv[*at + 1] : "");
    if (flag->kind == FLAG_TEXT) {
        *flag->text = value;
        return CLI_DONE;
    }
    if (!srv_number_parse(value, true, flag->number) || *flag->number == 0 ||
        *flag->number > flag->max)
        return cli_usage_error("%s: \"%s\" is not a number from 1 to %" PRIu64,
                               flag->name, value, flag->max);
    return CLI_DONE;
}

static const struct flag *find_flag(const struct flag *flags, size_t n_flags,
                                    const char *argument)
{
    for (size_t i = 0; i < n_flags; i++) {
        const size_t length = strlen(flags[i].name);

        if (strncmp(argument, flags[i].name, length) == 0 &&
            (argument[length] == '\0' || argument[length] == '='))
            return &flags[i];
    }
    return NULL;
}

/* The flags of all commands, and those of one. */
struct flag_list {
    const struct flag *all;
    size_t n_all;
    const struct cli_flag *own;
    size_t n_own;
};

static enum cli_exit take_any_flag(const char *command,
                                   const struct flag_list *list, int argc,
                                   char **argv, int *at)
{
    const struct flag *flag = find_flag(list->all, list->n_all, argv[*at]);

    for (size_t i = 0; flag == NULL && i < list->n_own; i++) {
        const struct flag mine = {list->own[i].name, FLAG_TEXT, NULL,
                                  list->own[i].text, NULL,      0};

        if (find_flag(&mine, 1, argv[*at]) != NULL)
            return take_flag(&mine, argc, argv, at);
    }
    if (flag == NULL)
        return cli_usage_error("%s: unknown flag %s", command, argv[*at]);
    return take_flag(flag, argc, argv, at);
}

enum cli_exit cli_args_parse_with(const char *command, int argc, char **argv,
                                  const struct cli_flag *own, size_t n_own,
                                  struct cli_args *args)
{
    const struct flag flags[] = {
        {"--options", FLAG_TEXT, NULL, &args->options, NULL, 0},
        {"--passes", FLAG_TEXT, NULL, &args->passes, NULL, 0},
        {"--format", FLAG_TEXT, NULL, &args->format, NULL, 0},
        {"--output", FLAG_TEXT, NULL, &args->output, NULL, 0},
        {"-o", FLAG_TEXT, NULL, &args->output, NULL, 0},
        {"--timings", FLAG_ALONE, &args->timings, NULL, NULL, 0},
        {"--max-body", FLAG_NUMBER, NULL, NULL, &args->max_body, SIZE_MAX / 4},
        {"--max-nodes", FLAG_NUMBER, NULL, NULL, &args->max_nodes,
         UINT32_MAX - 1},
        {"--max-steps", FLAG_NUMBER, NULL, NULL, &args->max_steps, INT64_MAX},
        {"--memory", FLAG_NUMBER, NULL, NULL, &args->memory, SIZE_MAX / 4},
    };
    const struct flag_list list = {flags, sizeof flags / sizeof flags[0], own,
                                   n_own};
    bool only_files = false;

    for (int i = 0; i < argc; i++) {
        if (!only_files && strcmp(argv[i], "--") == 0) {
            only_files = true;
        } else if (!only_files && argv[i][0] == '-' && argv[i][1] != '\0') {
            const enum cli_exit code =
                take_any_flag(command, &list, argc, argv, &i);

            if (code != CLI_DONE)
                return code;
        } else if (args->file != NULL && args->takes_second &&
                   args->second == NULL) {
            args->second = argv[i];
        } else if (args->file != NULL) {
            return cli_usage_error("%s: one document at a time: %s and %s",
                                   command, args->file, argv[i]);
        } else {
            args->file = argv[i];
        }
    }
    if (args->output != NULL && !args->takes_output)
        return cli_usage_error("%s: there is no --output", command);
    if (args->file == NULL)
        return cli_usage_error("%s: which document? A file, or - for "
                               "standard input",
                               command);
    if (!args->takes_output && strcmp(args->format, "json") != 0 &&
        strcmp(args->format, "text") != 0)
        return cli_usage_error("--format: \"%s\" is neither json nor text",
                               args->format);
    return CLI_DONE;
}

enum cli_exit cli_args_parse(const char *command, int argc, char **argv,
                             struct cli_args *args)
{
    return cli_args_parse_with(command, argc, argv, NULL, 0, args);
}

static void print_timings(const struct proto_answer *answer, uint64_t read_ns,
                          uint64_t total_ns)
{
    fprintf(stderr, "%-10s %12.3f ms\n", "read", (double)read_ns / 1e6);
    for (int i = 0; i < PROTO_N_PHASES; i++)
        fprintf(stderr, "%-10s %12.3f ms\n",
                proto_phase_name((enum proto_phase)i),
                (double)answer->phase_ns[i] / 1e6);
    fprintf(stderr, "%-10s %12.3f ms\n", "total", (double)total_ns / 1e6);
    fprintf(stderr, "%-10s %12" PRIu32 "\n", "nodes", answer->n_nodes);
    fprintf(stderr, "%-10s %12" PRIu64 "\n", "steps", answer->n_steps);
    fprintf(stderr, "%-10s %12zu bytes\n", "memory", answer->memory_bytes);
}

/* The limits that the flags ask for. */
static void set_limits(const struct cli_args *args, struct proto_limits *limits)
{
    proto_limits_init(limits);
    if (args->max_body != 0)
        limits->body_bytes = (size_t)args->max_body;
    if (args->max_nodes != 0)
        limits->n_nodes = (uint32_t)args->max_nodes;
    if (args->max_steps != 0)
        limits->n_steps = args->max_steps;
    if (args->memory != 0)
        limits->memory_bytes = (size_t)args->memory;
}

enum cli_exit cli_args_answer_with(const struct cli_args *args,
                                   cli_args_ask_with *ask, void *context,
                                   cli_args_print *print)
{
    struct proto_problem problem = {0};
    struct proto_env env = {.now_ns = now_ns, .started_ns = now_ns(NULL)};
    struct proto_request request = {
        .options = args->options,
        .passes = args->passes,
        .format = strcmp(args->format, "text") == 0 ? PROTO_TEXT : PROTO_JSON,
    };
    struct proto_answer answer;

    set_limits(args, &env.limits);
    char *body =
        cli_read(args->file, env.limits.body_bytes, &request.length, &problem);
    if (body == NULL)
        return cli_problem_print(&problem);
    const uint64_t read_ns = now_ns(NULL) - env.started_ns;

    request.body = body;
    ask(context, &env, &request, &answer);
    enum cli_exit code = answer.result == PROTO_PROBLEM
                             ? cli_problem_print(&answer.problem)
                             : print(args, &answer);
    if (args->timings)
        print_timings(&answer, read_ns, now_ns(NULL) - env.started_ns);
    proto_answer_release(&answer);
    free(body);
    return code;
}

struct plain_ask {
    cli_args_ask *ask;
};

static void ask_plainly(void *context, const struct proto_env *env,
                        const struct proto_request *request,
                        struct proto_answer *answer)
{
    const struct plain_ask *plain = context;

    plain->ask(env, request, answer);
}

enum cli_exit cli_args_answer(const struct cli_args *args, cli_args_ask *ask,
                              cli_args_print *print)
{
    struct plain_ask plain = {ask};

    return cli_args_answer_with(args, ask_plainly, &plain, print);
}
