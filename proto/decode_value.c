/*
 * decode_value.c: what a node computes: tensors, symbols, containers.
 *
 * Sizes are checked when they are read; a value whose size is not known is
 * fine until the decision asks for it.
 */
#include "decode.h"

#include "json.h"

#include <string.h>

static const char *const value_kinds[] = {"dtype", "tuple",  "dict",
                                          "sym",   "opaque", "const"};
static const char *const tensor_fields[] = {
    "dtype", "shape", "hint", "numel_hint", "symbols", "no_storage"};
static const char *const symbol_fields[] = {"sym", "hint", "expr", "symbols"};

static bool note_others(struct proto_decoder *d, json_t *json,
                        struct proto_words known)
{
    const char *key;
    json_t *member;

    json_object_foreach (json, key, member) {
        if (proto_words_find(known, key) < 0 &&
            !proto_note_field(d, "val", key, known))
            return false;
    }
    return true;
}

/* The strings of the optional member `symbols`. */
static bool decode_symbols(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct remat_value *value)
{
    json_t *symbols = json_object_get(json, "symbols");
    struct proto_path inner = proto_path_key(path, "symbols");

    return symbols == NULL ||
           proto_decode_strings(d, symbols, &inner, &value->symbols,
                                &value->n_symbols);
}

/* ---- tensors ---- */

static bool fail_dtype(struct proto_decoder *d, const struct proto_path *path,
                       const char *dtype)
{
    static const char *const common[] = {
        "float32",       "float16",     "bfloat16",  "float64",   "int64",
        "int32",         "int16",       "int8",      "uint8",     "bool",
        "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"};
    char advice[256];

    proto_words_advise(PROTO_WORDS(common), dtype, advice, sizeof(advice));
    return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                             "unknown dtype \"%s\", %s", dtype, advice);
}

static bool decode_dtype(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_value *value, int64_t *element_bytes)
{
    struct proto_path inner = proto_path_key(path, "dtype");
    const char *dtype;

    if (!json_is_string(json))
        return proto_decode_expected(d->problem, &inner, "a string", json);
    dtype = json_string_value(json);
    *element_bytes = remat_dtype_bytes(dtype);
    if (*element_bytes == 0)
        return fail_dtype(d, &inner, dtype);
    if (d->last_type == NULL || strcmp(d->last_type, dtype) != 0)
        d->last_type = remat_job_strdup(d->job, dtype);
    value->type_name = d->last_type;
    return d->last_type != NULL ||
           proto_decode_no_memory(d->problem, d->budget);
}

/* Checks `shape`; *is_symbolic when a size of it is a symbol. */
static bool check_shape(struct proto_decoder *d, json_t *shape,
                        const struct proto_path *path, bool *is_symbolic)
{
    json_t *size;
    size_t i;
    int64_t ignored;

    if (!json_is_array(shape))
        return proto_decode_expected(d->problem, path, "a list of sizes",
                                     shape);
    json_array_foreach (shape, i, size) {
        struct proto_path item = proto_path_index(path, i);

        if (json_is_string(size))
            *is_symbolic = true;
        else if (!proto_decode_count(d, size, &item, "a size", INT64_MAX,
                                     &ignored))
            return false;
    }
    return true;
}

static bool decode_dims(struct proto_decoder *d, json_t *list,
                        const struct proto_path *path,
                        struct remat_value *value)
{
    size_t n = json_array_size(list);
    int64_t *dims;

    dims = proto_decode_alloc(d, n, sizeof(*dims));
    if (dims == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path item = proto_path_index(path, i);

        if (!proto_decode_count(d, json_array_get(list, i), &item, "a size",
                                INT64_MAX, &dims[i]))
            return false;
    }
    value->dims = dims;
    value->n_dims = (uint32_t)n;
    return true;
}

