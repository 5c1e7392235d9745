/*
 * classify.c: tangents closure, required-bw, required-fw, order and distance.
 *
 * Reads live, users. The two classes may overlap: a primal returned as its own
 * gradient is required by both.
 */
#include "classify.h"

static bool allocate(struct remat_work *w)
{
    struct remat_arena *arena = &w->job->arena;
    uint32_t n = w->g->n;

    w->closure = REMAT_NEW_ARRAY(arena, bool, n);
    w->bw = REMAT_NEW_ARRAY(arena, bool, n);
    w->fw = REMAT_NEW_ARRAY(arena, bool, n);
    w->order = REMAT_NEW_ARRAY(arena, uint32_t, n);
    w->dist = REMAT_NEW_ARRAY(arena, uint32_t, n);
    return arena->status == REMAT_OK;
}

/* 3.2: whatever depends on a tangent or is pinned to the backward, and what the
 * backward returns. */
static void find_required_bw(struct remat_work *w)
{
    const struct remat_graph *g = w->g;

    for (remat_node v = 0; v < g->n; v++) {
        if (!w->live[v])
            continue;
        if (g->role[v] == REMAT_TANGENT || remat_in_backward_only(g, v))
            w->closure[v] = true;
        REMAT_FOR_INPUTS (g, v, i)
            if (w->closure[g->inputs.items[i]])
                w->closure[v] = true;
        w->bw[v] = w->closure[v];
    }
    for (uint32_t i = 0; i < g->bwd_outputs.n; i++)
        if (g->bwd_outputs.at[i] != REMAT_NONE)
            w->bw[g->bwd_outputs.at[i]] = true;
    for (remat_node v = 0; v < g->n; v++)
        w->has_backward = w->has_backward || w->bw[v];
}

static void mark(bool *set, struct remat_nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        set[nodes.at[i]] = true;
}

/* 3.3 and 3.7. */
static void find_required_fw(struct remat_work *w,
                             struct remat_subgraph *forward)
{
    const struct remat_graph *g = w->g;
    uint32_t order = 0;

    mark(forward->is_input, g->primals);
    mark(forward->is_input, g->forward_seeds);
    remat_subgraph_extract(w, forward, false, &g->fwd_outputs, 1);
    if (forward->invalid != REMAT_NONE)
        return;
    for (remat_node v = 0; v < g->n; v++) {
        w->fw[v] = forward->is_input[v] || forward->kept[v];
        w->order[v] = w->fw[v] ? order++ : REMAT_NONE;
    }
}

/* 4.1: steps to the nearest node outside the forward. */
static void find_distance(struct remat_work *w)
{
    for (remat_node v = w->g->n; v-- > 0;) {
        uint32_t dist = REMAT_FAR;

        if (remat_spec(w->g, v)->op != REMAT_OUTPUT) {
            REMAT_FOR_USERS (w, v, i)
                if (w->dist[w->users.items[i]] + 1 < dist)
                    dist = w->dist[w->users.items[i]] + 1;
            if (!w->fw[v])
                dist = 0;
        }
        w->dist[v] = dist;
    }
}

enum remat_status remat_classify(struct remat_work *w,
                                 struct remat_subgraph *forward,
                                 struct remat_error *err)
{
    enum remat_status status = remat_subgraph_init(w, forward, err);

    if (status != REMAT_OK)
        return status;
    if (!allocate(w))
        return remat_job_no_memory(w->job, err);
    find_required_bw(w);
    find_required_fw(w, forward);
    find_distance(w);
    return REMAT_OK;
}

enum remat_status remat_prepare(struct remat_work *w,
                                struct remat_subgraph *forward,
                                struct remat_error *err)
{
    enum remat_status status =
        remat_job_enter(w->job, REMAT_PHASE_CLASSIFY, err);

    if (status == REMAT_OK)
        status = remat_remove_dead(w, err);
    if (status == REMAT_OK)
        status = remat_clean_tags(w, err);
    if (status == REMAT_OK)
        status = remat_classify(w, forward, err);
    if (status == REMAT_OK)
        status =
            remat_job_spend(w->job, w->users.begin[w->g->n], "classes", err);
    return status;
}
