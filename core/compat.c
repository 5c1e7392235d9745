/*
 * compat.c: what PyTorch decides otherwise below budget 1, by deciding again
 * without its faults and looking at both.
 *
 *   decide_without   the other decision; only what is passed on and what is
 *                    computed again is kept of it
 *   note_values      values computed again that must stay or would differ
 *   describe         the first values of each kind that differ
 */
#include "compat.h"

#include "choose.h"
#include "dropout.h"
#include "error.h"
#include "format.h"

#include <string.h>

/* What a decision gives. Arrays are by node. */
struct result {
    enum remat_status status; /* not REMAT_OK: the graph is refused */
    const char *refusal;
    enum remat_outcome outcome;
    uint32_t *place;     /* among the values passed on, from 1; 0: is none */
    bool *is_recomputed; /* empty unless outcome is REMAT_PLAN */
};

struct comparison {
    struct remat_work *w;
    double budget;
    struct result with;
    struct result without;
    struct remat_notes *notes;
    struct remat_error *err;
};

/* ---- results ----------------------------------------------------------- */

static bool allocate(const struct comparison *c, struct result *r)
{
    struct remat_arena *arena = &c->w->job->arena;

    r->place = REMAT_NEW_ARRAY(arena, uint32_t, c->w->g->n);
    r->is_recomputed = REMAT_NEW_ARRAY(arena, bool, c->w->g->n);
    return arena->status == REMAT_OK;
}

static void read_lists(const struct remat_extraction *x, struct result *r)
{
    const struct remat_nodes lists[] = {x->sym, x->opaque, x->saved};
    uint32_t n = 0;

    for (size_t k = 0; k < REMAT_ARRAY_LEN(lists); k++)
        for (uint32_t i = 0; i < lists[k].n; i++)
            r->place[lists[k].at[i]] = ++n;
    for (uint32_t i = 0; i < x->recomputed.n; i++)
        r->is_recomputed[x->recomputed.at[i]] = true;
}

static enum remat_status solve(struct comparison *c, struct result *r,
                               struct remat_error *err)
{
    struct remat_notes unread = {.n = 0};
    struct remat_choice choice;
    struct remat_extraction x;
    enum remat_status status =
        remat_choose(c->w, c->budget, &unread, &choice, err);

    if (status != REMAT_OK)
        return status;
    if (choice.unbounded) {
        r->outcome = REMAT_INFINITE_FLOW;
        return REMAT_OK;
    }
    status = remat_extract(c->w, choice.chosen, &x, err);
    if (status != REMAT_OK)
        return status;
    r->outcome = x.is_invalid ? REMAT_INVALID_OUTPUT : REMAT_PLAN;
    if (!x.is_invalid)
        read_lists(&x, r);
    return remat_job_spend(c->w->job, c->w->users.begin[c->w->g->n], "compat",
                           err);
}

static bool is_refusal(enum remat_status status)
{
    return status == REMAT_E_SIZE || status == REMAT_E_WEIGHT;
}

static enum remat_status decide_without(struct comparison *c)
{
    struct remat_arena *arena = &c->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_error err = {.node = REMAT_NONE};
    struct result *r = &c->without;

    c->w->options.compat = false;
    remat_job_begin_parts(c->w->job); /* its cuts are no progress */
    r->status = solve(c, r, &err);
    remat_job_end_parts(c->w->job);
    c->w->options.compat = true;
    if (arena->status == REMAT_OK)
        remat_arena_rewind(arena, mark);
    if (r->status == REMAT_OK)
        return REMAT_OK;
    if (!is_refusal(r->status))
        return remat_error_set(c->err, r->status, err.node, "%s", err.detail);
    r->refusal = remat_format(
        arena, "%s%s%s",
        err.node == REMAT_NONE ? "" : remat_spec(c->w->g, err.node)->name,
        err.node == REMAT_NONE ? "" : ": ", err.detail);
    return r->refusal != NULL ? REMAT_OK
                              : remat_job_no_memory(c->w->job, c->err);
}

/* ---- values that must stay --------------------------------------------- */

static enum remat_status add_note(struct comparison *c, remat_node v,
                                  const char *message)
{
    struct remat_diagnostic fault = {.code = "compat-fault",
                                     .severity = REMAT_WARNING,
                                     .node = v,
                                     .message = message};

    return remat_note(&c->w->job->arena, c->notes, fault)
               ? REMAT_OK
               : remat_job_no_memory(c->w->job, c->err);
}

static enum remat_status note_values(struct comparison *c, uint32_t *n)
{
    const struct remat_work *w = c->w;
    enum remat_status status = REMAT_OK;

    *n = 0;
    for (remat_node v = 0; v < w->g->n && status == REMAT_OK; v++) {
        bool must_stay = w->tag[v] == REMAT_MUST_SAVE;

        if (!c->with.is_recomputed[v] || c->without.is_recomputed[v] ||
            remat_wants_recompute(w->tag[v]) ||
            (!must_stay &&
             (!remat_is_unrepeatable(w, v) || remat_draws_nothing(w->g, v))))
            continue;
        ++*n;
        status = add_note(
            c, v,
            remat_format(&w->job->arena,
                         must_stay ? "`%s` is tagged must_save, but PyTorch "
                                     "computes it again at this budget"
                                   : "`%s` gives another result when it is "
                                     "computed again, but PyTorch does so at "
                                     "this budget",
                         remat_spec(w->g, v)->name));
    }
    return status;
}