/* Sizes in numbers: `hint`, or `shape` where it has no symbol. */
static bool decode_hints(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_value *value)
{
    json_t *shape = json_object_get(json, "shape");
    json_t *hint = json_object_get(json, "hint");
    struct proto_path at_shape = proto_path_key(path, "shape");
    struct proto_path at_hint = proto_path_key(path, "hint");
    bool is_symbolic = false;

    if (shape == NULL)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a tensor needs a shape, [] for a scalar");
    if (!check_shape(d, shape, &at_shape, &is_symbolic))
        return false;
    if (hint == NULL && !is_symbolic)
        return decode_dims(d, shape, &at_shape, value);
    if (hint == NULL)
        return json_object_get(json, "numel_hint") != NULL ||
               proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a shape with a symbol needs a hint: the same "
                                 "list with a number for every size");
    if (!json_is_array(hint) || json_array_size(hint) != json_array_size(shape))
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, &at_hint,
                                 "a hint is a list of %zu sizes, one for each "
                                 "of shape",
                                 json_array_size(shape));
    return decode_dims(d, hint, &at_hint, value);
}

static bool set_bytes(struct proto_decoder *d, json_t *json,
                      const struct proto_path *path, int64_t element_bytes,
                      struct remat_value *value)
{
    json_t *numel = json_object_get(json, "numel_hint");
    struct proto_path inner = proto_path_key(path, "numel_hint");
    struct remat_error error = {0};
    enum remat_status status;
    int64_t n_elements;

    if (numel == NULL) {
        status = remat_tensor_bytes(value->dims, value->n_dims, element_bytes,
                                    &value->n_bytes, &error);
    } else {
        if (!proto_decode_count(d, numel, &inner, "a number of elements",
                                INT64_MAX, &n_elements))
            return false;
        status = remat_tensor_bytes(&n_elements, 1, element_bytes,
                                    &value->n_bytes, &error);
    }
    if (status == REMAT_OK)
        return true;
    return proto_decode_fail(
        d->problem, PROTO_INVALID_GRAPH, path,
        "the tensor's bytes need more than 63 bits, expected "
        "sizes whose product fits");
}

static bool decode_no_storage(struct proto_decoder *d, json_t *json,
                              const struct proto_path *path,
                              struct remat_value *value)
{
    struct proto_path inner = proto_path_key(path, "no_storage");
    json_t *member = json_object_get(json, "no_storage");

    if (member != NULL && !json_is_boolean(member))
        return proto_decode_expected(d->problem, &inner, "true or false",
                                     member);
    value->no_storage = json_is_true(member);
    return true;
}

static bool decode_tensor(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_value *value)
{
    int64_t element_bytes = 0;

    value->kind = REMAT_VALUE_TENSOR;
    return decode_dtype(d, json_object_get(json, "dtype"), path, value,
                        &element_bytes) &&
           decode_hints(d, json, path, value) &&
           set_bytes(d, json, path, element_bytes, value) &&
           decode_symbols(d, json, path, value) &&
           decode_no_storage(d, json, path, value) &&
           note_others(d, json, PROTO_WORDS(tensor_fields));
}

/* ---- symbols and containers ---- */

static bool decode_sym(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, struct remat_value *value)
{
    static const char *const names[] = {"int", "float", "bool"};
    static const enum remat_value_kind kinds[] = {
        REMAT_VALUE_SYM_INT, REMAT_VALUE_SYM_FLOAT, REMAT_VALUE_SYM_BOOL};
    struct proto_path at_sym = proto_path_key(path, "sym");
    struct proto_path at_hint = proto_path_key(path, "hint");
    struct proto_path at_expr = proto_path_key(path, "expr");
    json_t *sym = json_object_get(json, "sym");
    json_t *hint = json_object_get(json, "hint");
    json_t *expr = json_object_get(json, "expr");
    int i = -1;

    if (json_is_string(sym))
        i = proto_words_find(PROTO_WORDS(names), json_string_value(sym));
    if (i < 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, &at_sym,
                                 "a symbol is of \"int\", \"float\" or "
                                 "\"bool\"");
    if (hint != NULL && !json_is_number(hint) && !json_is_boolean(hint) &&
        !json_is_null(hint))
        return proto_decode_expected(d->problem, &at_hint,
                                     "a number, true, false or null", hint);
    if (expr != NULL && !json_is_string(expr))
        return proto_decode_expected(d->problem, &at_expr, "a string", expr);
    value->kind = kinds[i];
    return decode_symbols(d, json, path, value) &&
           note_others(d, json, PROTO_WORDS(symbol_fields));
}

