/*
 * remedy_prune.c: takes back what a remedy does not need.
 *
 * Where there are too many changes to try each for real, most are judged by one
 * look at the network without conflicts: taking back the tag of one node brings
 * back its edges alone, and a conflict when these join what the source reaches
 * to what reaches the sink.
 */
#include "remedy_work.h"

struct sides {
    bool *is_reached; /* by node: from the source, infinitely */
    bool *does_reach; /* the sink */
    const struct remat_probe *probe;
};

/* ---- one look for all -------------------------------------------------- */

static bool users_reach(const struct sides *s, remat_node v)
{
    const struct remat_work *w = &s->probe->w;

    REMAT_FOR_USERS (w, v, i)
        if (s->does_reach[w->users.items[i]])
            return true;
    return w->bw[v];
}

static void find_sides(struct sides *s)
{
    const struct remat_probe *p = s->probe;
    const struct remat_work *w = &p->w;

    for (uint32_t i = 0; i < p->bans.n; i++)
        s->is_reached[p->bans.list[i].node] = true;
    for (remat_node v = 0; v < w->g->n; v++)
        if (s->is_reached[v] && remat_is_infinite_through(&p->net, v))
            REMAT_FOR_USERS (w, v, i)
                s->is_reached[w->users.items[i]] = true;
    for (remat_node v = w->g->n; v-- > 0;)
        if (w->live[v] && (w->closure[v] || remat_wants_recompute(w->tag[v])))
            s->does_reach[v] = true;
        else if (remat_is_infinite_through(&p->net, v))
            s->does_reach[v] = users_reach(s, v);
}

/* Whether v, tagged again, would be saved all the same for what reads it: then
 * no look at v alone tells. */
static bool may_be_saved_anyhow(const struct remat_remedy_work *r, remat_node v)
{
    const struct remat_graph *g = r->w->g;

    if (remat_spec(g, v)->has_backward_hook)
        return true;
    REMAT_FOR_USERS (r->w, v, i) {
        remat_node u = r->w->users.items[i];

        if (r->has_region[v] && g->has_ac_graph_id[u] &&
            remat_wants_recompute(g->policy[u]) &&
            g->ac_graph_id[u] > g->ac_graph_id[v])
            return true;
    }
    return false;
}

/* Whether a conflict comes back with the tag that the way took. */
static bool is_needed(const struct remat_remedy_work *r, const struct sides *s,
                      const struct remat_way *way)
{
    const struct remat_work *w = &s->probe->w;
    remat_node v = way->node;

    if (remat_wants_recompute(r->policy[v]))
        return s->is_reached[v] && !may_be_saved_anyhow(r, v);
    return remat_weight(w, v) == REMAT_INFINITE && users_reach(s, v);
}

/* Fills is_needed for n ways. */
static enum remat_status judge(struct remat_remedy_work *r,
                               const struct remat_way *ways, uint32_t n,
                               bool *needed)
{
    struct remat_arena *arena = &r->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_probe probe;
    struct sides s = {REMAT_NEW_ARRAY(arena, bool, r->w->g->n),
                      REMAT_NEW_ARRAY(arena, bool, r->w->g->n), &probe};
    enum remat_status status = remat_remedy_probe(r, &probe);

    if (status != REMAT_OK)
        return status;
    if (s.is_reached == NULL || s.does_reach == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    find_sides(&s);
    for (uint32_t k = 0; k < n; k++)
        needed[k] = is_needed(r, &s, &ways[k]);
    remat_arena_rewind(arena, mark);
    return REMAT_OK;
}

/* ---- one by one -------------------------------------------------------- */

/* Whether there is a plan with the tags as they are. */
static enum remat_status is_feasible(struct remat_remedy_work *r, bool *result)
{
    struct remat_arena *arena = &r->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    const struct remat_plan *plan = NULL;
    struct remat_probe probe;
    enum remat_status status = remat_remedy_probe(r, &probe);

    if (status != REMAT_OK)
        return status;
    *result = probe.part.graph.n == 0 && !probe.is_refused;
    remat_arena_rewind(arena, mark);
    if (!*result)
        return REMAT_OK;
    status = remat_remedy_solve(r, &plan);
    *result = plan != NULL;
    if (status == REMAT_OK)
        remat_arena_rewind(arena, mark);
    return status;
}

/* Costliest first; of equal ones the last. */
static void sort(struct remat_way *ways, uint32_t n)
{
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            struct remat_way way = ways[i];
            uint32_t at = i;

            for (; at >= gap && (ways[at - gap].cost < way.cost ||
                                 (ways[at - gap].cost == way.cost &&
                                  ways[at - gap].node < way.node));
                 at -= gap)
                ways[at] = ways[at - gap];
            ways[at] = way;
        }
}

/* Tries to do without each of the ways that are not known to be needed, as long
 * as there is effort left. */
static enum remat_status try_each(struct remat_remedy_work *r,
                                  struct remat_way *ways, uint32_t *n,
                                  const bool *needed)
{
    enum remat_status status = REMAT_OK;
    uint32_t n_kept = 0;

    for (uint32_t k = 0; k < *n && status == REMAT_OK; k++) {
        bool feasible = false;

        if (!needed[k] && r->n_left > 0) {
            remat_remedy_restore(r, ways[k].node);
            status = is_feasible(r, &feasible);
        }
        if (feasible) {
            r->is_decided[ways[k].node] = false;
            continue;
        }
        remat_remedy_apply(r, ways[k].node, ways[k].policy);
        ways[n_kept++] = ways[k];
    }
    if (status == REMAT_OK)
        *n = n_kept;
    return status;
}

enum remat_status remat_remedy_prune(struct remat_remedy_work *r,
                                     struct remat_way *ways, uint32_t *n)
{
    bool *needed = REMAT_NEW_ARRAY(&r->w->job->arena, bool, *n);
    uint64_t cost = r->w->g->n + (uint64_t)r->w->users.begin[r->w->g->n];
    enum remat_status status = REMAT_OK;

    if (needed == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    sort(ways, *n);
    if (*n > 1 && *n * cost > r->n_left / 4)
        status = judge(r, ways, *n, needed);
    return status == REMAT_OK ? try_each(r, ways, n, needed) : status;
}