/* ---- whatever else ----------------------------------------------------- */

enum {
    MOST_NAMES = 3
};

enum way {
    SAVED_WITH,
    SAVED_WITHOUT,
    RECOMPUTED_WITH,
    RECOMPUTED_WITHOUT
};

static bool differs(const struct comparison *c, enum way way, remat_node v)
{
    switch (way) {
    case SAVED_WITH:
        return c->with.place[v] != 0 && c->without.place[v] == 0;
    case SAVED_WITHOUT:
        return c->with.place[v] == 0 && c->without.place[v] != 0;
    case RECOMPUTED_WITH:
        return c->with.is_recomputed[v] && !c->without.is_recomputed[v];
    case RECOMPUTED_WITHOUT:
        break;
    }
    return !c->with.is_recomputed[v] && c->without.is_recomputed[v];
}

/* "it saves `a`, `b`, `c` and 4 more" for one way to differ, behind what is
 * said so far; *first is the first node of all that differs. */
static const char *list_names(const struct comparison *c, enum way way,
                              const char *said, remat_node *first)
{
    static const char *const intro[] = {
        [SAVED_WITH] = "it saves",
        [SAVED_WITHOUT] = "it does not save",
        [RECOMPUTED_WITH] = "it computes again",
        [RECOMPUTED_WITHOUT] = "it does not compute again",
    };
    struct remat_arena *arena = &c->w->job->arena;
    uint32_t n = 0;

    for (remat_node v = 0; v < c->w->g->n && said != NULL; v++) {
        const char *name = remat_spec(c->w->g, v)->name;

        if (!differs(c, way, v) || n++ >= MOST_NAMES)
            continue;
        if (n > 1)
            said = remat_format(arena, "%s, `%s`", said, name);
        else
            said = remat_format(arena, "%s%s %s `%s`", said,
                                *first == REMAT_NONE ? ":" : ";", intro[way],
                                name);
        *first = v < *first ? v : *first; /* REMAT_NONE is the greatest */
    }
    if (n > MOST_NAMES && said != NULL)
        said = remat_format(arena, "%s and %u more", said, n - MOST_NAMES);
    return said;
}

static bool lists_are_equal(const struct comparison *c)
{
    size_t n = c->w->g->n;

    return memcmp(c->with.place, c->without.place,
                  n * sizeof(*c->with.place)) == 0 &&
           memcmp(c->with.is_recomputed, c->without.is_recomputed,
                  n * sizeof(*c->with.is_recomputed)) == 0;
}

static const char *describe_plans(const struct comparison *c, remat_node *first)
{
    static const char start[] =
        "PyTorch decides this otherwise than it is decided without compat";
    const char *said = start;

    for (int way = SAVED_WITH; way <= RECOMPUTED_WITHOUT; way++)
        said = list_names(c, (enum way)way, said, first);
    if (*first == REMAT_NONE)
        said = remat_format(&c->w->job->arena,
                            "%s: the same values in another order", start);
    return said;
}

static const char *outcome_text(enum remat_outcome outcome)
{
    switch (outcome) {
    case REMAT_PLAN:
        break;
    case REMAT_INFINITE_FLOW:
        return "no plan, because a value can be neither saved nor computed "
               "again";
    case REMAT_INVALID_OUTPUT:
        return "no plan, because an output cannot be computed";
    }
    return "a plan";
}

static enum remat_status describe(struct comparison *c)
{
    struct remat_arena *arena = &c->w->job->arena;
    remat_node first = REMAT_NONE;
    const char *message;

    if (c->without.status != REMAT_OK)
        return add_note(c, first,
                        remat_format(arena,
                                     "without compat this graph is refused: %s",
                                     c->without.refusal));
    if (c->without.outcome != c->with.outcome)
        return add_note(c, first,
                        remat_format(arena,
                                     "PyTorch has %s here; without compat "
                                     "there is %s",
                                     outcome_text(c->with.outcome),
                                     outcome_text(c->without.outcome)));
    if (lists_are_equal(c))
        return REMAT_OK;
    message = describe_plans(c, &first);
    return add_note(c, first, message);
}

enum remat_status remat_compat_compare(struct remat_work *w, double budget,
                                       enum remat_outcome outcome,
                                       const struct remat_extraction *x,
                                       struct remat_notes *notes,
                                       struct remat_error *err)
{
    struct comparison c = {.w = w,
                           .budget = budget,
                           .with = {.outcome = outcome},
                           .notes = notes,
                           .err = err};
    enum remat_status status;
    uint32_t n_values = 0;

    if (!allocate(&c, &c.with) || !allocate(&c, &c.without))
        return remat_job_no_memory(w->job, err);
    if (outcome == REMAT_PLAN)
        read_lists(x, &c.with);
    status = decide_without(&c);
    if (status == REMAT_OK && outcome == REMAT_PLAN)
        status = note_values(&c, &n_values);
    if (status != REMAT_OK ||
        (n_values > 0 && c.without.outcome == REMAT_PLAN &&
         c.without.status == REMAT_OK))
        return status;
    return describe(&c);
}
