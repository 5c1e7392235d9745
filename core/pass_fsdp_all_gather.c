/*
 * pass_fsdp_all_gather.c: gathered parameters are gathered again in the
 * backward, or kept (semantics 10.9, 10.10).
 *
 * Gathering again takes the whole chain behind a gather: a view or cast of a
 * gathered parameter that is saved holds the parameter under another name.
 * Keeping takes the end of the chain, which is what the forward computes with.
 *
 * Chains of several parameters can run into one another; each array below
 * remembers what was found from a node on, so that no part is walked twice.
 */
#include "pass.h"

#include "error.h"
#include "format.h"

static const char gather_target[] =
    "_c10d_functional.all_gather_into_tensor.default";
static const char wait_target[] = "_c10d_functional.wait_tensor.default";
static const char cast_target[] = "prims.convert_element_type.default";

static enum remat_status note_no_gather(struct remat_pass_work *w)
{
    return remat_pass_note(
        w, "pass-matched-nothing", REMAT_WARNING, REMAT_NONE,
        "no parameter is gathered: no call of "
        "_c10d_functional.all_gather_into_tensor.default is reached from a "
        "placeholder by a chain of nodes with one input");
}

/* ---- 10.9: gather again ------------------------------------------------ */

/* Whether walking up through nodes with exactly one input reaches a
 * placeholder, for every node. */
static bool *find_parameter_chains(struct remat_pass_work *w)
{
    const struct remat_graph *g = w->g;
    bool *is_chain = REMAT_NEW_ARRAY(w->scratch, bool, g->n);

    if (is_chain == NULL)
        return NULL;
    for (remat_node v = 0; v < g->n; v++) {
        remat_node input;

        if (remat_n_inputs(g, v) != 1)
            continue;
        input = remat_first_input(g, v);
        is_chain[v] =
            g->specs[input]->op == REMAT_PLACEHOLDER || is_chain[input];
    }
    return is_chain;
}

/* The gather behind a parameter wait, or REMAT_NONE. */
static remat_node parameter_gather(const struct remat_graph *g,
                                   const bool *is_chain, remat_node v)
{
    remat_node gather;

    if (!remat_pass_calls(g, v, wait_target))
        return REMAT_NONE;
    gather = remat_arg_node(g, v, 0);
    if (gather == REMAT_NONE || !remat_pass_calls(g, gather, gather_target))
        return REMAT_NONE;
    return is_chain[gather] ? gather : REMAT_NONE;
}

static void recompute(struct remat_pass_work *w, remat_node v)
{
    remat_pass_tag(w, v, REMAT_MUST_RECOMPUTE, REMAT_PASS_REGION);
}

static void recompute_chain(struct remat_pass_work *w, remat_node wait,
                            bool *done)
{
    const struct remat_graph *g = w->g;
    remat_node v = wait;

    while (!done[v]) {
        done[v] = true;
        recompute(w, v);
        if (remat_n_users(g, v) != 1 ||
            remat_n_inputs(g, remat_first_user(g, v)) != 1)
            return;
        v = remat_first_user(g, v);
    }
}

static enum remat_status gather_again(struct remat_pass_work *w)
{
    const struct remat_graph *g = w->g;
    bool *is_chain = find_parameter_chains(w);
    bool *done = REMAT_NEW_ARRAY(w->scratch, bool, g->n);
    bool found = false;

    if (is_chain == NULL || done == NULL)
        return remat_pass_no_memory(w);
    for (remat_node v = 0; v < g->n; v++) {
        remat_node gather = parameter_gather(g, is_chain, v);
        enum remat_status status = remat_pass_spend(w, v);

        if (status != REMAT_OK)
            return status;
        if (gather == REMAT_NONE)
            continue;
        found = true;
        recompute(w, gather);
        recompute_chain(w, v, done);
        if (remat_pass_calls(g, remat_first_input(g, gather), cast_target))
            recompute(w, remat_first_input(g, gather));
    }
    return found ? REMAT_OK : note_no_gather(w);
}

/* ---- 10.10: keep ------------------------------------------------------- */

/* The last gather on the chain of single users behind a placeholder, or
 * REMAT_NONE. Such chains are disjoint: each node has one input. */
static remat_node last_gather(const struct remat_graph *g, remat_node start)
{
    remat_node last = REMAT_NONE;
    remat_node v = start;

    while (remat_n_users(g, v) == 1 &&
           remat_n_inputs(g, remat_first_user(g, v)) == 1) {
        v = remat_first_user(g, v);
        if (remat_pass_calls(g, v, gather_target))
            last = v;
    }
    return last;
}

/* The cat that puts all parts of a split together again, or REMAT_NONE. */
static remat_node cat_of_parts(const struct remat_graph *g, remat_node split)
{
    remat_node cat = REMAT_NONE;

    for (uint32_t i = g->users.begin[split]; i < g->users.begin[split + 1];
         i++) {
        remat_node part = g->users.items[i];

        if (remat_special(g, part) != REMAT_GETITEM ||
            remat_n_users(g, part) != 1)
            return REMAT_NONE;
        if (cat != REMAT_NONE && remat_first_user(g, part) != cat)
            return REMAT_NONE;
        cat = remat_first_user(g, part);
    }
    return cat != REMAT_NONE && remat_pass_calls(g, cat, "aten.cat.default")
               ? cat
               : REMAT_NONE;
}

