/*
 * decode.h: a request's JSON to a sealed job and options. Private to proto.
 *
 * Every decode function returns false after setting the problem, with the JSON
 * Pointer of the place. Strings and arrays go into the job's arena: the tree is
 * gone before the job is solved.
 */
#ifndef PROTO_DECODE_H
#define PROTO_DECODE_H

#include "budget.h"
#include "path.h"
#include "proto.h"
#include "remat.h"
#include "words.h"

#include <jansson.h>

/* What is worth telling although it changes nothing. */
enum {
    PROTO_MOST_NOTED_FIELDS = 12
};
struct proto_notes {
    const char *fields[PROTO_MOST_NOTED_FIELDS]; /* "node.foo", in the arena */
    const char *meant[PROTO_MOST_NOTED_FIELDS];  /* nearest known, or NULL */
    uint32_t n_fields;
    bool more_fields;
    remat_node unmarked; /* first node whose only strings name other nodes */
    const char *unmarked_text;
    uint32_t n_unmarked;
    const char *untested_version; /* or NULL */
};

struct proto_decoder {
    struct remat_job *job;
    struct proto_budget *budget;
    struct proto_problem *problem;
    const struct proto_limits *limits;
    const char *name; /* of the graph, or NULL */
    json_t *nodes;    /* the list, for references that come too early */
    size_t position;  /* of the node being read */
    bool is_output;
    uint32_t n_references;     /* of the node being read */
    const char *unmarked_text; /* its first literal that names a node */
    const char *last_type;     /* dtype or target before, to share the copy */
    struct proto_notes notes;
};

/* How much of the plan is told. */
enum proto_explain {
    PROTO_EXPLAIN_NONE,
    PROTO_EXPLAIN_SUMMARY,
    PROTO_EXPLAIN_FULL
};

struct proto_options {
    struct remat_options core;
    enum proto_explain explain;
    bool has_deadline;
    int64_t deadline_ms;
};

/* A pass of the request and, once applied, what it did. */
struct proto_pass {
    const char *name;
    struct remat_pass core;
    struct remat_pass_report report;
    /* of set_tags: what core.tags will be, and whose they are; in the order of
     * the document until proto_find_tagged */
    struct remat_set_tag *tags;
    const char **tagged;
};
struct proto_passes {
    struct proto_pass *at;
    uint32_t n;
};

/* The parts of a request, wherever they stood. */
struct proto_parts {
    json_t *graph;
    json_t *options;      /* or NULL */
    json_t *more_options; /* laid over them; or NULL */
    json_t *passes;       /* or NULL */
    bool is_enveloped;    /* the graph is a member of its own */
};

/* ---- decode.c ---- */
bool proto_decode_parts(struct proto_problem *problem, json_t *body,
                        json_t *options, json_t *passes,
                        struct proto_parts *parts);
/* The whole graph, sealed. */
bool proto_decode_graph(struct proto_decoder *d,
                        const struct proto_parts *parts);

/* ---- decode_node.c ---- */
bool proto_decode_node(struct proto_decoder *d, json_t *object,
                       const struct proto_path *path,
                       struct remat_node_spec *spec);

/* ---- decode_value.c ---- */
bool proto_decode_value(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path,
                        struct remat_value *value);

/* ---- decode_arg.c ---- */
/* Says that `name`, written with `mark` ("%" or "") before it, is later,
 * unknown or the node itself. Only for messages: O(nodes). */
bool proto_fail_reference(struct proto_decoder *d,
                          const struct proto_path *path, const char *mark,
                          const char *name);
bool proto_decode_args(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path,
                       struct remat_node_spec *spec);
bool proto_decode_kwargs(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path,
                         struct remat_node_spec *spec);

/* ---- decode_options.c ---- */
const char *proto_explain_name(enum proto_explain explain);
void proto_options_init(struct proto_options *options);
/* Lays the members of `json` (NULL: none) over `options`. */
bool proto_decode_options(struct proto_problem *problem, json_t *json,
                          struct proto_options *options);

/* ---- decode_passes.c ---- */
/* All passes (NULL: none), in the job's arena. What depends on the graph is
 * core's to check. */
bool proto_decode_passes(struct proto_decoder *d, json_t *json,
                         struct proto_passes *passes);
/* Whether one of them, not decoded yet (NULL: none), looks at the modules of
 * nodes. O(passes). */
bool proto_passes_read_modules(json_t *passes);

/* ---- decode_tags.c ---- */
/* A tag's name; a problem at `path`, which says what was `expected` where it is
 * no string. */
bool proto_decode_policy(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, const char *expected,
                         enum remat_policy *policy);
/* The tags of a set_tags pass, by name: there may be no graph yet. */
bool proto_decode_tags(struct proto_decoder *d, json_t *json,
                       const struct proto_path *path, struct proto_pass *pass);
/* Which nodes of the graph they are for, in node order. A name that no node has
 * is refused with the nearest one. O(n log n), and O(nodes) to refuse. */
bool proto_find_tagged(struct proto_decoder *d, struct proto_passes *passes);
/* The name of a node that `name` was probably meant to be, or NULL. O(nodes);
 * only for messages. */
const char *proto_nearest_node(const struct remat_job *job, const char *name);

/* ---- decode_common.c ---- */
bool proto_decode_fail(struct proto_problem *problem,
                       enum proto_problem_kind kind,
                       const struct proto_path *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* invalid-graph: "expected WHAT, found KIND". */
bool proto_decode_expected(struct proto_problem *problem,
                           const struct proto_path *path, const char *what,
                           json_t *found);
/* The arena or the tree had no room: 413 or 503. */
bool proto_decode_no_memory(struct proto_problem *problem,
                            const struct proto_budget *budget);
/* Writes down a field nobody knows. */
bool proto_note_field(struct proto_decoder *d, const char *scope,
                      const char *field, struct proto_words known);
bool proto_decode_string(struct proto_decoder *d, json_t *json,
                         const struct proto_path *path, const char **text);
/* A list of strings, in the arena. */
bool proto_decode_strings(struct proto_decoder *d, json_t *json,
                          const struct proto_path *path,
                          const char *const **strings, uint32_t *n);
/* An integer from 0 to `most`; `what` names it in messages. */
bool proto_decode_count(struct proto_decoder *d, json_t *json,
                        const struct proto_path *path, const char *what,
                        int64_t most, int64_t *count);
/* Zeroed arena memory, or NULL and a problem. */
void *proto_decode_alloc(struct proto_decoder *d, size_t n, size_t size);

#endif
