/*
 * form_rest.c: places for nodes with no way to the output.
 *
 *   split     into parts that no reference, alias or symbol joins
 *   refine    a part's colours, from what its nodes read and who reads them,
 *             until they say no more (colour refinement)
 *   single    one node of a colour that several have gets its own, and so on
 *             until all differ
 *
 * A part costs O((nodes + references) log nodes) for each round of refinement.
 * Two or three rounds do for what compilers write; a part made to look the same
 * everywhere takes as many as it has nodes, and the job's steps bound it.
 */
#include "form.h"
#include "sort.h"

#include "error.h"

enum {
    SINGLED_OUT = 11,
    READ_BY = 12,
    PLACED = 13,
    MENTIONED = 14,
    BOUND = 15
};

struct rest {
    struct remat_form *form;
    struct remat_arena *arena;
    remat_node *parent;  /* by node: of the union; itself when first */
    remat_node *members; /* the rest, part by part, each in document order */
    uint32_t n;
    uint32_t *begin; /* by part, of members */
    uint32_t n_parts;
    uint64_t *color;       /* by node */
    uint64_t *readers;     /* by node: sum over who reads it */
    bool *is_read;         /* by node: by another of the rest, or by symbol */
    uint64_t *symbol_base; /* by symbol: of nodes that have a place */
    uint64_t *symbol;      /* by symbol: in the round */
};

/* ---- parts ------------------------------------------------------------- */

static bool is_rest(const struct rest *r, remat_node v)
{
    return r->form->place[v] == REMAT_NONE;
}

static remat_node find(struct rest *r, remat_node v)
{
    while (r->parent[v] != v) {
        r->parent[v] = r->parent[r->parent[v]];
        v = r->parent[v];
    }
    return v;
}

/* The earlier one stays first, which keeps parts in document order. */
static void join(struct rest *r, remat_node a, remat_node b)
{
    a = find(r, a);
    b = find(r, b);
    if (a < b)
        r->parent[b] = a;
    else
        r->parent[a] = b;
}

#define FOR_REFS(r, v, i)                       \
    for (uint32_t i = (r)->form->refs.begin[v]; \
         i < (r)->form->refs.begin[(v) + 1]; i++)
#define FOR_SYMBOLS(r, v, i)                       \
    for (uint32_t i = (r)->form->symbols.begin[v]; \
         i < (r)->form->symbols.begin[(v) + 1]; i++)

static void join_by_reference(struct rest *r)
{
    for (remat_node v = 0; v < r->form->g->n; v++) {
        r->parent[v] = v;
        if (!is_rest(r, v))
            continue;
        FOR_REFS(r, v, i)
        {
            remat_node u = r->form->refs.items[i];

            if (!is_rest(r, u))
                continue;
            join(r, u, v);
            r->is_read[u] = true;
        }
    }
}

/* Whether every node that binds a symbol, and one at least, has a place. */
static void find_settled(struct rest *r, bool *is_settled)
{
    const uint32_t *binds = r->form->binds;

    for (remat_node v = 0; v < r->form->g->n; v++)
        if (binds[v] != REMAT_NONE && !is_rest(r, v))
            is_settled[binds[v]] = true;
    for (remat_node v = 0; v < r->form->g->n; v++)
        if (binds[v] != REMAT_NONE && is_rest(r, v)) {
            is_settled[binds[v]] = false;
            r->is_read[v] = true;
        }
}

static void join_by(struct rest *r, remat_node v, uint32_t symbol,
                    remat_node *first)
{
    if (first[symbol] == REMAT_NONE)
        first[symbol] = v;
    join(r, first[symbol], v);
}

