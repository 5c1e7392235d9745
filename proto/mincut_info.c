/*
 * mincut_info.c: reads PyTorch's artifact min_cut_information.
 *
 *   names       strings to positions, in order of first mention
 *   nodes       "Joint Graph Node Information"
 *   candidates  the knapsack's lists
 *   edges       who reads whom
 *   rest        saved values and numbers
 */
#include "mincut_info.h"

#include "json.h"
#include "mincut_keys.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct reader {
    struct proto_decoder *d;
    json_t *body;
    const struct proto_path *root;
    json_t *positions; /* of nodes by name */
    struct proto_mincut_node *nodes;
    uint32_t n_nodes;
    uint32_t capacity;
    struct proto_mincut_candidate *candidates;
    uint32_t n_candidates;
    struct proto_mincut_info *info;
};

/* ---- names ------------------------------------------------------------- */

static bool grow(struct reader *r)
{
    uint32_t capacity = r->capacity == 0 ? 64 : r->capacity * 2;
    struct proto_mincut_node *nodes =
        proto_decode_alloc(r->d, capacity, sizeof(*nodes));

    if (nodes == NULL)
        return false;
    if (r->n_nodes > 0)
        memcpy(nodes, r->nodes, r->n_nodes * sizeof(*nodes));
    r->nodes = nodes;
    r->capacity = capacity;
    return true;
}

/* The position of a name, a new one when it was not mentioned yet. Refusals are
 * false, which is written out here: clang's analyzer does not see it, and takes
 * *position for set. */
static bool find(struct reader *r, const char *name,
                 const struct proto_path *path, uint32_t *position)
{
    json_t *known = json_object_get(r->positions, name);
    struct proto_mincut_node *node;

    if (known != NULL) {
        *position = (uint32_t)json_integer_value(known);
        assert(r->nodes != NULL && *position < r->n_nodes);
        return true;
    }
    if (r->n_nodes == r->d->limits->n_nodes) {
        proto_decode_fail(r->d->problem, PROTO_TOO_LARGE, path,
                          "more than %" PRIu32 " nodes are named here, "
                          "that is the limit",
                          r->d->limits->n_nodes);
        return false;
    }
    if (r->n_nodes == r->capacity && !grow(r))
        return false;
    *position = r->n_nodes++;
    node = &r->nodes[*position];
    node->candidate = PROTO_NO_CANDIDATE;
    node->name = remat_job_strdup(r->d->job, name);
    if (node->name == NULL ||
        json_object_set_new_nocheck(r->positions, name,
                                    json_integer(*position)) != 0) {
        proto_decode_no_memory(r->d->problem, r->d->budget);
        return false;
    }
    return true;
}

static bool find_string(struct reader *r, json_t *json,
                        const struct proto_path *path, uint32_t *position)
{
    if (!json_is_string(json)) {
        proto_decode_expected(r->d->problem, path, "the name of a node", json);
        return false;
    }
    return find(r, json_string_value(json), path, position);
}

/* ---- members ----------------------------------------------------------- */

/* A list of the top level; *list is NULL, which has no items, when it is not
 * there. */
static bool get_list(struct reader *r, const char *key, struct proto_path *path,
                     json_t **list)
{
    *path = proto_path_key(r->root, key);
    *list = json_object_get(r->body, key);
    if (*list == NULL || json_is_array(*list))
        return true;
    return proto_decode_expected(r->d->problem, path, "a list", *list);
}

static bool get_number(struct reader *r, json_t *json,
                       const struct proto_path *path, double *number)
{
    *number = (double)NAN;
    if (json == NULL || json_is_null(json))
        return true;
    if (!json_is_number(json))
        return proto_decode_expected(r->d->problem, path, "a number", json);
    *number = json_number_value(json);
    return true;
}

/* An optional string; what is empty says nothing. */
static bool get_string(struct reader *r, json_t *object, const char *key,
                       const struct proto_path *path, const char **text)
{
    struct proto_path inner = proto_path_key(path, key);
    json_t *json = json_object_get(object, key);

    *text = NULL;
    if (json == NULL || json_is_null(json))
        return true;
    if (json_is_string(json) && json_string_length(json) == 0)
        return true;
    return proto_decode_string(r->d, json, &inner, text);
}

static bool get_flag(struct reader *r, json_t *object, const char *key,
                     const struct proto_path *path, bool *flag)
{
    struct proto_path inner = proto_path_key(path, key);
    json_t *json = json_object_get(object, key);

    if (json == NULL)
        return true;
    if (!json_is_boolean(json))
        return proto_decode_expected(r->d->problem, &inner, "true or false",
                                     json);
    *flag = json_is_true(json);
    return true;
}

/* ---- nodes ------------------------------------------------------------- */

