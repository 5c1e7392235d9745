/*
 * warn_tags.c: tags that contradict each other, or that change nothing.
 *
 *   getitem_tags    a getitem tagged otherwise than the operator it reads
 *   split_waits     a collective and its wait, only one of which runs again
 *   backward_tags   a tag where there is nothing to decide
 *   leaks           a recompute tag whose bytes are saved under another name
 *   idle_tags       a tag that says something else than what happens
 */
#include "warn.h"

#include "format.h"

#include <string.h>

enum {
    MOST_GETITEMS = 4
};

static bool wants(const struct remat_warner *r, remat_node v)
{
    return remat_wants_recompute(r->w->tag[v]);
}

static uint8_t policy_of(const struct remat_warner *r, remat_node v)
{
    return r->w->g->policy[v];
}

static bool is_in_forward(const struct remat_warner *r, remat_node v)
{
    return r->w->live[v] && !r->w->closure[v];
}

/* How a node stands there after the clean-up of tags, "tagged must_save". */
static const char *standing(const struct remat_warner *r, remat_node v)
{
    if (r->w->tag[v] == REMAT_UNTAGGED)
        return "not tagged";
    if (r->w->tag[v] == REMAT_MUST_SAVE && policy_of(r, v) != REMAT_MUST_SAVE)
        return "made must_save by PyTorch's clean-up of tags";
    return remat_format(&r->w->job->arena, "tagged %s",
                        remat_policy_text(r->w->tag[v]));
}

/* ---- getitem ----------------------------------------------------------- */

/* Whether the plan, if there is one, does what a getitem's must_save asks. */
static bool is_obeyed(const struct remat_warner *r, remat_node v)
{
    return remat_has_plan(r) && !r->x->backward.kept[v];
}

static void judge_getitem(struct remat_warner *r, remat_node v,
                          remat_node source)
{
    if (wants(r, v) && !wants(r, source))
        remat_warn_say(
            r, REMAT_WARNING, v,
            "`%s` is tagged %s, but `%s`, whose result it reads, is %s: a "
            "getitem runs again only together with its source. Take the tag "
            "off `%s`, or tag both alike",
            remat_warn_name(r, v), remat_policy_text(r->w->tag[v]),
            remat_warn_name(r, source), standing(r, source),
            remat_warn_name(r, v));
    else if (policy_of(r, v) == REMAT_MUST_SAVE &&
             r->w->tag[source] != REMAT_MUST_SAVE && !is_obeyed(r, v))
        remat_warn_say(
            r, REMAT_WARNING, v,
            "`%s` is tagged must_save, but `%s`, whose result it reads, is %s: "
            "PyTorch does not heed must_save on a getitem. Tag `%s` must_save "
            "instead",
            remat_warn_name(r, v), remat_warn_name(r, source),
            standing(r, source), remat_warn_name(r, source));
}

void remat_warn_getitem_tags(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;

    for (remat_node v = 0; v < g->n; v++) {
        remat_node source;

        if (policy_of(r, v) == REMAT_UNTAGGED || !is_in_forward(r, v) ||
            remat_special(g, v) != REMAT_GETITEM)
            continue;
        source = remat_arg_node(g, v, 0);
        if (source != REMAT_NONE && remat_is_call(g, source))
            judge_getitem(r, v, source);
    }
}

/* ---- waits ------------------------------------------------------------- */

/* The collective that a wait waits for, itself or through getitems; no
 * collective nests its results deeper than MOST_GETITEMS. */
static remat_node collective_of(const struct remat_graph *g, remat_node wait)
{
    remat_node v = remat_arg_node(g, wait, 0);

    for (int i = 0; i < MOST_GETITEMS && v != REMAT_NONE &&
                    remat_special(g, v) == REMAT_GETITEM;
         i++)
        v = remat_arg_node(g, v, 0);
    return v != REMAT_NONE && remat_is_collective(g, v) &&
                   remat_special(g, v) != REMAT_WAIT_TENSOR
               ? v
               : REMAT_NONE;
}

/* A preference that gives way to a demand is nothing to act upon. */
static bool is_overruled(const struct remat_warner *r, remat_node wait,
                         remat_node collective)
{
    return policy_of(r, wait) == REMAT_MUST_SAVE &&
           policy_of(r, collective) == REMAT_PREFER_RECOMPUTE &&
           !wants(r, wait);
}

