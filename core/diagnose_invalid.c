/*
 * diagnose_invalid.c: an output that one half of the step cannot compute.
 *
 * Breadth first back over inputs that are not valid, to the nearest node that
 * is itself kept from this side: a tangent, or a node pinned to the other half.
 */
#include "diagnose.h"

#include "format.h"

struct trail {
    uint32_t
        *next; /* by node: the node it was reached from, nearer the output */
    remat_node *queue;
};

/* The nearest blocked node, or REMAT_NONE when nothing is (then the output is
 * not computable for want of its own kind: it is the output node, say). */
static remat_node find_blocker(const struct remat_work *w,
                               const struct remat_subgraph *s,
                               struct trail *trail)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < w->g->n; v++)
        trail->next[v] = REMAT_NONE;
    trail->queue[n++] = s->invalid;
    trail->next[s->invalid] = s->invalid;
    for (uint32_t i = 0; i < n; i++) {
        remat_node v = trail->queue[i];

        if (remat_subgraph_is_blocked(w, s, v))
            return v;
        REMAT_FOR_INPUTS (w->g, v, j) {
            remat_node input = w->g->inputs.items[j];

            if (s->valid[input] || trail->next[input] != REMAT_NONE)
                continue;
            trail->next[input] = v;
            trail->queue[n++] = input;
        }
    }
    return REMAT_NONE;
}

static const char *blocked_because(const struct remat_work *w,
                                   const struct remat_subgraph *s, remat_node v)
{
    switch (w->g->role[v]) {
    case REMAT_TANGENT:
        return "a tangent, which only the backward has";
    case REMAT_BACKWARD_SEED:
        return "a backward seed, which only the backward has";
    case REMAT_PRIMAL:
    case REMAT_FORWARD_SEED:
        if (remat_wants_recompute(w->tag[v]))
            return w->tag[v] == REMAT_MUST_RECOMPUTE
                       ? "an input of the forward, which is tagged "
                         "must_recompute: it can only be saved"
                       : "an input of the forward, which is tagged "
                         "prefer_recompute: it can only be saved";
        return "an input of the forward that is not saved";
    default:
        return s->backward ? "pinned to the forward" : "pinned to the backward";
    }
}

static bool build_path(struct remat_work *w, const struct remat_subgraph *s,
                       const struct trail *trail, remat_node blocker,
                       struct remat_diagnostic *d)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_step *path;
    uint32_t n = 1;

    for (remat_node v = blocker; v != s->invalid; v = trail->next[v])
        n++;
    path = REMAT_NEW_ARRAY(arena, struct remat_step, n);
    if (path == NULL)
        return false;
    d->path = path;
    d->n_path = n;
    for (remat_node v = blocker;; v = trail->next[v]) {
        struct remat_step *step = &path[--n];

        *step = (struct remat_step){
            .node = v, .side = REMAT_SIDE_OUT, .origin = REMAT_ORIGIN_DATAFLOW};
        step->reason =
            v == s->invalid
                ? "is an output"
                : remat_format(arena, "is read by `%s`",
                               remat_spec(w->g, trail->next[v])->name);
        if (step->reason == NULL)
            return false;
        if (v == s->invalid)
            return true;
    }
}

/* An input with a tag that it cannot obey: the graph is well, the tag is not.
 */
static bool is_tag_at_fault(const struct remat_work *w, remat_node blocker)
{
    return (w->g->role[blocker] == REMAT_PRIMAL ||
            w->g->role[blocker] == REMAT_FORWARD_SEED) &&
           remat_wants_recompute(w->tag[blocker]);
}

static const char *tell(struct remat_work *w, const struct remat_subgraph *s,
                        remat_node blocker)
{
    const char *half = s->backward ? "backward" : "forward";
    const char *name = remat_spec(w->g, s->invalid)->name;
    uint32_t n_fwd = w->g->fwd_outputs.n;
    uint32_t n_all = n_fwd + w->g->bwd_outputs.n;

    if (blocker == REMAT_NONE)
        return remat_format(&w->job->arena,
                            "the %s cannot compute `%s`, which it has to "
                            "return",
                            half, name);
    if (is_tag_at_fault(w, blocker))
        return remat_format(
            &w->job->arena,
            "the %s has to return `%s` but cannot compute it: "
            "it %s `%s`, %s. Take the tag off",
            half, name, blocker == s->invalid ? "is" : "depends on",
            remat_spec(w->g, blocker)->name, blocked_because(w, s, blocker));
    return remat_format(
        &w->job->arena,
        "the %s has to return `%s` but cannot compute it: it %s `%s`, %s (%u "
        "of "
        "%u outputs are forward outputs: is num_fwd_outputs right?)",
        half, name, blocker == s->invalid ? "is" : "depends on",
        remat_spec(w->g, blocker)->name, blocked_because(w, s, blocker), n_fwd,
        n_all);
}

enum remat_status remat_diagnose_invalid(struct remat_work *w,
                                         const struct remat_subgraph *s,
                                         struct remat_diagnostic *d,
                                         struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct trail trail = {REMAT_NEW_ARRAY(arena, uint32_t, w->g->n),
                          REMAT_NEW_ARRAY(arena, remat_node, w->g->n)};
    remat_node blocker;

    if (arena->status != REMAT_OK)
        return remat_job_no_memory(w->job, err);
    blocker = find_blocker(w, s, &trail);
    *d = (struct remat_diagnostic){
        .code = "invalid-output",
        .severity = REMAT_ERROR,
        .node = s->invalid,
        .has_counts = true,
        .n_fwd_outputs = w->g->fwd_outputs.n,
        .n_bwd_outputs = w->g->bwd_outputs.n,
    };
    d->message = tell(w, s, blocker);
    if (d->message == NULL ||
        (blocker != REMAT_NONE && !build_path(w, s, &trail, blocker, d)))
        return remat_job_no_memory(w->job, err);
    return REMAT_OK;
}
