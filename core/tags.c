/*
 * tags.c: the partitioner's own clean-up of checkpoint tags (semantics 2).
 *
 * Four rules in a fixed order, each seeing what the one before it left:
 *
 *   save_region_ends    2.1  values that leave a checkpointed region
 *   save_collectives    2.2  communication is not repeated
 *   save_effects        2.3  results of effectful operators
 *   save_mutations      2.4  values both halves copy into one input
 *
 * Reads live, users. Sets tag, tag_rule.
 */
#include "work.h"

#include <string.h>

static void save(struct remat_work *w, remat_node v, enum remat_tag_rule rule)
{
    if (w->tag[v] != REMAT_MUST_SAVE)
        w->tag_rule[v] = (uint8_t)rule;
    w->tag[v] = REMAT_MUST_SAVE;
}

/* ---- 2.1 --------------------------------------------------------------- */

struct users_seen {
    bool some_recomputed;
    bool some_of_later_region;
};

/* What the document's tags say of v's users: later nodes, so the clean-up has
 * not touched them yet when v is looked at. */
static struct users_seen look_at_users(const struct remat_work *w, remat_node v)
{
    const struct remat_graph *g = w->g;
    struct users_seen seen = {false, false};

    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];

        if (!remat_wants_recompute(g->policy[user]))
            continue;
        seen.some_recomputed = true;
        if (g->has_ac_graph_id[v] && g->has_ac_graph_id[user] &&
            g->ac_graph_id[user] > g->ac_graph_id[v])
            seen.some_of_later_region = true;
    }
    return seen;
}

static void save_region_ends(struct remat_work *w)
{
    for (remat_node v = 0; v < w->g->n; v++) {
        struct users_seen seen;

        if (!w->live[v] || !remat_wants_recompute(w->tag[v]))
            continue;
        seen = look_at_users(w, v);
        if (seen.some_of_later_region)
            save(w, v, REMAT_TAG_REGION);
        if (remat_spec(w->g, v)->has_backward_hook && !seen.some_recomputed)
            save(w, v, REMAT_TAG_HOOK);
    }
}

/* ---- 2.2 --------------------------------------------------------------- */

static void save_collectives(struct remat_work *w)
{
    if (w->options.unsafe_allow_optimization_of_collectives)
        return;
    for (remat_node v = 0; v < w->g->n; v++)
        if (w->live[v] && remat_is_collective(w->g, v) &&
            !remat_wants_recompute(w->tag[v]))
            save(w, v, REMAT_TAG_COLLECTIVE);
}

/* ---- 2.3 --------------------------------------------------------------- */

bool remat_has_effects(const struct remat_graph *g, remat_node v)
{
    return remat_special_lookup(remat_spec(g, v)->target) ==
               REMAT_WITH_EFFECTS ||
           remat_has_trait(g, v, REMAT_EFFECTS);
}

/* Saves every getitem below v that is no tuple. `seen` is shared by all starts:
 * a getitem met before has been dealt with, and so has what is below it. */
static void save_getitems_below(struct remat_work *w, remat_node v,
                                remat_node *stack, bool *seen)
{
    uint32_t n = 0;

    stack[n++] = v;
    while (n > 0) {
        remat_node below = stack[--n];

        REMAT_FOR_USERS (w, below, i) {
            remat_node user = w->users.items[i];

            if (remat_special(w->g, user) != REMAT_GETITEM || seen[user])
                continue;
            seen[user] = true;
            if (remat_spec(w->g, user)->value.kind != REMAT_VALUE_TUPLE)
                save(w, user, REMAT_TAG_EFFECT);
            stack[n++] = user;
        }
    }
}

static enum remat_status save_effects(struct remat_work *w,
                                      struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    remat_node *stack = REMAT_NEW_ARRAY(arena, remat_node, (size_t)w->g->n + 1);
    bool *seen = REMAT_NEW_ARRAY(arena, bool, w->g->n);

    if (stack == NULL || seen == NULL)
        return remat_job_no_memory(w->job, err);
    for (remat_node v = 0; v < w->g->n; v++)
        if (w->live[v] && remat_has_effects(w->g, v) &&
            !remat_wants_recompute(w->tag[v]) &&
            remat_spec(w->g, v)->placement != REMAT_IS_BACKWARD)
            save_getitems_below(w, v, stack, seen);
    remat_arena_rewind(arena, mark);
    return REMAT_OK;
}

/* ---- 2.4 --------------------------------------------------------------- */

static enum remat_status save_mutations(struct remat_work *w,
                                        struct remat_error *err)
{
    const struct remat_graph *g = w->g;
    struct remat_mark mark = remat_arena_mark(&w->job->arena);
    bool *copied_in_backward = REMAT_NEW_ARRAY(&w->job->arena, bool, g->n);

    if (copied_in_backward == NULL)
        return remat_job_no_memory(w->job, err);
    for (remat_node v = g->n; v-- > 0;) {
        enum remat_placement placement = remat_spec(g, v)->placement;
        remat_node destination;
        remat_node source;

        if (!w->live[v] || remat_spec(g, v)->op == REMAT_OUTPUT)
            continue;
        if (remat_special(g, v) != REMAT_COPY)
            break;
        destination = remat_arg_node(g, v, 0);
        source = remat_arg_node(g, v, 1);
        if (destination == REMAT_NONE)
            continue;
        if (placement == REMAT_MUST_BE_IN_BACKWARD)
            copied_in_backward[destination] = true;
        if (placement == REMAT_MUST_BE_IN_FORWARD && source != REMAT_NONE &&
            copied_in_backward[destination])
            save(w, source, REMAT_TAG_MUTATION);
    }
    remat_arena_rewind(&w->job->arena, mark);
    return REMAT_OK;
}

enum remat_status remat_clean_tags(struct remat_work *w,
                                   struct remat_error *err)
{
    enum remat_status status;

    w->tag = REMAT_NEW_ARRAY(&w->job->arena, uint8_t, w->g->n);
    w->tag_rule = REMAT_NEW_ARRAY(&w->job->arena, uint8_t, w->g->n);
    if (w->tag == NULL || w->tag_rule == NULL)
        return remat_job_no_memory(w->job, err);
    memcpy(w->tag, w->g->policy, w->g->n);
    save_region_ends(w);
    save_collectives(w);
    status = save_effects(w, err);
    return status != REMAT_OK ? status : save_mutations(w, err);
}
