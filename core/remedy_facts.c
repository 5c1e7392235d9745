/*
 * remedy_facts.c: what would have to be different where no tag helps.
 *
 * A conflict that no tag breaks begins with a node that may not be computed
 * again whatever its tag and ends with one that only the backward can have. All
 * its reasons that are no mere data flow are facts in the way; another one
 * would do.
 */
#include "remedy_work.h"

#include "dropout.h"

enum {
    MOST_FACTS = 100
};

struct list {
    struct remat_step *at;
    uint32_t n;
    bool *is_told; /* by node and side */
};

static void add(struct list *list, const struct remat_step *step)
{
    size_t place = 3 * (size_t)step->node + (size_t)step->side;

    if (list->n == MOST_FACTS || list->is_told[place])
        return;
    list->is_told[place] = true;
    list->at[list->n++] = *step;
}

/* Why the first node of a conflict stays banned: not its tag, which could go,
 * but what is left then. */
static void add_start(const struct remat_remedy_work *r, struct list *list,
                      struct remat_step step)
{
    const struct remat_work *w = r->w;
    enum remat_ban_reason reason =
        (enum remat_ban_reason)r->untagged_reason[step.node];

    if (w->tag_rule[step.node] == REMAT_TAG_DOCUMENT &&
        step.origin == REMAT_ORIGIN_ANNOTATION && reason != REMAT_BAN_NONE) {
        step.reason = remat_ban_text(reason);
        step.origin = remat_ban_origin(reason);
    }
    if (step.origin != REMAT_ORIGIN_INTRINSIC &&
        reason != REMAT_BAN_NO_RECOMPUTE &&
        remat_is_unrepeatable(w, step.node) &&
        !remat_draws_nothing(w->g, step.node)) {
        step.reason = "gives another result when it is computed again";
        step.origin = REMAT_ORIGIN_INTRINSIC;
    }
    add(list, &step);
}

static void add_conflict(const struct remat_remedy_work *r, struct list *list,
                         const struct remat_diagnostic *d)
{
    for (uint32_t i = 0; i < d->n_path; i++) {
        struct remat_step step = d->path[i];

        if (step.origin == REMAT_ORIGIN_DATAFLOW)
            continue;
        if (i == 0) {
            add_start(r, list, step);
            continue;
        }
        if (step.node == REMAT_NONE)
            step.node = d->path[i - 1].node;
        add(list, &step);
    }
}

static bool is_unbreakable(const struct remat_remedy_work *r,
                           const struct remat_probe *probe,
                           const struct remat_diagnostic *d)
{
    const struct remat_step *last = &d->path[d->n_path - 2];

    return remat_remedy_start_bound(r, probe, d->path[0].node) ==
               REMAT_NO_WAY &&
           (last->side == REMAT_SIDE_OUT ||
            remat_remedy_end_bound(r, probe, last->node) == REMAT_NO_WAY);
}

static void add_all(const struct remat_remedy_work *r,
                    const struct remat_probe *probe,
                    const struct remat_notes *conflicts, bool only_unbreakable,
                    struct list *list)
{
    for (uint32_t i = 0; i < conflicts->n; i++) {
        const struct remat_diagnostic *d = &conflicts->at[i];

        if (d->severity == REMAT_ERROR &&
            (!only_unbreakable || is_unbreakable(r, probe, d)))
            add_conflict(r, list, d);
    }
}

enum remat_status remat_remedy_facts(struct remat_remedy_work *r,
                                     const struct remat_notes *conflicts,
                                     struct remat_remedy *remedy)
{
    struct remat_arena *arena = &r->w->job->arena;
    struct list list = {
        .at = REMAT_NEW_ARRAY(arena, struct remat_step, MOST_FACTS)};
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_probe probe;
    enum remat_status status = remat_remedy_probe(r, &probe);

    if (status != REMAT_OK)
        return status;
    list.is_told = REMAT_NEW_ARRAY(arena, bool, 3 * (size_t)r->w->g->n);
    if (list.at == NULL || list.is_told == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    add_all(r, &probe, conflicts, true, &list);
    if (list.n == 0 && r->invalid != REMAT_NONE)
        add(&list, &(struct remat_step){
                       .node = r->invalid,
                       .side = REMAT_SIDE_OUT,
                       .origin = REMAT_ORIGIN_INTRINSIC,
                       .reason = "is an output that cannot be computed when "
                                 "nothing is in conflict"});
    if (list.n == 0)
        add_all(r, &probe, conflicts, false, &list);
    remat_arena_rewind(arena, mark);
    remedy->facts = list.at;
    remedy->n_facts = list.n;
    return REMAT_OK;
}
