/*
 * decode.c: the top level of a request: which parts it has, and the graph
 * around its nodes.
 */
#include "decode.h"

#include "json.h"

#include <inttypes.h>
#include <string.h>

static const char schema_id[] = "remat/graph/v1";
static const char *const graph_fields[] = {"schema",
                                           "name",
                                           "producer",
                                           "num_fwd_outputs",
                                           "static_lifetime_inputs",
                                           "nodes",
                                           "options",
                                           "passes"};
static const char *const envelope_fields[] = {"graph", "options", "passes"};
static const char *const producer_fields[] = {"name", "version"};

/* ---- which part is where ---- */

static bool check_envelope(struct proto_problem *problem, json_t *body)
{
    struct proto_path root = {0};
    char advice[256];
    const char *key;
    json_t *member;

    json_object_foreach (body, key, member) {
        struct proto_path path = proto_path_key(&root, key);

        if (proto_words_find(PROTO_WORDS(envelope_fields), key) >= 0)
            continue;
        if (proto_words_find(PROTO_WORDS(graph_fields), key) >= 0)
            return proto_decode_fail(problem, PROTO_INVALID_GRAPH, &path,
                                     "\"%s\" belongs to the graph, write it "
                                     "inside of \"graph\"",
                                     key);
        proto_words_advise(PROTO_WORDS(envelope_fields), key, advice,
                           sizeof(advice));
        return proto_decode_fail(problem, PROTO_INVALID_GRAPH, &path,
                                 "a request has no member \"%s\", %s", key,
                                 advice);
    }
    return true;
}

bool proto_decode_parts(struct proto_problem *problem, json_t *body,
                        json_t *options, json_t *passes,
                        struct proto_parts *parts)
{
    struct proto_path root = {0};

    if (!json_is_object(body))
        return proto_decode_expected(
            problem, &root, "a graph document, which is an object", body);
    *parts = (struct proto_parts){
        .graph = json_object_get(body, "graph"),
        .options = json_object_get(body, "options"),
        .more_options = options,
        .passes = passes != NULL ? passes : json_object_get(body, "passes"),
    };
    parts->is_enveloped = parts->graph != NULL;
    if (parts->is_enveloped)
        return check_envelope(problem, body);
    parts->graph = body;
    return true;
}

/* ---- the graph ---- */

static bool decode_schema(struct proto_decoder *d, json_t *graph,
                          const struct proto_path *path)
{
    json_t *schema = json_object_get(graph, "schema");
    struct proto_path inner = proto_path_key(path, "schema");

    if (schema == NULL)
        return proto_decode_fail(d->problem, PROTO_UNKNOWN_SCHEMA, &inner,
                                 "the document does not say its schema, write "
                                 "\"schema\": \"%s\"",
                                 schema_id);
    if (json_is_string(schema) &&
        strcmp(json_string_value(schema), schema_id) == 0)
        return true;
    return proto_decode_fail(d->problem, PROTO_UNKNOWN_SCHEMA, &inner,
                             "unknown schema %s%s%s, understood is \"%s\"",
                             json_is_string(schema) ? "\"" : "",
                             json_is_string(schema) ? json_string_value(schema)
                                                    : proto_json_kind(schema),
                             json_is_string(schema) ? "\"" : "", schema_id);
}

static bool is_tested_version(const char *version)
{
    return strncmp(version, "2.13", 4) == 0 &&
           (version[4] == '\0' || strchr(".+a-", version[4]) != NULL);
}

static bool decode_producer_member(struct proto_decoder *d, const char *key,
                                   json_t *member,
                                   const struct proto_path *path)
{
    struct proto_path inner = proto_path_key(path, key);

    if (proto_words_find(PROTO_WORDS(producer_fields), key) < 0)
        return proto_note_field(d, "producer", key,
                                PROTO_WORDS(producer_fields));
    if (!json_is_string(member))
        return proto_decode_expected(d->problem, &inner, "a string", member);
    if (strcmp(key, "version") == 0 &&
        !is_tested_version(json_string_value(member)))
        return proto_decode_string(d, member, &inner,
                                   &d->notes.untested_version);
    return true;
}

