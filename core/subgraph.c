/*
 * subgraph.c: what one side can compute from given inputs.
 *
 *   find_valid      forward walk: which nodes can be computed at all
 *   mark_outputs    roots, replacing outputs that cannot (3.5)
 *   eliminate_dead  backward walk: which of them are needed
 */
#include "subgraph.h"

#include <string.h>

enum remat_status remat_subgraph_init(const struct remat_work *w,
                                      struct remat_subgraph *s,
                                      struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    uint32_t n = w->g->n;

    *s = (struct remat_subgraph){.invalid = REMAT_NONE};
    s->is_input = REMAT_NEW_ARRAY(arena, bool, n);
    s->valid = REMAT_NEW_ARRAY(arena, bool, n);
    s->kept = REMAT_NEW_ARRAY(arena, bool, n);
    s->is_output = REMAT_NEW_ARRAY(arena, bool, n);
    s->n_users = REMAT_NEW_ARRAY(arena, uint32_t, n);
    if (arena->status != REMAT_OK)
        return remat_job_no_memory(w->job, err);
    return REMAT_OK;
}

/* ---- validity ---------------------------------------------------------- */

bool remat_subgraph_is_blocked(const struct remat_work *w,
                               const struct remat_subgraph *s, remat_node v)
{
    if (s->is_input[v])
        return false;
    if (remat_in_backward_only(w->g, v) && !s->backward)
        return true;
    if (remat_in_forward_only(w->g, v) && s->backward)
        return true;
    return remat_spec(w->g, v)->op == REMAT_PLACEHOLDER;
}

static bool inputs_are_valid(const struct remat_work *w,
                             const struct remat_subgraph *s, remat_node v)
{
    REMAT_FOR_INPUTS (w->g, v, i)
        if (!s->valid[w->g->inputs.items[i]])
            return false;
    return true;
}

static void find_valid(const struct remat_work *w, struct remat_subgraph *s)
{
    for (remat_node v = 0; v < w->g->n; v++) {
        if (!w->live[v])
            continue;
        if (s->is_input[v]) {
            s->valid[v] = true;
            continue;
        }
        if (remat_subgraph_is_blocked(w, s, v))
            continue;
        switch (remat_spec(w->g, v)->op) {
        case REMAT_CALL_FUNCTION:
            s->valid[v] = inputs_are_valid(w, s, v);
            break;
        case REMAT_GET_ATTR:
            s->valid[v] = true;
            break;
        case REMAT_PLACEHOLDER:
        case REMAT_OUTPUT:
            break;
        }
        s->kept[v] = s->valid[v];
    }
}

/* ---- outputs ----------------------------------------------------------- */

static const struct remat_arg *find_key(const struct remat_arg *dict,
                                        const char *key)
{
    if (dict == NULL || dict->kind != REMAT_ARG_DICT)
        return NULL;
    for (uint32_t i = 0; i < dict->n_items; i++)
        if (strcmp(dict->as.items[i].key, key) == 0)
            return &dict->as.items[i];
    return NULL;
}

/* What a higher-order operator was given for the entry that getitem v reads
 * back: getitem(h, key) -> h.kwargs["kwargs"][key]. */
static remat_node original_of(const struct remat_work *w, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(w->g, v);
    const struct remat_arg *entry;
    remat_node source;

    if (remat_special(w->g, v) != REMAT_GETITEM || spec->n_args < 2 ||
        spec->args[1].kind != REMAT_ARG_STRING)
        return REMAT_NONE;
    source = remat_arg_node(w->g, v, 0);
    if (source == REMAT_NONE || !remat_is_call(w->g, source))
        return REMAT_NONE;
    entry =
        find_key(remat_kwarg(w->g, source, "kwargs"), spec->args[1].as.text);
    if (entry == NULL || entry->kind != REMAT_ARG_NODE)
        return REMAT_NONE;
    return entry->as.node;
}

/* A valid node that stands for an output that is not (3.5), or REMAT_NONE. */
static remat_node replacement_of(const struct remat_work *w,
                                 const struct remat_subgraph *s, remat_node v)
{
    enum remat_special special = remat_special(w->g, v);
    remat_node first = remat_arg_node(w->g, v, 0);
    remat_node other;

    if (first == REMAT_NONE)
        return REMAT_NONE;
    if (special == REMAT_COPY && remat_in_backward_only(w->g, v) &&
        s->valid[first])
        return first;
    if (special == REMAT_VIEW_OR_RESHAPE) {
        other = original_of(w, first);
        if (other != REMAT_NONE && s->valid[other])
            return other;
    }
    other = original_of(w, v);
    return other != REMAT_NONE && s->valid[other] ? other : REMAT_NONE;
}

/* Marks the outputs of a list. False, with s->invalid set, when one can neither
 * be computed nor replaced. */
static bool mark_outputs(const struct remat_work *w, struct remat_subgraph *s,
                         struct remat_nodes outputs)
{
    for (uint32_t i = 0; i < outputs.n; i++) {
        remat_node output = outputs.at[i];

        if (output == REMAT_NONE)
            continue;
        if (!s->valid[output])
            output = replacement_of(w, s, output);
        if (output == REMAT_NONE) {
            s->invalid = outputs.at[i];
            return false;
        }
        s->is_output[output] = true;
    }
    return true;
}

/* ---- dead code --------------------------------------------------------- */

static void eliminate_dead(const struct remat_work *w, struct remat_subgraph *s)
{
    const struct remat_graph *g = w->g;

    for (remat_node v = 0; v < g->n; v++)
        s->n_users[v] = s->is_output[v] ? 1 : 0;
    for (remat_node v = 0; v < g->n; v++)
        if (s->kept[v])
            REMAT_FOR_INPUTS (g, v, i)
                s->n_users[g->inputs.items[i]]++;
    for (remat_node v = g->n; v-- > 0;) {
        if (!s->kept[v] || s->n_users[v] > 0 || remat_is_kept(w, v))
            continue;
        s->kept[v] = false;
        REMAT_FOR_INPUTS (g, v, i)
            s->n_users[g->inputs.items[i]]--;
    }
}

void remat_subgraph_extract(const struct remat_work *w,
                            struct remat_subgraph *s, bool backward,
                            const struct remat_nodes *outputs, unsigned n_lists)
{
    s->backward = backward;
    find_valid(w, s);
    for (unsigned i = 0; i < n_lists; i++)
        if (!mark_outputs(w, s, outputs[i]))
            return;
    eliminate_dead(w, s);
}
