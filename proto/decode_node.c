/*
 * decode_node.c: one node. A table of fields, each with the function that reads
 * it; what is in no row is noted and ignored.
 */
#include "decode.h"

#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef bool decode_field(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec);

#define X(name, text) text,
static const char *const policies[] = {REMAT_POLICY_MAP(X)};
static const char *const placements[] = {REMAT_PLACEMENT_MAP(X)};
#undef X
#define X(name, bit, text) text,
static const char *const traits[] = {REMAT_TRAIT_MAP(X)};
#undef X
#define X(name, bit, text) name,
static const enum remat_trait trait_bits[] = {REMAT_TRAIT_MAP(X)};
#undef X
static const char *const ops[] = {"placeholder", "get_attr", "call_function",
                                  "output"};
static const enum remat_op op_values[] = {REMAT_PLACEHOLDER, REMAT_GET_ATTR,
                                          REMAT_CALL_FUNCTION, REMAT_OUTPUT};

/* The position of the string among the words, or -1 and a problem that says
 * what to write. */
static int decode_word(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, const char *what,
                       struct proto_words words)
{
    char advice[256];
    int i;

    if (!json_is_string(json)) {
        proto_decode_expected(d->problem, path, "a string", json);
        return -1;
    }
    i = proto_words_find(words, json_string_value(json));
    if (i < 0) {
        proto_words_advise(words, json_string_value(json), advice,
                           sizeof(advice));
        proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                          "unknown %s \"%s\", %s", what,
                          json_string_value(json), advice);
    }
    return i;
}

static bool decode_bool(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, bool *out)
{
    if (!json_is_boolean(json))
        return proto_decode_expected(d->problem, path, "true or false", json);
    *out = json_is_true(json);
    return true;
}

/* ---- one function for each field ---- */

static bool decode_name(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path,
                        struct remat_node_spec *spec)
{
    remat_node other;

    if (!proto_decode_string(d, json, path, &spec->name))
        return false;
    if (spec->name[0] == '\0')
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a node's name may not be empty");
    other = remat_graph_find(d->job, spec->name);
    if (other == REMAT_NONE)
        return true;
    return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                             "the name \"%s\" is taken by node %" PRIu32
                             ", names are unique",
                             spec->name, other);
}

static bool decode_op(struct proto_decoder *d, json_t *json,
                      const struct proto_path *path,
                      struct remat_node_spec *spec)
{
    int i = decode_word(d, json, path, "op", PROTO_WORDS(ops));

    if (i < 0)
        return false;
    spec->op = op_values[i];
    d->is_output = spec->op == REMAT_OUTPUT;
    return true;
}

static bool decode_target(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    return proto_decode_string(d, json, path, &spec->target);
}

static bool decode_val(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path,
                       struct remat_node_spec *spec)
{
    return proto_decode_value(d, json, path, &spec->value);
}

static bool decode_alias(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_node_spec *spec)
{
    const char *name = json_string_value(json);

    if (name == NULL)
        return proto_decode_expected(d->problem, path, "a string", json);
    spec->alias_of = remat_graph_find(d->job, name);
    if (spec->alias_of != REMAT_NONE)
        return true;
    if (name[0] == '%')
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "alias_of is a plain name, write \"%s\" "
                                 "without %%",
                                 name + 1);
    return proto_fail_reference(d, path, "", name);
}

static bool decode_recompute(struct proto_decoder *d, json_t *json,
                             const struct proto_path *path,
                             struct remat_node_spec *spec)
{
    int i = decode_word(d, json, path, "checkpoint tag", PROTO_WORDS(policies));

    spec->policy = (enum remat_policy)(i + 1);
    return i >= 0;
}

static bool decode_placement(struct proto_decoder *d, json_t *json,
                             const struct proto_path *path,
                             struct remat_node_spec *spec)
{
    int i =
        decode_word(d, json, path, "partitioner_tag", PROTO_WORDS(placements));

