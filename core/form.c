/*
 * form.c: what a graph is made of without names, and places for all that the
 * output reads.
 *
 *   find_locals     each node by itself, and its references in order
 *   find_symbols    which nodes mention which size symbols; names go
 *   walk            from the output, breadth first
 *   remat_form_print
 */
#include "form.h"

#include "error.h"
#include "tokens.h"

enum {
    NESTING = 64
};

/* ---- nodes by themselves ----------------------------------------------- */

static bool list_refs(struct remat_form *form, remat_node v, uint32_t *begin,
                      remat_node *items)
{
    const struct remat_node_spec *spec = remat_spec(form->g, v);
    struct remat_tokens tokens;
    const struct remat_arg *token;
    uint32_t n = begin[v];

    remat_tokens_init(&tokens, &form->job->arena, form->g, v);
    while ((token = remat_tokens_next(&tokens)) != NULL)
        if (token->kind == REMAT_ARG_NODE)
            items[n++] = token->as.node;
    if (spec->alias_of != REMAT_NONE)
        items[n++] = spec->alias_of;
    begin[v + 1] = n;
    return !tokens.failed;
}

static bool find_locals(struct remat_form *form)
{
    const struct remat_graph *g = form->g;
    struct remat_arena *arena = &form->job->arena;
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)g->n + 1);
    remat_node *items =
        REMAT_NEW_ARRAY(arena, remat_node, (size_t)g->n_references + g->n);

    form->local = REMAT_NEW_ARRAY(arena, struct remat_print, g->n);
    if (begin == NULL || items == NULL || form->local == NULL)
        return false;
    for (remat_node v = 0; v < g->n; v++) {
        struct remat_mark mark = remat_arena_mark(arena);

        if (!remat_facets_print(arena, g, v, form->with_modules,
                                &form->local[v]) ||
            !list_refs(form, v, begin, items))
            return false;
        remat_arena_rewind(arena, mark);
    }
    form->refs = (struct remat_rows){begin, items};
    return true;
}

/* ---- size symbols ------------------------------------------------------ */

/* Adds the number of each symbol that a value and its members mention to `at`,
 * or only counts them when `at` is NULL; REMAT_NONE: no room. */
static uint32_t walk_symbols(const struct remat_value *value,
                             struct remat_arena *arena,
                             struct remat_names *names, uint32_t *at)
{
    struct {
        const struct remat_value *next;
        uint32_t n_left;
    } level[NESTING] = {{value, 1}};
    unsigned depth = 1;
    uint32_t n = 0;

    while (depth > 0) {
        const struct remat_value *v;

        if (level[depth - 1].n_left == 0) {
            depth--;
            continue;
        }
        level[depth - 1].n_left--;
        v = level[depth - 1].next++;
        for (uint32_t i = 0; i < v->n_symbols; i++, n++) {
            if (at == NULL)
                continue;
            at[n] = remat_names_find(names, v->symbols[i]);
            if (at[n] == REMAT_NONE) {
                at[n] = names->n;
                if (!remat_names_add(arena, names, v->symbols[i]))
                    return REMAT_NONE;
            }
        }
        if (v->n_members > 0 && depth < NESTING) {
            level[depth].next = v->members;
            level[depth].n_left = v->n_members;
            depth++;
        }
    }
    return n;
}

static bool find_binders(struct remat_form *form, struct remat_names *names)
{
    form->binds = REMAT_NEW_ARRAY(&form->job->arena, uint32_t, form->g->n);
    if (form->binds == NULL)
        return false;
    for (remat_node v = 0; v < form->g->n; v++) {
        const char *symbol = remat_spec(form->g, v)->binds;

        form->binds[v] = REMAT_NONE;
        if (symbol == NULL)
            continue;
        form->binds[v] = remat_names_find(names, symbol);
        if (form->binds[v] != REMAT_NONE)
            continue;
        form->binds[v] = names->n;
        if (!remat_names_add(&form->job->arena, names, symbol))
            return false;
    }
    return true;
}

static bool find_symbols(struct remat_form *form)
{
    const struct remat_graph *g = form->g;
    struct remat_arena *arena = &form->job->arena;
    struct remat_names names = {.n = 0};
    uint32_t *begin = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)g->n + 1);
    uint32_t *items;

    if (begin == NULL)
        return false;
    for (remat_node v = 0; v < g->n; v++)
        begin[v + 1] = begin[v] + walk_symbols(&remat_spec(g, v)->value, arena,
                                               &names, NULL);
    items = REMAT_NEW_ARRAY(arena, uint32_t, begin[g->n]);
    if (items == NULL || !find_binders(form, &names))
        return false;
    for (remat_node v = 0; v < g->n; v++)
        if (walk_symbols(&remat_spec(g, v)->value, arena, &names,
                         items + begin[v]) == REMAT_NONE)
            return false;
    form->symbols = (struct remat_rows){begin, items};
    form->n_symbols = names.n;
    return true;
}