/* The node after v on the way from a wait to where its chain ends, or
 * REMAT_NONE when that is v. O(users of v). */
static remat_node next_of_chain(const struct remat_graph *g, remat_node v)
{
    remat_node next;

    if (remat_n_users(g, v) == 0)
        return REMAT_NONE;
    if (remat_n_users(g, v) > 1) {
        remat_node cat;

        if (!remat_pass_calls(g, v, "aten.split.Tensor"))
            return REMAT_NONE;
        cat = cat_of_parts(g, v);
        if (cat != REMAT_NONE)
            return cat;
    }
    next = remat_first_user(g, v);
    return remat_n_inputs(g, next) > 1 ? REMAT_NONE : next;
}

struct ends {
    remat_node *end;  /* of the chain from a node on; REMAT_NONE: not known */
    remat_node *path; /* the nodes just walked */
};

static remat_node find_end(const struct remat_graph *g, struct ends *ends,
                           remat_node wait)
{
    remat_node end = wait;
    uint32_t n = 0;

    while (ends->end[end] == REMAT_NONE) {
        remat_node next = next_of_chain(g, end);

        ends->path[n++] = end;
        if (next == REMAT_NONE)
            break;
        end = next;
    }
    if (ends->end[end] != REMAT_NONE)
        end = ends->end[end];
    while (n > 0)
        ends->end[ends->path[--n]] = end;
    return end;
}

/* The first node that is no view, going back from each. */
static remat_node *find_bases(struct remat_pass_work *w)
{
    const struct remat_graph *g = w->g;
    remat_node *base = REMAT_NEW_ARRAY(w->scratch, remat_node, g->n);

    if (base == NULL)
        return NULL;
    for (remat_node v = 0; v < g->n; v++)
        base[v] = remat_has_trait(g, v, REMAT_IS_VIEW_SCHEMA) &&
                          remat_n_inputs(g, v) > 0
                      ? base[remat_first_input(g, v)]
                      : v;
    return base;
}

static bool is_used_beyond_forward(const struct remat_graph *g, remat_node v)
{
    for (uint32_t i = g->users.begin[v]; i < g->users.begin[v + 1]; i++)
        if (g->specs[g->users.items[i]]->placement != REMAT_MUST_BE_IN_FORWARD)
            return true;
    return false;
}

static enum remat_status note_unused(struct remat_pass_work *w,
                                     remat_node gather, remat_node end)
{
    return remat_pass_note(
        w, "pass-mark-skipped", REMAT_WARNING, gather,
        remat_format(&w->job->arena,
                     "the parameter gathered by `%s` is not kept: nothing "
                     "reads `%s`, where its chain ends, but nodes tagged "
                     "must_be_in_forward",
                     w->g->specs[gather]->name, w->g->specs[end]->name));
}

static enum remat_status keep_gather(struct remat_pass_work *w,
                                     remat_node gather, struct ends *ends,
                                     const remat_node *base)
{
    const struct remat_graph *g = w->g;
    remat_node end = gather;

    if (remat_n_users(g, gather) > 0)
        end = find_end(g, ends, remat_first_user(g, gather));
    if (!is_used_beyond_forward(g, end))
        return note_unused(w, gather, end);
    remat_pass_tag(w, base[end], REMAT_MUST_SAVE, REMAT_PASS_REGION);
    return REMAT_OK;
}

static enum remat_status keep_gathered(struct remat_pass_work *w)
{
    const struct remat_graph *g = w->g;
    remat_node *base = find_bases(w);
    struct ends ends = {REMAT_NEW_ARRAY(w->scratch, remat_node, g->n),
                        REMAT_NEW_ARRAY(w->scratch, remat_node, g->n)};
    bool found = false;

    if (base == NULL || ends.end == NULL || ends.path == NULL)
        return remat_pass_no_memory(w);
    for (remat_node v = 0; v < g->n; v++)
        ends.end[v] = REMAT_NONE;
    for (remat_node v = 0; v < g->n; v++) {
        enum remat_status status = remat_pass_spend(w, v);
        remat_node gather = REMAT_NONE;

        if (status == REMAT_OK && g->specs[v]->op == REMAT_PLACEHOLDER)
            gather = last_gather(g, v);
        if (gather != REMAT_NONE) {
            found = true;
            status = keep_gather(w, gather, &ends, base);
        }
        if (status != REMAT_OK)
            return status;
    }
    return found ? REMAT_OK : note_no_gather(w);
}

enum remat_status remat_pass_fsdp_all_gather(struct remat_pass_work *w)
{
    return w->pass->reshard_after_forward ? gather_again(w) : keep_gathered(w);
}