static bool decode_producer(struct proto_decoder *d, json_t *producer,
                            const struct proto_path *path)
{
    struct proto_path inner = proto_path_key(path, "producer");
    const char *key;
    json_t *member;

    if (producer == NULL)
        return true;
    if (!json_is_object(producer))
        return proto_decode_expected(
            d->problem, &inner, "an object with name and version", producer);
    json_object_foreach (producer, key, member) {
        if (!decode_producer_member(d, key, member, &inner))
            return false;
    }
    return true;
}

static bool note_graph_fields(struct proto_decoder *d, json_t *graph,
                              bool is_enveloped)
{
    struct proto_words known = PROTO_WORDS(graph_fields);
    const char *key;
    json_t *member;

    if (is_enveloped)
        known.n -= 2; /* options and passes stand outside */
    json_object_foreach (graph, key, member) {
        if (proto_words_find(known, key) < 0 &&
            !proto_note_field(d, "graph", key, known))
            return false;
    }
    return true;
}

/* What core says of a graph that it refuses; `path` is the graph's. */
static bool fail_core(struct proto_decoder *d, const struct proto_path *path,
                      enum remat_status status, const struct remat_error *error)
{
    struct proto_path nodes = proto_path_key(path, "nodes");
    struct proto_path node = proto_path_index(&nodes, error->node);

    if (remat_job_status(d->job) != REMAT_OK || status == REMAT_E_NOMEM ||
        status == REMAT_E_LIMIT)
        return proto_decode_no_memory(d->problem, d->budget);
    return proto_decode_fail(
        d->problem,
        status == REMAT_E_NODES ? PROTO_TOO_LARGE : PROTO_INVALID_GRAPH,
        error->node == REMAT_NONE ? path : &node, "%s", error->detail);
}

static bool check_order(struct proto_decoder *d, const struct proto_path *path,
                        size_t n)
{
    if (d->is_output && d->position + 1 < n)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "the output node is the last one, %zu more "
                                 "stand behind it here",
                                 n - d->position - 1);
    if (!d->is_output && d->position + 1 == n)
        return proto_decode_fail(
            d->problem, PROTO_INVALID_GRAPH, path->up,
            "there is no output node: end the list with {\"name\": "
            "\"output\", \"op\": \"output\", \"target\": \"output\", "
            "\"args\": [...]}, forward outputs first, then gradients");
    return true;
}

static bool decode_nodes(struct proto_decoder *d, const struct proto_path *path)
{
    size_t n = json_array_size(d->nodes);
    struct remat_error error = {0};
    struct remat_node_spec spec;
    enum remat_status status;
    remat_node node;

    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(path, i);

        d->position = i;
        if (!proto_decode_node(d, json_array_get(d->nodes, i), &inner, &spec) ||
            !check_order(d, &inner, n))
            return false;
        status = remat_graph_add(d->job, &spec, &node, &error);
        if (status != REMAT_OK)
            return fail_core(d, path->up, status, &error);
    }
    return true;
}

static bool check_nodes(struct proto_decoder *d, json_t *graph,
                        const struct proto_path *path)
{
    struct proto_path inner = proto_path_key(path, "nodes");

    d->nodes = json_object_get(graph, "nodes");
    if (d->nodes == NULL)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a graph needs nodes, a list in execution "
                                 "order");
    if (!json_is_array(d->nodes))
        return proto_decode_expected(d->problem, &inner, "a list of nodes",
                                     d->nodes);
    if (json_array_size(d->nodes) == 0)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, &inner,
                                 "there is no output node: a graph has at "
                                 "least that one");
    if (json_array_size(d->nodes) > d->limits->n_nodes)
        return proto_decode_fail(d->problem, PROTO_TOO_LARGE, &inner,
                                 "the graph has %zu nodes, the limit is "
                                 "%" PRIu32,
                                 json_array_size(d->nodes), d->limits->n_nodes);
    return decode_nodes(d, &inner);
}