    spec->placement = (enum remat_placement)(i + 1);
    return i >= 0;
}

static bool decode_trait(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_node_spec *spec)
{
    const char *word;
    char advice[256];
    int i;

    if (!json_is_string(json))
        return proto_decode_expected(d->problem, path, "a string", json);
    word = json_string_value(json);
    i = proto_words_find(PROTO_WORDS(traits), word + (word[0] == '-'));
    if (i < 0) {
        proto_words_advise(PROTO_WORDS(traits), word + (word[0] == '-'), advice,
                           sizeof(advice));
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "unknown trait \"%s\", %s (a leading - "
                                 "denies)",
                                 word, advice);
    }
    if (word[0] == '-')
        spec->traits_denied |= (uint32_t)trait_bits[i];
    else
        spec->traits_added |= (uint32_t)trait_bits[i];
    return true;
}

static bool decode_traits(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    json_t *item;
    size_t i;

    if (!json_is_array(json))
        return proto_decode_expected(d->problem, path, "a list of traits",
                                     json);
    json_array_foreach (json, i, item) {
        struct proto_path inner = proto_path_index(path, i);

        if (!decode_trait(d, item, &inner, spec))
            return false;
    }
    return true;
}

static bool decode_region(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    if (!json_is_integer(json))
        return proto_decode_expected(d->problem, path, "an integer", json);
    spec->has_ac_graph_id = true;
    spec->ac_graph_id = json_integer_value(json);
    return true;
}

static bool decode_hook(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path,
                        struct remat_node_spec *spec)
{
    return decode_bool(d, json, path, &spec->has_backward_hook);
}

static bool decode_vc_check(struct proto_decoder *d, json_t *json,
                            const struct proto_path *path,
                            struct remat_node_spec *spec)
{
    return decode_bool(d, json, path, &spec->no_vc_check);
}

static bool decode_opaque(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    return decode_bool(d, json, path, &spec->opaque);
}

static bool decode_binds(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_node_spec *spec)
{
    return proto_decode_string(d, json, path, &spec->binds);
}

static bool decode_mutated(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct remat_node_spec *spec)
{
    return proto_decode_strings(d, json, path, &spec->mutated_args,
                                &spec->n_mutated_args);
}

static bool decode_budget(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    double budget = json_number_value(json);

    if (!json_is_number(json))
        return proto_decode_expected(d->problem, path, "a number from 0 to 1",
                                     json);
    if (!(budget >= 0 && budget <= 1))
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "memory_budget is %g, expected 0 to 1",
                                 budget);
    spec->has_memory_budget = true;
    spec->memory_budget = budget;
    return true;
}

static bool decode_runtime(struct proto_decoder *d, json_t *json,
                           const struct proto_path *path,
                           struct remat_node_spec *spec)
{
    if (!json_is_number(json))
        return proto_decode_expected(d->problem, path, "a number", json);
    spec->has_runtime = true;
    spec->runtime = json_number_value(json);
    return spec->runtime >= 0 ||
           proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                             "runtime is %g, expected 0 or more",
                             spec->runtime);
}

static bool decode_module(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    return proto_decode_string(d, json, path, &spec->module);
}

static bool decode_stack(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_node_spec *spec)
{
    return proto_decode_string(d, json, path, &spec->stack);
}

/* ---- the table ---- */

/* X(field, function); op first: how args are read depends on it. */
#define FIELD_MAP(X)                       \
    X("op", decode_op)                     \
    X("name", decode_name)                 \
    X("target", decode_target)             \
    X("args", proto_decode_args)           \
    X("val", decode_val)                   \
    X("partitioner_tag", decode_placement) \
    X("alias_of", decode_alias)            \
    X("module", decode_module)             \
    X("recompute", decode_recompute)       \
    X("ac_graph_id", decode_region)        \
    X("traits", decode_traits)             \
    X("kwargs", proto_decode_kwargs)       \
    X("has_backward_hook", decode_hook)    \
    X("no_vc_check", decode_vc_check)      \
    X("opaque", decode_opaque)             \
    X("binds", decode_binds)               \
    X("mutated_args", decode_mutated)      \
    X("memory_budget", decode_budget)      \
    X("runtime", decode_runtime)           \
    X("stack", decode_stack)
