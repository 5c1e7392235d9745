/*
 * cut.c: one minimum cut: bans, network, flow, nodes.
 */
#include "cut.h"

static enum remat_status solve_flow(struct remat_work *w,
                                    struct remat_cut_work *c,
                                    struct remat_error *err)
{
    struct remat_job *job = w->job;
    enum remat_status status;

    c->trivial =
        c->net.source == REMAT_NO_VERTEX || c->net.sink == REMAT_NO_VERTEX;
    if (c->trivial)
        return REMAT_OK;
    status = remat_residual_build(job, &c->net, &c->residual, err);
    if (status != REMAT_OK)
        return status;
    c->cut.unbounded = c->residual.infinite;
    if (c->cut.unbounded)
        return REMAT_OK;
    status = remat_maxflow(job, &c->residual, &c->flow, err);
    if (status != REMAT_OK)
        return status;
    c->cut.value = c->flow.value;
    return remat_mincut_sink_side(job, &c->residual, &c->sink_side, err);
}

enum remat_status remat_cut_solve(struct remat_work *w,
                                  const struct remat_rules *rules,
                                  const bool *dont_ban,
                                  struct remat_cut_work *c,
                                  struct remat_error *err)
{
    enum remat_status status;

    *c = (struct remat_cut_work){.trivial = false};
    status = remat_find_bans(w, rules, dont_ban, &c->bans, err);
    if (status == REMAT_OK)
        status = remat_job_enter(w->job, REMAT_PHASE_NETWORK, err);
    if (status == REMAT_OK)
        status = remat_network_build(w, &c->bans, &c->net, err);
    if (status == REMAT_OK)
        status = remat_job_enter(w->job, REMAT_PHASE_FLOW, err);
    if (status == REMAT_OK)
        status = solve_flow(w, c, err);
    if (status != REMAT_OK)
        return status;
    c->cut.n_vertices = c->net.n_vertices;
    c->cut.n_edges = c->net.n_edges;
    c->cut.bans = c->bans.list;
    c->cut.n_bans = c->bans.n;
    return remat_mincut_nodes(w, &c->net, c->sink_side, &c->cut.nodes, err);
}

const struct remat_network_view *remat_cut_view(struct remat_job *job,
                                                const struct remat_cut_work *c)
{
    struct remat_network_view *view =
        REMAT_NEW(&job->arena, struct remat_network_view);

    if (view == NULL)
        return NULL;
    *view = (struct remat_network_view){.n_vertices = c->net.n_vertices,
                                        .n_edges = c->net.n_edges,
                                        .edges = c->net.edges,
                                        .source = c->net.source,
                                        .sink = c->net.sink,
                                        .in = c->net.in,
                                        .out = c->net.out,
                                        .through = c->net.through,
                                        .node = c->net.node,
                                        .sink_side = c->sink_side};
    return view;
}
