/*
 * cli_report.c: `remat report`, a plan as one HTML file for people.
 */
#include "cli_args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void ask(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    proto_report(env, request, PROTO_REPORT_FILE, answer);
}

static bool is_standard_output(const char *output)
{
    return output == NULL || strcmp(output, "-") == 0;
}

/* Whether the report would replace the document, whatever the two are called:
 * one may be a link to the other, or be read from standard input. */
static bool is_document(const struct cli_args *args)
{
    struct stat in;
    struct stat out;

    if (is_standard_output(args->output) || stat(args->output, &out) != 0 ||
        !S_ISREG(out.st_mode))
        return false;
    if ((strcmp(args->file, "-") == 0 ? fstat(STDIN_FILENO, &in)
                                      : stat(args->file, &in)) != 0)
        return false;
    return in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* Half a file would be taken for a whole one. */
static void remove_file(const char *path)
{
    struct stat file;

    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        unlink(path);
}

/* Writes a file, or none. */
static bool write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    bool done = file != NULL && fwrite(text, 1, length, file) == length;

    done = (file == NULL || fclose(file) == 0) && done;
    if (done)
        return true;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
    fprintf(stderr, "remat: cannot write %s: %s\n", path, strerror(errno));
    if (file != NULL)
        remove_file(path);
    return false;
}

static enum cli_exit print_report(const struct cli_args *args,
                                  const struct proto_answer *answer)
{
    const bool done =
        is_standard_output(args->output)
            ? cli_write(answer->body, answer->length)
            : write_file(args->output, answer->body, answer->length);

    if (!done)
        return CLI_INTERNAL;
    return answer->result == PROTO_PLAN ? CLI_DONE : CLI_NO_PLAN;
}

enum cli_exit cli_report(int argc, char **argv)
{
    struct cli_args args = {.format = "html", .takes_output = true};
    const enum cli_exit code = cli_args_parse("report", argc, argv, &args);

    if (code != CLI_DONE)
        return code;
    if (strcmp(args.format, "html") != 0)
        return cli_usage_error("report: there is no --format; remat plan "
                               "--format text is for a terminal");
    if (is_document(&args))
        return cli_usage_error("report: %s is the document, which the report "
                               "would overwrite; name another file",
                               args.output);
    return cli_args_answer(&args, ask, print_report);
}