static void judge_wait(struct remat_warner *r, remat_node wait,
                       remat_node collective)
{
    const char *a = remat_warn_name(r, wait);
    const char *b = remat_warn_name(r, collective);

    if (wants(r, wait) && !wants(r, collective))
        remat_warn_say(r, REMAT_WARNING, wait,
                       "`%s` is tagged %s, but the collective it waits for, "
                       "`%s`, is %s: what is passed on is a result that may "
                       "still be under way, and it is waited for again. Tag "
                       "both alike",
                       a, remat_policy_text(r->w->tag[wait]), b,
                       standing(r, collective));
    else if (wants(r, collective) && !wants(r, wait))
        remat_warn_say(r, REMAT_WARNING, wait,
                       "the collective `%s` is tagged %s, but its wait `%s` is "
                       "%s: the same bytes are kept under that name, so the "
                       "tag frees nothing. Tag both alike",
                       b, remat_policy_text(r->w->tag[collective]), a,
                       standing(r, wait));
    else if (remat_has_plan(r) && r->is_saved[collective] &&
             r->is_recomputed[wait])
        remat_warn_say(r, REMAT_WARNING, wait,
                       "`%s` runs again, but the collective it waits for, "
                       "`%s`, is saved: what is passed on is a result that may "
                       "still be under way. Tag both alike",
                       a, b);
}

void remat_warn_split_waits(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    struct remat_warn_group overruled = {.n = 0};

    for (remat_node v = 0; v < g->n; v++) {
        remat_node collective;

        if (!is_in_forward(r, v) || remat_special(g, v) != REMAT_WAIT_TENSOR)
            continue;
        collective = collective_of(g, v);
        if (collective != REMAT_NONE && is_overruled(r, v, collective))
            remat_warn_collect(&overruled, v);
        else if (collective != REMAT_NONE)
            judge_wait(r, v, collective);
    }
    remat_warn_say_all(r, &overruled,
                       "tagged must_save behind a collective that is tagged "
                       "prefer_recompute. The wait is saved, and the tag of "
                       "the collective changes nothing",
                       NULL);
}

/* ---- the backward ------------------------------------------------------ */

/* The clean-up of tags would have put this tag there itself. */
static bool is_usual(const struct remat_warner *r, remat_node v)
{
    return policy_of(r, v) == REMAT_MUST_SAVE &&
           remat_is_collective(r->w->g, v);
}

static bool is_in_backward(const struct remat_warner *r, remat_node v)
{
    return r->w->live[v] && r->w->closure[v] &&
           remat_spec(r->w->g, v)->op != REMAT_OUTPUT;
}

void remat_warn_backward_tags(struct remat_warner *r)
{
    for (remat_node v = 0; v < r->w->g->n; v++)
        if (policy_of(r, v) != REMAT_UNTAGGED && is_in_backward(r, v) &&
            !is_usual(r, v))
            remat_warn_say(r, REMAT_WARNING, v,
                           "`%s` is tagged %s, but belongs to the backward%s: "
                           "it is computed there once, and there is nothing to "
                           "decide. Take the tag off, or put it on the value "
                           "of the forward that is meant",
                           remat_warn_name(r, v),
                           remat_policy_text(policy_of(r, v)),
                           remat_in_backward_only(r->w->g, v)
                               ? ""
                               : " because it depends on a tangent");
}

/* ---- the same bytes under another name --------------------------------- */

static bool is_one_of(const char *target, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(target, list[i]) == 0)
            return true;
    return false;
}

/* Whether a call gives the data of what it reads: a view, a wait, a cast or a
 * copy. */
static bool is_same_data(const struct remat_graph *g, remat_node v)
{
    static const char *const casts[] = {
        "prims.convert_element_type.default",
        "aten._to_copy.default",
        "aten.to.dtype",
        "aten.clone.default",
        "aten.contiguous.default",
        "aten.detach.default",
        "aten.alias.default",
    };

    if (!remat_is_call(g, v) || !remat_is_tensor(g, v))
        return false;
    return remat_has_trait(g, v, REMAT_VIEW) ||
           remat_special(g, v) == REMAT_WAIT_TENSOR ||
           is_one_of(remat_spec(g, v)->target, casts, REMAT_ARRAY_LEN(casts));
}

/* Whether the sender asked for v to be kept, or PyTorch's rules about the ends
 * of regions did: then nothing leaks unawares. */
static bool is_meant(const struct remat_warner *r, remat_node v,
                     remat_node tagged)
{
    return remat_wants_recompute(policy_of(r, v)) ||
           (policy_of(r, v) == REMAT_MUST_SAVE &&
            policy_of(r, tagged) != REMAT_MUST_RECOMPUTE);
}

/* holder[v]: the nearest node with a recompute tag whose data v has. */
static remat_node holder_of(const struct remat_warner *r,
                            const remat_node *holder, remat_node v)
{
    remat_node source;

    if (!is_in_forward(r, v) || !is_same_data(r->w->g, v))
        return REMAT_NONE;
    source = remat_warn_source(r->w->g, v);
    if (source == REMAT_NONE)
        return REMAT_NONE;
    return wants(r, source) && remat_is_call(r->w->g, source) ? source
                                                              : holder[source];
}

