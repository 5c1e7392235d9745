/*
 * diagnose_infinite.c: the conflict path of an infinite flow, in words.
 *
 * Breadth first from the source in the order in which edges were made, so that
 * the path is the one PyTorch prints. Like there, an edge of capacity exactly
 * 10^6 is followed as if it were infinite; whether there is an infinite flow at
 * all is decided without that (residual.c).
 */
#include "diagnose.h"

#include "error.h"
#include "format.h"

#include <stdio.h>
#include <string.h>

enum {
    TAKEN_FOR_INFINITE = 1000000
};

static const char *const policy_names[] = {"untagged",
#define X(name, text) text,
                                           REMAT_POLICY_MAP(X)
#undef X
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

/* ---- the path ---------------------------------------------------------- */

/* Edge by which each vertex was first reached; NO_EDGE: not reached. */
#define NO_EDGE UINT32_MAX

/* Edges in rows by the vertex they leave, each row in the order of making. */
static bool rows_by_tail(struct remat_arena *arena,
                         const struct remat_network *net,
                         struct remat_rows *rows)
{
    uint32_t n = net->n_vertices;
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
    uint32_t *items = REMAT_NEW_ARRAY(arena, uint32_t, net->n_edges);

    if (begin == NULL || items == NULL)
        return false;
    for (uint32_t e = 0; e < net->n_edges; e++)
        begin[net->edges[e].from + 2]++;
    for (uint32_t v = 0; v < n; v++)
        begin[v + 2] += begin[v + 1];
    for (uint32_t e = 0; e < net->n_edges; e++)
        items[begin[net->edges[e].from + 1]++] = e;
    *rows = (struct remat_rows){begin, items};
    return true;
}

static void search(const struct remat_network *net, struct remat_rows rows,
                   uint32_t *reached_by, uint32_t *queue)
{
    uint32_t n = 0;

    memset(reached_by, 0xff, net->n_vertices * sizeof(*reached_by));
    queue[n++] = net->source;
    for (uint32_t i = 0; i < n && reached_by[net->sink] == NO_EDGE; i++) {
        uint32_t v = queue[i];

        for (uint32_t j = rows.begin[v]; j < rows.begin[v + 1]; j++) {
            const struct remat_edge *edge = &net->edges[rows.items[j]];

            if (edge->to == net->source || reached_by[edge->to] != NO_EDGE ||
                (edge->capacity != REMAT_INFINITE &&
                 edge->capacity != TAKEN_FOR_INFINITE))
                continue;
            reached_by[edge->to] = rows.items[j];
            queue[n++] = edge->to;
        }
    }
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

static enum remat_origin ban_origin(enum remat_ban_reason reason)
{
    switch (reason) {
#define X(name, text, origin) \
    case name:                \
        return REMAT_ORIGIN_##origin;
        REMAT_BAN_MAP(X)
#undef X
    }
    return REMAT_ORIGIN_HEURISTIC;
}

static void explain_ban(const struct remat_work *w,
                        const struct remat_bans *bans, struct remat_step *step)
{
    enum remat_ban_reason reason = bans->reason[step->node];
    uint8_t rule = w->tag_rule[step->node];

    step->reason = remat_ban_text(reason);
    step->origin = ban_origin(reason);
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
        step->reason = "returns several values, so it cannot be saved itself";
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
                        policy_names[w->tag[v]]);
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

/* Fills the step that edge e leads into. */
static bool explain_edge(struct remat_work *w, const struct remat_network *net,
                         const struct remat_bans *bans, uint32_t e,
                         struct remat_step *step)
{
    const struct remat_edge *edge = &net->edges[e];
    remat_node from = net->node[edge->from];

    *step = (struct remat_step){.node = net->node[edge->to],
                                .side = REMAT_SIDE_NONE,
                                .origin = REMAT_ORIGIN_DATAFLOW};
    if (edge->to == net->sink)
        return explain_sink(w, from, remat_is_in_vertex(net, edge->from), step);
    step->side =
        remat_is_in_vertex(net, edge->to) ? REMAT_SIDE_IN : REMAT_SIDE_OUT;
    if (edge->from == net->source)
        explain_ban(w, bans, step);
    else if (from == step->node)
        explain_through(w, step, edge->capacity);
    else
        step->reason = remat_format(&w->job->arena, "reads `%s`",
                                    remat_spec(w->g, from)->name);
    return step->reason != NULL;
}

/* ---- the diagnostic ---------------------------------------------------- */

static bool build_path(struct remat_work *w, const struct remat_network *net,
                       const struct remat_bans *bans,
                       const uint32_t *reached_by, struct remat_diagnostic *d)
{
    struct remat_step *path;
    uint32_t n = 0;

    for (uint32_t v = net->sink; v != net->source;
         v = net->edges[reached_by[v]].from)
        n++;
    path = REMAT_NEW_ARRAY(&w->job->arena, struct remat_step, n);
    if (path == NULL)
        return false;
    d->path = path;
    d->n_path = n;
    for (uint32_t v = net->sink; v != net->source;
         v = net->edges[reached_by[v]].from)
        if (!explain_edge(w, net, bans, reached_by[v], &path[--n]))
            return false;
    return true;
}

/* The first edge of a path forbids to compute its node again; most reasons say
 * what the node is, so the consequence is added. */
static const char *consequence(const struct remat_step *step, uint32_t i)
{
    if (i > 0 || step->reason == remat_ban_text(REMAT_BAN_NO_RECOMPUTE))
        return "";
    return ", so it may not be computed again";
}

/* What stands in the way of each node on the path, in one sentence. The edge to
 * the sink speaks of the node before it. */
static const char *tell(struct remat_work *w, const struct remat_diagnostic *d)
{
    const char *text = "a value that the backward needs can be neither saved "
                       "nor computed again";
    const char *separator = ": ";

    for (uint32_t i = 0; i < d->n_path && text != NULL; i++) {
        const struct remat_step *step = &d->path[i];
        remat_node v =
            step->node != REMAT_NONE ? step->node : d->path[i - 1].node;

        if (step->origin == REMAT_ORIGIN_DATAFLOW)
            continue;
        text = remat_format(&w->job->arena, "%s%s`%s` %s%s", text, separator,
                            remat_spec(w->g, v)->name, step->reason,
                            consequence(step, i));
        separator = "; ";
    }
    return text;
}

enum remat_status remat_diagnose_infinite(struct remat_work *w,
                                          const struct remat_network *net,
                                          const struct remat_bans *bans,
                                          struct remat_diagnostic *d,
                                          struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    uint32_t *reached_by = REMAT_NEW_ARRAY(arena, uint32_t, net->n_vertices);
    uint32_t *queue = REMAT_NEW_ARRAY(arena, uint32_t, net->n_vertices);
    struct remat_rows rows;

    if (arena->status != REMAT_OK || !rows_by_tail(arena, net, &rows))
        return remat_job_no_memory(w->job, err);
    search(net, rows, reached_by, queue);
    *d = (struct remat_diagnostic){.code = "infinite-flow",
                                   .severity = REMAT_ERROR};
    if (!build_path(w, net, bans, reached_by, d))
        return remat_job_no_memory(w->job, err);
    d->node = d->path[0].node;
    d->message = tell(w, d);
    if (d->message == NULL)
        return remat_job_no_memory(w->job, err);
    return REMAT_OK;
}
