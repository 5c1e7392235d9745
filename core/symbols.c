/*
 * symbols.c: which nodes must be saved so that every size symbol of a saved
 * value is known in the backward.
 *
 * A symbol is dealt with once, the first time a value mentions it; the symbols
 * that one value mentions come in the order of their names.
 */
#include "symbols.h"

#include <string.h>

enum {
    NESTING = 64
};

struct binder {
    struct remat_work *w;
    struct remat_names symbols; /* numbers those that a node binds */
    remat_node *where;          /* by number: the first node that binds it */
    bool *is_known;             /* by number: dealt with */
    remat_node *binding;
    uint32_t n_binding;
};

/* ---- symbols of a value ------------------------------------------------ */

/* Visits a value and the members nested in it and returns how many symbols they
 * mention; lists them in `found` unless that is NULL. */
static size_t walk_symbols(const struct remat_value *value, const char **found)
{
    struct {
        const struct remat_value *next;
        uint32_t n_left;
    } level[NESTING] = {{value, 1}};
    unsigned depth = 1;
    size_t n = 0;

    while (depth > 0) {
        const struct remat_value *at;

        if (level[depth - 1].n_left == 0) {
            depth--;
            continue;
        }
        level[depth - 1].n_left--;
        at = level[depth - 1].next++;
        for (uint32_t i = 0; i < at->n_symbols; i++, n++)
            if (found != NULL)
                found[n] = at->symbols[i];
        if (at->n_members > 0 && depth < NESTING) {
            level[depth].next = at->members;
            level[depth].n_left = at->n_members;
            depth++;
        }
    }
    return n;
}

/* Heap sort by name: no recursion, no allocation, no quadratic input. */
static void sift_down(const char **names, size_t root, size_t n)
{
    for (;;) {
        size_t child = 2 * root + 1;
        const char *moved = names[root];

        if (child >= n)
            return;
        if (child + 1 < n && strcmp(names[child], names[child + 1]) < 0)
            child++;
        if (strcmp(moved, names[child]) >= 0)
            return;
        names[root] = names[child];
        names[child] = moved;
        root = child;
    }
}

static void sort_names(const char **names, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(names, i, n);
    for (size_t i = n; i-- > 1;) {
        const char *greatest = names[0];

        names[0] = names[i];
        names[i] = greatest;
        sift_down(names, 0, i);
    }
}

/* ---- binding ----------------------------------------------------------- */

/* Numbers every symbol that a node binds and notes the first that does. */
static bool find_bindings(struct binder *b)
{
    const struct remat_graph *g = b->w->g;

    for (remat_node v = 0; v < g->n; v++) {
        const char *symbol = remat_spec(g, v)->binds;

        if (symbol == NULL || !b->w->live[v] ||
            remat_names_find(&b->symbols, symbol) != REMAT_NONE)
            continue;
        b->where[b->symbols.n] = v;
        if (!remat_names_add(&b->w->job->arena, &b->symbols, symbol))
            return false;
    }
    return true;
}

/* Binds the symbols of v that are not known yet. One that nothing binds is left
 * out; it would not be found later either. */
static bool bind_value(struct binder *b, remat_node v)
{
    const struct remat_value *value = &remat_spec(b->w->g, v)->value;
    struct remat_arena *arena = &b->w->job->arena;
    size_t n = walk_symbols(value, NULL);
    struct remat_mark mark = remat_arena_mark(arena);
    const char **found;

    if (n == 0)
        return true;
    found = REMAT_NEW_ARRAY(arena, const char *, n);
    if (found == NULL)
        return false;
    (void)walk_symbols(value, found);
    sort_names(found, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t number = remat_names_find(&b->symbols, found[i]);

        if (number == REMAT_NONE || b->is_known[number])
            continue;
        b->is_known[number] = true;
        b->binding[b->n_binding++] = b->where[number];
    }
    remat_arena_rewind(arena, mark);
    return true;
}

static bool bind_values(struct binder *b, struct remat_nodes values)
{
    for (uint32_t i = 0; i < values.n; i++)
        if (!bind_value(b, values.at[i]))
            return false;
    return true;
}