static bool get_nodes(struct reader *r, struct proto_path *path, json_t **all)
{
    *path = proto_path_key(r->root, PROTO_KEY_NODES);
    *all = json_object_get(r->body, PROTO_KEY_NODES);
    if (*all == NULL || json_is_object(*all))
        return true;
    return proto_decode_expected(r->d->problem, path,
                                 "an object of nodes by name", *all);
}

/* Where a node with that member "index" belongs among n, or n. */
static size_t index_of(json_t *node, size_t n)
{
    json_t *json = json_object_get(node, "index");
    json_int_t index = json_integer_value(json);

    return json_is_integer(json) && index >= 0 && (size_t)index < n
               ? (size_t)index
               : n;
}

/* The names in the order of the graph: what `index` says where it says it of
 * all, else as they stand. NULL and a problem without memory. */
static const char **order_names(struct reader *r, json_t *all)
{
    size_t n = json_object_size(all);
    const char **by_index = proto_decode_alloc(r->d, n, sizeof(*by_index));
    const char **as_is = proto_decode_alloc(r->d, n, sizeof(*as_is));
    bool is_complete = true;
    size_t n_seen = 0;
    const char *key;
    json_t *node;

    if (by_index == NULL || as_is == NULL)
        return NULL;
    json_object_foreach (all, key, node) {
        size_t index = index_of(node, n);

        as_is[n_seen++] = key;
        if (index < n && by_index[index] == NULL)
            by_index[index] = key;
        else
            is_complete = false;
    }
    return is_complete ? by_index : as_is;
}

static bool read_node(struct reader *r, json_t *json,
                      const struct proto_path *path,
                      struct proto_mincut_node *node)
{
    node->is_described = true;
    if (!json_is_object(json))
        return proto_decode_expected(r->d->problem, path, "an object", json);
    return get_string(r, json, "target", path, &node->target) &&
           get_string(r, json, "shape", path, &node->shape) &&
           get_string(r, json, "stack_trace", path, &node->stack);
}

static bool read_nodes(struct reader *r)
{
    struct proto_path path;
    const char **names;
    json_t *all;
    size_t n;

    if (!get_nodes(r, &path, &all))
        return false;
    n = json_object_size(all);
    if (n == 0)
        return true;
    names = order_names(r, all);
    if (names == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_key(&path, names[i]);
        uint32_t position;

        if (!find(r, names[i], &inner, &position) ||
            !read_node(r, json_object_get(all, names[i]), &inner,
                       &r->nodes[position]))
            return false;
    }
    return true;
}

/* ---- candidates -------------------------------------------------------- */

/* The list of candidates, each of them once. */
static bool read_order(struct reader *r)
{
    struct proto_path path;
    json_t *list;
    size_t n;

    if (!get_list(r, PROTO_KEY_ORDER, &path, &list))
        return false;
    n = json_array_size(list);
    r->candidates = proto_decode_alloc(r->d, n, sizeof(*r->candidates));
    if (r->candidates == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(&path, i);
        struct proto_mincut_candidate *c = &r->candidates[i];

        if (!find_string(r, json_array_get(list, i), &inner, &c->node))
            return false;
        if (r->nodes[c->node].candidate != PROTO_NO_CANDIDATE)
            return proto_decode_fail(r->d->problem, PROTO_INVALID_GRAPH, &inner,
                                     "%s stands in this list twice",
                                     r->nodes[c->node].name);
        c->n_bytes = c->share = c->runtime = (double)NAN;
        r->nodes[c->node].candidate = (uint32_t)i;
    }
    r->n_candidates = (uint32_t)n;
    return true;
}

/* Numbers of the candidates, one each; `offset` is the member's. */
static bool read_numbers(struct reader *r, const char *key, size_t offset)
{
    struct proto_path path;
    json_t *list;

    if (!get_list(r, key, &path, &list))
        return false;
    if (list != NULL && json_array_size(list) != r->n_candidates)
        return proto_decode_fail(
            r->d->problem, PROTO_INVALID_GRAPH, &path,
            "there are %zu numbers for the %" PRIu32 " nodes of \"%s\"",
            json_array_size(list), r->n_candidates, PROTO_KEY_ORDER);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct proto_path inner = proto_path_index(&path, i);
        char *number = (char *)&r->candidates[i] + offset;

        if (!get_number(r, json_array_get(list, i), &inner,
                        (double *)(void *)number))
            return false;
    }
    return true;
}

