/*
 * remedy_ways.c: which changes of tags break a conflict.
 *
 * A conflict begins with a node that may not be computed again and ends with
 * one that has to be; what lies between can at most become such an end itself,
 * and the conflict stays. So one of two things has to go: the ban of the first
 * node or the wish of the last. Mostly that is the node's own tag; where the
 * clean-up gave the tag, or would give another, the tags of others count too.
 */
#include "remedy_work.h"

#include "dropout.h"

static bool is_getitem(const struct remat_graph *g, remat_node v)
{
    return remat_special(g, v) == REMAT_GETITEM;
}

/* Whether v may be asked to run again: what runs twice has to give the same. */
static bool may_run_again(const struct remat_work *w, remat_node v)
{
    return remat_is_call(w->g, v) &&
           !remat_has_trait(w->g, v, REMAT_NO_RECOMPUTE) &&
           (!remat_is_unrepeatable(w, v) || remat_draws_nothing(w->g, v));
}

/* Whether v's tag may become `policy` (see remedy_work.h). */
static bool is_way(const struct remat_remedy_work *r, remat_node v,
                   uint8_t policy)
{
    uint8_t before = r->policy[v];

    if (r->is_decided[v] || (r->excluded[v] >> policy & 1) != 0)
        return false;
    if (policy == REMAT_UNTAGGED)
        return remat_wants_recompute(before) || before == REMAT_MUST_SAVE;
    if (remat_wants_recompute(before) || !may_run_again(r->w, v))
        return false;
    return before != REMAT_UNTAGGED || r->allows_new;
}

static void add(const struct remat_remedy_work *r, struct remat_ways *ways,
                remat_node v, uint8_t policy)
{
    if (!is_way(r, v, policy))
        return;
    for (uint32_t i = 0; i < ways->n; i++)
        if (ways->at[i].node == v && ways->at[i].policy == policy)
            return;
    if (ways->n == REMAT_MOST_WAYS) {
        ways->is_short = true;
        return;
    }
    ways->at[ways->n++] =
        (struct remat_way){v, policy, remat_remedy_cost(r, v)};
}

/* Whether v would stay banned without a tag, whatever becomes of others. The
 * rule about long chains alone looks at bans of other nodes. */
static bool stays_banned(const struct remat_remedy_work *r, remat_node v)
{
    return r->untagged_reason[v] != REMAT_BAN_NONE &&
           r->untagged_reason[v] != REMAT_BAN_LONG_CHAIN;
}

static void add_both(const struct remat_remedy_work *r, struct remat_ways *ways,
                     remat_node v)
{
    add(r, ways, v, REMAT_UNTAGGED);
    add(r, ways, v, REMAT_PREFER_RECOMPUTE);
}

/* Cheapest first, the rest as they were added. */
static void sort(struct remat_ways *ways)
{
    for (uint32_t i = 1; i < ways->n; i++) {
        struct remat_way way = ways->at[i];
        uint32_t at = i;

        for (; at > 0 && way.cost < ways->at[at - 1].cost; at--)
            ways->at[at] = ways->at[at - 1];
        ways->at[at] = way;
    }
}

/* ---- whose tags decide ------------------------------------------------- */

/* The tags of v's users, as the clean-up reads them. */
static void add_users(const struct remat_remedy_work *r,
                      struct remat_ways *ways, remat_node v)
{
    REMAT_FOR_USERS (r->w, v, i)
        add_both(r, ways, r->w->users.items[i]);
}

static bool is_by_users(const struct remat_probe *probe, remat_node v)
{
    return probe->w.tag_rule[v] == REMAT_TAG_REGION ||
           probe->w.tag_rule[v] == REMAT_TAG_HOOK;
}

/* The effectful operator that v is a result of, or REMAT_NONE. Nobody nests
 * tuples deeper than the bound. */
static remat_node find_effect(const struct remat_graph *g, remat_node v)
{
    for (int depth = 0; depth < 64 && v != REMAT_NONE && is_getitem(g, v);
         depth++)
        v = remat_arg_node(g, v, 0);
    if (v == REMAT_NONE || !remat_has_effects(g, v))
        return REMAT_NONE;
    return v;
}

