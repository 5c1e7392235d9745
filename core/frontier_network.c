/*
 * frontier_network.c: the graph as a network that trades bytes for FLOPs.
 *
 * It differs from the partitioner's network (network.c) in what it asks. That
 * one finds PyTorch's answer: bytes are weighed by distance, and operators that
 * cost time are banned. Here a cut costs exactly what a plan reports:
 *
 *   bytes  of a saved tensor, static inputs included, whatever its distance; a
 *          symbol or opaque object stands in lists of its own and costs nothing
 *   FLOPs  of a value computed again, where the forward computes it too. What
 *          only the backward needs is computed once and costs nothing.
 *
 * A value tagged for recomputation cannot be saved, but need not be computed
 * when nothing reads it. Inputs and what remat_frontier_is_fixed says cannot be
 * computed again.
 *
 * Where a plan then costs something else than its cut: an impure operator runs
 * in the backward whenever it can, needed or not; a value only the backward
 * needs is computed twice when another saved one is made from it; what the
 * backward does not read after all (a wait nobody waits for) is not saved.
 * Points of a frontier always carry the numbers of the plan.
 */
#include "choose.h"
#include "classify.h"
#include "dropout.h"
#include "error.h"
#include "flops.h"
#include "frontier.h"

#include <string.h>

/* ---- what a value costs ------------------------------------------------ */

/* Views are as good computed again as kept, whatever their tag; a symbolic
 * float can always be (semantics 5.2). */
static bool has_to_stay(const struct remat_work *w, remat_node v)
{
    if (!remat_is_call(w->g, v) || remat_special(w->g, v) == REMAT_GETITEM ||
        !w->fw[v] || remat_wants_recompute(w->tag[v]) ||
        remat_spec(w->g, v)->value.kind == REMAT_VALUE_SYM_FLOAT ||
        (remat_has_trait(w->g, v, REMAT_VIEW) && !remat_is_plain(w)))
        return false;
    return w->tag[v] == REMAT_MUST_SAVE ||
           remat_has_trait(w->g, v, REMAT_EFFECTS) ||
           (remat_is_unrepeatable(w, v) && !remat_draws_nothing(w->g, v));
}

bool remat_frontier_is_fixed(const struct remat_work *w, remat_node v)
{
    return has_to_stay(w, v) ||
           (remat_is_call(w->g, v) && remat_in_forward_only(w->g, v));
}

static int64_t flops_of(const struct remat_work *w, remat_node v)
{
    switch ((enum remat_role)w->g->role[v]) {
    case REMAT_PRIMAL:
    case REMAT_FORWARD_SEED:
        return REMAT_INFINITE;
    case REMAT_BACKWARD_SEED:
    case REMAT_TANGENT:
        return 0; /* given to the backward */
    case REMAT_NO_ROLE:
        break;
    }
    if (remat_frontier_is_fixed(w, v))
        return REMAT_INFINITE;
    return w->fw[v] ? remat_flops(w->g, v) : 0;
}

static int64_t bytes_of(const struct remat_work *w, remat_node v)
{
    const struct remat_graph *g = w->g;

    if (remat_wants_recompute(w->tag[v]))
        return REMAT_INFINITE;
    if (remat_spec(g, v)->opaque || remat_is_symbol(g, v))
        return 0;
    if (remat_is_tensor(g, v))
        return g->n_bytes[v];
    return remat_weight(w, v);
}

/* ---- vertices and edges ------------------------------------------------ */

static bool is_part(const struct remat_work *w, remat_node v)
{
    return w->live[v] && !w->closure[v] &&
           remat_spec(w->g, v)->op != REMAT_OUTPUT;
}

static void add_edge(struct remat_trade_network *net, uint32_t from,
                     uint32_t to, int64_t capacity)
{
    net->edges[net->n_edges++] = (struct remat_edge){from, to, capacity};
}

static void add_node(const struct remat_work *w,
                     struct remat_frontier_network *net, remat_node v)
{
    struct remat_trade_network *trade = &net->trade;
    uint32_t in = net->vertex[v];

    trade->flops[in] = flops_of(w, v);
    trade->at_sink[in + 1] = w->bw[v];
    add_edge(trade, in, in + 1, bytes_of(w, v));
    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];

        if (w->closure[user] && remat_spec(w->g, user)->op != REMAT_OUTPUT)
            trade->at_sink[in + 1] = true;
        else if (net->vertex[user] != REMAT_NONE)
            add_edge(trade, in + 1, net->vertex[user], REMAT_INFINITE);
    }
}

static bool allocate(struct remat_work *w, struct remat_frontier_network *net)
{
    struct remat_arena *arena = &w->job->arena;
    size_t n = w->g->n;

    *net = (struct remat_frontier_network){.trade = {.n_vertices = 0}};
    net->vertex = REMAT_NEW_ARRAY(arena, uint32_t, n);
    net->trade.flops = REMAT_NEW_ARRAY(arena, int64_t, 2 * n);
    net->trade.at_sink = REMAT_NEW_ARRAY(arena, bool, 2 * n);
    net->trade.edges =
        REMAT_NEW_ARRAY(arena, struct remat_edge, n + w->users.begin[n]);
    net->room = remat_arena_alloc(arena, n, 4 * sizeof(*net->room));
    return arena->status == REMAT_OK;
}

enum remat_status remat_frontier_network(struct remat_work *w,
                                         struct remat_frontier_network *net,
                                         struct remat_error *err)
{
    enum remat_status status =
        remat_job_enter(w->job, REMAT_PHASE_NETWORK, err);

    if (status != REMAT_OK)
        return status;
    if (2 * ((uint64_t)w->g->n + w->users.begin[w->g->n]) >= UINT32_MAX)
        return remat_error_set(err, REMAT_E_NODES, REMAT_NONE,
                               "graph: its network has 2^31 edges or more");
    if (!allocate(w, net))
        return remat_job_no_memory(w->job, err);
    for (remat_node v = 0; v < w->g->n; v++) {
        net->vertex[v] = REMAT_NONE;
        if (!is_part(w, v))
            continue;
        net->vertex[v] = net->trade.n_vertices;
        net->trade.n_vertices += 2;
    }
    for (remat_node v = 0; v < w->g->n; v++)
        if (net->vertex[v] != REMAT_NONE)
            add_node(w, net, v);
    return remat_job_spend(w->job, net->trade.n_edges, "network", err);
}
