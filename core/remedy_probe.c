/*
 * remedy_probe.c: tags changed for a try, and what is in conflict with them.
 *
 * The job's own tags are changed, since everything reads them there; whoever
 * applies a change restores it. A probe does for real what a decision does with
 * tags: clean-up, bans, network. It shares the rest with the decision.
 */
#include "remedy_work.h"

#include "error.h"

#include <string.h>

/* ---- costs ------------------------------------------------------------- */

int64_t remat_remedy_cost(const struct remat_remedy_work *r, remat_node v)
{
    bool by_pass = r->w->g->tag_by_pass[v];

    switch ((enum remat_policy)r->policy[v]) {
    case REMAT_PREFER_SAVE:
    case REMAT_PREFER_RECOMPUTE:
    case REMAT_PREFER_CPU_OFFLOAD:
        return by_pass ? REMAT_COST_PASS_PREFER : REMAT_COST_PREFER;
    case REMAT_MUST_SAVE:
    case REMAT_MUST_RECOMPUTE:
    case REMAT_MUST_CPU_OFFLOAD:
        return by_pass ? REMAT_COST_PASS_MUST : REMAT_COST_MUST;
    case REMAT_UNTAGGED:
    case REMAT_N_POLICIES:
        break;
    }
    return REMAT_COST_NEW_TAG;
}

/* ---- changes ----------------------------------------------------------- */

void remat_remedy_apply(struct remat_remedy_work *r, remat_node v,
                        uint8_t policy)
{
    struct remat_graph *g = &r->w->job->graph;

    g->policy[v] = policy;
    /* A region on an untagged node says nothing, also of a tag it gets. */
    g->has_ac_graph_id[v] = r->has_region[v] && policy != REMAT_UNTAGGED &&
                            r->policy[v] != REMAT_UNTAGGED;
}

void remat_remedy_restore(struct remat_remedy_work *r, remat_node v)
{
    struct remat_graph *g = &r->w->job->graph;

    g->policy[v] = r->policy[v];
    g->has_ac_graph_id[v] = r->has_region[v];
}

/* ---- probes ------------------------------------------------------------ */

static enum remat_status spend(struct remat_remedy_work *r)
{
    uint64_t cost = r->w->g->n + (uint64_t)r->w->users.begin[r->w->g->n] + 64;

    r->n_left = cost < r->n_left ? r->n_left - cost : 0;
    return remat_job_spend(r->w->job, cost, "remedy", r->err);
}

static enum remat_status find_bans(struct remat_remedy_work *r,
                                   struct remat_probe *probe)
{
    struct remat_error own_err = {.node = REMAT_NONE};
    enum remat_status status;

    probe->w = *r->w;
    probe->part = (struct remat_infinite_part){.nodes = NULL};
    status = remat_clean_tags(&probe->w, r->err);
    if (status != REMAT_OK)
        return status;
    status = remat_find_bans(&probe->w, r->rules, r->dont_ban, &probe->bans,
                             &own_err);
    probe->is_refused = remat_is_refusal(status);
    if (status == REMAT_OK || probe->is_refused)
        return REMAT_OK;
    return remat_error_set(r->err, status, own_err.node, "%s", own_err.detail);
}

enum remat_status remat_remedy_probe(struct remat_remedy_work *r,
                                     struct remat_probe *probe)
{
    enum remat_status status = spend(r);

    if (status == REMAT_OK)
        status = find_bans(r, probe);
    if (status != REMAT_OK || probe->is_refused)
        return status;
    status = remat_network_build(&probe->w, &probe->bans, &probe->net, r->err);
    if (status != REMAT_OK || probe->net.source == REMAT_NO_VERTEX ||
        probe->net.sink == REMAT_NO_VERTEX)
        return status;
    return remat_infinite_part(&probe->w, &probe->net, &probe->part, r->err);
}

/* Why nodes are banned when no node has a tag. Where that cannot be told for
 * want of a size, nothing is known to be banned. */
static enum remat_status find_untagged_reasons(struct remat_remedy_work *r)
{
    struct remat_graph *g = &r->w->job->graph;
    struct remat_arena *arena = &r->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_probe probe;
    enum remat_status status;

    memset(g->policy, REMAT_UNTAGGED, g->n);
    status = find_bans(r, &probe);
    memcpy(g->policy, r->policy, g->n);
    if (status != REMAT_OK)
        return status;
    if (!probe.is_refused)
        memcpy(r->untagged_reason, probe.bans.reason, g->n);
    remat_arena_rewind(arena, mark);
    return spend(r);
}

enum remat_status remat_remedy_begin(struct remat_remedy_work *r)
{
    struct remat_arena *arena = &r->w->job->arena;
    const struct remat_graph *g = r->w->g;

    r->policy = REMAT_NEW_ARRAY(arena, uint8_t, g->n);
    r->has_region = REMAT_NEW_ARRAY(arena, bool, g->n);
    r->untagged_reason = REMAT_NEW_ARRAY(arena, uint8_t, g->n);
    r->is_decided = REMAT_NEW_ARRAY(arena, bool, g->n);
    r->excluded = REMAT_NEW_ARRAY(arena, uint8_t, g->n);
    r->place = REMAT_NEW_ARRAY(arena, uint32_t, g->n);
    r->in_the_way = REMAT_NEW_ARRAY(arena, remat_node, g->n);
    r->best = REMAT_NEW_ARRAY(arena, struct remat_way, g->n);
    if (arena->status != REMAT_OK)
        return remat_job_no_memory(r->w->job, r->err);
    memcpy(r->policy, g->policy, g->n);
    memcpy(r->has_region, g->has_ac_graph_id, g->n * sizeof(*r->has_region));
    r->has_begun = true;
    return find_untagged_reasons(r);
}