/* Whether v would be saved if u, a user of it, were computed again: what a
 * later region reads is. Only a tag that u has already keeps its region. */
static bool is_saved_for(const struct remat_remedy_work *r, remat_node v,
                         remat_node u)
{
    const struct remat_graph *g = r->w->g;

    return r->has_region[v] && r->has_region[u] &&
           r->policy[u] != REMAT_UNTAGGED &&
           g->ac_graph_id[u] > g->ac_graph_id[v];
}

static bool may_be_saved_for_user(const struct remat_remedy_work *r,
                                  remat_node v)
{
    REMAT_FOR_USERS (r->w, v, i) {
        remat_node u = r->w->users.items[i];

        if (is_saved_for(r, v, u) && is_way(r, u, REMAT_PREFER_RECOMPUTE))
            return true;
    }
    return false;
}

static bool is_end_by_others(const struct remat_remedy_work *r, remat_node v)
{
    const struct remat_graph *g = r->w->g;

    return remat_spec(g, v)->has_backward_hook ||
           (is_getitem(g, v) && find_effect(g, v) != REMAT_NONE) ||
           may_be_saved_for_user(r, v);
}

static void add_start(const struct remat_remedy_work *r,
                      const struct remat_probe *probe, remat_node v,
                      struct remat_ways *ways)
{
    if (probe->w.tag_rule[v] == REMAT_TAG_MUTATION)
        return;
    if (probe->bans.reason[v] == REMAT_BAN_LONG_CHAIN)
        remat_remedy_all_ways(r, ways);
    if (!stays_banned(r, v))
        add(r, ways, v, REMAT_UNTAGGED);
    add(r, ways, v, REMAT_PREFER_RECOMPUTE);
    if (is_by_users(probe, v))
        add_users(r, ways, v);
}

static void add_end(const struct remat_remedy_work *r,
                    const struct remat_probe *probe, remat_node v,
                    struct remat_ways *ways)
{
    remat_node effect;

    if (probe->w.closure[v] || !remat_wants_recompute(probe->w.tag[v]))
        return;
    add(r, ways, v, REMAT_UNTAGGED);
    REMAT_FOR_USERS (r->w, v, i)
        if (is_saved_for(r, v, r->w->users.items[i]))
            add(r, ways, r->w->users.items[i], REMAT_PREFER_RECOMPUTE);
    if (remat_spec(r->w->g, v)->has_backward_hook)
        add_users(r, ways, v);
    effect = is_getitem(r->w->g, v) ? find_effect(r->w->g, v) : REMAT_NONE;
    if (effect != REMAT_NONE)
        add_both(r, ways, effect);
}

uint32_t remat_remedy_n_ways(const struct remat_remedy_work *r)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < r->w->g->n; v++)
        if (r->w->live[v])
            n += is_way(r, v, REMAT_UNTAGGED) +
                 is_way(r, v, REMAT_PREFER_RECOMPUTE);
    return n;
}

void remat_remedy_invalid_ways(const struct remat_remedy_work *r,
                               struct remat_ways *ways)
{
    remat_remedy_all_ways(r, ways);
    if (!r->is_small)
        for (uint32_t k = 0; k < r->n_in_the_way; k++)
            add_both(r, ways, r->in_the_way[k]);
    sort(ways);
}

void remat_remedy_all_ways(const struct remat_remedy_work *r,
                           struct remat_ways *ways)
{
    if (!r->is_small) {
        ways->is_short = true;
        return;
    }
    for (remat_node v = 0; v < r->w->g->n; v++)
        if (r->w->live[v])
            add_both(r, ways, v);
}

/* ---- one conflict ------------------------------------------------------ */

struct ends {
    remat_node first;
    remat_node last;
};

/* Breadth first from all starts to the nearest end. */
static enum remat_status find_conflict(struct remat_remedy_work *r,
                                       const struct remat_infinite_part *part,
                                       struct ends *ends)
{
    const struct remat_path_graph *g = &part->graph;
    struct remat_arena *arena = &r->w->job->arena;
    uint32_t *start_of = REMAT_NEW_ARRAY(arena, uint32_t, g->n);
    uint32_t *queue = REMAT_NEW_ARRAY(arena, uint32_t, g->n);
    uint32_t n = 0;

