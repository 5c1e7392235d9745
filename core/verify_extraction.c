/*
 * verify_extraction.c: what a plan passes from forward to backward, held
 * against what each half can and must compute.
 *
 *   check_members     the lists hold chosen nodes, in the order they were
 * chosen evaluate          what a half can compute, and what of it is wanted
 *   check_reads       nothing chosen is passed on in vain or dropped though
 * read check_symbols     every size symbol of a passed value is bound
 *   check_recomputed  what both halves compute
 *
 * What is wanted is marked from the outputs down; the solver counts users and
 * takes away instead.
 */
#include "error.h"
#include "verify.h"

#include <string.h>

enum {
    NESTING = 64
}; /* of values */

struct half {
    bool *given;  /* is an input of this half */
    bool *able;   /* given, or computable */
    bool *root;   /* an output, after replacement */
    bool *wanted; /* computed here because something needs it */
    bool is_backward;
};

struct check {
    struct remat_work *w;
    const struct remat_extraction *x;
    struct remat_nodes chosen;
    struct remat_error *err;
    struct half forward;
    struct half backward;
    struct half all_chosen; /* the backward with everything chosen given: what
                               it reads decides what is passed on (9.2) */
    uint32_t *rank;         /* place among the chosen; REMAT_NONE: not chosen */
    bool *listed;           /* in saved, opaque or scripted */
    bool *in_sym; /* in the list of symbols; what binds may be in both */
};

static enum remat_status off(struct check *k, remat_node v, const char *what)
{
    return remat_error_set(k->err, REMAT_E_BUG, v, "extraction: %s", what);
}

static bool allocate_half(struct remat_arena *arena, uint32_t n, struct half *h)
{
    h->given = REMAT_NEW_ARRAY(arena, bool, n);
    h->able = REMAT_NEW_ARRAY(arena, bool, n);
    h->root = REMAT_NEW_ARRAY(arena, bool, n);
    h->wanted = REMAT_NEW_ARRAY(arena, bool, n);
    return arena->status == REMAT_OK;
}

static bool allocate(struct check *k)
{
    struct remat_arena *arena = &k->w->job->arena;
    uint32_t n = k->w->g->n;

    k->rank = REMAT_NEW_ARRAY(arena, uint32_t, n);
    k->listed = REMAT_NEW_ARRAY(arena, bool, n);
    k->in_sym = REMAT_NEW_ARRAY(arena, bool, n);
    if (!allocate_half(arena, n, &k->forward) ||
        !allocate_half(arena, n, &k->backward) ||
        !allocate_half(arena, n, &k->all_chosen))
        return false;
    memset(k->rank, 0xff, n * sizeof(*k->rank));
    for (uint32_t i = 0; i < k->chosen.n; i++)
        k->rank[k->chosen.at[i]] = i;
    return true;
}

/* ---- members ----------------------------------------------------------- */

static bool is_symbol(const struct check *k, remat_node v)
{
    enum remat_value_kind kind = k->w->g->specs[v]->value.kind;

    return kind == REMAT_VALUE_SYM_BOOL || kind == REMAT_VALUE_SYM_FLOAT ||
           kind == REMAT_VALUE_SYM_INT;
}

/* Which list a chosen node belongs to. */
enum kind {
    SAVED,
    SAVED_UNCHECKED,
    OPAQUE,
    SCRIPTED,
    SYMBOL
};

static enum kind kind_of(const struct check *k, remat_node v)
{
    const struct remat_node_spec *spec = k->w->g->specs[v];

    if (spec->opaque)
        return OPAQUE;
    if (is_symbol(k, v))
        return SYMBOL;
    if (spec->value.kind == REMAT_VALUE_OPAQUE && spec->value.type_name &&
        strcmp(spec->value.type_name, "FakeScriptObject") == 0)
        return SCRIPTED;
    return spec->no_vc_check ? SAVED_UNCHECKED : SAVED;
}

/* One list: chosen nodes of kind a, then of kind b, each in the order chosen.
 */