/* A symbol joins those of the rest that have it, unless it is settled. */
static bool join_by_symbol(struct rest *r)
{
    uint32_t n = r->form->n_symbols;
    bool *is_settled = REMAT_NEW_ARRAY(r->arena, bool, n);
    remat_node *first = REMAT_NEW_ARRAY(r->arena, remat_node, n);

    if (first == NULL || is_settled == NULL)
        return false;
    for (uint32_t s = 0; s < n; s++)
        first[s] = REMAT_NONE;
    find_settled(r, is_settled);
    for (remat_node v = 0; v < r->form->g->n; v++) {
        if (!is_rest(r, v))
            continue;
        if (r->form->binds[v] != REMAT_NONE)
            join_by(r, v, r->form->binds[v], first);
        FOR_SYMBOLS(r, v, i)
        if (!is_settled[r->form->symbols.items[i]])
            join_by(r, v, r->form->symbols.items[i], first);
    }
    return true;
}

/* Sorts the rest into parts: members and begin. */
static bool list_parts(struct rest *r)
{
    uint32_t n = r->form->g->n;
    uint32_t *number = REMAT_NEW_ARRAY(r->arena, uint32_t, n);
    uint32_t *next;

    if (number == NULL)
        return false;
    for (remat_node v = 0; v < n; v++)
        if (is_rest(r, v) && find(r, v) == v)
            number[v] = r->n_parts++;
    r->begin = REMAT_NEW_ARRAY(r->arena, uint32_t, (size_t)r->n_parts + 1);
    next = REMAT_NEW_ARRAY(r->arena, uint32_t, r->n_parts);
    if (r->begin == NULL || next == NULL)
        return false;
    for (remat_node v = 0; v < n; v++)
        if (is_rest(r, v))
            r->begin[number[find(r, v)] + 1]++;
    for (uint32_t i = 0; i < r->n_parts; i++) {
        r->begin[i + 1] += r->begin[i];
        next[i] = r->begin[i];
    }
    for (remat_node v = 0; v < n; v++)
        if (is_rest(r, v))
            r->members[next[number[find(r, v)]]++] = v;
    return true;
}

static void describe_placed_symbols(struct rest *r)
{
    for (uint32_t i = 0; i < r->form->n_placed; i++) {
        remat_node v = r->form->order[i];

        FOR_SYMBOLS(r, v, s)
        r->symbol_base[r->form->symbols.items[s]] += remat_mix(MENTIONED, i);
        if (r->form->binds[v] != REMAT_NONE)
            r->symbol_base[r->form->binds[v]] += remat_mix(BOUND, i);
    }
}

/* ---- colours of one part ----------------------------------------------- */

struct part {
    const remat_node *at;
    uint32_t n;
    uint64_t cost; /* of a round */
};

static uint64_t color_of(const struct rest *r, remat_node v)
{
    return is_rest(r, v) ? r->color[v] : remat_mix(PLACED, r->form->place[v]);
}

static void color_symbols(struct rest *r, const struct part *p)
{
    const struct remat_form *f = r->form;

    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[k];

        FOR_SYMBOLS(r, v, i)
        r->symbol[f->symbols.items[i]] = r->symbol_base[f->symbols.items[i]];
        if (f->binds[v] != REMAT_NONE)
            r->symbol[f->binds[v]] = r->symbol_base[f->binds[v]];
    }
    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[k];

        FOR_SYMBOLS(r, v, i)
        r->symbol[f->symbols.items[i]] += remat_mix(MENTIONED, r->color[v]);
        if (f->binds[v] != REMAT_NONE)
            r->symbol[f->binds[v]] += remat_mix(BOUND, r->color[v]);
    }
}