static bool decode_tuple(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_value *value)
{
    json_t *list = json_object_get(json, "tuple");
    struct proto_path inner = proto_path_key(path, "tuple");
    size_t n = json_array_size(list);
    struct remat_value *members;

    if (!json_is_array(list))
        return proto_decode_expected(d->problem, &inner, "a list of values",
                                     list);
    members = proto_decode_alloc(d, n, sizeof(*members));
    if (members == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path item = proto_path_index(&inner, i);

        if (!proto_decode_value(d, json_array_get(list, i), &item, &members[i]))
            return false;
    }
    value->kind = REMAT_VALUE_TUPLE;
    value->members = members;
    value->n_members = (uint32_t)n;
    return note_others(d, json, (struct proto_words){&value_kinds[1], 1});
}

static bool decode_dict(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path,
                        struct remat_value *value)
{
    json_t *object = json_object_get(json, "dict");
    struct proto_path inner = proto_path_key(path, "dict");
    struct remat_value *members;
    const char *key;
    json_t *member;
    size_t n = 0;

    if (!json_is_object(object))
        return proto_decode_expected(d->problem, &inner,
                                     "an object from names to values", object);
    members = proto_decode_alloc(d, json_object_size(object), sizeof(*members));
    if (members == NULL)
        return false;
    json_object_foreach (object, key, member) {
        struct proto_path item = proto_path_key(&inner, key);

        if (!proto_decode_value(d, member, &item, &members[n++]))
            return false;
    }
    value->kind = REMAT_VALUE_DICT;
    value->members = members;
    value->n_members = (uint32_t)n;
    return note_others(d, json, (struct proto_words){&value_kinds[2], 1});
}

static bool decode_opaque(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_value *value)
{
    struct proto_path inner = proto_path_key(path, "opaque");

    value->kind = REMAT_VALUE_OPAQUE;
    return proto_decode_string(d, json_object_get(json, "opaque"), &inner,
                               &value->type_name) &&
           note_others(d, json, (struct proto_words){&value_kinds[4], 1});
}

static bool decode_const(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_value *value)
{
    (void)path;
    value->kind = REMAT_VALUE_CONST;
    return note_others(d, json, (struct proto_words){&value_kinds[5], 1});
}

typedef bool decode_kind(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_value *value);
static decode_kind *const kind_decoders[] = {decode_tensor, decode_tuple,
                                             decode_dict,   decode_sym,
                                             decode_opaque, decode_const};

bool proto_decode_value(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path,
                        struct remat_value *value)
{
    const char *key;
    json_t *member;
    int kind = -1;

    if (json_is_null(json)) {
        value->kind = REMAT_VALUE_NULL;
        return true;
    }
    if (!json_is_object(json))
        return proto_decode_expected(d->problem, path, "a value object or null",
                                     json);
    json_object_foreach (json, key, member) {
        int found = proto_words_find(PROTO_WORDS(value_kinds), key);

        if (found >= 0 && kind >= 0)
            return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                     "a value is one thing, this one has both "
                                     "%s and %s",
                                     value_kinds[kind], value_kinds[found]);
        if (found >= 0)
            kind = found;
    }
    if (kind < 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a value needs dtype and shape (a tensor), "
                                 "tuple, dict, sym, opaque or const");
    return kind_decoders[kind](d, json, path, value);
}