static enum remat_status check_list(struct check *k, struct remat_nodes list,
                                    enum kind a, enum kind b)
{
    for (uint32_t i = 0; i < list.n; i++) {
        remat_node v = list.at[i];
        enum kind kind = kind_of(k, v);
        enum kind before = i > 0 ? kind_of(k, list.at[i - 1]) : kind;

        if (k->rank[v] == REMAT_NONE || k->listed[v])
            return off(k, v,
                       "a value is passed on that was not chosen, or "
                       "twice");
        if (kind != a && kind != b)
            return off(k, v, "a value is in the wrong list");
        if (i > 0 && before != kind && before != a)
            return off(k, v, "a list is out of order");
        if (i > 0 && before == kind && k->rank[list.at[i - 1]] > k->rank[v])
            return off(k, v, "a list is out of order");
        k->listed[v] = true;
    }
    return REMAT_OK;
}

static enum remat_status check_members(struct check *k)
{
    enum remat_status status =
        check_list(k, k->x->saved, SAVED, SAVED_UNCHECKED);

    if (status == REMAT_OK)
        status = check_list(k, k->x->opaque, OPAQUE, OPAQUE);
    if (status == REMAT_OK)
        status = check_list(k, k->x->scripted, SCRIPTED, SCRIPTED);
    for (uint32_t i = 0; i < k->x->sym.n && status == REMAT_OK; i++) {
        remat_node v = k->x->sym.at[i];

        if (k->in_sym[v])
            return off(k, v, "a symbol is passed on twice");
        k->in_sym[v] = true;
    }
    return status;
}

/* ---- what a half computes ---------------------------------------------- */

static bool belongs_to_other_half(const struct check *k, const struct half *h,
                                  remat_node v)
{
    bool writes = (k->w->g->traits[v] & REMAT_MUTABLE) != 0;

    switch (k->w->g->specs[v]->placement) {
    case REMAT_MUST_BE_IN_FORWARD:
        return h->is_backward;
    case REMAT_MUST_BE_IN_BACKWARD:
        return !h->is_backward;
    case REMAT_IS_BACKWARD:
        return writes && !h->is_backward;
    case REMAT_IS_FORWARD:
    case REMAT_UNPLACED:
    case REMAT_N_PLACEMENTS:
        return writes && h->is_backward;
    }
    return false;
}

static bool is_able(const struct check *k, const struct half *h, remat_node v)
{
    const struct remat_node_spec *spec = k->w->g->specs[v];

    if (h->given[v])
        return true;
    if (belongs_to_other_half(k, h, v) || spec->op == REMAT_PLACEHOLDER ||
        spec->op == REMAT_OUTPUT)
        return false;
    if (spec->op == REMAT_GET_ATTR)
        return true;
    REMAT_FOR_INPUTS (k->w->g, v, i)
        if (!h->able[k->w->g->inputs.items[i]])
            return false;
    return true;
}

/* The entry of a higher-order operator's own arguments that getitem v reads. */
static remat_node entry_behind(const struct check *k, remat_node v)
{
    const struct remat_node_spec *spec = k->w->g->specs[v];
    const struct remat_node_spec *source;

    if (spec->op != REMAT_CALL_FUNCTION || spec->n_args < 2 ||
        strcmp(spec->target, "getitem") != 0 ||
        spec->args[0].kind != REMAT_ARG_NODE ||
        spec->args[1].kind != REMAT_ARG_STRING)
        return REMAT_NONE;
    source = k->w->g->specs[spec->args[0].as.node];
    if (source->op != REMAT_CALL_FUNCTION)
        return REMAT_NONE;
    for (uint32_t i = 0; i < source->n_kwargs; i++) {
        const struct remat_arg *dict = &source->kwargs[i];

        if (strcmp(dict->key, "kwargs") != 0 || dict->kind != REMAT_ARG_DICT)
            continue;
        for (uint32_t j = 0; j < dict->n_items; j++)
            if (strcmp(dict->as.items[j].key, spec->args[1].as.text) == 0)
                return dict->as.items[j].kind == REMAT_ARG_NODE
                           ? dict->as.items[j].as.node
                           : REMAT_NONE;
    }
    return REMAT_NONE;
}

static bool is_able_node(const struct half *h, remat_node v)
{
    return v != REMAT_NONE && h->able[v];
}

/* An able node in place of output v, which is not; REMAT_NONE: there is none.
 */
