/*
 * cli_io.c: reading documents, writing answers and problems.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cli_exit cli_problem_exit(enum proto_problem_kind kind)
{
    if (kind == PROTO_TOO_LARGE || kind == PROTO_OUT_OF_MEMORY)
        return CLI_GAVE_UP; /* more room would have helped */
    if (kind == PROTO_INTERNAL)
        return CLI_INTERNAL;
    return proto_problem_status(kind) < 500 ? CLI_BAD_INPUT : CLI_GAVE_UP;
}

enum cli_exit cli_problem_print(const struct proto_problem *problem)
{
    char *text = proto_problem_encode(problem, NULL);

    if (text != NULL)
        fputs(text, stderr);
    else
        fprintf(stderr, "remat: %s: %s\n", proto_problem_code(problem->kind),
                problem->detail);
    proto_free(text);
    return cli_problem_exit(problem->kind);
}

enum cli_exit cli_usage_error(const char *format, ...)
{
    va_list args;

    fputs("remat: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\nTry: remat --help\n", stderr);
    return CLI_USAGE;
}

/* Reads until the end, an error (false, errno set) or limit + 1 bytes. */
static bool read_stream(FILE *file, size_t limit, char **text, size_t *length)
{
    size_t capacity = 0;

    *text = NULL;
    *length = 0;
    while (*length <= limit) {
        if (*length == capacity) {
            const size_t want = capacity == 0 ? 65536 : capacity * 2;
            char *grown = realloc(*text, want);

            if (grown == NULL)
                return false;
            *text = grown;
            capacity = want;
        }
        size_t room = capacity - *length;
        if (room > limit + 1 - *length)
            room = limit + 1 - *length;
        const size_t n_read = fread(*text + *length, 1, room, file);

        *length += n_read;
        if (n_read < room)
            return !ferror(file);
    }
    return true;
}

/* strerror without its static buffer. */
static const char *error_text(int error, char *buffer, size_t size)
{
    if (strerror_r(error, buffer, size) != 0)
        snprintf(buffer, size, "error %d", error);
    return buffer;
}

char *cli_read(const char *path, size_t limit, size_t *length,
               struct proto_problem *problem)
{
    char *text = NULL;
    char why[128];
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");

    if (file == NULL || !read_stream(file, limit, &text, length)) {
        const int error = errno;

        proto_problem_set(problem,
                          error == ENOMEM   ? PROTO_OUT_OF_MEMORY
                          : error == ENOENT ? PROTO_NOT_FOUND
                                            : PROTO_BAD_REQUEST,
                          NULL, "cannot read %s: %s", path,
                          error_text(error, why, sizeof why));
        free(text);
        text = NULL;
    }
    if (file != NULL && !is_stdin)
        fclose(file); /* only read from: nothing can be lost here */
    return text;
}

bool cli_write(const char *text, size_t length)
{
    char why[128];

    if (fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0)
        return true;
    fprintf(stderr, "remat: cannot write the answer: %s\n",
            error_text(errno, why, sizeof why));
    return false;
}
