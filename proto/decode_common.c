/*
 * decode_common.c: what every part of the decoder says and reads.
 */
#include "decode.h"

#include "json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool proto_decode_fail(struct proto_problem *problem,
                       enum proto_problem_kind kind,
                       const struct proto_path *path, const char *format, ...)
{
    char detail[sizeof(problem->detail)];
    char pointer[sizeof(problem->pointer)];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    proto_path_write(path, pointer, sizeof(pointer));
    proto_problem_set(problem, kind, pointer, "%s", detail);
    return false;
}

bool proto_decode_expected(struct proto_problem *problem,
                           const struct proto_path *path, const char *what,
                           json_t *found)
{
    return proto_decode_fail(
        problem, PROTO_INVALID_GRAPH, path, "expected %s, found %s", what,
        json_is_null(found) ? "null: leave the member out where there is "
                              "nothing to say"
                            : proto_json_kind(found));
}

bool proto_decode_no_memory(struct proto_problem *problem,
                            const struct proto_budget *budget)
{
    if (budget->stopped)
        proto_problem_set(problem, PROTO_DEADLINE, NULL,
                          "the request was given up before there was a plan");
    else if (budget->over_limit)
        proto_problem_set(problem, PROTO_TOO_LARGE, NULL,
                          "the request needs more memory than the limit of "
                          "%zu bytes for its JSON tree, graph and solver "
                          "together",
                          budget->limit_bytes);
    else
        proto_problem_set(problem, PROTO_OUT_OF_MEMORY, NULL,
                          "there is no memory left for this request, try "
                          "again later");
    return false;
}

void *proto_decode_alloc(struct proto_decoder *d, size_t n, size_t size)
{
    void *block = remat_job_alloc(d->job, n, size);

    if (block == NULL)
        proto_decode_no_memory(d->problem, d->budget);
    return block;
}

/* The order of "scope.field" against a noted one. */
static int compare_field(const char *scope, const char *field,
                         const char *noted)
{
    size_t n = strlen(scope);
    int order = strncmp(scope, noted, n);

    if (order == 0)
        order = '.' - noted[n];
    return order != 0 ? order : strcmp(field, noted + n + 1);
}

/* Where the field stands among the noted ones or would be put: they are in
 * order and, when there are too many, the first, so that the order of members
 * in the document says nothing. */
static uint32_t place_of_field(const struct proto_notes *notes,
                               const char *scope, const char *field)
{
    uint32_t at = notes->n_fields;

    while (at > 0 && compare_field(scope, field, notes->fields[at - 1]) <= 0)
        at--;
    return at;
}

bool proto_note_field(struct proto_decoder *d, const char *scope,
                      const char *field, struct proto_words known)
{
    struct proto_notes *notes = &d->notes;
    uint32_t at = place_of_field(notes, scope, field);
    size_t size = strlen(scope) + strlen(field) + 2;
    uint32_t n_moved;
    char *name;

    if (at < notes->n_fields &&
        compare_field(scope, field, notes->fields[at]) == 0)
        return true;
    if (notes->n_fields == PROTO_MOST_NOTED_FIELDS)
        notes->more_fields = true;
    if (at == PROTO_MOST_NOTED_FIELDS)
        return true;
    name = proto_decode_alloc(d, size, 1);
    if (name == NULL)
        return false;
    snprintf(name, size, "%s.%s", scope, field);
    n_moved = notes->n_fields - at - notes->more_fields;
    memmove(&notes->fields[at + 1], &notes->fields[at],
            n_moved * sizeof(*notes->fields));
    memmove(&notes->meant[at + 1], &notes->meant[at],
            n_moved * sizeof(*notes->meant));
    notes->meant[at] = proto_words_nearest(known, field);
    notes->fields[at] = name;
    notes->n_fields += !notes->more_fields;
    return true;
}

bool proto_decode_string(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, const char **text)
{
    if (!json_is_string(json))
        return proto_decode_expected(d->problem, path, "a string", json);
    *text = remat_job_strdup(d->job, json_string_value(json));
    return *text != NULL || proto_decode_no_memory(d->problem, d->budget);
}

bool proto_decode_strings(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          const char *const **strings, uint32_t *n)
{
    size_t n_items = json_array_size(json);
    const char **copies;

    if (!json_is_array(json))
        return proto_decode_expected(d->problem, path, "a list of strings",
                                     json);
    copies = proto_decode_alloc(d, n_items, sizeof(*copies));
    if (copies == NULL)
        return false;
    for (size_t i = 0; i < n_items; i++) {
        struct proto_path item = proto_path_index(path, i);

        if (!proto_decode_string(d, json_array_get(json, i), &item, &copies[i]))
            return false;
    }
    *strings = copies;
    *n = (uint32_t)n_items;
    return true;
}

bool proto_decode_count(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, const char *what,
                        int64_t most, int64_t *count)
{
    if (json_is_real(json))
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s is an integer, found the real number %g: "
                                 "write it without point and exponent",
                                 what, json_real_value(json));
    if (!json_is_integer(json))
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s is an integer, found %s", what,
                                 proto_json_kind(json));
    *count = json_integer_value(json);
    if (*count < 0 && most == INT64_MAX)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s is %" PRId64 ", expected 0 or more", what,
                                 *count);
    if (*count < 0 || *count > most)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s is %" PRId64 ", expected 0 to %" PRId64,
                                 what, *count, most);
    return true;
}