static bool read_choice(struct reader *r, const char *key, bool is_kept)
{
    struct proto_path path;
    json_t *list;

    if (!get_list(r, key, &path, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct proto_path inner = proto_path_index(&path, i);
        json_t *json = json_array_get(list, i);
        json_int_t at = json_integer_value(json);

        if (!json_is_integer(json) || at < 0 || at >= r->n_candidates)
            return proto_decode_fail(r->d->problem, PROTO_INVALID_GRAPH, &inner,
                                     "expected a position in \"%s\", which has "
                                     "%" PRIu32 " nodes",
                                     PROTO_KEY_ORDER, r->n_candidates);
        if (is_kept)
            r->candidates[at].is_kept = true;
        else
            r->candidates[at].is_recomputed = true;
    }
    return true;
}

/* What a node says of itself as a candidate, where the lists say nothing.
 * Before PyTorch 2.13 "memory" was the share. */
static bool read_own(struct reader *r, json_t *node,
                     const struct proto_path *path,
                     struct proto_mincut_candidate *c)
{
    struct proto_path inner =
        proto_path_key(path, "recomputable_candidate_info");
    json_t *own = json_object_get(node, "recomputable_candidate_info");
    struct proto_path at_memory = proto_path_key(&inner, "memory");
    struct proto_path at_runtime = proto_path_key(&inner, "runtime");
    bool is_in_bytes = json_object_get(r->body, PROTO_KEY_BYTES) != NULL ||
                       json_object_get(r->body, PROTO_KEY_SHARES) == NULL;
    double memory;
    double runtime;

    if (own == NULL)
        return true;
    if (!json_is_object(own))
        return proto_decode_expected(r->d->problem, &inner, "an object", own);
    if (!get_number(r, json_object_get(own, "memory"), &at_memory, &memory) ||
        !get_number(r, json_object_get(own, "runtime"), &at_runtime, &runtime))
        return false;
    if (is_in_bytes && isnan(c->n_bytes))
        c->n_bytes = memory;
    if (isnan(c->runtime))
        c->runtime = runtime;
    return get_flag(r, own, "is_saved", &inner, &c->is_kept) &&
           get_flag(r, own, "is_recomputed", &inner, &c->is_recomputed);
}

static bool read_own_all(struct reader *r)
{
    json_t *all = json_object_get(r->body, PROTO_KEY_NODES);
    struct proto_path path = proto_path_key(r->root, PROTO_KEY_NODES);

    for (uint32_t i = 0; i < r->n_candidates; i++) {
        const char *name = r->nodes[r->candidates[i].node].name;
        struct proto_path inner = proto_path_key(&path, name);

        if (!read_own(r, json_object_get(all, name), &inner, &r->candidates[i]))
            return false;
    }
    return true;
}

static bool read_candidates(struct reader *r)
{
    return read_order(r) &&
           read_numbers(r, PROTO_KEY_BYTES,
                        offsetof(struct proto_mincut_candidate, n_bytes)) &&
           read_numbers(r, PROTO_KEY_SHARES,
                        offsetof(struct proto_mincut_candidate, share)) &&
           read_numbers(r, PROTO_KEY_RUNTIMES,
                        offsetof(struct proto_mincut_candidate, runtime)) &&
           read_own_all(r) && read_choice(r, PROTO_KEY_KEPT, true) &&
           read_choice(r, PROTO_KEY_RECOMPUTED, false);
}

static void add_up(struct reader *r)
{
    struct proto_mincut_info *info = r->info;

    for (uint32_t i = 0; i < r->n_candidates; i++) {
        const struct proto_mincut_candidate *c = &r->candidates[i];

        if (!isnan(c->n_bytes) && c->is_kept)
            info->kept_bytes += c->n_bytes;
        if (!isnan(c->n_bytes) && c->is_recomputed)
            info->recomputed_bytes += c->n_bytes;
        if (!isnan(c->runtime))
            info->offered_runtime += c->runtime;
    }
}

/* ---- edges ------------------------------------------------------------- */

static bool read_edge(struct reader *r, json_t *json,
                      const struct proto_path *path,
                      struct proto_mincut_edge *edge)
{
    struct proto_path from = proto_path_index(path, 0);
    struct proto_path to = proto_path_index(path, 1);

    if (!json_is_array(json) || json_array_size(json) != 2)
        return proto_decode_expected(r->d->problem, path, "a list of two names",
                                     json);
    return find_string(r, json_array_get(json, 0), &from, &edge->from) &&
           find_string(r, json_array_get(json, 1), &to, &edge->to);
}

static bool read_edge_list(struct reader *r, json_t *list,
                           const struct proto_path *path)
{
    size_t n = json_array_size(list);
    struct proto_mincut_edge *edges;

    if (!json_is_array(list))
        return proto_decode_expected(r->d->problem, path, "a list of edges",
                                     list);
    if (n > UINT32_MAX)
        return proto_decode_fail(r->d->problem, PROTO_TOO_LARGE, path,
                                 "there are %zu edges", n);
    edges = proto_decode_alloc(r->d, n, sizeof(*edges));
    if (edges == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(path, i);

        if (!read_edge(r, json_array_get(list, i), &inner, &edges[i]))
            return false;
    }
    r->info->edges = edges;
    r->info->n_edges = (uint32_t)n;
    return true;
}

/* The names that a node reads, NULL when it does not say. */
static bool get_inputs(struct reader *r, json_t *node,
                       const struct proto_path *path, struct proto_path *inner,
                       json_t **list)
{
    *inner = proto_path_key(path, "input_arguments");
    *list = json_object_get(node, "input_arguments");
    if (*list == NULL || json_is_array(*list))
        return true;
    return proto_decode_expected(r->d->problem, inner, "a list of names",
                                 *list);
}

/* Edges from what each node says it reads; without `edges`, counts them. */
static bool read_inputs(struct reader *r, struct proto_mincut_edge *edges,
                        size_t *n)
{
    struct proto_path path = proto_path_key(r->root, PROTO_KEY_NODES);
    json_t *all = json_object_get(r->body, PROTO_KEY_NODES);
    const char *key;
    json_t *node;

    *n = 0;
    json_object_foreach (all, key, node) {
        struct proto_path at_node = proto_path_key(&path, key);
        struct proto_path at_list;
        json_t *list;
        uint32_t to;

        if (!get_inputs(r, node, &at_node, &at_list, &list) ||
            !find(r, key, &at_node, &to))
            return false;
        for (size_t i = 0; i < json_array_size(list); i++, (*n)++) {
            struct proto_path inner = proto_path_index(&at_list, i);

            if (edges == NULL)
                continue;
            edges[*n].to = to;
            if (!find_string(r, json_array_get(list, i), &inner,
                             &edges[*n].from))
                return false;
        }
    }
    return true;
}

static bool read_edges(struct reader *r)
{
    struct proto_path path = proto_path_key(r->root, PROTO_KEY_EDGES);
    struct proto_path inner = proto_path_key(&path, "Edges");
    json_t *json = json_object_get(r->body, PROTO_KEY_EDGES);
    json_t *list = json_object_get(json, "Edges");
    struct proto_mincut_edge *edges;
    size_t n;

    if (json != NULL && !json_is_object(json))
        return proto_decode_expected(r->d->problem, &path, "an object", json);
    if (list != NULL)
        return read_edge_list(r, list, &inner);
    if (!read_inputs(r, NULL, &n))
        return false;
    edges = proto_decode_alloc(r->d, n, sizeof(*edges));
    if (edges == NULL || !read_inputs(r, edges, &n))
        return false;
    r->info->edges = edges;
    r->info->n_edges = (uint32_t)n; /* the document has fewer bytes */
    return true;
}

/* ---- the rest ---------------------------------------------------------- */

static bool read_saved(struct reader *r)
{
    struct proto_path path;
    uint32_t *saved;
    json_t *list;
    size_t n;

    if (!get_list(r, PROTO_KEY_SAVED, &path, &list))
        return false;
    n = json_array_size(list);
    saved = proto_decode_alloc(r->d, n, sizeof(*saved));
    if (saved == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(&path, i);

        if (!find_string(r, json_array_get(list, i), &inner, &saved[i]))
            return false;
        r->nodes[saved[i]].is_saved = true;
    }
    r->info->saved = saved;
    r->info->n_saved = (uint32_t)n;
    return true;
}

static bool read_totals(struct reader *r)
{
#define X(member, key)                                           \
    {                                                            \
        struct proto_path path = proto_path_key(r->root, key);   \
        if (!get_number(r, json_object_get(r->body, key), &path, \
                        &r->info->member))                       \
            return false;                                        \
    }
    PROTO_MINCUT_NUMBER_MAP(X)
#undef X
    return true;
}

bool proto_mincut_read(struct proto_decoder *d, json_t *body,
                       const struct proto_mincut_info **info)
{
    struct proto_path root = {0};
    struct reader r = {
        .d = d,
        .body = body,
        .root = &root,
        .positions = json_object(),
        .info = proto_decode_alloc(d, 1, sizeof(struct proto_mincut_info))};

    if (r.info == NULL)
        return false;
    if (r.positions == NULL)
        return proto_decode_no_memory(d->problem, d->budget);
    if (!read_nodes(&r) || !read_candidates(&r) || !read_edges(&r) ||
        !read_saved(&r) || !read_totals(&r))
        return false;
    add_up(&r);
    r.info->nodes = r.nodes;
    r.info->n_nodes = r.n_nodes;
    r.info->candidates = r.candidates;
    r.info->n_candidates = r.n_candidates;
    *info = r.info;
    return true;
}
