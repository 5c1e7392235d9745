/*
 * envelope.c: the body of a what-if job.
 *
 *   joining    from the request of another job and what a client posted
 *   opening    the plan request that a body stands for
 */
#include "envelope.h"

#include "decode.h"

#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON nests no deeper. */
#define MOST_LEVELS 64u

/* ---- joining ------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The byte behind a string literal that begins at `i`. */
static size_t skip_string(const char *text, size_t length, size_t i)
{
    for (i++; i < length && text[i] != '"'; i++)
        i += text[i] == '\\';
    return i + 1;
}

/* Whether the text is one thing in brackets and nothing more, so that what is
 * put behind it can never be read as a part of it. What is inside is for
 * whoever reads the envelope. */
static bool is_one_object(const char *text, size_t length)
{
    size_t open = 0;
    size_t i = 0;

    while (length > 0 && is_blank(text[length - 1]))
        length--;
    while (i < length && is_blank(text[i]))
        i++;
    if (i == length || text[i] != '{')
        return false;
    while (i < length) {
        const char c = text[i];

        if (c == '"') {
            i = skip_string(text, length, i);
            continue;
        }
        open += c == '{' || c == '[';
        open -= c == '}' || c == ']';
        i++;
        if (open == 0)
            return i == length;
    }
    return false;
}

/* Whether what was posted is a JSON object. */
static bool check_posted(const struct proto_limits *limits,
                         const struct proto_what_if_parts *parts,
                         struct proto_problem *problem)
{
    const struct proto_source source = {parts->what_if == NULL ? ""
                                                               : parts->what_if,
                                        parts->what_if_length, NULL};
    struct proto_budget budget = {.limit_bytes = limits->memory_bytes};
    struct proto_path root = {0};
    struct proto_json json;
    json_t *tree;

    proto_json_begin(&json, &budget);
    tree = proto_json_parse(&json, source, limits->depth, problem);
    if (tree == NULL && problem->kind == PROTO_NO_PROBLEM)
        proto_decode_no_memory(problem, &budget);
    else if (tree != NULL && !json_is_object(tree))
        proto_decode_expected(problem, &root,
                              "an object with \"tags\" and \"options\"", tree);
    proto_json_end(&json);
    return problem->kind == PROTO_NO_PROBLEM;
}

static char *put(char *at, const char *text, size_t n)
{
    memcpy(at, text, n);
    return at + n;
}

static bool join(const struct proto_what_if_parts *parts, char **body,
                 size_t *length)
{
    static const char first[] = "{\"base\":";
    static const char second[] = ",\"what_if\":";
    const size_t n_more = sizeof first + sizeof second;
    char *at;

    if (parts->base_length > SIZE_MAX / 4 ||
        parts->what_if_length > SIZE_MAX / 4)
        return false;
    *length = 0;
    *body = malloc(parts->base_length + parts->what_if_length + n_more);
    if (*body == NULL)
        return false;
    at = put(*body, first, sizeof first - 1);
    at = put(at, parts->base, parts->base_length);
    at = put(at, second, sizeof second - 1);
    at = put(at, parts->what_if, parts->what_if_length);
    at = put(at, "}", 1);
    *at = '\0';
    *length = (size_t)(at - *body);
    return true;
}

bool proto_what_if_body(const struct proto_limits *limits,
                        const struct proto_what_if_parts *parts, char **body,
                        size_t *length, struct proto_problem *problem)
{
    *body = NULL;
    if (!check_posted(limits, parts, problem))
        return false;
    if (parts->base == NULL || !is_one_object(parts->base, parts->base_length))
        proto_problem_set(problem, PROTO_INVALID_GRAPH, NULL,
                          "the job's own request is no JSON object: nothing "
                          "can be changed about it");
    else if (!join(parts, body, length))
        proto_problem_set(problem, PROTO_OUT_OF_MEMORY, NULL,
                          "there is no memory left for this request, try "
                          "again later");
    return *body != NULL;
}

