/*
 * decode_passes.c: the passes of a request. Members that a pass does not know
 * are refused, and so are values out of range: a pass that does not do what was
 * meant gives a wrong plan.
 */
#include "decode.h"

#include "json.h"

#include <inttypes.h>
#include <string.h>

typedef bool decode_member(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct proto_pass *pass);

static bool fail(struct proto_decoder *d, const struct proto_path *path,
                 const char *expected, json_t *found)
{
    return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                             "expected %s, found %s", expected,
                             proto_json_kind(found));
}

/* ---- members ---- */

static const char stage_sizes[] = "a number of 0 or more, \"auto\" or null";

static bool decode_stage_size(struct proto_decoder *d, json_t *json,
                              const struct proto_path *path,
                              struct proto_pass *pass)
{
    double size = json_number_value(json);

    if (json_is_null(json)) {
        pass->core.stage = REMAT_STAGE_NONE;
        return true;
    }
    if (json_is_string(json) && strcmp(json_string_value(json), "auto") == 0) {
        pass->core.stage = REMAT_STAGE_AUTO;
        return true;
    }
    if (json_is_string(json))
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                                 "unknown value \"%s\" of stage_size_gib, "
                                 "expected %s",
                                 json_string_value(json), stage_sizes);
    if (!json_is_number(json))
        return fail(d, path, stage_sizes, json);
    pass->core.stage = REMAT_STAGE_GIB;
    pass->core.stage_size_gib = size;
    return size >= 0 ||
           proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                             "stage_size_gib is %g, expected %s", size,
                             stage_sizes);
}

static bool decode_reshard(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct proto_pass *pass)
{
    pass->core.reshard_after_forward = json_is_true(json);
    return json_is_boolean(json) || fail(d, path, "true or false", json);
}

static bool decode_otherwise(struct proto_decoder *d, json_t *json,
                             const struct proto_path *path,
                             struct proto_pass *pass)
{
    return proto_decode_policy(d, json, path,
                               "a tag, such as \"prefer_recompute\"",
                               &pass->core.otherwise);
}

static bool decode_modules(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct proto_pass *pass)
{
    if (!json_is_string(json))
        return fail(d, path, "a pattern, such as \"blocks.*\"", json);
    return proto_decode_string(d, json, path, &pass->core.modules);
}

/* ---- operators to save ---- */

static bool decode_every(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, uint32_t *every)
{
    json_int_t value = json_integer_value(json);

    if (!json_is_integer(json))
        return fail(d, path, "an integer of 1 or more", json);
    if (value < 1)
        return proto_decode_fail(
            d->problem, PROTO_UNKNOWN_OPTION, path,
            "every is %" JSON_INTEGER_FORMAT ", expected 1 or more", value);
    /* further apart than a graph can have nodes: the first match alone */
    *every = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    return true;
}

static bool decode_counted(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct remat_save_entry *entry)
{
    static const char *const fields[] = {"op", "every"};
    struct proto_path at_op = proto_path_key(path, "op");
    json_t *op = json_object_get(json, "op");
    const char *key;
    json_t *member;

    if (!json_is_string(op))
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, &at_op,
                                 "expected the operator as a string, such as "
                                 "\"aten.mm.default\"");
    json_object_foreach (json, key, member) {
        struct proto_path inner = proto_path_key(path, key);
        char advice[256];

        if (strcmp(key, "every") == 0 &&
            !decode_every(d, member, &inner, &entry->every))
            return false;
        if (proto_words_find(PROTO_WORDS(fields), key) >= 0)
            continue;
        proto_words_advise(PROTO_WORDS(fields), key, advice, sizeof(advice));
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_PASS, &inner,
                                 "an operator to save has no member \"%s\", %s",
                                 key, advice);
    }
    return proto_decode_string(d, op, &at_op, &entry->target);
}

static bool decode_entry(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         const struct proto_pass *pass,
                         struct remat_save_entry *entry)
{
    bool counts = pass->core.kind == REMAT_PASS_SAC_POLICY;

    entry->every = 1;
    if (json_is_string(json))
        return proto_decode_string(d, json, path, &entry->target);
    if (json_is_object(json) && counts)
        return decode_counted(d, json, path, entry);
    return fail(d, path,
                counts ? "an operator, such as \"aten.mm.default\" or "
                         "{\"op\": \"aten.mm.default\", \"every\": 2}"
                       : "the name of an operator, such as "
                         "\"aten.mm.default\" (of which autoparallel always "
                         "saves every other)",
                json);
}

static bool decode_save(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, struct proto_pass *pass)
{
    size_t n = json_array_size(json);
    struct remat_save_entry *entries;

    if (!json_is_array(json))
        return fail(d, path, "a list of operators", json);
    entries = proto_decode_alloc(d, n, sizeof(*entries));
    if (entries == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(path, i);

        if (!decode_entry(d, json_array_get(json, i), &inner, pass,
                          &entries[i]))
            return false;
    }
    pass->core.has_save = true;
    pass->core.save = entries;
    pass->core.n_save = (uint32_t)n;
    return true;
}

