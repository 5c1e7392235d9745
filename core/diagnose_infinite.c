/*
 * diagnose_infinite.c: the conflicts of an infinite flow, step by step.
 *
 *   explain_edge             one step of a path, with reason and origin
 *   remat_diagnose_infinite  a diagnostic for each conflict (conflicts.c), and
 *                            PyTorch's path where it is not the first of them
 */
#include "diagnose.h"

#include "conflict_words.h"
#include "conflicts.h"
#include "error.h"
#include "format.h"

enum {
    MOST_CONFLICTS = 10000 /* reported; a bound on the answer's size */
};

const char *remat_origin_text(enum remat_origin origin)
{
    switch (origin) {
    case REMAT_ORIGIN_ANNOTATION:
        return "annotation";
    case REMAT_ORIGIN_HEURISTIC:
        return "heuristic";
    case REMAT_ORIGIN_INTRINSIC:
        return "intrinsic";
    case REMAT_ORIGIN_DATAFLOW:
        return "dataflow";
    }
    return "dataflow";
}

/* ---- one edge in words ------------------------------------------------- */

static const char *const tag_rule_texts[] = {
    [REMAT_TAG_DOCUMENT] = "is tagged must_save",
    [REMAT_TAG_REGION] = "is read by a later checkpointed region, which makes "
                         "it must_save",
    [REMAT_TAG_HOOK] = "carries a backward hook and nothing that is computed "
                       "again reads it, which makes it must_save",
    [REMAT_TAG_COLLECTIVE] = "is a collective, which makes it must_save",
    [REMAT_TAG_EFFECT] = "is a result of an effectful operator, which makes it "
                         "must_save",
    [REMAT_TAG_MUTATION] = "is copied into an input that the backward writes "
                           "again, which makes it must_save",
};

static void explain_ban(const struct remat_work *w,
                        const struct remat_bans *bans, struct remat_step *step)
{
    enum remat_ban_reason reason = bans->reason[step->node];
    uint8_t rule = w->tag_rule[step->node];

    step->reason = remat_ban_text(reason);
    step->origin = remat_ban_origin(reason);
    if (reason != REMAT_BAN_MUST_SAVE || rule == REMAT_TAG_DOCUMENT)
        return;
    step->reason = tag_rule_texts[rule];
    step->origin = REMAT_ORIGIN_HEURISTIC;
}

static void explain_through(const struct remat_work *w, struct remat_step *step,
                            int64_t capacity)
{
    enum remat_value_kind kind = remat_spec(w->g, step->node)->value.kind;

    step->origin = REMAT_ORIGIN_INTRINSIC;
    if (capacity != REMAT_INFINITE) {
        step->reason = "costs exactly 1000000 to save, which is followed as if "
                       "it were infinite";
        step->origin = REMAT_ORIGIN_HEURISTIC;
    } else if (kind == REMAT_VALUE_TUPLE || kind == REMAT_VALUE_DICT) {
        step->reason = kind == REMAT_VALUE_TUPLE
                           ? "returns a tuple, so it cannot be saved itself"
                           : "returns a dict, so it cannot be saved itself";
    } else if (kind == REMAT_VALUE_TENSOR) {
        step->reason = "is a view, which recompute_views keeps from being "
                       "saved";
        step->origin = REMAT_ORIGIN_HEURISTIC;
    } else {
        step->reason = "is not a tensor, so it cannot be saved";
    }
}

static const char *format_tag(struct remat_work *w, remat_node v)
{
    return remat_format(&w->job->arena, "is tagged %s, so it may not be saved",
                        remat_policy_text(w->tag[v]));
}

/* The edge from node v's vertex to the sink. */
static bool explain_sink(struct remat_work *w, remat_node v, bool from_in,
                         struct remat_step *step)
{
    step->origin = REMAT_ORIGIN_INTRINSIC;
    if (!from_in) {
        step->reason = "is returned by the backward";
    } else if (!w->closure[v]) {
        step->reason = format_tag(w, v);
        step->origin = REMAT_ORIGIN_ANNOTATION;
    } else if (remat_in_backward_only(w->g, v)) {
        step->reason = "is pinned to the backward";
        step->origin = REMAT_ORIGIN_ANNOTATION;
    } else {
        step->reason = "depends on a tangent, so only the backward can compute "
                       "it";
    }
    return step->reason != NULL;
}

/* Fills the step from one vertex of a path to the next. */
static bool explain_edge(struct remat_work *w, const struct remat_network *net,
                         const struct remat_bans *bans, uint32_t from_vertex,
                         uint32_t to_vertex, struct remat_step *step)
{
    remat_node from = net->node[from_vertex];

    *step = (struct remat_step){.node = net->node[to_vertex],
                                .side = REMAT_SIDE_NONE,
                                .origin = REMAT_ORIGIN_DATAFLOW};
    if (to_vertex == net->sink)
        return explain_sink(w, from, remat_is_in_vertex(net, from_vertex),
                            step);
    step->side =
        remat_is_in_vertex(net, to_vertex) ? REMAT_SIDE_IN : REMAT_SIDE_OUT;
    if (from_vertex == net->source)
        explain_ban(w, bans, step);
    else if (from == step->node)
        explain_through(w, step, net->edges[net->through[from]].capacity);
    else
        step->reason = remat_format(&w->job->arena, "reads `%s`",
                                    remat_spec(w->g, from)->name);
    return step->reason != NULL;
}