static bool decode_n_outputs(struct proto_decoder *d, json_t *graph,
                             const struct proto_path *path, uint32_t *n)
{
    json_t *json = json_object_get(graph, "num_fwd_outputs");
    struct proto_path inner = proto_path_key(path, "num_fwd_outputs");
    uint32_t n_outputs =
        remat_graph_node(d->job, remat_graph_n_nodes(d->job) - 1)->n_args;
    int64_t count;

    if (json == NULL)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, path,
                                 "a graph needs num_fwd_outputs: how many of "
                                 "the output node's args belong to the "
                                 "forward");
    if (!proto_decode_count(d, json, &inner, "num_fwd_outputs", INT64_MAX,
                            &count))
        return false;
    if (count > n_outputs)
        return proto_decode_fail(d->problem, PROTO_INVALID_GRAPH, &inner,
                                 "num_fwd_outputs is %" PRId64 ", but the "
                                 "output node has only %" PRIu32 " args",
                                 count, n_outputs);
    *n = (uint32_t)count;
    return true;
}

/* Which index is out of range can only be told once core has counted. */
static bool fail_static(struct proto_decoder *d, const struct proto_path *path,
                        const uint32_t *indices, size_t n)
{
    uint32_t n_primals = remat_graph_n_primals(d->job);

    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(path, i);

        if (indices[i] >= n_primals)
            return proto_decode_fail(
                d->problem, PROTO_INVALID_GRAPH, &inner,
                "static index %" PRIu32 " is out of range, the graph has "
                "%" PRIu32 " primal placeholders (tangents and seeds do not "
                "count)",
                indices[i], n_primals);
    }
    return true;
}

static bool decode_static(struct proto_decoder *d, json_t *list,
                          const struct proto_path *path, uint32_t **indices)
{
    size_t n = json_array_size(list);

    if (list != NULL && !json_is_array(list)) {
        proto_decode_expected(d->problem, path, "a list of integers", list);
        return false;
    }
    *indices = proto_decode_alloc(d, n, sizeof(**indices));
    if (*indices == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct proto_path inner = proto_path_index(path, i);
        int64_t index;

        if (!proto_decode_count(d, json_array_get(list, i), &inner,
                                "a static index", UINT32_MAX, &index))
            return false;
        (*indices)[i] = (uint32_t)index;
    }
    return true;
}

static bool seal(struct proto_decoder *d, json_t *graph,
                 const struct proto_path *path, uint32_t n_fwd_outputs)
{
    json_t *list = json_object_get(graph, "static_lifetime_inputs");
    struct proto_path inner = proto_path_key(path, "static_lifetime_inputs");
    struct remat_error error = {0};
    enum remat_status status;
    uint32_t *indices = NULL;
    size_t n = json_array_size(list);

    if (!decode_static(d, list, &inner, &indices))
        return false;
    status =
        remat_graph_seal(d->job, n_fwd_outputs, indices, (uint32_t)n, &error);
    if (status == REMAT_OK)
        return true;
    if (error.node == REMAT_NONE && !fail_static(d, &inner, indices, n))
        return false;
    return fail_core(d, path, status, &error);
}

bool proto_decode_graph(struct proto_decoder *d,
                        const struct proto_parts *parts)
{
    struct proto_path root = {0};
    struct proto_path inner = proto_path_key(&root, "graph");
    const struct proto_path *path = parts->is_enveloped ? &inner : &root;
    json_t *graph = parts->graph;
    json_t *name = json_object_get(graph, "name");
    struct proto_path at_name = proto_path_key(path, "name");
    uint32_t n_fwd_outputs = 0;

    if (!json_is_object(graph))
        return proto_decode_expected(
            d->problem, path, "a graph document, which is an object", graph);
    if (!decode_schema(d, graph, path))
        return false;
    if (name != NULL && !proto_decode_string(d, name, &at_name, &d->name))
        return false;
    return decode_producer(d, json_object_get(graph, "producer"), path) &&
           note_graph_fields(d, graph, parts->is_enveloped) &&
           check_nodes(d, graph, path) &&
           decode_n_outputs(d, graph, path, &n_fwd_outputs) &&
           seal(d, graph, path, n_fwd_outputs);
}