static remat_node stand_in(const struct check *k, const struct half *h,
                           remat_node v)
{
    const struct remat_node_spec *spec = k->w->g->specs[v];
    remat_node first = spec->n_args > 0 && spec->args[0].kind == REMAT_ARG_NODE
                           ? spec->args[0].as.node
                           : REMAT_NONE;
    bool is_view = strcmp(spec->target, "aten.view.default") == 0 ||
                   strcmp(spec->target, "aten.reshape.default") == 0;

    if (spec->op != REMAT_CALL_FUNCTION || first == REMAT_NONE)
        return REMAT_NONE;
    if (strcmp(spec->target, "aten.copy_.default") == 0 &&
        (spec->placement == REMAT_IS_BACKWARD ||
         spec->placement == REMAT_MUST_BE_IN_BACKWARD) &&
        is_able_node(h, first))
        return first;
    if (is_view && is_able_node(h, entry_behind(k, first)))
        return entry_behind(k, first);
    if (is_able_node(h, entry_behind(k, v)))
        return entry_behind(k, v);
    return REMAT_NONE;
}

static enum remat_status add_roots(struct check *k, struct half *h,
                                   struct remat_nodes outputs)
{
    for (uint32_t i = 0; i < outputs.n; i++) {
        remat_node v = outputs.at[i];

        if (v != REMAT_NONE && !h->able[v])
            v = stand_in(k, h, v);
        if (v == REMAT_NONE && outputs.at[i] != REMAT_NONE)
            return off(k, outputs.at[i],
                       h->is_backward ? "the backward cannot compute an output"
                                      : "the forward cannot compute an output");
        if (v != REMAT_NONE)
            h->root[v] = true;
    }
    return REMAT_OK;
}

/* Marks from the outputs down, in one walk against node order. */
static void mark_wanted(const struct check *k, struct half *h)
{
    const struct remat_work *w = k->w;

    for (remat_node v = w->g->n; v-- > 0;) {
        bool stays =
            w->g->specs[v]->op == REMAT_CALL_FUNCTION && remat_is_kept(w, v);

        if (!w->live[v] || h->given[v] || !h->able[v])
            continue;
        h->wanted[v] = h->wanted[v] || h->root[v] || stays;
        if (!h->wanted[v])
            continue;
        REMAT_FOR_INPUTS (w->g, v, i)
            h->wanted[w->g->inputs.items[i]] = true;
    }
    for (remat_node v = 0; v < w->g->n; v++)
        h->wanted[v] = h->wanted[v] && !h->given[v];
}

static void find_able(const struct check *k, struct half *h)
{
    for (remat_node v = 0; v < k->w->g->n; v++)
        h->able[v] = k->w->live[v] && is_able(k, h, v);
}

static void give(struct half *h, struct remat_nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        h->given[nodes.at[i]] = true;
}

static enum remat_status evaluate_forward(struct check *k)
{
    const struct remat_graph *g = k->w->g;
    const struct remat_nodes outputs[] = {
        g->fwd_outputs, k->x->saved, k->x->scripted, k->x->opaque, k->x->sym};
    enum remat_status status = REMAT_OK;

    give(&k->forward, g->primals);
    give(&k->forward, g->forward_seeds);
    find_able(k, &k->forward);
    for (size_t i = 0; i < REMAT_ARRAY_LEN(outputs) && status == REMAT_OK; i++)
        status = add_roots(k, &k->forward, outputs[i]);
    mark_wanted(k, &k->forward);
    return status;
}

static bool is_backward_state(const struct check *k, remat_node v)
{
    const struct remat_node_spec *spec = k->w->g->specs[v];

    return spec->op == REMAT_PLACEHOLDER &&
           spec->value.kind == REMAT_VALUE_OPAQUE && spec->value.type_name &&
           strcmp(spec->value.type_name, "BackwardState") == 0;
}

static enum remat_status evaluate_backward(struct check *k)
{
    const struct remat_graph *g = k->w->g;
    enum remat_status status;

    give(&k->backward, k->x->saved);
    give(&k->backward, k->x->scripted);
    give(&k->backward, k->x->opaque);
    give(&k->backward, k->x->sym);
    give(&k->backward, g->tangents);
    give(&k->backward, g->backward_seeds);
    for (remat_node v = 0; v < g->n; v++)
        if (is_backward_state(k, v))
            k->backward.given[v] = true;
    k->backward.is_backward = true;
    find_able(k, &k->backward);
    status = add_roots(k, &k->backward, g->bwd_outputs);
    mark_wanted(k, &k->backward);
    return status;
}

