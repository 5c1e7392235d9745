/*
 * decode_options.c: the options of a request. What is not known is
 * refused, with the nearest known name: a silently ignored option is a wrong
 * answer.
 */
#include "decode.h"

#include "json.h"

#include <inttypes.h>
#include <string.h>

typedef bool decode_option(struct proto_problem *problem, json_t *json,
                           const struct proto_path *path,
                           struct proto_options *options);

void proto_options_init(struct proto_options *options)
{
    *options = (struct proto_options){.explain = PROTO_EXPLAIN_SUMMARY};
    remat_options_init(&options->core);
}

static bool fail(struct proto_problem *problem, const struct proto_path *path,
                 const char *option, const char *expected, json_t *found)
{
    return proto_decode_fail(problem, PROTO_UNKNOWN_OPTION, path,
                             "%s is %s, found %s", option, expected,
                             proto_json_kind(found));
}

/* ---- one function for each option ---- */

#define X(name, value)                                                     \
    static bool decode_##name(struct proto_problem *problem, json_t *json, \
                              const struct proto_path *path,               \
                              struct proto_options *options)               \
    {                                                                      \
        options->core.name = json_is_true(json);                           \
        return json_is_boolean(json) ||                                    \
               fail(problem, path, #name, "true or false", json);          \
    }
REMAT_BOOL_OPTION_MAP(X)
#undef X

/* The position of the value among the words, or -1 and a problem. */
static int decode_word(struct proto_problem *problem, json_t *json,
                       const struct proto_path *path, struct proto_words words)
{
    char advice[256];
    int i;

    if (!json_is_string(json)) {
        fail(problem, path, path->key, "a string", json);
        return -1;
    }
    i = proto_words_find(words, json_string_value(json));
    if (i < 0) {
        proto_words_advise(words, json_string_value(json), advice,
                           sizeof(advice));
        proto_decode_fail(problem, PROTO_UNKNOWN_OPTION, path,
                          "unknown value \"%s\" of %s, %s",
                          json_string_value(json), path->key, advice);
    }
    return i;
}

static bool decode_profile(struct proto_problem *problem, json_t *json,
                           const struct proto_path *path,
                           struct proto_options *options)
{
    static const char *const words[] = {"pytorch", "pytorch-2.13", "plain"};
    int i = decode_word(problem, json, path, PROTO_WORDS(words));

    options->core.profile =
        i == 2 ? REMAT_PROFILE_PLAIN : REMAT_PROFILE_PYTORCH;
    return i >= 0;
}

static bool decode_solver(struct proto_problem *problem, json_t *json,
                          const struct proto_path *path,
                          struct proto_options *options)
{
    static const char *const words[] = {"dp", "greedy", "ilp",
                                        "dp_knapsack_sliding_hirschberg"};
    static const enum remat_knapsack values[] = {
        REMAT_KNAPSACK_DP, REMAT_KNAPSACK_GREEDY, REMAT_KNAPSACK_ILP,
        REMAT_KNAPSACK_HIRSCHBERG};
    int i = decode_word(problem, json, path, PROTO_WORDS(words));

    if (i >= 0)
        options->core.activation_memory_budget_solver = values[i];
    return i >= 0;
}

static bool decode_estimator(struct proto_problem *problem, json_t *json,
                             const struct proto_path *path,
                             struct proto_options *options)
{
    static const char *const words[] = {"flops", "testing", "given"};
    static const enum remat_estimator values[] = {
        REMAT_ESTIMATE_FLOPS, REMAT_ESTIMATE_TESTING, REMAT_ESTIMATE_GIVEN};
    int i = decode_word(problem, json, path, PROTO_WORDS(words));

    if (i >= 0)
        options->core.activation_memory_budget_runtime_estimator = values[i];
    return i >= 0;
}

static const char *const explain_names[] = {"none", "summary", "full"};

const char *proto_explain_name(enum proto_explain explain)
{
    return explain_names[explain];
}

static bool decode_explain(struct proto_problem *problem, json_t *json,
                           const struct proto_path *path,
                           struct proto_options *options)
{
    int i = decode_word(problem, json, path, PROTO_WORDS(explain_names));

    if (i >= 0)
        options->explain = (enum proto_explain)i;
    return i >= 0;
}

/* An integer of at least `least`. */
static bool decode_integer(struct proto_problem *problem, json_t *json,
                           const struct proto_path *path, int64_t least,
                           int64_t *value)
{
    if (!json_is_integer(json))
        return fail(problem, path, path->key, "an integer", json);
    *value = json_integer_value(json);
    return *value >= least ||
           proto_decode_fail(problem, PROTO_UNKNOWN_OPTION, path,
                             "%s is %" PRId64 ", expected %" PRId64 " or more",
                             path->key, *value, least);
}

static bool decode_max_dist(struct proto_problem *problem, json_t *json,
                            const struct proto_path *path,
                            struct proto_options *options)
{
    return decode_integer(problem, json, path, 0,
                          &options->core.max_dist_from_bw);
}

static bool decode_budget(struct proto_problem *problem, json_t *json,
                          const struct proto_path *path,
                          struct proto_options *options)
{
    double budget = json_number_value(json);

    if (!json_is_number(json))
        return fail(problem, path, path->key, "a number from 0 to 1", json);
    options->core.activation_memory_budget = budget;
    return (budget >= 0 && budget <= 1) ||
           proto_decode_fail(problem, PROTO_UNKNOWN_OPTION, path,
                             "%s is %g, expected 0 to 1", path->key, budget);
}

static bool decode_memory_limit(struct proto_problem *problem, json_t *json,
                                const struct proto_path *path,
                                struct proto_options *options)
{
    options->core.memory_limit_bytes = -1;
    return json_is_null(json) ||
           decode_integer(problem, json, path, 0,
                          &options->core.memory_limit_bytes);
}

static bool decode_deadline(struct proto_problem *problem, json_t *json,
                            const struct proto_path *path,
                            struct proto_options *options)
{
    options->has_deadline = !json_is_null(json);
    return json_is_null(json) ||
           decode_integer(problem, json, path, 1, &options->deadline_ms);
}

/* X(option, function) */
#define OPTION_MAP(X)                                                 \
    X("profile", decode_profile)                                      \
    X("max_dist_from_bw", decode_max_dist)                            \
    X("activation_memory_budget", decode_budget)                      \
    X("activation_memory_budget_solver", decode_solver)               \
    X("activation_memory_budget_runtime_estimator", decode_estimator) \
    X("memory_limit_bytes", decode_memory_limit)                      \
    X("deadline_ms", decode_deadline)                                 \
    X("explain", decode_explain)
#define X(name, function) name,
#define Y(name, value)    #name,
static const char *const option_names[] = {OPTION_MAP(X)
                                               REMAT_BOOL_OPTION_MAP(Y)};
#undef X
#undef Y
#define X(name, function) function,
#define Y(name, value)    decode_##name,
static decode_option *const option_decoders[] = {OPTION_MAP(X)
                                                     REMAT_BOOL_OPTION_MAP(Y)};
#undef X
#undef Y

bool proto_decode_options(struct proto_problem *problem, json_t *json,
                          struct proto_options *options)
{
    struct proto_path root = {0};
    struct proto_path path = proto_path_key(&root, "options");
    const char *key;
    json_t *member;

    if (json == NULL)
        return true;
    if (!json_is_object(json))
        return fail(problem, &path, "options", "an object", json);
    json_object_foreach (json, key, member) {
        struct proto_path inner = proto_path_key(&path, key);
        int i = proto_words_find(PROTO_WORDS(option_names), key);
        const char *nearest;

        if (i < 0) {
            nearest = proto_words_nearest(PROTO_WORDS(option_names), key);
            return proto_decode_fail(problem, PROTO_UNKNOWN_OPTION, &inner,
                                     "there is no option \"%s\"%s%s", key,
                                     nearest == NULL ? "" : ", did you mean ",
                                     nearest == NULL ? "" : nearest);
        }
        if (!option_decoders[i](problem, member, &inner, options))
            return false;
    }
    return true;
}