/* Once down the part, from what is read to who reads, and once up. */
static void sweep(struct rest *r, const struct part *p)
{
    color_symbols(r, p);
    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[k];
        uint64_t sum = 0;

        r->readers[v] = 0;
        FOR_REFS(r, v, i)
        r->color[v] =
            remat_mix(r->color[v], color_of(r, r->form->refs.items[i]));
        FOR_SYMBOLS(r, v, i)
        sum += remat_mix(MENTIONED, r->symbol[r->form->symbols.items[i]]);
        if (r->form->binds[v] != REMAT_NONE)
            sum += remat_mix(BOUND, r->symbol[r->form->binds[v]]);
        r->color[v] = remat_mix(r->color[v], sum);
    }
    for (uint32_t k = p->n; k-- > 0;) {
        remat_node v = p->at[k];

        r->color[v] = remat_mix(r->color[v], r->readers[v]);
        FOR_REFS(r, v, i)
        r->readers[r->form->refs.items[i]] += remat_mix(
            remat_mix(READ_BY, i - r->form->refs.begin[v]), r->color[v]);
    }
}

/* The part's nodes by colour, and how many colours there are. */
static uint32_t *sort_part(struct rest *r, const struct part *p,
                           uint32_t *n_colors)
{
    uint64_t *keys = REMAT_NEW_ARRAY(r->arena, uint64_t, p->n);
    uint32_t *order;

    if (keys == NULL)
        return NULL;
    for (uint32_t k = 0; k < p->n; k++)
        keys[k] = r->color[p->at[k]];
    order = remat_sort_ascending(r->arena, keys, p->n);
    if (order == NULL)
        return NULL;
    *n_colors = 1;
    for (uint32_t k = 1; k < p->n; k++)
        *n_colors += keys[order[k]] != keys[order[k - 1]];
    return order;
}

/* Sweeps until no colour splits any more. */
static enum remat_status refine(struct rest *r, const struct part *p,
                                uint32_t *n_colors, struct remat_error *err)
{
    uint32_t before = 0;

    for (;;) {
        struct remat_mark mark = remat_arena_mark(r->arena);
        enum remat_status status =
            remat_job_spend(r->form->job, p->cost, "structure", err);

        if (status != REMAT_OK)
            return status;
        sweep(r, p);
        if (sort_part(r, p, n_colors) == NULL)
            return remat_job_no_memory(r->form->job, err);
        remat_arena_rewind(r->arena, mark);
        if (*n_colors == p->n || *n_colors == before)
            return REMAT_OK;
        before = *n_colors;
    }
}

static bool is_shared(const struct rest *r, const struct part *p,
                      const uint32_t *order, uint32_t k)
{
    return k + 1 < p->n &&
           r->color[p->at[order[k]]] == r->color[p->at[order[k + 1]]];
}

/* Gives the first of the least colour that several have a colour of its own:
 * one that others read, as long as there is one. What nobody reads can be
 * exchanged freely once all else differs, so all of those get theirs at once;
 * then *is_over. */
static bool single_out(struct rest *r, const struct part *p, bool *is_over)
{
    uint32_t n_colors;
    const uint32_t *order = sort_part(r, p, &n_colors);
    uint64_t color = 0;
    uint64_t nth = 0;

    if (order == NULL)
        return false;
    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[order[k]];

        if (!r->is_read[v] || !is_shared(r, p, order, k))
            continue;
        r->color[v] = remat_mix(SINGLED_OUT, r->color[v]);
        return true;
    }
    *is_over = true;
    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[order[k]];

        nth = k > 0 && r->color[v] == color ? nth + 1 : 0;
        color = r->color[v];
        if (nth > 0)
            r->color[v] = remat_mix(remat_mix(SINGLED_OUT, nth), color);
    }
    return true;
}

