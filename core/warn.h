/*
 * warn.h: what a reader of a plan should know although there is one. Private to
 * core.
 *
 *   warn.c             the order of all checks, and the list they make
 *   warn_tags.c        tags that contradict each other or change nothing
 *   warn_recomputed.c  operators that should not run a second time
 *   warn_storage.c     storages overwritten in between, or saved more than once
 *   warn_values.c      operators, symbols and gradients that look wrong
 *   warn_cut.c         whether another set of values costs the same
 *
 * Most checks need a plan. Those of tags and of the graph itself are made
 * without one too: they often say why there is none.
 */
#ifndef REMAT_WARN_H
#define REMAT_WARN_H

#include "cut.h"
#include "extract.h"
#include "notes.h"

enum {
    REMAT_MOST_WARNINGS = 20 /* listed for one code; the rest is counted */
};

struct remat_warner {
    struct remat_work *w;
    struct remat_notes *notes;
    const struct remat_extraction *x; /* NULL: there is no plan */
    const struct remat_cut_work *cut; /* what was chosen is its set; NULL:
                                         it was chosen in another way */
    bool *is_saved;                   /* by node, in whatever list */
    bool *is_recomputed;              /* by node */
    bool *is_kept;    /* by root: some name of that storage is saved */
    remat_node *root; /* by node: whose storage it has */

    const char *code; /* of the check that runs */
    uint32_t n;       /* warnings it has made */
};

/* Appends all warnings, in a fixed order of codes and then in node order, each
 * code bounded. `x` and `cut` may be NULL. O(nodes + edges). */
REMAT_NODISCARD enum remat_status remat_warn(struct remat_work *w,
                                             const struct remat_extraction *x,
                                             const struct remat_cut_work *cut,
                                             struct remat_notes *notes,
                                             struct remat_error *err);

/* One warning of the check that runs, printf style; counted only when there are
 * enough. A lack of memory is left to arena.status. */
void remat_warn_say(struct remat_warner *r, enum remat_severity severity,
                    remat_node v, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Nodes that share one warning. */
struct remat_warn_group {
    uint32_t n; /* all of them */
    remat_node at[REMAT_MOST_WARNINGS];
};
void remat_warn_collect(struct remat_warn_group *group, remat_node v);
/* "`a`, `b`, `c` and 4 more"; never NULL. */
const char *remat_warn_names(const struct remat_warner *r,
                             const struct remat_warn_group *group);
/* One remark for a whole group, none for an empty one: their names, up to
 * three of them, and then the words for one or, where others are given, for
 * several. */
void remat_warn_say_all(struct remat_warner *r,
                        const struct remat_warn_group *group, const char *one,
                        const char *several);

static inline const char *remat_warn_name(const struct remat_warner *r,
                                          remat_node v)
{
    return remat_spec(r->w->g, v)->name;
}

/* Whether what runs again is read there: if not, it does no harm by its value.
 */
static inline bool remat_is_read_again(const struct remat_warner *r,
                                       remat_node v)
{
    return r->is_recomputed[v] && r->x->backward.n_users[v] > 0;
}

static inline bool remat_has_plan(const struct remat_warner *r)
{
    return r->x != NULL;
}

/* The first reference among the positional arguments, or REMAT_NONE. */
remat_node remat_warn_source(const struct remat_graph *g, remat_node v);

/* The checks. Each is O(nodes + edges). */
void remat_warn_getitem_tags(struct remat_warner *r);
void remat_warn_split_waits(struct remat_warner *r);
void remat_warn_backward_tags(struct remat_warner *r);
void remat_warn_idle_tags(struct remat_warner *r);
void remat_warn_leaks(struct remat_warner *r);
void remat_warn_random(struct remat_warner *r);
void remat_warn_effects(struct remat_warner *r);
void remat_warn_collectives(struct remat_warner *r);
void remat_warn_decisions(struct remat_warner *r);
void remat_warn_rereads(struct remat_warner *r);
void remat_warn_aliases(struct remat_warner *r);
void remat_warn_operators(struct remat_warner *r);
void remat_warn_gradients(struct remat_warner *r);
void remat_warn_symbols(struct remat_warner *r);
void remat_warn_ties(struct remat_warner *r);

#endif