/* ---- the diagnostics --------------------------------------------------- */

struct teller {
    struct remat_work *w;
    const struct remat_network *net;
    const struct remat_bans *bans;
    struct remat_error *err;
    uint32_t *vertices; /* of one path, behind the source, with the sink */
};

static enum remat_status build_path(struct teller *t, const uint32_t *vertices,
                                    uint32_t n, struct remat_diagnostic *d)
{
    struct remat_step *path =
        REMAT_NEW_ARRAY(&t->w->job->arena, struct remat_step, n);
    uint32_t from = t->net->source;

    if (path == NULL)
        return remat_job_no_memory(t->w->job, t->err);
    for (uint32_t i = 0; i < n; i++) {
        if (!explain_edge(t->w, t->net, t->bans, from, vertices[i], &path[i]))
            return remat_job_no_memory(t->w->job, t->err);
        from = vertices[i];
    }
    d->path = path;
    d->n_path = n;
    d->node = path[0].node;
    return remat_job_spend(t->w->job, n, "conflicts", t->err);
}

/* The vertices of a path of nodes. The last node ends it at its own vertex or,
 * where it is passed through, behind it. */
static uint32_t list_vertices(const struct teller *t, const remat_node *nodes,
                              uint32_t n_nodes)
{
    const struct remat_network *net = t->net;
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_nodes; i++) {
        t->vertices[n++] = net->in[nodes[i]];
        if (remat_is_infinite_through(net, nodes[i]))
            t->vertices[n++] = net->out[nodes[i]];
    }
    t->vertices[n++] = net->sink;
    return n;
}

static enum remat_status note(struct teller *t, struct remat_notes *notes,
                              struct remat_diagnostic d)
{
    return remat_note(&t->w->job->arena, notes, d)
               ? REMAT_OK
               : remat_job_no_memory(t->w->job, t->err);
}

static enum remat_status tell_conflict(struct teller *t,
                                       const struct remat_path_set *paths,
                                       uint32_t i, struct remat_notes *notes)
{
    struct remat_diagnostic d = {.code = "infinite-flow",
                                 .severity = REMAT_ERROR};
    uint32_t n = list_vertices(t, paths->nodes + paths->begin[i],
                               paths->begin[i + 1] - paths->begin[i]);
    enum remat_status status = build_path(t, t->vertices, n, &d);

    if (status != REMAT_OK)
        return status;
    d.message = remat_conflict_message(t->w, &d);
    return note(t, notes, d);
}

/* PyTorch's path where it is not among the conflicts. */
static enum remat_status tell_reported(struct teller *t,
                                       const struct remat_conflicts *c,
                                       struct remat_notes *notes)
{
    struct remat_diagnostic d = {.code = "pytorch-path",
                                 .severity = REMAT_INFO};
    enum remat_status status = build_path(t, c->reported, c->n_reported, &d);

    if (status != REMAT_OK)
        return status;
    d.message = remat_format(
        &t->w->job->arena,
        "PyTorch names another path, from `%s` to `%s`: it stops at the first "
        "that it meets, and takes a cost of exactly 1000000 for infinite",
        remat_spec(t->w->g, d.node)->name,
        remat_spec(t->w->g, t->net->node[c->reported[c->n_reported - 2]])
            ->name);
    return note(t, notes, d);
}

static enum remat_status tell_more(struct teller *t, uint32_t n,
                                   struct remat_notes *notes)
{
    struct remat_diagnostic d = {
        .code = "more-conflicts", .severity = REMAT_INFO, .node = REMAT_NONE};

    d.message =
        remat_format(&t->w->job->arena, "%u more conflicts are not listed", n);
    return note(t, notes, d);
}

enum remat_status remat_diagnose_infinite(struct remat_work *w,
                                          const struct remat_network *net,
                                          const struct remat_bans *bans,
                                          struct remat_notes *notes,
                                          struct remat_error *err)
{
    struct teller t = {.w = w, .net = net, .bans = bans, .err = err};
    struct remat_conflicts c;
    enum remat_status status = remat_find_conflicts(w, net, &c, err);
    uint32_t n;

    if (status != REMAT_OK)
        return status;
    n = c.paths.n;
    if (n > MOST_CONFLICTS)
        n = MOST_CONFLICTS;
    t.vertices = REMAT_NEW_ARRAY(&w->job->arena, uint32_t, net->n_vertices);
    if (t.vertices == NULL)
        return remat_job_no_memory(w->job, err);
    for (uint32_t i = 0; i < n && status == REMAT_OK; i++)
        status = tell_conflict(&t, &c.paths, i, notes);
    if (status == REMAT_OK && !c.is_reported_first)
        status = tell_reported(&t, &c, notes);
    if (status == REMAT_OK && n < c.paths.n)
        status = tell_more(&t, c.paths.n - n, notes);
    return status;
}
