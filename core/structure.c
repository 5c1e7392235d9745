/*
 * structure.c: whether two graphs are the same but for names, order and sizes,
 * and where they first differ.
 *
 *   remat_structure_find    the canonical form, as places and a print
 *   remat_structure_differ  the first difference, in words:
 *     by_cones     down from both outputs along what is not the same, to nodes
 *                  that differ by themselves
 *     by_identity  the same walk over everything: a node of one side that
 *                  stands for two of the other
 *     by_rest      what the output does not read
 *     by_place     what is left: size symbols, and nodes that refinement could
 *                  not tell apart
 */
#include "form.h"

#include "error.h"
#include "sort.h"

#include <stdio.h>
#include <string.h>

static enum remat_status check_sealed(const struct remat_job *job,
                                      struct remat_error *err)
{
    if (job->graph.sealed)
        return REMAT_OK;
    return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                           "graph: must be sealed before it is compared");
}

enum remat_status remat_structure_find(struct remat_job *job, bool with_modules,
                                       struct remat_structure *structure,
                                       struct remat_error *err)
{
    uint32_t n = job->graph.n;
    remat_node *order = REMAT_NEW_ARRAY(&job->arena, remat_node, n);
    uint32_t *place = REMAT_NEW_ARRAY(&job->arena, uint32_t, n);
    struct remat_mark mark = remat_arena_mark(&job->arena);
    struct remat_print print = {0, 0};
    struct remat_form form;
    enum remat_status status = check_sealed(job, err);

    if (status == REMAT_OK && (order == NULL || place == NULL))
        return remat_job_no_memory(job, err);
    if (status == REMAT_OK)
        status = remat_job_spend(job, (uint64_t)n + job->graph.n_references,
                                 "structure", err);
    if (status == REMAT_OK)
        status = remat_form_find(job, with_modules, &form, err);
    if (status == REMAT_OK)
        status = remat_form_print(&form, &print, err);
    if (status != REMAT_OK)
        return status;
    memcpy(order, form.order, n * sizeof(*order));
    memcpy(place, form.place, n * sizeof(*place));
    remat_arena_rewind(&job->arena, mark);
    *structure = (struct remat_structure){
        .print = {print.a, print.b}, .order = order, .place = place};
    return REMAT_OK;
}

/* ---- a comparison ------------------------------------------------------ */

struct comparison {
    struct remat_arena *arena; /* of the first job */
    struct remat_form form[2];
    uint64_t *cone[2]; /* by node: print of all it is computed from */
    remat_node *queue[2];
    remat_node *twin[2]; /* by node: its counterpart */
    uint32_t n_queued;
    remat_node *reader[2]; /* by node of the first: the pair that led here */
    uint32_t *reader_ref;
    struct remat_difference *best;
};

static uint64_t *find_cones(struct remat_arena *arena,
                            const struct remat_form *form)
{
    uint64_t *cone = REMAT_NEW_ARRAY(arena, uint64_t, form->g->n);

    for (remat_node v = 0; cone != NULL && v < form->g->n; v++) {
        cone[v] = form->local[v].a;
        for (uint32_t i = form->refs.begin[v]; i < form->refs.begin[v + 1]; i++)
            cone[v] = remat_mix(cone[v], cone[form->refs.items[i]]);
    }
    return cone;
}

static enum remat_status begin(struct comparison *c, struct remat_job *jobs[2],
                               bool with_modules, struct remat_error *err)
{
    for (int i = 0; i < 2; i++) {
        enum remat_status status = check_sealed(jobs[i], err);

        if (status == REMAT_OK)
            status = remat_form_find(jobs[i], with_modules, &c->form[i], err);
        if (status != REMAT_OK)
            return status;
    }
    for (int i = 0; i < 2; i++) {
        c->cone[i] = find_cones(c->arena, &c->form[i]);
        c->twin[i] = REMAT_NEW_ARRAY(c->arena, remat_node, c->form[i].g->n);
        c->queue[i] = REMAT_NEW_ARRAY(c->arena, remat_node, c->form[0].g->n);
        c->reader[i] = REMAT_NEW_ARRAY(c->arena, remat_node, c->form[0].g->n);
    }
    c->reader_ref = REMAT_NEW_ARRAY(c->arena, uint32_t, c->form[0].g->n);
    return c->arena->status == REMAT_OK ? REMAT_OK
                                        : remat_job_no_memory(jobs[0], err);
}

static const char *name_of(const struct comparison *c, int side, remat_node v)
{
    return remat_spec(c->form[side].g, v)->name;
}

/* Keeps the difference that comes first in the first graph. */
static struct remat_difference *better(struct comparison *c, remat_node a,
                                       remat_node b)
{
    if (c->best->found && c->best->node[0] <= a)
        return NULL;
    *c->best = (struct remat_difference){.found = true, .node = {a, b}};
    return c->best;
}

