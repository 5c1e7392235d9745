/*
 * warn.c: all checks of a finished decision, in the order in which they are
 * told: tags, wrong results, the graph, and last what is only of interest.
 */
#include "warn.h"

#include "format.h"

#include <stdarg.h>
#include <string.h>

enum {
    MOST_NAMES = 3 /* in a message about several */
};

static const struct {
    const char *code;
    void (*check)(struct remat_warner *r);
} checks[] = {
    {"tag-on-getitem", remat_warn_getitem_tags},
    {"wait-split-from-collective", remat_warn_split_waits},
    {"tag-on-backward-node", remat_warn_backward_tags},
    {"random-op-recomputed", remat_warn_random},
    {"effect-recomputed", remat_warn_effects},
    {"collective-recomputed", remat_warn_collectives},
    {"mutated-storage-reread", remat_warn_rereads},
    {"decision-recomputed", remat_warn_decisions},
    {"unbound-symbol", remat_warn_symbols},
    {"gradient-without-tangent", remat_warn_gradients},
    {"recompute-leaks-through-view", remat_warn_leaks},
    {"unknown-op", remat_warn_operators},
    {"tag-without-effect", remat_warn_idle_tags},
    {"aliases-saved-twice", remat_warn_aliases},
    {"tied-cut", remat_warn_ties},
};

remat_node remat_warn_source(const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(g, v);

    for (uint32_t i = 0; i < spec->n_args; i++)
        if (spec->args[i].kind == REMAT_ARG_NODE)
            return spec->args[i].as.node;
    return REMAT_NONE;
}

/* ---- the list ---------------------------------------------------------- */

static void add(struct remat_warner *r, enum remat_severity severity,
                remat_node v, const char *message)
{
    struct remat_diagnostic d = {
        .code = r->code, .severity = severity, .node = v, .message = message};

    /* without room arena.status says so */
    (void)!remat_note(&r->w->job->arena, r->notes, d);
}

void remat_warn_say(struct remat_warner *r, enum remat_severity severity,
                    remat_node v, const char *format, ...)
{
    va_list args;

    if (r->n++ >= REMAT_MOST_WARNINGS)
        return;
    va_start(args, format);
    add(r, severity, v, remat_format_list(&r->w->job->arena, format, args));
    va_end(args);
}

void remat_warn_collect(struct remat_warn_group *group, remat_node v)
{
    if (group->n < REMAT_MOST_WARNINGS)
        group->at[group->n] = v;
    group->n++;
}

const char *remat_warn_names(const struct remat_warner *r,
                             const struct remat_warn_group *group)
{
    struct remat_arena *arena = &r->w->job->arena;
    const char *text = "";

    for (uint32_t i = 0; i < group->n && i < MOST_NAMES && text != NULL; i++)
        text = remat_format(arena, "%s%s`%s`", text, i > 0 ? ", " : "",
                            remat_warn_name(r, group->at[i]));
    if (group->n > MOST_NAMES && text != NULL)
        text =
            remat_format(arena, "%s and %u more", text, group->n - MOST_NAMES);
    return text == NULL ? "" : text; /* arena.status says so */
}

void remat_warn_say_all(struct remat_warner *r,
                        const struct remat_warn_group *group, const char *one,
                        const char *several)
{
    struct remat_arena *arena = &r->w->job->arena;
    uint32_t n =
        group->n < REMAT_MOST_WARNINGS ? group->n : REMAT_MOST_WARNINGS;
    remat_node *at = REMAT_NEW_ARRAY(arena, remat_node, n);
    const char *names = remat_warn_names(r, group);
    const char *message = group->n == 1 || several == NULL ? one : several;

    if (group->n == 0 || at == NULL)
        return;
    memcpy(at, group->at, n * sizeof(*at));
    r->n++;
    (void)!remat_note(
        arena, r->notes,
        (struct remat_diagnostic){
            .code = r->code,
            .severity = REMAT_INFO,
            .node = at[0],
            .message = remat_format(arena, "%s: %s", names, message),
            .nodes = {at, n}});
}

static void check(struct remat_warner *r, size_t i)
{
    uint32_t n;

    r->code = checks[i].code;
    r->n = 0;
    checks[i].check(r);
    if (r->n <= REMAT_MOST_WARNINGS)
        return;
    n = r->n - REMAT_MOST_WARNINGS;
    add(r,
        r->notes->n == 0 ? REMAT_INFO : r->notes->at[r->notes->n - 1].severity,
        REMAT_NONE,
        remat_format(&r->w->job->arena, "%u more %s like the %u above", n,
                     n == 1 ? "is" : "are", REMAT_MOST_WARNINGS));
}

/* ---- what the checks share --------------------------------------------- */

/* Documents may leave alias_of out of a view. */
static remat_node root_of(const struct remat_warner *r, remat_node v)
{
    const struct remat_graph *g = r->w->g;
    remat_node source;

    if (g->storage[v] != REMAT_NONE && g->storage[v] != v)
        return r->root[g->storage[v]];
    if (!remat_is_call(g, v) || !remat_is_tensor(g, v) ||
        !remat_has_trait(g, v, REMAT_VIEW))
        return v;
    source = remat_warn_source(g, v);
    return source != REMAT_NONE && remat_is_tensor(g, source) ? r->root[source]
                                                              : v;
}

static void mark(bool *set, struct remat_nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        set[nodes.at[i]] = true;
}

static void read_plan(struct remat_warner *r)
{
    const struct remat_extraction *x = r->x;

    for (remat_node v = 0; v < r->w->g->n; v++)
        r->root[v] = root_of(r, v);
    if (x == NULL)
        return;
    mark(r->is_saved, x->saved);
    mark(r->is_saved, x->sym);
    mark(r->is_saved, x->opaque);
    mark(r->is_saved, x->scripted);
    mark(r->is_recomputed, x->recomputed);
    for (remat_node v = 0; v < r->w->g->n; v++)
        if (r->is_saved[v])
            r->is_kept[r->root[v]] = true;
}

enum remat_status remat_warn(struct remat_work *w,
                             const struct remat_extraction *x,
                             const struct remat_cut_work *cut,
                             struct remat_notes *notes, struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_warner r = {.w = w, .notes = notes, .x = x, .cut = cut};

    r.is_saved = REMAT_NEW_ARRAY(arena, bool, w->g->n);
    r.is_recomputed = REMAT_NEW_ARRAY(arena, bool, w->g->n);
    r.is_kept = REMAT_NEW_ARRAY(arena, bool, w->g->n);
    r.root = REMAT_NEW_ARRAY(arena, remat_node, w->g->n);
    if (arena->status != REMAT_OK)
        return remat_job_no_memory(w->job, err);
    read_plan(&r);
    for (size_t i = 0; i < REMAT_ARRAY_LEN(checks); i++) {
        check(&r, i);
        if (arena->status != REMAT_OK)
            return remat_job_no_memory(w->job, err);
    }
    return remat_job_spend(w->job, w->users.begin[w->g->n], "warnings", err);
}
