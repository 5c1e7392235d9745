/*
 * extract.c: from the nodes of a cut to a plan.
 *
 *   split_chosen     9.1  symbols, opaque values, the rest
 *   drop_unread      9.2  what the backward does not read after all
 *   bind_symbols     9.3  (symbols.c) sizes the saved values need
 *   order_saved      9.4
 *   extract_halves   9.5, 9.6
 */
#include "extract.h"

#include "symbols.h"

#include <string.h>

/* A list under construction, with room for every node. */
struct list {
    remat_node *at;
    uint32_t n;
};

struct lists {
    struct list saved;
    struct list sym;
    struct list opaque;
    struct list scripted;
};

static bool allocate(struct remat_arena *arena, uint32_t n, struct lists *lists)
{
    lists->saved = (struct list){REMAT_NEW_ARRAY(arena, remat_node, n), 0};
    lists->sym = (struct list){REMAT_NEW_ARRAY(arena, remat_node, n), 0};
    lists->opaque = (struct list){REMAT_NEW_ARRAY(arena, remat_node, n), 0};
    lists->scripted = (struct list){REMAT_NEW_ARRAY(arena, remat_node, n), 0};
    return arena->status == REMAT_OK;
}

static void append(struct list *list, remat_node v)
{
    list->at[list->n++] = v;
}

static struct remat_nodes view(const struct list *list)
{
    return (struct remat_nodes){list->at, list->n};
}

static void mark(bool *set, struct remat_nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        set[nodes.at[i]] = true;
}

/* ---- 9.1 --------------------------------------------------------------- */

/* A bool that is only asserted on is checked in the forward and not needed. */
static bool is_only_asserted(const struct remat_work *w, remat_node v)
{
    if (remat_spec(w->g, v)->value.kind != REMAT_VALUE_SYM_BOOL ||
        w->users.begin[v] == w->users.begin[v + 1])
        return false;
    REMAT_FOR_USERS (w, v, i)
        if (remat_special(w->g, w->users.items[i]) != REMAT_ASSERT_SCALAR)
            return false;
    return true;
}

static void split_chosen(const struct remat_work *w, struct remat_nodes chosen,
                         struct lists *lists)
{
    for (uint32_t i = 0; i < chosen.n; i++) {
        remat_node v = chosen.at[i];

        if (is_only_asserted(w, v))
            continue;
        if (remat_is_symbol(w->g, v))
            append(&lists->sym, v);
        if (remat_spec(w->g, v)->opaque) /* a symbol may be both */
            append(&lists->opaque, v);
        else if (!remat_is_symbol(w->g, v))
            append(&lists->saved, v);
    }
}

/* ---- 9.2 --------------------------------------------------------------- */

/* Whether a surviving user reads input v on this side: one that is more than a
 * wait nobody waits for. */
static bool is_read(const struct remat_work *w, const struct remat_subgraph *s,
                    remat_node v)
{
    if (s->is_output[v])
        return true;
    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];

        if (s->kept[user] && (remat_special(w->g, user) != REMAT_WAIT_TENSOR ||
                              s->n_users[user] > 0))
            return true;
    }
    return false;
}

static bool is_backward_state(const struct remat_work *w, remat_node v)
{
    return remat_spec(w->g, v)->op == REMAT_PLACEHOLDER &&
           remat_is_opaque_type(w->g, v, "BackwardState");
}

/* The backward is given its seeds in any case: where one was chosen as well, as
 * one without bytes is, its second placeholder is the one that is read. */
static bool is_given_anyway(const struct remat_work *w, remat_node v)
{
    return w->g->role[v] == REMAT_BACKWARD_SEED;
}

static void keep_read(const struct remat_work *w,
                      const struct remat_subgraph *s, struct list *list,
                      bool drop_states)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        remat_node v = list->at[i];

        if (is_read(w, s, v) && !is_given_anyway(w, v) &&
            !(drop_states && is_backward_state(w, v)))
            list->at[n++] = v;
    }
    list->n = n;
}

static void mark_backward_inputs(const struct remat_work *w,
                                 const struct lists *lists, bool *is_input)
{
    mark(is_input, view(&lists->sym));
    mark(is_input, view(&lists->saved));
    mark(is_input, view(&lists->scripted));
    mark(is_input, view(&lists->opaque));
    mark(is_input, w->g->tangents);
    mark(is_input, w->g->backward_seeds);
}

/* Extracts the backward from everything chosen and drops what it leaves unread.
 * False, with x->failed, when a backward output cannot be computed. */
static enum remat_status drop_unread(struct remat_work *w, struct lists *lists,
                                     struct remat_extraction *x,
                                     struct remat_error *err)
{
    struct remat_subgraph s;
    enum remat_status status = remat_subgraph_init(w, &s, err);

    if (status != REMAT_OK)
        return status;
    mark_backward_inputs(w, lists, s.is_input);
    remat_subgraph_extract(w, &s, true, &w->g->bwd_outputs, 1);
    if (s.invalid != REMAT_NONE) {
        x->is_invalid = true;
        x->failed = s;
        return REMAT_OK;
    }
    keep_read(w, &s, &lists->saved, true);
    keep_read(w, &s, &lists->sym, false);
    keep_read(w, &s, &lists->opaque, false);
    return REMAT_OK;
}