/* Reports two nodes that differ by themselves. */
static bool check_pair(struct comparison *c, remat_node a, remat_node b)
{
    const struct remat_facet_side left = {c->form[0].g, a};
    const struct remat_facet_side right = {c->form[1].g, b};
    const struct remat_print *x = &c->form[0].local[a];
    const struct remat_print *y = &c->form[1].local[b];
    struct remat_mark mark = remat_arena_mark(c->arena);
    struct remat_difference *d;

    if (x->a == y->a && x->b == y->b)
        return true;
    d = better(c, a, b);
    if (d == NULL)
        return false;
    remat_facets_differ(c->arena, left, right, c->form[0].with_modules, d->what,
                        sizeof(d->what));
    remat_arena_rewind(c->arena, mark);
    if (c->reader_ref[a] != REMAT_NONE)
        snprintf(d->where, sizeof(d->where),
                 "reference %u of `%.60s` and of `%.60s`", c->reader_ref[a],
                 name_of(c, 0, c->reader[0][a]),
                 name_of(c, 1, c->reader[1][a]));
    return false;
}

static uint32_t n_refs(const struct comparison *c, int side, remat_node v)
{
    return c->form[side].refs.begin[v + 1] - c->form[side].refs.begin[v];
}

static remat_node ref(const struct comparison *c, int side, remat_node v,
                      uint32_t i)
{
    return c->form[side].refs.items[c->form[side].refs.begin[v] + i];
}

static bool same_operator(const struct comparison *c, remat_node a,
                          remat_node b)
{
    const struct remat_node_spec *x = remat_spec(c->form[0].g, a);
    const struct remat_node_spec *y = remat_spec(c->form[1].g, b);

    return x->op == y->op &&
           (x->op == REMAT_PLACEHOLDER || x->op == REMAT_OUTPUT ||
            strcmp(x->target, y->target) == 0);
}

static void start_walk(struct comparison *c)
{
    for (int i = 0; i < 2; i++)
        for (remat_node v = 0; v < c->form[i].g->n; v++)
            c->twin[i][v] = REMAT_NONE;
    c->n_queued = 0;
}

static void enqueue(struct comparison *c, remat_node a, remat_node b,
                    const remat_node reader[2], uint32_t i)
{
    c->twin[0][a] = b;
    c->twin[1][b] = a;
    c->queue[0][c->n_queued] = a;
    c->queue[1][c->n_queued++] = b;
    c->reader[0][a] = reader[0];
    c->reader[1][a] = reader[1];
    c->reader_ref[a] = i;
}

/* ---- the three walks --------------------------------------------------- */

static void by_cones(struct comparison *c)
{
    const remat_node nobody[2] = {REMAT_NONE, REMAT_NONE};

    start_walk(c);
    enqueue(c, c->form[0].g->n - 1, c->form[1].g->n - 1, nobody, REMAT_NONE);
    for (uint32_t k = 0; k < c->n_queued; k++) {
        const remat_node pair[2] = {c->queue[0][k], c->queue[1][k]};
        uint32_t n = n_refs(c, 0, pair[0]);

        check_pair(c, pair[0], pair[1]);
        if (n != n_refs(c, 1, pair[1]) || !same_operator(c, pair[0], pair[1]))
            continue;
        for (uint32_t i = 0; i < n; i++) {
            remat_node a = ref(c, 0, pair[0], i);
            remat_node b = ref(c, 1, pair[1], i);

            if (c->cone[0][a] != c->cone[1][b] && c->twin[0][a] == REMAT_NONE)
                enqueue(c, a, b, pair, i);
        }
    }
}

static void tell_identity(struct comparison *c, const remat_node pair[2],
                          uint32_t i, remat_node a, remat_node b)
{
    struct remat_difference *d = better(c, pair[0], pair[1]);

    if (d == NULL)
        return;
    snprintf(d->what, sizeof(d->what),
             "reference %u is `%.60s` against `%.60s`, which stand for "
             "different nodes elsewhere",
             i, name_of(c, 0, a), name_of(c, 1, b));
}

