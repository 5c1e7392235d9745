/*
 * frontier_plan.c: one point of the hull as a plan.
 */
#include "error.h"
#include "extract.h"
#include "flops.h"
#include "frontier.h"
#include "verify.h"

#include <string.h>

enum {
    N_LISTS = 4
};

/* ---- from cut to extraction -------------------------------------------- */

static bool is_saved(const struct remat_frontier_network *net,
                     const struct remat_hull *hull, uint32_t n_sink_side,
                     remat_node v)
{
    uint32_t in = net->vertex[v];

    return in != REMAT_NONE && hull->place[in] >= n_sink_side &&
           hull->place[in + 1] < n_sink_side;
}

/* A saved value that was made from a static input alone, by operators that cost
 * nothing and keep its size (the transpose of a weight), is as good saved as
 * that input, which stays in memory anyway. */
static remat_node static_origin(const struct remat_work *w, remat_node v)
{
    const struct remat_graph *g = w->g;
    remat_node u = v;

    while (remat_is_call(g, u) &&
           g->inputs.begin[u + 1] - g->inputs.begin[u] == 1) {
        remat_node input = g->inputs.items[g->inputs.begin[u]];

        if (remat_frontier_is_fixed(w, u) || remat_flops(g, u) != 0 ||
            !remat_is_tensor(g, u) || g->n_bytes[input] != g->n_bytes[v] ||
            remat_in_backward_only(g, u))
            break;
        u = input;
    }
    return g->is_static[u] && remat_is_tensor(g, u) ? u : v;
}

void remat_frontier_choose(const struct remat_work *w,
                           const struct remat_frontier_network *net,
                           const struct remat_hull *hull, uint32_t n_sink_side,
                           bool *is_chosen)
{
    for (remat_node v = 0; v < w->g->n; v++)
        if (is_saved(net, hull, n_sink_side, v))
            is_chosen[static_origin(w, v)] = true;
}

static enum remat_status
extract(struct remat_work *w, const struct remat_frontier_network *net,
        const struct remat_hull *hull, uint32_t n_sink_side,
        struct remat_extraction *x, struct remat_error *err)
{
    remat_node *at = REMAT_NEW_ARRAY(&w->job->arena, remat_node, w->g->n);
    bool *is_chosen = REMAT_NEW_ARRAY(&w->job->arena, bool, w->g->n);
    struct remat_nodes chosen = {at, 0};
    enum remat_status status;

    if (at == NULL || is_chosen == NULL)
        return remat_job_no_memory(w->job, err);
    remat_frontier_choose(w, net, hull, n_sink_side, is_chosen);
    for (remat_node v = 0; v < w->g->n; v++)
        if (is_chosen[v])
            at[chosen.n++] = v;
    status = remat_extract(w, chosen, x, err);
    if (status == REMAT_OK && !x->is_invalid)
        status = remat_verify_extraction(w, chosen, x, err);
    return status;
}

bool remat_frontier_is_faithful(const struct remat_work *w,
                                struct remat_nodes recomputed)
{
    for (uint32_t i = 0; i < recomputed.n; i++)
        if (remat_frontier_is_fixed(w, recomputed.at[i]))
            return false;
    return true;
}

/* ---- what it costs ----------------------------------------------------- */

static void add_up(const struct remat_work *w, const struct remat_extraction *x,
                   bool *counted, struct remat_plan *plan)
{
    const struct remat_graph *g = w->g;

    for (uint32_t i = 0; i < x->saved.n; i++) {
        remat_node v = x->saved.at[i];
        remat_node root = g->storage[v] != REMAT_NONE ? g->storage[v] : v;
        int64_t n_bytes = g->n_bytes[v] > 0 ? g->n_bytes[v] : 0;
        int64_t root_bytes = g->n_bytes[root] > 0 ? g->n_bytes[root] : 0;

        plan->saved_bytes = remat_add_saturating(plan->saved_bytes, n_bytes);
        if (g->is_static[v])
            plan->static_bytes =
                remat_add_saturating(plan->static_bytes, n_bytes);
        if (!counted[root])
            plan->saved_storage_bytes =
                remat_add_saturating(plan->saved_storage_bytes, root_bytes);
        counted[root] = true;
    }
    for (remat_node v = 0; v < g->n; v++)
        if (w->fw[v])
            plan->forward_flops =
                remat_add_saturating(plan->forward_flops, remat_flops(g, v));
    for (uint32_t i = 0; i < x->recomputed.n; i++)
        plan->recomputed_flops = remat_add_saturating(
            plan->recomputed_flops, remat_flops(g, x->recomputed.at[i]));
}