enum {
    AT_OP,
    AT_NAME,
    AT_TARGET
};

#define X(name, function) name,
static const char *const field_names[] = {FIELD_MAP(X)};
#undef X
#define X(name, function) function,
static decode_field *const field_decoders[] = {FIELD_MAP(X)};
#undef X

static bool decode_member(struct proto_decoder *d, const char *key,
                          json_t *member, const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    struct proto_path inner = proto_path_key(path, key);
    int i = proto_words_find(PROTO_WORDS(field_names), key);

    if (i == AT_OP)
        return true; /* read first */
    if (i < 0)
        return proto_note_field(d, "node", key, PROTO_WORDS(field_names));
    return field_decoders[i](d, member, &inner, spec);
}

/* name, op and (but for the output) target are needed. */
static bool check_present(struct proto_decoder *d,
                          const struct proto_path *path,
                          struct remat_node_spec *spec)
{
    if (spec->target == NULL && d->is_output)
        spec->target = "output";
    if (spec->name != NULL && spec->target != NULL)
        return true;
    return proto_decode_fail(
        d->problem, PROTO_INVALID_GRAPH, path, "a node needs %s",
        spec->name == NULL ? "a name"
                           : "a target: the operator with its overload, "
                             "or a placeholder's label");
}

/* Only calls and the output read other nodes. */
static bool check_inputs(struct proto_decoder *d, const struct proto_path *path,
                         const struct remat_node_spec *spec)
{
    struct proto_path args = proto_path_key(path, "args");
    struct proto_path kwargs = proto_path_key(path, "kwargs");

    if (d->n_references == 0 ||
        (spec->op != REMAT_PLACEHOLDER && spec->op != REMAT_GET_ATTR))
        return true;
    return proto_decode_fail(
        d->problem, PROTO_INVALID_GRAPH, spec->n_args > 0 ? &args : &kwargs,
        "a %s reads no other node, write call_function "
        "for an operator",
        spec->op == REMAT_PLACEHOLDER ? "placeholder" : "get_attr");
}

/* Strings that name nodes, on a call that refers to none: most likely the %
 * was forgotten. */
static void note_unmarked(struct proto_decoder *d)
{
    struct proto_notes *notes = &d->notes;

    if (d->unmarked_text == NULL || d->n_references != 0)
        return;
    if (notes->n_unmarked++ == 0)
        notes->unmarked = (remat_node)d->position;
    if (notes->unmarked_text == NULL)
        notes->unmarked_text = remat_job_strdup(d->job, d->unmarked_text);
}

bool proto_decode_node(struct proto_decoder *d, json_t *object,
                       const struct proto_path *path,
                       struct remat_node_spec *spec)
{
    struct proto_path at_op = proto_path_key(path, field_names[AT_OP]);
    json_t *op = json_object_get(object, field_names[AT_OP]);
    const char *key;
    json_t *member;

    *spec = (struct remat_node_spec){.alias_of = REMAT_NONE};
    d->n_references = 0;
    d->unmarked_text = NULL;
    if (!json_is_object(object))
        return proto_decode_expected(d->problem, path, "a node object", object);
    if (op == NULL)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a node needs an op: placeholder, get_attr, "
                                 "call_function or output");
    if (!decode_op(d, op, &at_op, spec))
        return false;
    json_object_foreach (object, key, member) {
        if (!decode_member(d, key, member, path, spec))
            return false;
    }
    if (spec->op == REMAT_CALL_FUNCTION)
        note_unmarked(d);
    return check_present(d, path, spec) && check_inputs(d, path, spec);
}
