/*
 * warn_recomputed.c: operators that run a second time and should not.
 *
 *   random        other numbers than in the forward
 *   effects       done twice
 *   collectives   communicated twice, without being asked to
 *   decisions     an index or a size that may come out different
 */
#include "warn.h"

#include "dropout.h"

#include <string.h>

/* ---- random numbers ---------------------------------------------------- */

void remat_warn_random(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;

    if (!remat_has_plan(r))
        return;
    for (remat_node v = 0; v < g->n; v++)
        if (remat_is_read_again(r, v) &&
            (g->traits[v] & (REMAT_RANDOM | REMAT_SEEDED)) != 0 &&
            !remat_draws_nothing(g, v))
            remat_warn_say(
                r, REMAT_WARNING, v,
                "`%s` draws random numbers and is computed again: the backward "
                "works with other numbers than the forward, unless whoever "
                "runs the plan replays the generator's state, as PyTorch does "
                "for operators with a recompute tag. Tag it must_save to be "
                "sure",
                remat_warn_name(r, v));
}

/* ---- effects ----------------------------------------------------------- */

/* Assertions and the like: they do the same again and no harm. */
static bool is_check(const struct remat_graph *g, remat_node v)
{
    const char *target = remat_spec(g, v)->target;

    return strstr(target, "assert") != NULL ||
           strstr(target, "sym_constrain_range") != NULL ||
           strncmp(target, "torch._check", 12) == 0;
}

static const char *effect_of(const struct remat_graph *g, remat_node v)
{
    if (remat_is_collective(g, v) || is_check(g, v))
        return NULL;
    if (remat_has_trait(g, v, REMAT_EFFECTS) ||
        remat_special(g, v) == REMAT_WITH_EFFECTS)
        return "has an effect";
    if (remat_has_trait(g, v, REMAT_MUTABLE))
        return "writes to what it is given";
    if (remat_has_trait(g, v, REMAT_IMPURE))
        return "is not pure";
    if (remat_has_trait(g, v, REMAT_NO_RECOMPUTE))
        return "may not be computed twice";
    return NULL;
}

void remat_warn_effects(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;

    if (!remat_has_plan(r))
        return;
    for (remat_node v = 0; v < g->n; v++) {
        const char *effect;

        if (!r->is_recomputed[v])
            continue;
        effect = effect_of(g, v);
        if (effect != NULL)
            remat_warn_say(r, REMAT_WARNING, v,
                           "`%s` %s and runs again in the backward: what it "
                           "does besides computing its result happens twice. "
                           "Tag it must_save, or what the backward reads of it",
                           remat_warn_name(r, v), effect);
    }
}

/* ---- collectives ------------------------------------------------------- */

/* PyTorch protects its functional collectives alone; who asks in so many words
 * gets them twice without a remark. */
static bool communicates(const struct remat_graph *g, remat_node v)
{
    const char *target = remat_spec(g, v)->target;

    if (remat_special(g, v) == REMAT_WAIT_TENSOR)
        return false;
    return remat_is_collective(g, v) ||
           strncmp(target, "_c10d_functional_autograd.", 26) == 0 ||
           strncmp(target, "c10d_functional.", 16) == 0 ||
           strncmp(target, "c10d.", 5) == 0;
}

void remat_warn_collectives(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;

    if (!remat_has_plan(r))
        return;
    for (remat_node v = 0; v < g->n; v++)
        if (r->is_recomputed[v] && remat_is_call(g, v) && communicates(g, v) &&
            g->policy[v] != REMAT_MUST_RECOMPUTE)
            remat_warn_say(r, REMAT_WARNING, v,
                           "`%s` is a collective and runs again in the "
                           "backward, %s: all ranks have to do the same there. "
                           "Tag it and its wait must_save, or must_recompute "
                           "if that is meant",
                           remat_warn_name(r, v),
                           remat_wants_recompute(g->policy[v])
                               ? "only because its tag prefers it"
                               : "without being tagged for it");
}

/* ---- decisions --------------------------------------------------------- */

static bool is_floating(const struct remat_value *value)
{
    return value->kind == REMAT_VALUE_TENSOR && value->type_name != NULL &&
           (strncmp(value->type_name, "float", 5) == 0 ||
            strncmp(value->type_name, "bfloat", 6) == 0 ||
            strncmp(value->type_name, "complex", 7) == 0);
}

static bool reads_floating(const struct remat_graph *g, remat_node v)
{
    REMAT_FOR_INPUTS (g, v, i)
        if (is_floating(&remat_spec(g, g->inputs.items[i])->value))
            return true;
    return false;
}

/* A size that data decide: v binds a symbol and reads more than a shape. */
static bool is_size_by_data(const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(g, v);

    return spec->binds != NULL && spec->op == REMAT_CALL_FUNCTION &&
           strstr(spec->target, "sym_size") == NULL &&
           strstr(spec->target, "sym_stride") == NULL &&
           strstr(spec->target, "sym_storage_offset") == NULL &&
           strstr(spec->target, "sym_numel") == NULL;
}

/* size[v]: a later size that v has a part in without rounding: over integers,
 * flags and sizes alone. Behind the first operator that reads real numbers it
 * would do so on the other side of a decision. */
static remat_node size_behind(const struct remat_warner *r,
                              const remat_node *size, remat_node v)
{
    const struct remat_graph *g = r->w->g;

    if (is_size_by_data(g, v))
        return v;
    REMAT_FOR_USERS (r->w, v, i) {
        remat_node user = r->w->users.items[i];

        if (size[user] != REMAT_NONE && !reads_floating(g, user))
            return size[user];
    }
    return REMAT_NONE;
}

void remat_warn_decisions(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    remat_node *size;

    if (!remat_has_plan(r))
        return;
    size = REMAT_NEW_ARRAY(&r->w->job->arena, remat_node, g->n);
    if (size == NULL)
        return;
    for (remat_node v = g->n; v-- > 0;)
        size[v] = r->w->fw[v] ? size_behind(r, size, v) : REMAT_NONE;
    for (remat_node v = 0; v < g->n; v++) {
        if (size[v] == REMAT_NONE || !remat_is_read_again(r, v) ||
            !reads_floating(g, v))
            continue;
        if (size[v] == v)
            remat_warn_say(r, REMAT_WARNING, v,
                           "`%s` is a size that depends on data and is "
                           "computed again: where rounding differs, shapes "
                           "differ from those of the forward. Tag it must_save",
                           remat_warn_name(r, v));
        else
            remat_warn_say(r, REMAT_WARNING, v,
                           "`%s` decides about the size `%s` and is computed "
                           "again: where rounding differs, it decides "
                           "otherwise than in the forward, and shapes differ. "
                           "Tag it must_save",
                           remat_warn_name(r, v), remat_warn_name(r, size[v]));
    }
}