static void by_identity(struct comparison *c)
{
    const remat_node nobody[2] = {REMAT_NONE, REMAT_NONE};

    start_walk(c);
    enqueue(c, c->form[0].g->n - 1, c->form[1].g->n - 1, nobody, REMAT_NONE);
    for (uint32_t k = 0; k < c->n_queued; k++) {
        const remat_node pair[2] = {c->queue[0][k], c->queue[1][k]};
        uint32_t n = n_refs(c, 0, pair[0]);

        for (uint32_t i = 0; i < n && i < n_refs(c, 1, pair[1]); i++) {
            remat_node a = ref(c, 0, pair[0], i);
            remat_node b = ref(c, 1, pair[1], i);

            if (c->twin[0][a] == REMAT_NONE && c->twin[1][b] == REMAT_NONE)
                enqueue(c, a, b, pair, i);
            else if (c->twin[0][a] != b)
                tell_identity(c, pair, i, a, b);
        }
    }
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Marks in twin what has a counterpart: parts of equal print, one for one. */
static bool match_parts(struct comparison *c)
{
    uint32_t *order[2];
    uint32_t i = 0;
    uint32_t j = 0;

    start_walk(c);
    for (int side = 0; side < 2; side++) {
        order[side] = remat_sort_ascending(c->arena, c->form[side].part,
                                           c->form[side].g->n);
        if (order[side] == NULL)
            return false;
    }
    while (i < c->form[0].g->n && j < c->form[1].g->n) {
        remat_node a = order[0][i];
        remat_node b = order[1][j];
        int sign = compare_numbers(c->form[0].part[a], c->form[1].part[b]);

        if (sign == 0) {
            c->twin[0][a] = b;
            c->twin[1][b] = a;
        }
        i += sign <= 0;
        j += sign >= 0;
    }
    return true;
}

static remat_node first_alone(const struct comparison *c, int side)
{
    const struct remat_form *f = &c->form[side];

    for (remat_node v = 0; v < f->g->n; v++)
        if (f->place[v] >= f->n_read && c->twin[side][v] == REMAT_NONE)
            return v;
    return REMAT_NONE;
}

static void tell_alone(struct comparison *c, remat_node a, remat_node b)
{
    static const char words[] = "has no counterpart on the other side";
    struct remat_difference *d = c->best;

    *d = (struct remat_difference){.found = true, .node = {a, b}};
    snprintf(d->what, sizeof(d->what), "%s", words);
}

static bool by_rest(struct comparison *c)
{
    remat_node a;
    remat_node b;

    if (!match_parts(c))
        return false;
    a = first_alone(c, 0);
    b = first_alone(c, 1);
    if (a == REMAT_NONE && b == REMAT_NONE)
        return true;
    if (a == REMAT_NONE || b == REMAT_NONE) {
        tell_alone(c, a, b);
        return true;
    }
    c->reader_ref[a] = REMAT_NONE;
    if (!same_operator(c, a, b) || check_pair(c, a, b))
        tell_alone(c, a, REMAT_NONE);
    return true;
}

static const char *differs_at(const struct comparison *c, remat_node a,
                              remat_node b,
                              struct remat_print *const symbols[2])
{
    struct remat_print x = remat_form_mentions(&c->form[0], a, symbols[0]);
    struct remat_print y = remat_form_mentions(&c->form[1], b, symbols[1]);

    for (uint32_t i = 0; i < n_refs(c, 0, a) && i < n_refs(c, 1, b); i++)
        if (c->form[0].place[ref(c, 0, a, i)] !=
            c->form[1].place[ref(c, 1, b, i)])
            return "reads other nodes, in a part that nothing else reads and "
                   "that looks the same everywhere";
    if (x.a != y.a || x.b != y.b)
        return "has size symbols that are mentioned or bound elsewhere";
    return NULL;
}

static bool by_place(struct comparison *c)
{
    struct remat_print *const symbols[2] = {remat_form_symbols(&c->form[0]),
                                            remat_form_symbols(&c->form[1])};

    if (symbols[0] == NULL || symbols[1] == NULL)
        return false;
    for (uint32_t i = 0; i < c->form[0].g->n && i < c->form[1].g->n; i++) {
        remat_node a = c->form[0].order[i];
        remat_node b = c->form[1].order[i];
        const char *what = differs_at(c, a, b, symbols);
        struct remat_difference *d = what == NULL ? NULL : better(c, a, b);

        if (d != NULL)
            snprintf(d->what, sizeof(d->what), "%s", what);
    }
    return true;
}

enum remat_status remat_structure_differ(struct remat_job *a,
                                         struct remat_job *b, bool with_modules,
                                         struct remat_difference *difference,
                                         struct remat_error *err)
{
    struct remat_job *jobs[2] = {a, b};
    struct remat_mark mark_a = remat_arena_mark(&a->arena);
    struct remat_mark mark_b = remat_arena_mark(&b->arena);
    struct comparison c = {.arena = &a->arena, .best = difference};
    enum remat_status status;

    *difference = (struct remat_difference){.found = false};
    status = begin(&c, jobs, with_modules, err);
    if (status != REMAT_OK)
        return status;
    by_cones(&c);
    if (!difference->found)
        by_identity(&c);
    if (!difference->found && !by_rest(&c))
        return remat_job_no_memory(a, err);
    if (!difference->found && !by_place(&c))
        return remat_job_no_memory(a->arena.status != REMAT_OK ? a : b, err);
    remat_arena_rewind(&b->arena, mark_b);
    remat_arena_rewind(&a->arena, mark_a);
    return REMAT_OK;
}
