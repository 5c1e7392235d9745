/*
 * decode_arg.c: arguments: literals, references and typed literals, nested.
 *
 * Recursion is bounded by the document's depth, at most 64.
 */
#include "decode.h"

#include "canon.h"
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool decode_arg(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, struct remat_arg *arg);

/* The position of the node called `name` in the document, or -1. Only for
 * messages: O(nodes). */
static long find_anywhere(const struct proto_decoder *d, const char *name)
{
    size_t i;
    json_t *node;

    json_array_foreach (d->nodes, i, node) {
        json_t *other = json_object_get(node, "name");

        if (json_is_string(other) &&
            strcmp(json_string_value(other), name) == 0)
            return (long)i;
    }
    return -1;
}

/* An earlier node whose name is nearly `name` and can stand behind `mark`, or
 * NULL: behind "%", a name with a "%" of its own would be a literal. */
static const char *find_nearly(const struct proto_decoder *d, const char *mark,
                               const char *name)
{
    enum {
        MOST_TRIED = 4096
    };
    size_t most = strlen(name) / 4 + 1;
    const char *nearest = NULL;

    for (size_t i = d->position; i > 0 && d->position - i < MOST_TRIED; i--) {
        const char *other = remat_graph_node(d->job, (remat_node)(i - 1))->name;
        size_t distance = proto_word_distance(other, name, most);

        if (distance <= most && (mark[0] == '\0' || other[0] != '%')) {
            nearest = other;
            if (distance == 0)
                break;
            most = distance - 1;
        }
    }
    return nearest;
}

bool proto_fail_reference(struct proto_decoder *d,
                          const struct proto_path *path, const char *mark,
                          const char *name)
{
    long position = find_anywhere(d, name);
    const char *nearest;

    if (position >= 0 && (size_t)position == d->position)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s%s refers to the node it stands in, a node "
                                 "only refers to earlier ones",
                                 mark, name);
    if (position >= 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s%s refers to a later node (position %ld), "
                                 "list the nodes in execution order",
                                 mark, name, position);
    nearest = find_nearly(d, mark, name);
    if (nearest != NULL)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s%s refers to an unknown node, did you mean "
                                 "%s%s?",
                                 mark, name, mark, nearest);
    if (mark[0] == '\0')
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "%s refers to an unknown node, write the name "
                                 "of an earlier one",
                                 name);
    return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                             "%%%s refers to an unknown node: give the name of "
                             "an earlier one, or write %%%%%s for a literal "
                             "string that starts with %%",
                             name, name);
}

static bool decode_reference(struct proto_decoder *d, const char *name,
                             const struct proto_path *path,
                             struct remat_arg *arg)
{
    arg->kind = REMAT_ARG_NODE;
    arg->as.node = remat_graph_find(d->job, name);
    d->n_references++;
    return arg->as.node != REMAT_NONE ||
           proto_fail_reference(d, path, "%", name);
}

static bool decode_text(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, struct remat_arg *arg)
{
    const char *text = json_string_value(json);

    if (text[0] == '%' && text[1] != '%')
        return decode_reference(d, text + 1, path, arg);
    if (text[0] == '%')
        text++;
    else if ((d->unmarked_text == NULL || strcmp(text, d->unmarked_text) < 0) &&
             remat_graph_find(d->job, text) != REMAT_NONE)
        d->unmarked_text = text; /* the least: members have no order */
    arg->kind = REMAT_ARG_STRING;
    arg->as.text = remat_job_strdup(d->job, text);
    return arg->as.text != NULL ||
           proto_decode_no_memory(d->problem, d->budget);
}

/* A real number with an integer's value is that integer: JSON does not tell
 * them apart, and neither does a document's digest. */
static void decode_real(double real, struct remat_arg *arg)
{
    const double bound = 9223372036854775808.0; /* 2^63 */

    if (real >= -bound && real < bound && real == floor(real)) {
        arg->kind = REMAT_ARG_INT;
        arg->as.integer = (int64_t)real;
    } else {
        arg->kind = REMAT_ARG_FLOAT;
        arg->as.real = real;
    }
}

static bool decode_items(struct proto_decoder *d, json_t *list,
                         const struct proto_path *path, struct remat_arg *arg)
{
    size_t n = json_array_size(list);
    struct remat_arg *items;

    items = proto_decode_alloc(d, n, sizeof(*items));
    if (items == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path item = proto_path_index(path, i);

        if (!decode_arg(d, json_array_get(list, i), &item, &items[i]))
            return false;
    }
    arg->n_items = (uint32_t)n;
    arg->as.items = items;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    return proto_canon_compare(((const struct remat_arg *)a)->key,
                               ((const struct remat_arg *)b)->key);
}

/* The order of members means nothing, so it must not decide anything: they are
 * read in canonical order. Most objects have few, and in order. */
static void sort_members(struct remat_arg *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare_keys(&items[i - 1], &items[i]) > 0) {
            qsort(items, n, sizeof(*items), compare_keys);
            return;
        }
}

static bool decode_members(struct proto_decoder *d, json_t *object,
                           const struct proto_path *path, struct remat_arg *arg)
{
    struct remat_arg *items;
    const char *key;
    json_t *value;
    size_t n = 0;

    items = proto_decode_alloc(d, json_object_size(object), sizeof(*items));
    if (items == NULL)
        return false;
    json_object_foreach (object, key, value) {
        struct proto_path item = proto_path_key(path, key);

        if (!decode_arg(d, value, &item, &items[n]))
            return false;
        items[n].key = remat_job_strdup(d->job, key);
        if (items[n++].key == NULL)
            return proto_decode_no_memory(d->problem, d->budget);
    }
    sort_members(items, n);
    arg->n_items = (uint32_t)n;
    arg->as.items = items;
    return true;
}