/* ---- opening ------------------------------------------------------------ */

bool proto_envelope_is(const json_t *json)
{
    return json_object_get(json, "base") != NULL &&
           json_object_get(json, "what_if") != NULL;
}

static bool refuse(struct proto_problem *problem, const char *what)
{
    proto_problem_set(problem, PROTO_UNKNOWN_OPTION, NULL,
                      "the changes of the job that is asked about: expected %s",
                      what);
    return false;
}

/* False without memory. */
static bool append_tags(json_t *request, json_t *tags)
{
    json_t *passes = json_object_get(request, "passes");
    json_t *pass =
        json_pack("{ssso}", "pass", "set_tags", "tags", json_incref(tags));

    if (passes == NULL) {
        passes = json_array();
        if (passes == NULL ||
            json_object_set_new(request, "passes", passes) != 0)
            return false;
    }
    if (!json_is_array(passes))
        return true; /* the decoder says what is wrong */
    return json_array_append_new(passes, pass) == 0;
}

static bool lay_options(json_t *request, json_t *options)
{
    json_t *own = json_object_get(request, "options");

    if (own == NULL)
        return json_object_set(request, "options", options) == 0;
    return !json_is_object(own) || json_object_update(own, options) == 0;
}

static bool apply(json_t *request, json_t *changes,
                  struct proto_problem *problem)
{
    const char *key;
    json_t *member;
    bool done = true;

    if (!json_is_object(changes))
        return refuse(problem, "an object");
    json_object_foreach (changes, key, member) {
        if (!json_is_object(member))
            return refuse(problem, "objects in it");
        if (strcmp(key, "tags") == 0)
            done = done && append_tags(request, member);
        else if (strcmp(key, "options") == 0)
            done = done && lay_options(request, member);
        else
            return refuse(problem, "\"tags\", \"options\" or both");
    }
    return done;
}

bool proto_envelope_open(json_t *body, unsigned *n_levels,
                         struct proto_problem *problem)
{
    json_t *changes[MOST_LEVELS];
    json_t *request = body;
    unsigned n = 0;
    bool done = true;

    for (; proto_envelope_is(request) && n < MOST_LEVELS; n++) {
        changes[n] = json_object_get(request, "what_if");
        request = json_object_get(request, "base");
    }
    *n_levels = n;
    (void)json_object_del(request, "rank");
    (void)json_object_del(request, "world_size");
    if (n == 0)
        return true;
    if (!json_is_object(request))
        return refuse(problem, "an object to be changed");
    json_incref(request);
    for (unsigned i = n; i-- > 0 && done;)
        done = apply(request, changes[i], problem);
    for (unsigned i = 0; i < n; i++)
        json_incref(
            changes[i]); /* the tree is the session's: no one frees it */
    json_object_clear(body);
    return done && json_object_update(body, request) == 0;
}

static bool begins_with(const char *text, const char *front)
{
    return strncmp(text, front, strlen(front)) == 0;
}

void proto_envelope_point(struct proto_problem *problem, const char *front,
                          unsigned n_levels)
{
    static const char level[] = "/base";
    char rest[sizeof(problem->pointer)];
    size_t n = strlen(front);

    if (n_levels == 0 || !problem->has_pointer ||
        !begins_with(problem->pointer, front))
        return;
    memcpy(rest, problem->pointer, sizeof(rest));
    if (begins_with(rest + n, "/options") || begins_with(rest + n, "/passes")) {
        problem->has_pointer = false;
        problem->pointer[0] = '\0';
        return;
    }
    for (; n_levels > 0 && n + sizeof(level) < sizeof(problem->pointer);
         n_levels--) {
        memcpy(problem->pointer + n, level, sizeof(level) - 1);
        n += sizeof(level) - 1;
    }
    snprintf(problem->pointer + n, sizeof(problem->pointer) - n, "%s",
             rest + strlen(front));
}
