/*
 * warn_values.c: operators that nothing is known of, sizes that nothing
 * defines, and gradients that cannot be ones.
 */
#include "warn.h"

#include "symbols.h"

#include <string.h>

/* ---- operators --------------------------------------------------------- */

/* Functions of Python on sizes, and operators that hold graphs: no table lists
 * all of them, and nothing is to be known. */
static bool is_python(const char *target)
{
    static const char *const prefixes[] = {
        "operator.", "_operator.", "math.",
        "builtins.", "torch.",     "higher_order.",
    };

    for (size_t i = 0; i < REMAT_ARRAY_LEN(prefixes); i++)
        if (strncmp(target, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return strchr(target, '.') == NULL;
}

/* An operator of PyTorch's namespaces that this release does not have. */
static void judge_pytorchs(struct remat_warner *r, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(r->w->g, v);
    const char *overloads;

    if (remat_operator_exists(spec->target, &overloads))
        return;
    if (overloads != NULL)
        remat_warn_say(r, REMAT_WARNING, v,
                       "PyTorch %s has no overload %s (`%s`), only these: %s. "
                       "It is taken for an operator that nothing is known of",
                       remat_table_version(), spec->target, spec->name,
                       overloads);
    else
        remat_warn_say(r, REMAT_WARNING, v,
                       "PyTorch %s has no operator %s (`%s`). It is taken for "
                       "one that nothing is known of",
                       remat_table_version(), spec->target, spec->name);
}

/* Somebody else's operator that the document says nothing of. The backward runs
 * its own once, whatever they are. */
static bool is_strange(const struct remat_warner *r, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(r->w->g, v);

    return spec->traits_added == 0 && spec->traits_denied == 0 &&
           !r->w->closure[v] && !is_python(spec->target) &&
           !remat_operator_is_listed(spec->target);
}

/* Each target once, at its first node. */
void remat_warn_operators(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    struct remat_warn_group strange = {.n = 0};
    bool *seen = REMAT_NEW_ARRAY(&r->w->job->arena, bool, g->targets.n);

    for (remat_node v = 0; v < g->n && seen != NULL; v++) {
        size_t number;

        if (!r->w->live[v] || !remat_is_call(g, v))
            continue;
        number = (size_t)(g->op[v] - g->operators);
        if (seen[number])
            continue;
        if (remat_operator_is_pytorchs(remat_spec(g, v)->target))
            judge_pytorchs(r, v);
        else if (!is_strange(r, v))
            continue; /* another call of it may be */
        else
            remat_warn_collect(&strange, v);
        seen[number] = true;
    }
    remat_warn_say_all(
        r, &strange,
        "nothing is known of this operator, so it is taken for a pure one that "
        "draws no random numbers. Say in its traits if it is another",
        "nothing is known of these operators, so they are taken for pure ones "
        "that draw no random numbers. Say in their traits if they are others");
}

/* ---- gradients --------------------------------------------------------- */

/* Values that depend on some input; the others are constants, of which a
 * gradient may well be one. */
static bool *find_dependent(const struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    bool *depends = REMAT_NEW_ARRAY(&r->w->job->arena, bool, g->n);

    for (remat_node v = 0; v < g->n && depends != NULL; v++) {
        depends[v] = remat_spec(g, v)->op == REMAT_PLACEHOLDER;
        REMAT_FOR_INPUTS (g, v, i)
            depends[v] = depends[v] || depends[g->inputs.items[i]];
    }
    return depends;
}

void remat_warn_gradients(struct remat_warner *r)
{
    const struct remat_graph *g = r->w->g;
    bool *depends;

    if (g->tangents.n == 0)
        return;
    depends = find_dependent(r);
    for (uint32_t i = 0; i < g->bwd_outputs.n && depends != NULL; i++) {
        remat_node v = g->bwd_outputs.at[i];

        if (v == REMAT_NONE || r->w->closure[v] || !depends[v] ||
            !remat_is_tensor(g, v))
            continue;
        depends[v] = false; /* once */
        remat_warn_say(r, REMAT_WARNING, v,
                       "`%s` is returned as a gradient, but depends on no "
                       "tangent (%u of %u outputs are forward outputs: is "
                       "num_fwd_outputs right?)",
                       remat_warn_name(r, v), g->fwd_outputs.n,
                       g->fwd_outputs.n + g->bwd_outputs.n);
    }
}

/* ---- symbols ----------------------------------------------------------- */

void remat_warn_symbols(struct remat_warner *r)
{
    struct remat_unbound *found;
    uint32_t n;

    if (!remat_has_plan(r))
        return;
    found = remat_find_unbound(r->w, r->x->sym, r->x->saved, &n);
    for (uint32_t i = 0; i < n && found != NULL; i++)
        remat_warn_say(r, REMAT_WARNING, found[i].node,
                       "the size of `%s` needs the symbol %s, which no node "
                       "binds: the backward cannot know it. Give the node that "
                       "introduces it as `binds`",
                       remat_warn_name(r, found[i].node), found[i].symbol);
}