    if (start_of == NULL || queue == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    for (uint32_t i = 0; i < g->n; i++) {
        start_of[i] = g->is_start[i] ? i : REMAT_NONE;
        if (g->is_start[i])
            queue[n++] = i;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = queue[k];

        if (g->is_end[i]) {
            *ends = (struct ends){part->nodes[start_of[i]], part->nodes[i]};
            return REMAT_OK;
        }
        for (uint32_t e = g->next.begin[i]; e < g->next.begin[i + 1]; e++) {
            uint32_t next = g->next.items[e];

            if (start_of[next] != REMAT_NONE)
                continue;
            start_of[next] = start_of[i];
            queue[n++] = next;
        }
    }
    return REMAT_OK;
}

enum remat_status remat_remedy_ways(struct remat_remedy_work *r,
                                    const struct remat_probe *probe,
                                    struct remat_ways *ways)
{
    struct ends ends = {REMAT_NONE, REMAT_NONE};
    enum remat_status status = find_conflict(r, &probe->part, &ends);

    ways->n = 0;
    ways->is_short = false;
    if (status != REMAT_OK || ends.first == REMAT_NONE)
        return status;
    add_start(r, probe, ends.first, ways);
    add_end(r, probe, ends.last, ways);
    sort(ways);
    return REMAT_OK;
}

/* ---- bounds and expectations ------------------------------------------- */

int64_t remat_remedy_start_bound(const struct remat_remedy_work *r,
                                 const struct remat_probe *probe, remat_node v)
{
    if (probe->w.tag_rule[v] == REMAT_TAG_MUTATION)
        return REMAT_NO_WAY;
    if (is_by_users(probe, v) || probe->bans.reason[v] == REMAT_BAN_LONG_CHAIN)
        return 0;
    if ((is_way(r, v, REMAT_UNTAGGED) && !stays_banned(r, v)) ||
        is_way(r, v, REMAT_PREFER_RECOMPUTE))
        return remat_remedy_cost(r, v);
    return REMAT_NO_WAY;
}

int64_t remat_remedy_end_bound(const struct remat_remedy_work *r,
                               const struct remat_probe *probe, remat_node v)
{
    if (probe->w.closure[v] || !remat_wants_recompute(probe->w.tag[v]))
        return REMAT_NO_WAY;
    if (is_end_by_others(r, v))
        return 0;
    return is_way(r, v, REMAT_UNTAGGED) ? remat_remedy_cost(r, v)
                                        : REMAT_NO_WAY;
}

/* A tag that was already given up may be given up in another way for nothing.
 */
struct remat_way remat_remedy_start_way(const struct remat_remedy_work *r,
                                        const struct remat_probe *probe,
                                        remat_node v)
{
    const struct remat_work *w = &probe->w;
    uint8_t now = w->g->policy[v];
    struct remat_way way = {v, REMAT_UNTAGGED, REMAT_NO_WAY};
    int64_t cost = r->is_decided[v] ? 0 : remat_remedy_cost(r, v);

    if (w->tag_rule[v] == REMAT_TAG_MUTATION)
        return way;
    if (!r->is_decided[v] && r->untagged_reason[v] == REMAT_BAN_NONE &&
        (now == REMAT_MUST_SAVE || remat_wants_recompute(now))) {
        way.cost = cost;
        return way;
    }
    if (remat_wants_recompute(r->policy[v]) || remat_wants_recompute(now) ||
        !may_run_again(w, v) ||
        (r->policy[v] == REMAT_UNTAGGED && !r->allows_new))
        return way;
    return (struct remat_way){v, REMAT_PREFER_RECOMPUTE, cost};
}

struct remat_way remat_remedy_end_way(const struct remat_remedy_work *r,
                                      const struct remat_probe *probe,
                                      remat_node v)
{
    struct remat_way way = {v, REMAT_UNTAGGED, REMAT_NO_WAY};

    if (!probe->w.closure[v] && remat_wants_recompute(probe->w.tag[v]) &&
        remat_wants_recompute(r->policy[v]) && !r->is_decided[v])
        way.cost = remat_remedy_cost(r, v);
    return way;
}
