/*
 * parse.c: a text to a tree, with a depth limit and JSON Pointers in errors.
 */
#include "parse.h"

#include <string.h>

/* Whether lists and objects nest deeper than `depth`. Counts brackets outside
 * of strings; whether they match is jansson's business. */
static bool is_too_deep(const char *text, size_t length, unsigned depth)
{
    bool in_string = false;
    size_t open = 0;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++open > depth)
                return true;
        } else if ((c == ']' || c == '}') && open > 0) {
            open--;
        }
    }
    return false;
}

static bool was_refused(const struct proto_json *json)
{
    return json->budget->over_limit || json->budget->no_memory ||
           json->budget->stopped;
}

static enum proto_problem_kind kind_at(const char *pointer)
{
    if (strncmp(pointer, "/options", 8) == 0)
        return PROTO_UNKNOWN_OPTION;
    if (strncmp(pointer, "/passes", 7) == 0)
        return PROTO_UNKNOWN_PASS;
    return PROTO_INVALID_GRAPH;
}

/* What is wrong with a text that is no JSON from its first byte on, or what
 * jansson says. */
static const char *describe_start(struct proto_source source,
                                  const char *otherwise)
{
    static const struct {
        const char *bytes;
        const char *words;
    } starts[] = {
        {"\xEF\xBB\xBF", "a byte order mark, send UTF-8 without one"},
        {"\xFF\xFE", "this is UTF-16, send UTF-8"},
        {"\xFE\xFF", "this is UTF-16, send UTF-8"},
        {"\x1F\x8B", "this is compressed (gzip), send plain JSON"},
        {"(\xB5/\xFD", "this is compressed (zstd), send plain JSON"},
    };
    size_t i = 0;

    while (i < source.length && strchr(" \t\r\n", source.text[i]) != NULL &&
           source.text[i] != '\0')
        i++;
    if (i == source.length)
        return "the document is empty";
    for (i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        size_t n = strlen(starts[i].bytes);

        if (source.length >= n && memcmp(source.text, starts[i].bytes, n) == 0)
            return starts[i].words;
    }
    return otherwise;
}

/* What jansson's code means to us; values it cannot hold are no syntax error,
 * they get a pointer. */
static void report(struct proto_json *json, const json_error_t *error,
                   struct proto_source source, struct proto_problem *problem)
{
    enum json_error_code code = json_error_code(error);
    const char *words = NULL;
    char pointer[sizeof(problem->pointer)];

    if (code == json_error_duplicate_key)
        words = "this key stands in its object twice, keep one of them";
    else if (code == json_error_numeric_overflow)
        words = "this number does not fit, expected an integer of 64 bits or "
                "a real number of double precision";
    else if (code == json_error_null_character ||
             code == json_error_null_byte_in_key)
        words = "this text holds the character U+0000, which no name may hold";
    if (words == NULL) {
        proto_problem_set(problem, PROTO_MALFORMED_JSON, NULL,
                          "%s%sline %d, column %d: %s",
                          source.what == NULL ? "" : source.what,
                          source.what == NULL ? "" : ": ", error->line,
                          error->column, describe_start(source, error->text));
        return;
    }
    proto_locate(json, source, (size_t)error->position, pointer,
                 sizeof(pointer));
    if (was_refused(json))
        return;
    proto_problem_set(problem, kind_at(pointer), pointer,
                      "line %d, column %d: %s", error->line, error->column,
                      words);
}

json_t *proto_json_parse(struct proto_json *json, struct proto_source source,
                         unsigned depth, struct proto_problem *problem)
{
    json_error_t error = {0};
    json_t *tree;

    if (is_too_deep(source.text, source.length, depth)) {
        proto_problem_set(problem, PROTO_TOO_LARGE, NULL,
                          "lists and objects nest deeper than the limit of %u",
                          depth);
        return NULL;
    }
    tree = proto_json_load(json, source.text, source.length,
                           JSON_REJECT_DUPLICATES, &error);
    if (tree == NULL && !was_refused(json))
        report(json, &error, source, problem);
    return tree;
}
