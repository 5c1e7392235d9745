/*
 * live.c: dead-code elimination over the joint graph (semantics 1.4, 1.5).
 *
 * Sets w->live and w->users. Backwards, a node without live users goes unless
 * its operator must stay; going, it stops being a user of its inputs.
 */
#include "work.h"

#include <string.h>

/* Marks live nodes and returns whether any is dead. */
static bool mark_live(struct remat_work *w, uint32_t *n_users)
{
    const struct remat_graph *g = w->g;
    bool some_dead = false;

    for (remat_node v = 0; v < g->n; v++)
        n_users[v] = g->users.begin[v + 1] - g->users.begin[v];
    for (remat_node v = g->n; v-- > 0;) {
        w->live[v] = n_users[v] > 0 || remat_is_kept(w, v);
        if (w->live[v])
            continue;
        some_dead = true;
        REMAT_FOR_INPUTS (g, v, i)
            n_users[g->inputs.items[i]]--;
    }
    return some_dead;
}

static bool filter_users(struct remat_work *w)
{
    const struct remat_graph *g = w->g;
    struct remat_arena *arena = &w->job->arena;
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)g->n + 1);
    remat_node *items =
        REMAT_NEW_ARRAY(arena, remat_node, g->users.begin[g->n]);
    uint32_t n_items = 0;

    if (begin == NULL || items == NULL)
        return false;
    for (remat_node v = 0; v < g->n; v++) {
        begin[v] = n_items;
        if (!w->live[v])
            continue;
        for (uint32_t i = g->users.begin[v]; i < g->users.begin[v + 1]; i++)
            if (w->live[g->users.items[i]])
                items[n_items++] = g->users.items[i];
    }
    begin[g->n] = n_items;
    w->users = (struct remat_rows){begin, items};
    return true;
}

enum remat_status remat_remove_dead(struct remat_work *w,
                                    struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_mark mark;
    uint32_t *n_users;
    bool some_dead;

    w->live = REMAT_NEW_ARRAY(arena, bool, w->g->n);
    mark = remat_arena_mark(arena);
    n_users = REMAT_NEW_ARRAY(arena, uint32_t, w->g->n);
    if (w->live == NULL || n_users == NULL)
        return remat_job_no_memory(w->job, err);
    some_dead = mark_live(w, n_users);
    remat_arena_rewind(arena, mark);
    w->users = w->g->users;
    if (some_dead && !filter_users(w))
        return remat_job_no_memory(w->job, err);
    return REMAT_OK;
}
