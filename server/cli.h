/*
 * cli.h: the parts of the command line program remat.
 *
 * remat_main.c picks the command; each command has a file of its own and
 * returns the exit code. Answers go to stdout, problem documents to stderr.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "proto.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_BAD_INPUT = 1,
    CLI_USAGE = 2,
    CLI_NO_PLAN = 3, /* the answer, on stdout, is that there is none */
    CLI_GAVE_UP = 4, /* a limit, a deadline, not built, no answer to ping */
    CLI_INTERNAL = 5
};

/* A command: its arguments without its name. */
enum cli_exit cli_plan(int argc, char **argv);
enum cli_exit cli_tags(int argc, char **argv);
enum cli_exit cli_frontier(int argc, char **argv);
enum cli_exit cli_report(int argc, char **argv);
enum cli_exit cli_export(int argc, char **argv);
enum cli_exit cli_explain(int argc, char **argv);
enum cli_exit cli_diff(int argc, char **argv);
enum cli_exit cli_ping(int argc, char **argv);

/* The exit code that goes with a problem. */
enum cli_exit cli_problem_exit(enum proto_problem_kind kind);
/* Writes the problem document to stderr; returns its exit code. */
enum cli_exit cli_problem_print(const struct proto_problem *problem);
/* One line on stderr, printf-style, then where to read more; CLI_USAGE. */
enum cli_exit cli_usage_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The whole of a file ("-": standard input), but at most limit + 1 bytes: the
 * caller sees from the length that there was more. NULL and a problem when it
 * cannot be read. The caller frees it. */
char *cli_read(const char *path, size_t limit, size_t *length,
               struct proto_problem *problem);
/* Writes to stdout and makes sure that it arrived (a full disk shows only when
 * the last byte is flushed). False after a message on stderr. */
bool cli_write(const char *text, size_t length);

#endif
