/*
 * conflict_words.c: the path of a conflict as somebody would tell it who wrote
 * the model.
 *
 * Constraints are told node by node, since it is a node that somebody changes.
 * Nodes with a tag come first, then those that a rule of thumb holds, then what
 * cannot be otherwise; among equals the one nearer to the backward, because the
 * others are what it is computed from. A node that was told just before its
 * source introduces it ("its source `x`").
 */
#include "conflict_words.h"

#include "format.h"

#include <string.h>

enum {
    MOST_NODES = 6 /* told; long paths end in a number */
};

/* A node with what is said of it: steps first .. last of the path that are no
 * mere data flow. */
struct group {
    remat_node node;
    uint32_t first;
    uint32_t last;
    enum remat_origin leading;
};

struct story {
    struct remat_work *w;
    const struct remat_diagnostic *d;
    const char *text;
};

/* The edge to the sink speaks of the node before it. */
static remat_node subject(const struct remat_diagnostic *d, uint32_t i)
{
    return d->path[i].node != REMAT_NONE ? d->path[i].node
                                         : d->path[i - 1].node;
}

/* The group of the node that step i speaks of, and where the next begins. */
static struct group group_at(const struct remat_diagnostic *d, uint32_t i,
                             uint32_t *next)
{
    struct group group = {subject(d, i), i, i, REMAT_ORIGIN_DATAFLOW};

    while (i < d->n_path && subject(d, i) == group.node) {
        if (d->path[i].origin < group.leading)
            group.leading = d->path[i].origin;
        group.last = i++;
    }
    *next = i;
    return group;
}

/* ---- one constraint ---------------------------------------------------- */

/* What follows from the step that begins the path; other steps say it
 * themselves. */
static const char *consequence(const struct remat_step *step, uint32_t i)
{
    if (i > 0 || step->reason == remat_ban_text(REMAT_BAN_NO_RECOMPUTE))
        return "";
    return ", so it may not be recomputed";
}

static void tell_steps(struct story *s, const struct group *group)
{
    struct remat_arena *arena = &s->w->job->arena;
    const char *separator = " ";

    for (int origin = 0; origin < REMAT_ORIGIN_DATAFLOW; origin++)
        for (uint32_t i = group->first; i <= group->last; i++) {
            const struct remat_step *step = &s->d->path[i];

            if ((int)step->origin != origin || s->text == NULL)
                continue;
            s->text = remat_format(arena, "%s%s%s%s", s->text, separator,
                                   step->reason, consequence(step, i));
            separator = ", and ";
        }
}

/* ---- all of them ------------------------------------------------------- */

static bool reads(const struct remat_graph *g, remat_node v, remat_node source)
{
    REMAT_FOR_INPUTS (g, v, i)
        if (g->inputs.items[i] == source)
            return true;
    return false;
}

static void tell_group(struct story *s, const struct group *group,
                       remat_node before)
{
    const char *separator = before == REMAT_NONE ? ": " : "; ";
    const char *relation = "";

    if (before != REMAT_NONE && reads(s->w->g, before, group->node))
        relation = "its source ";
    if (s->text != NULL)
        s->text =
            remat_format(&s->w->job->arena, "%s%s%s`%s`", s->text, separator,
                         relation, remat_spec(s->w->g, group->node)->name);
    tell_steps(s, group);
}

/* All groups led by one origin, the last of the path first. */
static uint32_t collect(const struct remat_diagnostic *d,
                        enum remat_origin origin, struct group *groups,
                        uint32_t *n_left_out)
{
    uint32_t n = 0;
    uint32_t next;

    for (uint32_t i = 0; i < d->n_path; i = next) {
        struct group group = group_at(d, i, &next);

        if (group.leading != origin)
            continue;
        if (n == MOST_NODES) {
            memmove(groups, groups + 1, (n - 1) * sizeof(*groups));
            n--;
            ++*n_left_out;
        }
        groups[n++] = group;
    }
    return n;
}

const char *remat_conflict_message(struct remat_work *w,
                                   const struct remat_diagnostic *d)
{
    struct story s = {.w = w,
                      .d = d,
                      .text = "the backward needs a value that can be neither "
                              "saved nor recomputed"};
    remat_node before = REMAT_NONE;
    uint32_t n_left_out = 0;
    uint32_t n_told = 0;

    for (int origin = 0; origin < REMAT_ORIGIN_DATAFLOW; origin++) {
        struct group groups[MOST_NODES];
        uint32_t n = collect(d, (enum remat_origin)origin, groups, &n_left_out);

        for (; n > 0 && n_told < MOST_NODES; n--, n_told++) {
            tell_group(&s, &groups[n - 1], before);
            before = groups[n - 1].node;
        }
        n_left_out += n;
    }
    if (n_left_out > 0 && s.text != NULL)
        s.text =
            remat_format(&w->job->arena, "%s; and %u more values on the way",
                         s.text, n_left_out);
    return s.text;
}