/* Different colours for all, then the print of the part. */
static enum remat_status color_part(struct rest *r, struct part *p,
                                    uint64_t *print, struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(r->arena);
    enum remat_status status = REMAT_OK;
    uint32_t n_colors = 0;
    bool is_over = false;
    const uint32_t *order;

    p->cost = p->n;
    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[k];

        r->color[v] = r->form->local[v].a;
        p->cost += r->form->refs.begin[v + 1] - r->form->refs.begin[v] +
                   r->form->symbols.begin[v + 1] - r->form->symbols.begin[v];
    }
    for (;;) {
        status = refine(r, p, &n_colors, err);
        if (status != REMAT_OK || n_colors == p->n)
            break;
        if (!single_out(r, p, &is_over))
            return remat_job_no_memory(r->form->job, err);
        remat_arena_rewind(r->arena, mark);
        if (is_over)
            break;
    }
    if (status != REMAT_OK)
        return status;
    order = sort_part(r, p, &n_colors);
    if (order == NULL)
        return remat_job_no_memory(r->form->job, err);
    *print = p->n;
    for (uint32_t k = 0; k < p->n; k++)
        *print = remat_mix(*print, r->color[p->at[order[k]]]);
    remat_arena_rewind(r->arena, mark);
    return REMAT_OK;
}

/* ---- places ------------------------------------------------------------ */

static bool place_part(struct rest *r, const struct part *p, uint64_t print)
{
    struct remat_mark mark = remat_arena_mark(r->arena);
    uint32_t n_colors;
    const uint32_t *order = sort_part(r, p, &n_colors);

    if (order == NULL)
        return false;
    for (uint32_t k = 0; k < p->n; k++) {
        remat_node v = p->at[order[k]];

        r->form->part[v] = print;
        r->form->place[v] = r->form->n_placed;
        r->form->order[r->form->n_placed++] = v;
    }
    remat_arena_rewind(r->arena, mark);
    return true;
}

static struct part part_at(const struct rest *r, uint32_t i)
{
    return (struct part){r->members + r->begin[i],
                         r->begin[i + 1] - r->begin[i], 0};
}

static enum remat_status place_parts(struct rest *r, struct remat_error *err)
{
    uint64_t *prints = REMAT_NEW_ARRAY(r->arena, uint64_t, r->n_parts);
    const uint32_t *order;

    if (prints == NULL)
        return remat_job_no_memory(r->form->job, err);
    for (uint32_t i = 0; i < r->n_parts; i++) {
        struct part p = part_at(r, i);
        enum remat_status status = color_part(r, &p, &prints[i], err);

        if (status != REMAT_OK)
            return status;
    }
    order = remat_sort_ascending(r->arena, prints, r->n_parts);
    if (order == NULL)
        return remat_job_no_memory(r->form->job, err);
    for (uint32_t i = 0; i < r->n_parts; i++) {
        struct part p = part_at(r, order[i]);

        if (!place_part(r, &p, prints[order[i]]))
            return remat_job_no_memory(r->form->job, err);
    }
    return REMAT_OK;
}

enum remat_status remat_form_place_rest(struct remat_form *form,
                                        struct remat_error *err)
{
    struct remat_arena *arena = &form->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    uint32_t n = form->g->n;
    struct rest r = {
        .form = form,
        .arena = arena,
        .parent = REMAT_NEW_ARRAY(arena, remat_node, n),
        .members = REMAT_NEW_ARRAY(arena, remat_node, n),
        .color = REMAT_NEW_ARRAY(arena, uint64_t, n),
        .readers = REMAT_NEW_ARRAY(arena, uint64_t, n),
        .is_read = REMAT_NEW_ARRAY(arena, bool, n),
        .symbol_base = REMAT_NEW_ARRAY(arena, uint64_t, form->n_symbols),
        .symbol = REMAT_NEW_ARRAY(arena, uint64_t, form->n_symbols)};
    enum remat_status status;

    if (form->n_placed == n) {
        remat_arena_rewind(arena, mark);
        return REMAT_OK;
    }
    if (arena->status != REMAT_OK)
        return remat_job_no_memory(form->job, err);
    join_by_reference(&r);
    describe_placed_symbols(&r);
    if (!join_by_symbol(&r) || !list_parts(&r))
        return remat_job_no_memory(form->job, err);
    status = place_parts(&r, err);
    remat_arena_rewind(arena, mark);
    return status;
}