/* ---- what stays -------------------------------------------------------- */

static uint32_t pack(const struct remat_nodes *lists, remat_node *room)
{
    uint32_t n = 0;

    for (int i = 0; i < N_LISTS; i++) {
        if (lists[i].n > 0)
            memcpy(room + n, lists[i].at, lists[i].n * sizeof(*room));
        n += lists[i].n;
    }
    return n;
}

enum remat_status remat_frontier_keep(struct remat_work *w,
                                      const struct remat_frontier_network *net,
                                      struct remat_mark bottom,
                                      const struct remat_plan *solved,
                                      const struct remat_plan **plan,
                                      struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_plan copy = *solved;
    struct remat_nodes *const lists[N_LISTS] = {
        &copy.saved, &copy.saved_sym, &copy.saved_opaque, &copy.recomputed};
    const struct remat_nodes from[N_LISTS] = {
        copy.saved, copy.saved_sym, copy.saved_opaque, copy.recomputed};
    uint32_t n = pack(from, net->room);
    struct remat_plan *kept;
    remat_node *at;

    remat_arena_rewind(arena, bottom);
    kept = REMAT_NEW(arena, struct remat_plan);
    at = REMAT_NEW_ARRAY(arena, remat_node, n);
    if (kept == NULL || at == NULL)
        return remat_job_no_memory(w->job, err);
    if (n > 0)
        memcpy(at, net->room, n * sizeof(*at));
    for (int i = 0; i < N_LISTS; i++) {
        lists[i]->at = at;
        at += lists[i]->n;
    }
    copy.cuts = NULL;
    copy.n_cuts = 0;
    copy.diagnostics = NULL;
    copy.n_diagnostics = 0;
    copy.memory = (struct remat_memory){.peak_forward_bytes = 0};
    copy.facts = (struct remat_facts){.live = w->live,
                                      .required_fw = w->fw,
                                      .required_bw = w->bw,
                                      .tangents_closure = w->closure,
                                      .tag = w->tag,
                                      .dist = w->dist};
    *kept = copy;
    *plan = kept;
    return REMAT_OK;
}

/* Everything it allocates is scratch. */
static enum remat_status measure(struct remat_work *w,
                                 const struct remat_frontier_network *net,
                                 const struct remat_hull *hull,
                                 uint32_t n_sink_side, struct remat_plan *plan,
                                 struct remat_error *err)
{
    bool *counted = REMAT_NEW_ARRAY(&w->job->arena, bool, w->g->n);
    struct remat_extraction x = {0};
    enum remat_status status;

    if (counted == NULL)
        return remat_job_no_memory(w->job, err);
    status = extract(w, net, hull, n_sink_side, &x, err);
    if (status != REMAT_OK)
        return status;
    if (x.is_invalid || !remat_frontier_is_faithful(w, x.recomputed)) {
        plan->outcome = REMAT_INVALID_OUTPUT;
        return REMAT_OK;
    }
    add_up(w, &x, counted, plan);
    plan->saved = x.saved;
    plan->saved_sym = x.sym;
    plan->saved_opaque = x.opaque;
    plan->recomputed = x.recomputed;
    return REMAT_OK;
}

enum remat_status remat_frontier_plan(struct remat_work *w,
                                      const struct remat_frontier_network *net,
                                      const struct remat_hull *hull,
                                      uint32_t n_sink_side,
                                      const struct remat_plan **plan,
                                      struct remat_error *err)
{
    struct remat_mark bottom = remat_arena_mark(&w->job->arena);
    struct remat_plan measured = {.outcome = REMAT_PLAN};
    enum remat_status status =
        measure(w, net, hull, n_sink_side, &measured, err);

    *plan = NULL;
    if (status == REMAT_OK)
        status =
            remat_job_spend(w->job, w->users.begin[w->g->n], "frontier", err);
    if (status == REMAT_OK && measured.outcome == REMAT_PLAN)
        return remat_frontier_keep(w, net, bottom, &measured, plan, err);
    remat_arena_rewind(&w->job->arena, bottom);
    return status;
}
