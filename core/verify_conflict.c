/*
 * verify_conflict.c: a conflict path, edge by edge: each must be one that the
 * rules make and that no cut can take.
 */
#include "error.h"
#include "verify.h"
#include "verify_capacity.h"

/* PyTorch's report also follows edges of exactly this capacity. */
enum {
    TAKEN_FOR_INFINITE = 1000000
};

static bool cannot_be_saved(const struct remat_work *w, remat_node v)
{
    int64_t capacity = remat_verify_through(w, v);

    return capacity == REMAT_UNLIMITED || capacity == TAKEN_FOR_INFINITE;
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
                    const struct remat_step *to)
{
    if (to->node == REMAT_NONE)
        return from->side == REMAT_SIDE_IN
                   ? remat_verify_in_to_sink(w, from->node)
                   : remat_verify_out_to_sink(w, from->node);
    if (from->side == REMAT_SIDE_IN)
        return to->node == from->node && to->side == REMAT_SIDE_OUT &&
               cannot_be_saved(w, from->node);
    return to->side == REMAT_SIDE_IN && reads(w, to->node, from->node) &&
           remat_verify_through(w, from->node) != REMAT_NO_EDGE;
}

static bool is_banned(const struct remat_bans *bans, remat_node v)
{
    for (uint32_t i = 0; i < bans->n; i++)
        if (bans->list[i].node == v)
            return true;
    return false;
}

enum remat_status remat_verify_conflict(struct remat_work *w,
                                        const struct remat_bans *bans,
                                        const struct remat_diagnostic *d,
                                        struct remat_error *err)
{
    bool holds = d->n_path >= 2 && d->path[0].side == REMAT_SIDE_IN &&
                 is_banned(bans, d->path[0].node) &&
                 d->path[d->n_path - 1].node == REMAT_NONE;

    for (uint32_t i = 0; holds && i + 1 < d->n_path; i++)
        holds = d->path[i].node != REMAT_NONE &&
                is_edge(w, &d->path[i], &d->path[i + 1]);
    if (holds)
        return REMAT_OK;
    return remat_error_set(err, REMAT_E_BUG, REMAT_NONE,
                           "conflict: the path does not hold");
}