void remat_warn_leaks(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    remat_node *holder;

    if (!remat_has_plan(r))
        return;
    holder = REMAT_NEW_ARRAY(&r->w->job->arena, remat_node, g->n);
    if (holder == NULL)
        return;
    for (remat_node v = 0; v < g->n; v++) {
        holder[v] = holder_of(r, holder, v);
        if (holder[v] == REMAT_NONE || !r->is_saved[v] || g->n_bytes[v] <= 0 ||
            remat_special(g, v) == REMAT_WAIT_TENSOR ||
            is_meant(r, v, holder[v]))
            continue;
        remat_warn_say(
            r, REMAT_WARNING, holder[v],
            "`%s` is tagged %s, but its data are saved as `%s`, a "
            "%s of it: the tag frees nothing. Tag `%s`%s as well",
            remat_warn_name(r, holder[v]),
            remat_policy_text(r->w->tag[holder[v]]), remat_warn_name(r, v),
            r->root[v] == r->root[holder[v]] ? "view" : "copy",
            remat_warn_name(r, v),
            remat_warn_source(g, v) == holder[v] ? ""
                                                 : " and what lies between");
    }
}

/* ---- without effect ---------------------------------------------------- */

static bool has_several_results(const struct remat_graph *g, remat_node v)
{
    enum remat_value_kind kind = remat_spec(g, v)->value.kind;

    return kind == REMAT_VALUE_TUPLE || kind == REMAT_VALUE_DICT;
}

/* The value itself, or for several results one of its parts. */
static bool reaches_backward(const struct remat_warner *r, remat_node v)
{
    if (r->is_saved[v] || r->is_recomputed[v] || r->is_kept[r->root[v]])
        return true;
    if (!has_several_results(r->w->g, v))
        return false;
    REMAT_FOR_USERS (r->w, v, i)
        if (r->is_saved[r->w->users.items[i]] ||
            r->is_recomputed[r->w->users.items[i]])
            return true;
    return false;
}

/* The kinds of tags that come to nothing. */
struct idle {
    struct remat_warn_group unread;
    struct remat_warn_group view;
    struct remat_warn_group overruled;
    struct remat_warn_group unheeded;
};

static void judge_must_save(const struct remat_warner *r, remat_node v,
                            struct idle *idle)
{
    const struct remat_graph *g = r->w->g;

    if (!reaches_backward(r, v) && !remat_has_trait(g, v, REMAT_VIEW) &&
        !is_usual(r, v))
        remat_warn_collect(&idle->unread, v);
    else if (r->is_recomputed[v] && remat_has_trait(g, v, REMAT_VIEW) &&
             !r->is_kept[r->root[v]] && remat_is_call(g, r->root[v]))
        remat_warn_collect(&idle->view, v);
}

static void judge_idle(const struct remat_warner *r, remat_node v,
                       struct idle *idle)
{
    switch (policy_of(r, v)) {
    case REMAT_MUST_SAVE:
        judge_must_save(r, v, idle);
        break;
    case REMAT_MUST_RECOMPUTE:
        if (r->is_saved[v])
            remat_warn_collect(&idle->overruled, v);
        break;
    case REMAT_PREFER_SAVE:
    case REMAT_MUST_CPU_OFFLOAD:
    case REMAT_PREFER_CPU_OFFLOAD:
        if (r->is_recomputed[v])
            remat_warn_collect(&idle->unheeded, v);
        break;
    default:
        break;
    }
}

void remat_warn_idle_tags(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    struct idle idle = {.unread = {.n = 0}};

    if (!remat_has_plan(r))
        return;
    for (remat_node v = 0; v < g->n; v++)
        if (policy_of(r, v) != REMAT_UNTAGGED && is_in_forward(r, v) &&
            remat_is_call(g, v) && remat_special(g, v) != REMAT_GETITEM)
            judge_idle(r, v, &idle);
    remat_warn_say_all(r, &idle.unread,
                       "tagged must_save and not saved, because nothing in the "
                       "backward reads it. Take the tag off, or tag the value "
                       "that is meant",
                       "tagged must_save and not saved, because nothing in the "
                       "backward reads them. Take the tags off, or tag the "
                       "values that are meant");
    remat_warn_say_all(r, &idle.view,
                       "tagged must_save and computed again, because PyTorch "
                       "does not heed that tag on a view. Tag the value whose "
                       "storage it is",
                       "tagged must_save and computed again, because PyTorch "
                       "does not heed that tag on views. Tag the values whose "
                       "storage they are");
    remat_warn_say_all(r, &idle.overruled,
                       "tagged must_recompute and saved all the same, because "
                       "PyTorch keeps what a later checkpointed region reads, "
                       "what carries a backward hook and what comes of an "
                       "effect. The tag changes nothing",
                       NULL);
    remat_warn_say_all(r, &idle.unheeded,
                       "tagged prefer_save or for offloading and computed "
                       "again: the decision does not heed these tags. "
                       "must_save keeps a value",
                       NULL);
}