/* A bool whose users all assert on it stays in the forward. */
static bool is_only_asserted(const struct check *k, remat_node v)
{
    uint32_t n_asserts = 0;

    REMAT_FOR_USERS (k->w, v, i)
        n_asserts += strcmp(k->w->g->specs[k->w->users.items[i]]->target,
                            "aten._assert_scalar.default") == 0;
    return k->w->g->specs[v]->value.kind == REMAT_VALUE_SYM_BOOL &&
           n_asserts > 0 &&
           n_asserts == k->w->users.begin[v + 1] - k->w->users.begin[v];
}

/* The backward as it would be with all chosen values given. */
static enum remat_status evaluate_all_chosen(struct check *k)
{
    const struct remat_graph *g = k->w->g;
    enum remat_status status;

    for (uint32_t i = 0; i < k->chosen.n; i++)
        if (!is_only_asserted(k, k->chosen.at[i]))
            k->all_chosen.given[k->chosen.at[i]] = true;
    give(&k->all_chosen, g->tangents);
    give(&k->all_chosen, g->backward_seeds);
    k->all_chosen.is_backward = true;
    find_able(k, &k->all_chosen);
    status = add_roots(k, &k->all_chosen, g->bwd_outputs);
    mark_wanted(k, &k->all_chosen);
    return status;
}

/* ---- reads ------------------------------------------------------------- */

/* Whether the backward reads v for more than a wait nobody waits for. */
static bool is_read(const struct check *k, remat_node v)
{
    const struct half *h = &k->all_chosen;
    const struct remat_work *w = k->w;

    if (h->root[v])
        return true;
    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];
        bool is_awaited = h->root[user];

        if (!h->wanted[user])
            continue;
        if (strcmp(w->g->specs[user]->target,
                   "_c10d_functional.wait_tensor.default") != 0)
            return true;
        REMAT_FOR_USERS (w, user, j)
            is_awaited = is_awaited || h->wanted[w->users.items[j]];
        if (is_awaited)
            return true;
    }
    return false;
}

/* What the backward is given whether it is chosen or not, told by its label. */
static bool is_backward_seed(const struct check *k, remat_node v)
{
    const struct remat_node_spec *spec = k->w->g->specs[v];

    return spec->op == REMAT_PLACEHOLDER &&
           strstr(spec->target, "tangents") == NULL &&
           (strstr(spec->target, "bwd_seed") != NULL ||
            strstr(spec->target, "bwd_base_offset") != NULL);
}

/* A chosen value is in the list of its kind exactly when it is read; a symbol
 * may also be passed on for a saved shape alone. */
static enum remat_status check_reads(struct check *k)
{
    for (uint32_t i = 0; i < k->chosen.n; i++) {
        remat_node v = k->chosen.at[i];
        const struct remat_node_spec *spec = k->w->g->specs[v];
        bool belongs_in_list = spec->opaque || !is_symbol(k, v);

        if (is_only_asserted(k, v) || is_backward_state(k, v))
            continue;
        if (is_backward_seed(k, v) && k->listed[v] && !is_symbol(k, v))
            return off(k, v, "a backward seed is passed on");
        if (is_backward_seed(k, v))
            continue;
        if (is_read(k, v) && ((belongs_in_list && !k->listed[v]) ||
                              (is_symbol(k, v) && !k->in_sym[v])))
            return off(k, v, "a chosen value is read but not passed on");
        if (!is_read(k, v) &&
            (k->listed[v] || (k->in_sym[v] && spec->binds == NULL)))
            return off(k, v, "a value is passed on that nothing reads");
    }
    return REMAT_OK;
}

/* ---- symbols ----------------------------------------------------------- */

struct symbols {
    struct remat_names bound;     /* by a passed node */
    struct remat_names bindable;  /* by any live node */
    struct remat_names mentioned; /* by a passed value or a tangent */
};

static bool learn(struct check *k, struct remat_names *names, const char *name)
{
    return remat_names_find(names, name) != REMAT_NONE ||
           remat_names_add(&k->w->job->arena, names, name);
}

