/*
 * fusible.c: one bit for every (value, user) pair, found once.
 *
 * The bits lie in the order of w->users.items. They are filled by walking the
 * users in node order: the pairs of one value come up in the order of its row,
 * so a cursor per row finds their places.
 */
#include "fusible.h"

#include <string.h>

/* ---- 5.1 --------------------------------------------------------------- */

static bool same_class(const struct remat_graph *g, remat_node a, remat_node b)
{
    return remat_has_trait(g, a, REMAT_FUSIBLE) &&
           remat_has_trait(g, b, REMAT_FUSIBLE);
}

/* A getitem that reads back from a user's Triton kernel: its own buffer. */
static bool is_from_triton(const struct remat_graph *g, remat_node v)
{
    remat_node source;

    if (remat_special(g, v) != REMAT_GETITEM)
        return false;
    source = remat_arg_node(g, v, 0);
    return source != REMAT_NONE &&
           remat_special(g, source) == REMAT_TRITON_FUNCTIONAL;
}

/* Stamps the node an argument is, or the nodes of a list one level down. */
static void stamp(const struct remat_arg *arg, remat_node user,
                  remat_node *stamps)
{
    if (arg == NULL)
        return;
    if (arg->kind == REMAT_ARG_NODE)
        stamps[arg->as.node] = user;
    if (arg->kind != REMAT_ARG_LIST)
        return;
    for (uint32_t i = 0; i < arg->n_items; i++)
        if (arg->as.items[i].kind == REMAT_ARG_NODE)
            stamps[arg->as.items[i].as.node] = user;
}

/* An index over the keys of a row of arguments, so that looking k names up is
 * not quadratic. The first of two equal keys counts. */
struct key_index {
    struct remat_names names;
    uint32_t *position; /* of the key with that number */
};

static bool index_keys(struct remat_arena *arena, const struct remat_arg *items,
                       uint32_t n_items, struct key_index *index)
{
    *index = (struct key_index){.names = {0}};
    index->position = REMAT_NEW_ARRAY(arena, uint32_t, n_items);
    if (index->position == NULL)
        return false;
    for (uint32_t i = 0; i < n_items; i++) {
        if (remat_names_find(&index->names, items[i].key) != REMAT_NONE)
            continue;
        index->position[index->names.n] = i;
        if (!remat_names_add(arena, &index->names, items[i].key))
            return false;
    }
    return true;
}

static const struct remat_arg *look_up(const struct key_index *index,
                                       const struct remat_arg *items,
                                       const char *key)
{
    uint32_t number = remat_names_find(&index->names, key);

    return number == REMAT_NONE ? NULL : &items[index->position[number]];
}

/* Stamps the arguments of `user` that it mutates (auto_functionalized). */
static bool stamp_mutated(struct remat_work *w, remat_node user,
                          remat_node *stamps)
{
    const struct remat_node_spec *spec = remat_spec(w->g, user);
    struct key_index index;

    if (!index_keys(&w->job->arena, spec->kwargs, spec->n_kwargs, &index))
        return false;
    for (uint32_t i = 0; i < spec->n_mutated_args; i++)
        stamp(look_up(&index, spec->kwargs, spec->mutated_args[i]), user,
              stamps);
    return true;
}

/* Stamps the tensors that a Triton kernel clones before it writes to them. */
static bool stamp_cloned(struct remat_work *w, remat_node user,
                         remat_node *stamps)
{
    const struct remat_arg *clones =
        remat_kwarg(w->g, user, "tensors_to_clone");
    const struct remat_arg *given = remat_kwarg(w->g, user, "kwargs");
    struct key_index index;

    if (clones == NULL || clones->kind != REMAT_ARG_LIST || given == NULL ||
        given->kind != REMAT_ARG_DICT)
        return true;
    if (!index_keys(&w->job->arena, given->as.items, given->n_items, &index))
        return false;
    for (uint32_t i = 0; i < clones->n_items; i++) {
        const struct remat_arg *name = &clones->as.items[i];
        const struct remat_arg *entry = NULL;

        if (name->kind == REMAT_ARG_STRING)
            entry = look_up(&index, given->as.items, name->as.text);
        if (entry != NULL && entry->kind == REMAT_ARG_NODE)
            stamps[entry->as.node] = user;
    }
    return true;
}

