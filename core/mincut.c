/*
 * mincut.c: which side of the cut a vertex is on, and which nodes it saves.
 *
 * Among minimum cuts of equal value the one with the smallest sink side is
 * taken. The set reachable from the source would be another cut on ties.
 */
#include "mincut.h"

enum remat_status remat_mincut_sink_side(struct remat_job *job,
                                         const struct remat_residual *r,
                                         bool **sink_side,
                                         struct remat_error *err)
{
    bool *side = REMAT_NEW_ARRAY(&job->arena, bool, r->n_vertices);
    struct remat_mark mark = remat_arena_mark(&job->arena);
    uint32_t *queue = REMAT_NEW_ARRAY(&job->arena, uint32_t, r->n_vertices);
    uint32_t n = 0;

    if (side == NULL || queue == NULL)
        return remat_job_no_memory(job, err);
    side[r->sink] = true;
    queue[n++] = r->sink;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = queue[i];

        for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++) {
            uint32_t u = r->head[a];

            if (side[u] || r->residual[r->twin[a]] == 0)
                continue;
            side[u] = true;
            queue[n++] = u;
        }
    }
    remat_arena_rewind(&job->arena, mark);
    *sink_side = side;
    return remat_job_spend(job, r->n_arcs, "minimum cut", err);
}

static bool crosses(const struct remat_network *net, const bool *sink_side,
                    remat_node v)
{
    return net->through[v] != REMAT_NO_VERTEX && !sink_side[net->in[v]] &&
           sink_side[net->out[v]];
}

enum remat_status remat_mincut_nodes(struct remat_work *w,
                                     const struct remat_network *net,
                                     const bool *sink_side,
                                     struct remat_nodes *nodes,
                                     struct remat_error *err)
{
    remat_node *at;
    uint32_t n = 0;

    *nodes = (struct remat_nodes){NULL, 0};
    if (sink_side == NULL)
        return REMAT_OK;
    for (remat_node v = 0; v < w->g->n; v++)
        n += crosses(net, sink_side, v);
    at = REMAT_NEW_ARRAY(&w->job->arena, remat_node, n);
    if (at == NULL)
        return remat_job_no_memory(w->job, err);
    for (remat_node v = 0; v < w->g->n; v++)
        if (crosses(net, sink_side, v))
            at[nodes->n++] = v;
    nodes->at = at;
    return REMAT_OK;
}