/* ---- what the output reads --------------------------------------------- */

static void place(struct remat_form *form, remat_node v)
{
    if (form->place[v] != REMAT_NONE)
        return;
    form->place[v] = form->n_placed;
    form->order[form->n_placed++] = v;
}

static void walk(struct remat_form *form)
{
    for (remat_node v = 0; v < form->g->n; v++)
        form->place[v] = REMAT_NONE;
    form->n_placed = 0;
    place(form, form->g->n - 1);
    for (uint32_t i = 0; i < form->n_placed; i++) {
        remat_node v = form->order[i];

        for (uint32_t r = form->refs.begin[v]; r < form->refs.begin[v + 1]; r++)
            place(form, form->refs.items[r]);
    }
    form->n_read = form->n_placed;
}

enum remat_status remat_form_find(struct remat_job *job, bool with_modules,
                                  struct remat_form *form,
                                  struct remat_error *err)
{
    struct remat_arena *arena = &job->arena;
    uint32_t n = job->graph.n;

    *form = (struct remat_form){
        .job = job, .g = &job->graph, .with_modules = with_modules};
    form->place = REMAT_NEW_ARRAY(arena, uint32_t, n);
    form->order = REMAT_NEW_ARRAY(arena, remat_node, n);
    form->part = REMAT_NEW_ARRAY(arena, uint64_t, n);
    if (form->part == NULL || form->order == NULL || form->place == NULL ||
        !find_locals(form) || !find_symbols(form))
        return remat_job_no_memory(job, err);
    walk(form);
    return remat_form_place_rest(form, err);
}

/* ---- the print --------------------------------------------------------- */

struct remat_print *remat_form_symbols(const struct remat_form *form)
{
    struct remat_print *symbols =
        REMAT_NEW_ARRAY(&form->job->arena, struct remat_print, form->n_symbols);

    if (symbols == NULL)
        return NULL;
    for (uint32_t i = 0; i < form->g->n; i++) {
        remat_node v = form->order[i];
        struct remat_print mention = {1, 1};
        struct remat_print binding = {2, 2};

        remat_print_number(&mention, i);
        remat_print_number(&binding, i);
        for (uint32_t s = form->symbols.begin[v];
             s < form->symbols.begin[v + 1]; s++) {
            symbols[form->symbols.items[s]].a += mention.a;
            symbols[form->symbols.items[s]].b += mention.b;
        }
        if (form->binds[v] == REMAT_NONE)
            continue;
        symbols[form->binds[v]].a += binding.a;
        symbols[form->binds[v]].b += binding.b;
    }
    return symbols;
}

struct remat_print remat_form_mentions(const struct remat_form *form,
                                       remat_node v,
                                       const struct remat_print *symbols)
{
    struct remat_print sum = {0, 0};

    for (uint32_t s = form->symbols.begin[v]; s < form->symbols.begin[v + 1];
         s++) {
        sum.a += remat_mix(3, symbols[form->symbols.items[s]].a);
        sum.b += remat_mix(4, symbols[form->symbols.items[s]].b);
    }
    if (form->binds[v] != REMAT_NONE) {
        sum.a += remat_mix(5, symbols[form->binds[v]].a);
        sum.b += remat_mix(6, symbols[form->binds[v]].b);
    }
    return sum;
}

static void print_node(const struct remat_form *form, remat_node v,
                       const struct remat_print *symbols,
                       struct remat_print *print)
{
    struct remat_print sum = remat_form_mentions(form, v, symbols);

    remat_print_number(print, form->local[v].a);
    remat_print_number(print, form->local[v].b);
    for (uint32_t r = form->refs.begin[v]; r < form->refs.begin[v + 1]; r++)
        remat_print_number(print, form->place[form->refs.items[r]]);
    remat_print_number(print, sum.a);
    remat_print_number(print, sum.b);
}

enum remat_status remat_form_print(const struct remat_form *form,
                                   struct remat_print *print,
                                   struct remat_error *err)
{
    struct remat_arena *arena = &form->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_print *symbols = remat_form_symbols(form);

    if (symbols == NULL)
        return remat_job_no_memory(form->job, err);
    *print = (struct remat_print){form->g->n, form->n_read};
    for (uint32_t i = 0; i < form->g->n; i++)
        print_node(form, form->order[i], symbols, print);
    remat_arena_rewind(arena, mark);
    return REMAT_OK;
}