static bool stamp_written(struct remat_work *w, remat_node user,
                          remat_node *stamps)
{
    switch (remat_special(w->g, user)) {
    case REMAT_AUTO_FUNCTIONAL:
        return stamp_mutated(w, user, stamps);
    case REMAT_TRITON_FUNCTIONAL:
        return stamp_cloned(w, user, stamps);
    case REMAT_ORDINARY:
    case REMAT_GETITEM:
    case REMAT_COPY:
    case REMAT_LIFT_FRESH:
    case REMAT_VIEW_OR_RESHAPE:
    case REMAT_WITH_EFFECTS:
    case REMAT_WAIT_TENSOR:
    case REMAT_ASSERT_SCALAR:
        return true;
    }
    return true;
}

static bool pair_is_fusible(const struct remat_graph *g, remat_node a,
                            remat_node user, const remat_node *stamps)
{
    if (g->op[user] != NULL && g->op[user]->is_cat)
        return true;
    if (stamps[a] == user)
        return true;
    if (is_from_triton(g, a))
        return false;
    return same_class(g, a, user);
}

/* stamps[a] is the user that writes to a through an argument; cursor[a] the
 * next place in a's row. */
static bool fill_pairs(struct remat_work *w, remat_node *stamps,
                       uint32_t *cursor)
{
    const struct remat_graph *g = w->g;

    for (remat_node v = 0; v < g->n; v++) {
        stamps[v] = REMAT_NONE;
        cursor[v] = w->users.begin[v];
    }
    for (remat_node user = 0; user < g->n; user++) {
        if (!w->live[user])
            continue;
        if (!stamp_written(w, user, stamps))
            return false;
        REMAT_FOR_INPUTS (g, user, i) {
            remat_node a = g->inputs.items[i];

            w->fusible[cursor[a]++] = pair_is_fusible(g, a, user, stamps);
        }
    }
    return true;
}

/* ---- what follows ------------------------------------------------------ */

/* One reverse walk instead of one search a node: a chain of views below many
 * values is looked at once. */
static void look_through_views(struct remat_work *w)
{
    for (remat_node v = w->g->n; v-- > 0;)
        if (w->live[v] && remat_has_trait(w->g, v, REMAT_VIEW))
            w->materialised_backward[v] =
                remat_is_materialised_in_backward(w, v);
}

bool remat_is_materialised_in_backward(const struct remat_work *w, remat_node v)
{
    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];

        if (!w->fw[user] && !w->fusible[i])
            return true;
        if (w->materialised_backward[user])
            return true;
    }
    return false;
}

bool remat_is_materialised(const struct remat_work *w, remat_node v)
{
    if (remat_spec(w->g, v)->op == REMAT_PLACEHOLDER)
        return true;
    REMAT_FOR_USERS (w, v, i)
        if (!w->fusible[i])
            return true;
    return false;
}

enum remat_status remat_find_fusible(struct remat_work *w,
                                     struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    uint32_t n = w->g->n;
    struct remat_mark scratch;
    remat_node *stamps;
    uint32_t *cursor;

    w->fusible = REMAT_NEW_ARRAY(arena, bool, w->users.begin[n]);
    w->materialised_backward = REMAT_NEW_ARRAY(arena, bool, n);
    scratch = remat_arena_mark(arena);
    stamps = REMAT_NEW_ARRAY(arena, remat_node, n);
    cursor = REMAT_NEW_ARRAY(arena, uint32_t, n);
    if (arena->status != REMAT_OK || !fill_pairs(w, stamps, cursor))
        return remat_job_no_memory(w->job, err);
    remat_arena_rewind(arena, scratch);
    look_through_views(w);
    return REMAT_OK;
}
