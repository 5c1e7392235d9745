/*
 * problem.c: what went wrong, as a value and as an RFC 9457 document.
 */
#include "proto.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *code;
    int status;
    const char *title;
};

static const struct row rows[] = {
#define X(name, code, status, title) [name] = {code, status, title},
    PROTO_PROBLEM_MAP(X)
#undef X
};

const char *proto_problem_code(enum proto_problem_kind kind)
{
    return rows[kind].code;
}

const char *proto_problem_title(enum proto_problem_kind kind)
{
    return rows[kind].title;
}

int proto_problem_status(enum proto_problem_kind kind)
{
    return rows[kind].status;
}

void proto_problem_set(struct proto_problem *problem,
                       enum proto_problem_kind kind, const char *pointer,
                       const char *format, ...)
{
    va_list args;

    if (problem->kind != PROTO_NO_PROBLEM)
        return;
    problem->kind = kind;
    problem->has_pointer = pointer != NULL;
    if (pointer != NULL)
        snprintf(problem->pointer, sizeof(problem->pointer), "%s", pointer);
    va_start(args, format);
    vsnprintf(problem->detail, sizeof(problem->detail), format, args);
    va_end(args);
}

static void add_member(struct proto_text *text, const char *key,
                       const char *value)
{
    proto_text_puts(text, ",\n  ");
    proto_text_quote_words(text, key);
    proto_text_puts(text, ": ");
    proto_text_quote_words(text, value);
}

char *proto_problem_encode(const struct proto_problem *problem,
                           const char *request_id)
{
    const struct row *row = &rows[problem->kind];
    struct proto_text text;

    proto_text_init(&text, NULL);
    proto_text_puts(&text, "{\n  \"type\": \"urn:remat:problem:");
    proto_text_puts(&text, row->code);
    proto_text_puts(&text, "\"");
    add_member(&text, "title", row->title);
    proto_text_format(&text, ",\n  \"status\": %d", row->status);
    add_member(&text, "detail", problem->detail);
    add_member(&text, "code", row->code);
    if (problem->has_pointer) {
        proto_text_puts(&text, ",\n  \"errors\": [{\"pointer\": ");
        proto_text_quote_words(&text, problem->pointer);
        proto_text_puts(&text, ", \"detail\": ");
        proto_text_quote_words(&text, problem->detail);
        proto_text_puts(&text, "}]");
    }
    if (request_id != NULL)
        add_member(&text, "request_id", request_id);
    proto_text_puts(&text, "\n}\n");
    return proto_text_take(&text, NULL);
}

void proto_free(char *text)
{
    free(text);
}
