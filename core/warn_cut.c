/*
 * warn_cut.c: whether another set of values costs the same.
 *
 * The minimum cuts of a network form a lattice. The plan takes the one nearest
 * to the sink; the one nearest to the source is what the source still reaches.
 * If both go through the same edges of a cost, every minimum cut does.
 */
#include "warn.h"

/* What the source still reaches in the residual network. NULL: no memory. */
static bool *find_source_side(struct remat_warner *r)
{
    const struct remat_residual *residual = &r->cut->residual;
    struct remat_arena *arena = &r->w->job->arena;
    bool *side = REMAT_NEW_ARRAY(arena, bool, residual->n_vertices);
    struct remat_mark mark = remat_arena_mark(arena);
    uint32_t *queue = REMAT_NEW_ARRAY(arena, uint32_t, residual->n_vertices);
    uint32_t n = 0;

    if (side == NULL || queue == NULL)
        return NULL;
    side[residual->source] = true;
    queue[n++] = residual->source;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t a = residual->first[queue[i]];
             a < residual->first[queue[i] + 1]; a++) {
            uint32_t to = residual->head[a];

            if (side[to] || residual->residual[a] == 0)
                continue;
            side[to] = true;
            queue[n++] = to;
        }
    remat_arena_rewind(arena, mark);
    return side;
}

struct sets {
    const struct remat_network *net;
    const bool *source_side; /* of the cut nearest to the source */
    const bool *sink_side;   /* of the plan's */
    bool *is_ours;           /* by root: a value of the plan's set has it */
    bool *is_theirs;         /* by root: one of the other set */
};

static bool costs(const struct remat_warner *r, const struct sets *s,
                  remat_node v)
{
    return s->net->through[v] != REMAT_NO_VERTEX &&
           s->net->edges[s->net->through[v]].capacity > 0 &&
           remat_is_tensor(r->w->g, v) && r->w->g->n_bytes[v] > 0;
}

static bool is_in_plan(const struct sets *s, remat_node v)
{
    return !s->sink_side[s->net->in[v]] && s->sink_side[s->net->out[v]];
}

static bool is_in_other(const struct sets *s, remat_node v)
{
    return s->source_side[s->net->in[v]] && !s->source_side[s->net->out[v]];
}

static bool compare(struct remat_warner *r, struct sets *s)
{
    struct remat_arena *arena = &r->w->job->arena;
    const struct remat_graph *g = r->w->g;

    s->source_side = find_source_side(r);
    s->is_ours = REMAT_NEW_ARRAY(arena, bool, g->n);
    s->is_theirs = REMAT_NEW_ARRAY(arena, bool, g->n);
    if (arena->status != REMAT_OK)
        return false;
    for (remat_node v = 0; v < g->n; v++) {
        if (!costs(r, s, v))
            continue;
        if (is_in_plan(s, v))
            s->is_ours[r->root[v]] = true;
        if (is_in_other(s, v))
            s->is_theirs[r->root[v]] = true;
    }
    return true;
}

/* What one set has and the other has not; the same bytes under another name are
 * no difference, nor is what the backward turns out not to read. */
static void collect(const struct remat_warner *r, const struct sets *s,
                    struct remat_warn_group *ours,
                    struct remat_warn_group *theirs)
{
    for (remat_node v = 0; v < r->w->g->n; v++) {
        remat_node root = r->root[v];

        if (!costs(r, s, v))
            continue;
        if (is_in_plan(s, v) && !s->is_theirs[root] && r->is_saved[v])
            remat_warn_collect(ours, v);
        if (is_in_other(s, v) && !s->is_ours[root])
            remat_warn_collect(theirs, v);
    }
}

void remat_warn_ties(struct remat_warner *r)
{
    struct remat_warn_group ours = {.n = 0};
    struct remat_warn_group theirs = {.n = 0};
    struct sets s;

    if (!remat_has_plan(r) || r->cut == NULL || r->cut->trivial ||
        r->cut->cut.unbounded)
        return;
    s = (struct sets){.net = &r->cut->net, .sink_side = r->cut->sink_side};
    if (!compare(r, &s))
        return;
    collect(r, &s, &ours, &theirs);
    if (ours.n > 0 && theirs.n > 0)
        remat_warn_say(r, REMAT_INFO, ours.at[0],
                       "another set costs the same: %s instead of %s. The set "
                       "nearest to the backward is taken, as PyTorch does",
                       remat_warn_names(r, &theirs),
                       remat_warn_names(r, &ours));
}