/* ---- typed literals: an object with one member ---- */

static bool decode_dict(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, struct remat_arg *arg)
{
    if (!json_is_object(json))
        return proto_decode_expected(d->problem, path,
                                     "an object from names to arguments", json);
    arg->kind = REMAT_ARG_DICT;
    return decode_members(d, json, path, arg);
}

static bool decode_slice(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, struct remat_arg *arg)
{
    if (!json_is_array(json) || json_array_size(json) != 3)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a slice is a list of three: start, stop and "
                                 "step, null where there is none");
    arg->kind = REMAT_ARG_SLICE;
    return decode_items(d, json, path, arg);
}

static bool decode_float(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, struct remat_arg *arg)
{
    static const char *const names[] = {"inf", "-inf", "nan"};
    static const double values[] = {(double)INFINITY, (double)-INFINITY,
                                    (double)NAN};
    int i = -1;

    if (json_is_string(json))
        i = proto_words_find(PROTO_WORDS(names), json_string_value(json));
    if (i < 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a float literal is \"inf\", \"-inf\" or "
                                 "\"nan\", every other number stands for "
                                 "itself");
    arg->kind = REMAT_ARG_FLOAT;
    arg->as.real = values[i];
    return true;
}

static bool decode_other(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, struct remat_arg *arg)
{
    if (!json_is_string(json))
        return proto_decode_expected(d->problem, path, "a string", json);
    arg->kind = REMAT_ARG_OTHER;
    return true;
}

typedef bool decode_literal(struct proto_decoder *d, json_t *json,
                            const struct proto_path *path,
                            struct remat_arg *arg);

static const char *const literal_names[] = {"dtype",         "device", "layout",
                                            "memory_format", "slice",  "float",
                                            "dict",          "op",     "repr"};
static decode_literal *const literal_decoders[] = {
    decode_other, decode_other, decode_other, decode_other, decode_slice,
    decode_float, decode_dict,  decode_other, decode_other};

static bool decode_typed(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, struct remat_arg *arg)
{
    void *member = json_object_iter(json);
    char advice[256];
    struct proto_path inner;
    const char *key;
    int i;

    if (json_object_size(json) != 1)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "an object among arguments is a typed literal "
                                 "with one member, this one has %zu: write "
                                 "{\"dict\": {...}} for a dictionary",
                                 json_object_size(json));
    key = json_object_iter_key(member);
    i = proto_words_find(PROTO_WORDS(literal_names), key);
    if (i < 0) {
        proto_words_advise(PROTO_WORDS(literal_names), key, advice,
                           sizeof(advice));
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "unknown kind of literal \"%s\", %s", key,
                                 advice);
    }
    inner = proto_path_key(path, key);
    return literal_decoders[i](d, json_object_iter_value(member), &inner, arg);
}

static bool decode_arg(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, struct remat_arg *arg)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return decode_text(d, json, path, arg);
    case JSON_INTEGER:
        arg->kind = REMAT_ARG_INT;
        arg->as.integer = json_integer_value(json);
        return true;
    case JSON_REAL:
        decode_real(json_real_value(json), arg);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        arg->kind = REMAT_ARG_BOOL;
        arg->as.boolean = json_is_true(json);
        return true;
    case JSON_ARRAY:
        arg->kind = REMAT_ARG_LIST;
        return decode_items(d, json, path, arg);
    case JSON_OBJECT:
        return decode_typed(d, json, path, arg);
    case JSON_NULL:
        break;
    }
    arg->kind = REMAT_ARG_NULL;
    return true;
}

/* ---- the args of a node ---- */

/* An entry of the output node: a reference or null. */
static bool decode_output(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path, struct remat_arg *arg)
{
    const char *text = json_is_string(json) ? json_string_value(json) : NULL;

    if (json_is_null(json) ||
        (text != NULL && text[0] == '%' && text[1] != '%'))
        return decode_arg(d, json, path, arg);
    if (text != NULL && find_anywhere(d, text) >= 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "\"%s\" is a literal string, write \"%%%s\" "
                                 "to refer to the node of that name",
                                 text, text);
    if (json_is_array(json))
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "the output node's args are one flat list, "
                                 "write its references without an inner list");
    return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                             "the output node's args are references such as "
                             "\"%%mm\" and null where there is no gradient, "
                             "found %s %s",
                             proto_json_kind(json), text != NULL ? text : "");
}

bool proto_decode_args(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path,
                       struct remat_node_spec *spec)
{
    struct remat_arg list = {0};
    struct remat_arg *items;
    size_t n = json_array_size(json);

    if (!json_is_array(json))
        return proto_decode_expected(d->problem, path, "a list of arguments",
                                     json);
    if (!d->is_output) {
        if (!decode_items(d, json, path, &list))
            return false;
        spec->args = list.as.items;
        spec->n_args = list.n_items;
        return true;
    }
    items = proto_decode_alloc(d, n, sizeof(*items));
    if (items == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path item = proto_path_index(path, i);

        if (!decode_output(d, json_array_get(json, i), &item, &items[i]))
            return false;
    }
    spec->args = items;
    spec->n_args = (uint32_t)n;
    return true;
}

bool proto_decode_kwargs(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_node_spec *spec)
{
    struct remat_arg dict = {0};

    if (!json_is_object(json))
        return proto_decode_expected(d->problem, path,
                                     "an object from names to arguments", json);
    if (d->is_output && json_object_size(json) != 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "the output node has no kwargs, list its "
                                 "references in args");
    if (!decode_members(d, json, path, &dict))
        return false;
    spec->kwargs = dict.as.items;
    spec->n_kwargs = dict.n_items;
    return true;
}