static bool allocate(struct binder *b)
{
    struct remat_arena *arena = &b->w->job->arena;
    size_t n = b->w->g->n;

    b->where = REMAT_NEW_ARRAY(arena, remat_node, n);
    b->is_known = REMAT_NEW_ARRAY(arena, bool, n);
    b->binding = REMAT_NEW_ARRAY(arena, remat_node, 2 * n);
    return arena->status == REMAT_OK;
}

/* Puts the binding symbols first; returns the others. */
static struct remat_nodes split(struct binder *b, struct remat_nodes sym,
                                remat_node *derived)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < sym.n; i++) {
        const char *symbol = remat_spec(b->w->g, sym.at[i])->binds;

        if (symbol == NULL) {
            derived[n++] = sym.at[i];
            continue;
        }
        b->is_known[remat_names_find(&b->symbols, symbol)] = true;
        b->binding[b->n_binding++] = sym.at[i];
    }
    return (struct remat_nodes){derived, n};
}

enum remat_status remat_bind_symbols(struct remat_work *w,
                                     struct remat_nodes *sym,
                                     struct remat_nodes saved,
                                     struct remat_error *err)
{
    struct binder b = {.w = w};
    remat_node *room = REMAT_NEW_ARRAY(&w->job->arena, remat_node, sym->n);
    struct remat_nodes derived;

    if (room == NULL || !allocate(&b) || !find_bindings(&b))
        return remat_job_no_memory(w->job, err);
    derived = split(&b, *sym, room);
    if (!bind_values(&b, derived) || !bind_values(&b, saved) ||
        !bind_values(&b, w->g->tangents))
        return remat_job_no_memory(w->job, err);
    for (uint32_t i = 0; i < derived.n; i++)
        b.binding[b.n_binding++] = derived.at[i];
    *sym = (struct remat_nodes){b.binding, b.n_binding};
    return REMAT_OK;
}

/* ---- unbound ----------------------------------------------------------- */

struct search {
    struct binder b;           /* numbers the symbols that have a node */
    struct remat_names missed; /* and those that have none */
    struct remat_unbound *found;
    uint32_t capacity;
};

static bool add_unbound(struct search *s, remat_node v, const char *symbol)
{
    struct remat_arena *arena = &s->b.w->job->arena;

    if (s->missed.n == s->capacity) {
        uint32_t capacity = s->capacity == 0 ? 8 : 2 * s->capacity;
        struct remat_unbound *found =
            REMAT_NEW_ARRAY(arena, struct remat_unbound, capacity);

        if (found == NULL)
            return false;
        if (s->missed.n > 0)
            memcpy(found, s->found, s->missed.n * sizeof(*found));
        s->found = found;
        s->capacity = capacity;
    }
    s->found[s->missed.n] = (struct remat_unbound){v, symbol};
    return remat_names_add(arena, &s->missed, symbol);
}

static bool look_at_value(struct search *s, remat_node v)
{
    const struct remat_value *value = &remat_spec(s->b.w->g, v)->value;
    size_t n = walk_symbols(value, NULL);
    const char **names;

    if (n == 0)
        return true;
    names = REMAT_NEW_ARRAY(&s->b.w->job->arena, const char *, n);
    if (names == NULL)
        return false;
    (void)walk_symbols(value, names);
    for (size_t i = 0; i < n; i++)
        if (remat_names_find(&s->b.symbols, names[i]) == REMAT_NONE &&
            remat_names_find(&s->missed, names[i]) == REMAT_NONE &&
            !add_unbound(s, v, names[i]))
            return false;
    return true;
}

struct remat_unbound *remat_find_unbound(struct remat_work *w,
                                         struct remat_nodes sym,
                                         struct remat_nodes saved, uint32_t *n)
{
    const struct remat_nodes lists[] = {sym, saved, w->g->tangents};
    struct search s = {.b = {.w = w}};

    *n = 0;
    if (!allocate(&s.b) || !find_bindings(&s.b))
        return NULL;
    for (size_t k = 0; k < REMAT_ARRAY_LEN(lists); k++)
        for (uint32_t i = 0; i < lists[k].n; i++)
            if (!look_at_value(&s, lists[k].at[i]))
                return NULL;
    *n = s.missed.n;
    return s.found;
}