/* ---- 9.4 --------------------------------------------------------------- */

static void order_saved(const struct remat_work *w, struct lists *lists,
                        struct list *scratch)
{
    struct list *saved = &lists->saved;

    scratch->n = 0;
    for (uint32_t i = 0; i < saved->n; i++)
        if (remat_is_opaque_type(w->g, saved->at[i], "FakeScriptObject"))
            append(&lists->scripted, saved->at[i]);
        else if (!remat_spec(w->g, saved->at[i])->no_vc_check)
            append(scratch, saved->at[i]);
    for (uint32_t i = 0; i < saved->n; i++)
        if (!remat_is_opaque_type(w->g, saved->at[i], "FakeScriptObject") &&
            remat_spec(w->g, saved->at[i])->no_vc_check)
            append(scratch, saved->at[i]);
    memcpy(saved->at, scratch->at, scratch->n * sizeof(*scratch->at));
    saved->n = scratch->n;
}

/* ---- 9.5, 9.6 ---------------------------------------------------------- */

static enum remat_status extract_forward(struct remat_work *w,
                                         const struct lists *lists,
                                         struct remat_subgraph *s,
                                         struct remat_error *err)
{
    const struct remat_nodes outputs[] = {
        w->g->fwd_outputs,    view(&lists->saved), view(&lists->scripted),
        view(&lists->opaque), view(&lists->sym),
    };
    enum remat_status status = remat_subgraph_init(w, s, err);

    if (status != REMAT_OK)
        return status;
    mark(s->is_input, w->g->primals);
    mark(s->is_input, w->g->forward_seeds);
    remat_subgraph_extract(w, s, false, outputs, REMAT_ARRAY_LEN(outputs));
    return REMAT_OK;
}

static enum remat_status extract_backward(struct remat_work *w,
                                          const struct lists *lists,
                                          struct remat_subgraph *s,
                                          struct remat_error *err)
{
    enum remat_status status = remat_subgraph_init(w, s, err);

    if (status != REMAT_OK)
        return status;
    mark_backward_inputs(w, lists, s->is_input);
    for (remat_node v = 0; v < w->g->n; v++)
        if (is_backward_state(w, v))
            s->is_input[v] = true;
    remat_subgraph_extract(w, s, true, &w->g->bwd_outputs, 1);
    return REMAT_OK;
}

static enum remat_status list_recomputed(struct remat_work *w,
                                         const struct remat_subgraph *forward,
                                         const struct remat_subgraph *backward,
                                         struct remat_nodes *recomputed,
                                         struct remat_error *err)
{
    struct list list = {REMAT_NEW_ARRAY(&w->job->arena, remat_node, w->g->n),
                        0};

    if (list.at == NULL)
        return remat_job_no_memory(w->job, err);
    for (remat_node v = 0; v < w->g->n; v++)
        if (forward->kept[v] && backward->kept[v] && remat_is_call(w->g, v))
            append(&list, v);
    *recomputed = view(&list);
    return REMAT_OK;
}

static enum remat_status extract_halves(struct remat_work *w,
                                        const struct lists *lists,
                                        struct remat_extraction *x,
                                        struct remat_error *err)
{
    enum remat_status status = extract_forward(w, lists, &x->forward, err);

    if (status != REMAT_OK)
        return status;
    status = extract_backward(w, lists, &x->backward, err);
    if (status != REMAT_OK)
        return status;
    if (x->forward.invalid != REMAT_NONE || x->backward.invalid != REMAT_NONE) {
        x->is_invalid = true;
        x->failed = x->forward.invalid != REMAT_NONE ? x->forward : x->backward;
        return REMAT_OK;
    }
    return list_recomputed(w, &x->forward, &x->backward, &x->recomputed, err);
}

enum remat_status remat_extract(struct remat_work *w, struct remat_nodes chosen,
                                struct remat_extraction *x,
                                struct remat_error *err)
{
    struct list scratch = {REMAT_NEW_ARRAY(&w->job->arena, remat_node, w->g->n),
                           0};
    struct lists lists;
    enum remat_status status;

    *x = (struct remat_extraction){.is_invalid = false};
    if (!allocate(&w->job->arena, w->g->n, &lists) || scratch.at == NULL)
        return remat_job_no_memory(w->job, err);
    split_chosen(w, chosen, &lists);
    status = drop_unread(w, &lists, x, err);
    if (status != REMAT_OK || x->is_invalid)
        return status;
    x->sym = view(&lists.sym);
    status = remat_bind_symbols(w, &x->sym, view(&lists.saved), err);
    if (status != REMAT_OK)
        return status;
    memcpy(lists.sym.at, x->sym.at, x->sym.n * sizeof(*x->sym.at));
    lists.sym.n = x->sym.n;
    order_saved(w, &lists, &scratch);
    status = extract_halves(w, &lists, x, err);
    x->sym = view(&lists.sym);
    x->saved = view(&lists.saved);
    x->opaque = view(&lists.opaque);
    x->scripted = view(&lists.scripted);
    return status;
}
