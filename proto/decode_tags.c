/*
 * decode_tags.c: the tags of the pass set_tags, which names nodes of the graph.
 *
 * Passes are read before the graph, because the digest needs them; so the tags
 * are read in two steps.
 */
#include "decode.h"

#include "json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char spellings[] =
    "a tag, such as \"must_save\", a tag and a region, such as "
    "[\"must_save\", 2], or null for no tag";

bool proto_decode_policy(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, const char *expected,
                         enum remat_policy *policy)
{
#define X(name, text) text,
    static const char *const words[] = {REMAT_POLICY_MAP(X)};
#undef X
    char advice[256];
    int i;

    if (!json_is_string(json))
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                                 "expected %s, found %s", expected,
                                 proto_json_kind(json));
    i = proto_words_find(PROTO_WORDS(words), json_string_value(json));
    if (i >= 0) {
        *policy = (enum remat_policy)(i + 1);
        return true;
    }
    proto_words_advise(PROTO_WORDS(words), json_string_value(json), advice,
                       sizeof(advice));
    return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                             "unknown tag \"%s\", %s", json_string_value(json),
                             advice);
}

/* ["must_save", 2] */
static bool decode_pair(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, struct remat_tag *tag)
{
    struct proto_path at_policy = proto_path_index(path, 0);
    struct proto_path at_region = proto_path_index(path, 1);
    json_t *region = json_array_get(json, 1);

    if (json_array_size(json) != 2)
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                                 "expected %s, found a list of %zu items",
                                 spellings, json_array_size(json));
    tag->has_region = json_is_integer(region);
    tag->region = json_integer_value(region);
    if (!tag->has_region && !json_is_null(region))
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, &at_region,
                                 "expected a region, which is an integer, or "
                                 "null, found %s",
                                 proto_json_kind(region));
    return proto_decode_policy(d, json_array_get(json, 0), &at_policy,
                               spellings, &tag->policy);
}

static bool decode_tag(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, struct remat_set_tag *set)
{
    if (json_is_null(json))
        return true;
    if (json_is_array(json))
        return decode_pair(d, json, path, &set->tag);
    set->keeps_region = true;
    return proto_decode_policy(d, json, path, spellings, &set->tag.policy);
}

bool proto_decode_tags(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, struct proto_pass *pass)
{
    size_t n = json_object_size(json);
    const char *key;
    json_t *member;
    size_t i = 0;

    if (!json_is_object(json))
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, path,
                                 "expected an object of nodes and their tags, "
                                 "such as {\"mm\": \"must_save\"}, found %s",
                                 proto_json_kind(json));
    pass->tags = proto_decode_alloc(d, n, sizeof(*pass->tags));
    pass->tagged = proto_decode_alloc(d, n, sizeof(*pass->tagged));
    if (pass->tags == NULL || pass->tagged == NULL)
        return false;
    json_object_foreach (json, key, member) {
        struct proto_path inner = proto_path_key(path, key);

        if (!decode_tag(d, member, &inner, &pass->tags[i]))
            return false;
        pass->tagged[i] = remat_job_strdup(d->job, key);
        if (pass->tagged[i++] == NULL)
            return proto_decode_no_memory(d->problem, d->budget);
    }
    pass->core.n_tags = (uint32_t)n;
    return true;
}

/* ---- with the graph ---- */

const char *proto_nearest_node(const struct remat_job *job, const char *name)
{
    uint32_t n = remat_graph_n_nodes(job);
    size_t length = strlen(name);
    size_t most = length / 4 + 1;
    const char *nearest = NULL;

    for (remat_node v = 0; v < n && most > 0; v++) {
        const char *known = remat_graph_name(job, v);
        size_t n_known = strlen(known);
        size_t distance;

        if (n_known > length + most || length > n_known + most)
            continue;
        distance = proto_word_distance(known, name, most);
        if (distance > most)
            continue;
        nearest = known;
        most = distance > 0 ? distance - 1 : 0;
        if (distance == 0)
            break;
    }
    return nearest;
}

static bool fail_name(struct proto_decoder *d, uint32_t number,
                      const char *name)
{
    const char *nearest = proto_nearest_node(d->job, name);
    struct proto_path root = {0};
    struct proto_path at_passes = proto_path_key(&root, "passes");
    struct proto_path at_pass = proto_path_index(&at_passes, number);
    struct proto_path at_tags = proto_path_key(&at_pass, "tags");
    struct proto_path path = proto_path_key(&at_tags, name);

    if (nearest != NULL)
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, &path,
                                 "there is no node \"%.300s\", did you mean "
                                 "%.300s?",
                                 name, nearest);
    return proto_decode_fail(d->problem, PROTO_UNKNOWN_OPTION, &path,
                             "there is no node \"%.300s\", write the name of a "
                             "node of the graph",
                             name);
}

static int compare_nodes(const void *a, const void *b)
{
    remat_node x = ((const struct remat_set_tag *)a)->node;
    remat_node y = ((const struct remat_set_tag *)b)->node;

    return x < y ? -1 : x > y;
}

static bool find_nodes(struct proto_decoder *d, uint32_t number,
                       struct proto_pass *pass)
{
    const char *unknown = NULL;

    for (uint32_t i = 0; i < pass->core.n_tags; i++) {
        const char *name = pass->tagged[i];

        pass->tags[i].node = remat_graph_find(d->job, name);
        if (pass->tags[i].node == REMAT_NONE &&
            (unknown == NULL || strcmp(name, unknown) < 0))
            unknown = name; /* the least: members have no order */
    }
    if (unknown != NULL)
        return fail_name(d, number, unknown);
    if (pass->core.n_tags > 0)
        qsort(pass->tags, pass->core.n_tags, sizeof(*pass->tags),
              compare_nodes);
    pass->core.tags = pass->tags;
    return true;
}

bool proto_find_tagged(struct proto_decoder *d, struct proto_passes *passes)
{
    for (uint32_t i = 0; i < passes->n; i++)
        if (passes->at[i].core.kind == REMAT_PASS_SET_TAGS &&
            !find_nodes(d, i, &passes->at[i]))
            return false;
    return true;
}
