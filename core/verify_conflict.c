/*
 * verify_conflict.c: conflict paths, edge by edge: each must be one that the
 * rules make and that no cut can take. No two share a node.
 */
#include "error.h"
#include "verify.h"
#include "verify_capacity.h"

/* PyTorch's own path also follows edges of exactly this capacity. */
enum {
    TAKEN_FOR_INFINITE = 1000000
};

struct check {
    const struct remat_work *w;
    bool *is_banned; /* by node */
    bool *is_taken;  /* by a path before */
};

static bool cannot_be_saved(const struct remat_work *w, remat_node v,
                            bool is_conflict)
{
    int64_t capacity = remat_verify_through(w, v);

    return capacity == REMAT_UNLIMITED ||
           (capacity == TAKEN_FOR_INFINITE && !is_conflict);
}

static bool reads(const struct remat_work *w, remat_node user, remat_node v)
{
    REMAT_FOR_INPUTS (w->g, user, i)
        if (w->g->inputs.items[i] == v)
            return true;
    return false;
}

/* Whether the edge between two steps exists and is infinite. */
static bool is_edge(const struct remat_work *w, const struct remat_step *from,
                    const struct remat_step *to, bool is_conflict)
{
    if (to->node == REMAT_NONE)
        return from->side == REMAT_SIDE_IN
                   ? remat_verify_in_to_sink(w, from->node)
                   : remat_verify_out_to_sink(w, from->node);
    if (from->side == REMAT_SIDE_IN)
        return to->node == from->node && to->side == REMAT_SIDE_OUT &&
               cannot_be_saved(w, from->node, is_conflict);
    return to->side == REMAT_SIDE_IN && reads(w, to->node, from->node) &&
           remat_verify_through(w, from->node) != REMAT_NO_EDGE;
}

static bool holds(const struct check *c, const struct remat_diagnostic *d,
                  bool is_conflict)
{
    if (d->n_path < 2 || d->path[0].side != REMAT_SIDE_IN ||
        !c->is_banned[d->path[0].node] ||
        d->path[d->n_path - 1].node != REMAT_NONE)
        return false;
    for (uint32_t i = 0; i + 1 < d->n_path; i++)
        if (d->path[i].node == REMAT_NONE ||
            !is_edge(c->w, &d->path[i], &d->path[i + 1], is_conflict))
            return false;
    return true;
}

/* Every node has one vertex where paths enter it. */
static bool is_apart(const struct check *c, const struct remat_diagnostic *d)
{
    for (uint32_t i = 0; i + 1 < d->n_path; i++) {
        if (d->path[i].side != REMAT_SIDE_IN)
            continue;
        if (c->is_taken[d->path[i].node])
            return false;
        c->is_taken[d->path[i].node] = true;
    }
    return true;
}

enum remat_status
remat_verify_conflicts(struct remat_work *w, const struct remat_bans *bans,
                       const struct remat_diagnostic *diagnostics,
                       uint32_t n_diagnostics, struct remat_error *err)
{
    struct check c = {w, REMAT_NEW_ARRAY(&w->job->arena, bool, w->g->n),
                      REMAT_NEW_ARRAY(&w->job->arena, bool, w->g->n)};
    uint32_t n_conflicts = 0;

    if (c.is_banned == NULL || c.is_taken == NULL)
        return remat_job_no_memory(w->job, err);
    for (uint32_t i = 0; i < bans->n; i++)
        c.is_banned[bans->list[i].node] = true;
    for (uint32_t i = 0; i < n_diagnostics; i++) {
        const struct remat_diagnostic *d = &diagnostics[i];
        bool is_conflict = d->severity == REMAT_ERROR;

        n_conflicts += is_conflict;
        if (d->n_path > 0 &&
            (!holds(&c, d, is_conflict) || (is_conflict && !is_apart(&c, d))))
            return remat_error_set(err, REMAT_E_BUG, REMAT_NONE,
                                   "conflict: a path does not hold");
    }
    if (n_conflicts > 0)
        return REMAT_OK;
    return remat_error_set(err, REMAT_E_BUG, REMAT_NONE,
                           "conflict: there is no path");
}