/* ---- a pass ---- */

enum {
    MOST_MEMBERS = 4
};

/* The members of each pass behind "pass". The first of them may be needed:
 * `needed` says what it holds. */
static const struct kind {
    const char *name;
    enum remat_pass_kind kind;
    size_t n;
    const char *needed; /* NULL: none is */
    const char *members[MOST_MEMBERS];
    decode_member *decode[MOST_MEMBERS];
} kinds[] = {
    {"sac_policy",
     REMAT_PASS_SAC_POLICY,
     4,
     NULL,
     {"pass", "otherwise", "save", "modules"},
     {NULL, decode_otherwise, decode_save, decode_modules}},
    {"stage_recomputation",
     REMAT_PASS_STAGE_RECOMPUTATION,
     2,
     stage_sizes,
     {"pass", "stage_size_gib"},
     {NULL, decode_stage_size}},
    {"fsdp_all_gather",
     REMAT_PASS_FSDP_ALL_GATHER,
     2,
     "true or false",
     {"pass", "reshard_after_forward"},
     {NULL, decode_reshard}},
    {"autoparallel",
     REMAT_PASS_AUTOPARALLEL,
     3,
     stage_sizes,
     {"pass", "stage_size_gib", "save"},
     {NULL, decode_stage_size, decode_save}},
    {"repair_tags", REMAT_PASS_REPAIR_TAGS, 1, NULL, {"pass"}, {NULL}},
    {"set_tags",
     REMAT_PASS_SET_TAGS,
     2,
     "nodes and their tags, such as {\"mm\": \"must_save\"}",
     {"pass", "tags"},
     {NULL, proto_decode_tags}},
};
enum {
    N_KINDS = sizeof(kinds) / sizeof(kinds[0])
};

/* The kind of pass, or NULL and a problem. */
static const struct kind *decode_name(struct proto_decoder *d, json_t *json,
                                      const struct proto_path *path)
{
    const char *name = json_string_value(json_object_get(json, "pass"));
    struct proto_path inner = proto_path_key(path, "pass");
    const char *names[N_KINDS];
    char advice[256];

    if (name == NULL) {
        proto_decode_fail(d->problem, PROTO_UNKNOWN_PASS, path,
                          "a pass is an object with its name in \"pass\", such "
                          "as {\"pass\": \"repair_tags\"}");
        return NULL;
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(names[i], name) == 0)
            return &kinds[i];
    }
    proto_words_advise(PROTO_WORDS(names), name, advice, sizeof(advice));
    proto_decode_fail(d->problem, PROTO_UNKNOWN_PASS, &inner,
                      "there is no pass \"%s\", %s", name, advice);
    return NULL;
}

static bool check_members(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          const struct kind *kind)
{
    struct proto_words members = {kind->members, kind->n};
    const char *key;
    json_t *member;

    json_object_foreach (json, key, member) {
        struct proto_path inner = proto_path_key(path, key);
        char advice[256];

        if (proto_words_find(members, key) >= 0)
            continue;
        proto_words_advise(members, key, advice, sizeof(advice));
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_PASS, &inner,
                                 "the pass %s has no member \"%s\", %s",
                                 kind->name, key, advice);
    }
    if (kind->needed != NULL && json_object_get(json, kind->members[1]) == NULL)
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_PASS, path,
                                 "the pass %s needs the member \"%s\": %s",
                                 kind->name, kind->members[1], kind->needed);
    return true;
}

static bool decode_pass(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, struct proto_pass *pass)
{
    const struct kind *kind = decode_name(d, json, path);

    if (kind == NULL || !check_members(d, json, path, kind))
        return false;
    pass->name = kind->name;
    pass->core.kind = kind->kind;
    pass->core.otherwise = REMAT_PREFER_RECOMPUTE;
    for (size_t i = 1; i < kind->n; i++) {
        struct proto_path inner = proto_path_key(path, kind->members[i]);
        json_t *member = json_object_get(json, kind->members[i]);

        if (member != NULL && !kind->decode[i](d, member, &inner, pass))
            return false;
    }
    return true;
}

bool proto_decode_passes(struct proto_decoder *d, json_t *json,
                         struct proto_passes *passes)
{
    struct proto_path root = {0};
    struct proto_path path = proto_path_key(&root, "passes");
    size_t n = json_array_size(json);

    *passes = (struct proto_passes){0};
    if (json == NULL)
        return true;
    if (!json_is_array(json))
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_PASS, &path,
                                 "passes is a list of passes, found %s",
                                 proto_json_kind(json));
    passes->at = proto_decode_alloc(d, n, sizeof(*passes->at));
    if (passes->at == NULL)
        return false;
    passes->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(&path, i);

        if (!decode_pass(d, json_array_get(json, i), &inner, &passes->at[i]))
            return false;
    }
    return true;
}

bool proto_passes_read_modules(json_t *passes)
{
    json_t *pass;
    size_t i;

    json_array_foreach (passes, i, pass) {
        if (json_object_get(pass, "modules") != NULL)
            return true;
    }
    return false;
}