/* The symbols of a value and of the values nested in it, level by level. */
static bool learn_value(struct check *k, struct remat_names *names,
                        const struct remat_value *value)
{
    const struct remat_value *rows[NESTING] = {value};
    uint32_t n_left[NESTING] = {1};
    int level = 0;

    while (level >= 0) {
        const struct remat_value *at = rows[level];

        if (n_left[level] == 0) {
            level--;
            continue;
        }
        n_left[level]--;
        rows[level]++;
        for (uint32_t i = 0; i < at->n_symbols; i++)
            if (!learn(k, names, at->symbols[i]))
                return false;
        if (at->n_members == 0 || level + 1 == NESTING)
            continue;
        level++;
        rows[level] = at->members;
        n_left[level] = at->n_members;
    }
    return true;
}

static bool learn_mentioned(struct check *k, struct symbols *s)
{
    const struct remat_graph *g = k->w->g;

    for (remat_node v = 0; v < g->n; v++) {
        const struct remat_node_spec *spec = g->specs[v];
        bool is_derived = k->in_sym[v] && spec->binds == NULL;
        bool is_saved = k->listed[v] && !spec->opaque;
        bool counts = g->role[v] == REMAT_TANGENT || is_derived || is_saved;

        if (spec->binds != NULL && k->w->live[v] &&
            !learn(k, &s->bindable, spec->binds))
            return false;
        if (counts && !learn_value(k, &s->mentioned, &spec->value))
            return false;
    }
    for (uint32_t i = 0; i < k->x->sym.n; i++) {
        const char *symbol = g->specs[k->x->sym.at[i]]->binds;

        if (symbol != NULL && !learn(k, &s->bound, symbol))
            return false;
    }
    return true;
}

/* Binders first, then derived symbols; what is mentioned and can be bound is
 * bound; a binder that was not chosen is mentioned. */
static enum remat_status check_symbols(struct check *k)
{
    struct symbols s = {.bound = {0}};
    bool derived = false;

    if (!learn_mentioned(k, &s))
        return remat_job_no_memory(k->w->job, k->err);
    for (uint32_t i = 0; i < k->x->sym.n; i++) {
        remat_node v = k->x->sym.at[i];
        const char *symbol = k->w->g->specs[v]->binds;

        if (symbol != NULL && derived)
            return off(k, v, "a binding symbol stands behind a derived one");
        derived = symbol == NULL;
        if (k->rank[v] != REMAT_NONE && is_symbol(k, v) &&
            (derived || is_read(k, v)))
            continue;
        if (derived || remat_names_find(&s.mentioned, symbol) == REMAT_NONE)
            return off(k, v, "a symbol is passed on that nothing mentions");
    }
    for (uint32_t i = 0; i < s.mentioned.n; i++)
        if (remat_names_find(&s.bindable, s.mentioned.keys[i]) != REMAT_NONE &&
            remat_names_find(&s.bound, s.mentioned.keys[i]) == REMAT_NONE)
            return off(k, REMAT_NONE,
                       "a size symbol is mentioned and not bound");
    return REMAT_OK;
}

/* ---- recomputed -------------------------------------------------------- */

static enum remat_status check_recomputed(struct check *k)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < k->w->g->n; v++) {
        if (!k->forward.wanted[v] || !k->backward.wanted[v] ||
            k->w->g->specs[v]->op != REMAT_CALL_FUNCTION)
            continue;
        if (n == k->x->recomputed.n || k->x->recomputed.at[n] != v)
            return off(k, v, "a recomputed operator is not listed");
        n++;
    }
    if (n != k->x->recomputed.n)
        return off(k, k->x->recomputed.at[n],
                   "an operator is listed that is not recomputed");
    return REMAT_OK;
}

enum remat_status remat_verify_extraction(struct remat_work *w,
                                          struct remat_nodes chosen,
                                          const struct remat_extraction *x,
                                          struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&w->job->arena);
    struct check k = {.w = w, .x = x, .chosen = chosen, .err = err};
    enum remat_status status;

    if (!allocate(&k))
        return remat_job_no_memory(w->job, err);
    status = check_members(&k);
    if (status == REMAT_OK)
        status = evaluate_forward(&k);
    if (status == REMAT_OK)
        status = evaluate_backward(&k);
    if (status == REMAT_OK)
        status = evaluate_all_chosen(&k);
    if (status == REMAT_OK)
        status = check_reads(&k);
    if (status == REMAT_OK)
        status = check_symbols(&k);
    if (status == REMAT_OK)
        status = check_recomputed(&k);
    remat_arena_rewind(&w->job->arena, mark);
    return status;
}
