/*
 * warn_storage.c: storages that are overwritten between the forward and the
 * second run of what reads them, and storages that are saved several times.
 *
 * Which argument an operator overwrites is told by PyTorch's conventions: the
 * first where the operator's name ends in "_", `out` where its overload is one.
 * Of any other mutable operator nothing is assumed.
 */
#include "warn.h"

#include <string.h>

/* ---- what is overwritten ----------------------------------------------- */

static const char *end_of_packet(const char *target)
{
    const char *first = strchr(target, '.');
    const char *last = strrchr(target, '.');

    return first != last ? last : target + strlen(target);
}

static bool is_in_place(const char *target)
{
    const char *end = end_of_packet(target);

    return end - target > 1 && end[-1] == '_' && end[-2] != '_' &&
           end[-2] != '.';
}

static remat_node named_out(const struct remat_graph *g, remat_node v)
{
    const struct remat_arg *out = remat_kwarg(g, v, "out");

    return out != NULL && out->kind == REMAT_ARG_NODE ? out->as.node
                                                      : REMAT_NONE;
}

/* The value whose storage a call overwrites, or REMAT_NONE. */
static remat_node overwritten(const struct remat_graph *g, remat_node v)
{
    if (!remat_is_call(g, v) || !remat_has_trait(g, v, REMAT_MUTABLE))
        return REMAT_NONE;
    if (is_in_place(remat_spec(g, v)->target))
        return remat_arg_node(g, v, 0);
    return named_out(g, v);
}

/* By root: the last call of the forward that overwrites it, and the first. */
struct writes {
    remat_node *first;
    remat_node *last;
};

static bool find_writes(const struct remat_warner *r, struct writes *writes)
{
    struct remat_arena *arena = &r->w->job->arena;
    const struct remat_graph *g = r->w->g;

    writes->first = REMAT_NEW_ARRAY(arena, remat_node, g->n);
    writes->last = REMAT_NEW_ARRAY(arena, remat_node, g->n);
    if (writes->first == NULL || writes->last == NULL)
        return false;
    memset(writes->first, 0xff, g->n * sizeof(*writes->first));
    memset(writes->last, 0xff, g->n * sizeof(*writes->last));
    for (remat_node v = 0; v < g->n; v++) {
        remat_node target;

        if (!r->x->forward.kept[v])
            continue;
        target = overwritten(g, v);
        if (target == REMAT_NONE)
            continue;
        target = r->root[target];
        writes->last[target] = v;
        if (writes->first[target] == REMAT_NONE)
            writes->first[target] = v;
    }
    return true;
}

/* ---- read again -------------------------------------------------------- */

/* A view looks at no data. */
static bool reads_data(const struct remat_graph *g, remat_node v)
{
    return !remat_has_trait(g, v, REMAT_VIEW) &&
           remat_special(g, v) != REMAT_GETITEM;
}

/* Whether the storage comes about again in the backward, as it was at first. */
static bool is_made_again(const struct remat_warner *r, remat_node root)
{
    return r->is_recomputed[root];
}

static void judge_read(struct remat_warner *r, const struct writes *writes,
                       remat_node v, remat_node input)
{
    remat_node root = r->root[input];
    remat_node first = writes->first[root];
    remat_node last = writes->last[root];

    if (first == REMAT_NONE)
        return;
    if (is_made_again(r, root)) {
        if (first < v)
            remat_warn_say(
                r, REMAT_WARNING, v,
                "`%s` is computed again from `%s`, which is made again too, "
                "but `%s` writes to that storage in the forward only: the "
                "second run misses it. Tag `%s` must_save",
                remat_warn_name(r, v), remat_warn_name(r, input),
                remat_warn_name(r, first), remat_warn_name(r, v));
        return;
    }
    if (last > v)
        remat_warn_say(r, REMAT_WARNING, v,
                       "`%s` is computed again from `%s`, whose storage `%s` "
                       "overwrites later in the forward: the second run reads "
                       "other data than the first. Tag `%s` must_save",
                       remat_warn_name(r, v), remat_warn_name(r, input),
                       remat_warn_name(r, last), remat_warn_name(r, v));
}

static uint32_t n_said(const struct remat_warner *r)
{
    return r->n;
}

void remat_warn_rereads(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    struct writes writes;

    if (!remat_has_plan(r) || !find_writes(r, &writes))
        return;
    for (remat_node v = 0; v < g->n; v++) {
        uint32_t before = n_said(r);

        if (!remat_is_read_again(r, v) || !reads_data(g, v))
            continue;
        for (uint32_t i = g->inputs.begin[v];
             i < g->inputs.begin[v + 1] && n_said(r) == before; i++)
            if (remat_is_tensor(g, g->inputs.items[i]))
                judge_read(r, &writes, v, g->inputs.items[i]);
    }
}

/* ---- saved several times ----------------------------------------------- */

/* Saved names of one storage, chained from its root. */
struct group {
    uint32_t n;
    int64_t n_bytes; /* all names together */
    remat_node first_view;
};

static void count_names(const struct remat_warner *r, struct group *groups)
{
    const struct remat_graph *g = r->w->g;

    for (remat_node v = 0; v < g->n; v++) {
        struct group *group = &groups[r->root[v]];

        if (!r->is_saved[v] || !remat_is_tensor(g, v) || g->n_bytes[v] <= 0)
            continue;
        if (group->n == 0 || (group->n == 1 && r->is_saved[r->root[v]]))
            group->first_view = v;
        group->n++;
        group->n_bytes = remat_add_saturating(group->n_bytes, g->n_bytes[v]);
    }
}

void remat_warn_aliases(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    struct group *groups;

    if (!remat_has_plan(r))
        return;
    groups = REMAT_NEW_ARRAY(&r->w->job->arena, struct group, g->n);
    if (groups == NULL)
        return;
    count_names(r, groups);
    for (remat_node v = 0; v < g->n; v++)
        if (groups[v].n > 1 && r->is_saved[v] && !g->is_static[v])
            remat_warn_say(r, REMAT_INFO, v,
                           "`%s` is saved under %u names, `%s` and others: "
                           "views of one storage, which is kept once but "
                           "counted as %lld bytes instead of %lld",
                           remat_warn_name(r, v), groups[v].n,
                           remat_warn_name(r, groups[v].first_view),
                           (long long)groups[v].n_bytes,
                           (long long)g->n_bytes[v]);
}
