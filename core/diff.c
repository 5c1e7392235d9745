/*
 * diff.c: what two plans decide differently, and why, value by value.
 *
 *   places     where each plan has a value, and what kept it from being
 *              computed again
 *   chains     which value took the place of which: a plan cuts every way from
 *              the inputs to the backward, so where one value leaves the cut
 *              another one above or below it has come in
 *   reasons    the first of the differences that are about the value itself,
 *              from its tag to its neighbours
 *
 * Both plans may be of the same graph or of two. A node then stands for its
 * counterpart, and what has none is not compared.
 */
#include "base.h"
#include "error.h"
#include "format.h"
#include "job.h"

#include <inttypes.h>

struct side {
    const struct remat_graph *g;
    const struct remat_plan *plan;
    const remat_node *other; /* the counterpart; NULL: the node itself */
    uint8_t *place;          /* enum remat_place */
    uint8_t *ban;            /* enum remat_ban_reason, of the last cut */
    bool *runs;              /* the backward computes it */
    remat_node *above;       /* what the backward computes it from and what only
                                this side saves */
    remat_node *below;       /* what the backward computes from it and what only
                                the other side saves */
};

struct comparison {
    struct remat_job *job; /* of `after`: the answer lies in it */
    struct side before;
    struct side after;
    struct remat_error *err;
};

static remat_node other_of(const struct side *s, remat_node v)
{
    return s->other == NULL ? v : s->other[v];
}

static enum remat_place place_of(const struct side *s, remat_node v)
{
    return v == REMAT_NONE ? REMAT_PLACE_NONE : (enum remat_place)s->place[v];
}

static bool is_saved(const struct side *s, remat_node v)
{
    return place_of(s, v) == REMAT_PLACE_SAVED;
}

static bool runs(const struct side *s, remat_node v)
{
    return v != REMAT_NONE && s->runs[v];
}

/* ---- places ------------------------------------------------------------ */

static void put(uint8_t *place, struct remat_nodes nodes, enum remat_place what)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        place[nodes.at[i]] = (uint8_t)what;
}

static uint8_t *find_places(struct remat_arena *arena,
                            const struct remat_graph *g,
                            const struct remat_plan *plan)
{
    uint8_t *place = REMAT_NEW_ARRAY(arena, uint8_t, g->n);

    if (place == NULL)
        return NULL;
    put(place, plan->recomputed, REMAT_PLACE_RECOMPUTED);
    put(place, plan->saved, REMAT_PLACE_SAVED);
    put(place, plan->saved_sym, REMAT_PLACE_SAVED);
    put(place, plan->saved_opaque, REMAT_PLACE_SAVED);
    return place;
}

const uint8_t *remat_plan_places(struct remat_job *job,
                                 const struct remat_plan *plan)
{
    return find_places(&job->arena, &job->graph, plan);
}

/* What the backward computes: what it returns and what is its own, and what
 * these are computed from, up to what is saved. */
static bool *find_runs(struct remat_arena *arena, const struct remat_graph *g,
                       const struct remat_plan *plan, const uint8_t *place)
{
    bool *found = REMAT_NEW_ARRAY(arena, bool, g->n);

    if (found == NULL)
        return NULL;
    for (uint32_t i = 0; i < g->bwd_outputs.n; i++)
        if (g->bwd_outputs.at[i] != REMAT_NONE)
            found[g->bwd_outputs.at[i]] = true;
    for (remat_node v = g->n; v-- > 0;) {
        found[v] = (found[v] || place[v] == REMAT_PLACE_RECOMPUTED ||
                    plan->facts.required_bw[v]) &&
                   plan->facts.live[v] && place[v] != REMAT_PLACE_SAVED &&
                   remat_spec(g, v)->op != REMAT_OUTPUT;
        for (uint32_t i = g->inputs.begin[v];
             found[v] && i < g->inputs.begin[v + 1]; i++)
            found[g->inputs.items[i]] = true;
    }
    return found;
}

const bool *remat_plan_backward(struct remat_job *job,
                                const struct remat_plan *plan,
                                const uint8_t *places)
{
    return find_runs(&job->arena, &job->graph, plan, places);
}

static void mark_bans(struct side *s)
{
    const struct remat_cut *cut;

    if (s->plan->n_cuts == 0)
        return;
    cut = &s->plan->cuts[s->plan->n_cuts - 1];
    for (uint32_t i = 0; i < cut->n_bans; i++)
        s->ban[cut->bans[i].node] = (uint8_t)cut->bans[i].reason;
}

static bool open_side(struct remat_job *job, struct side *s)
{
    s->place = find_places(&job->arena, s->g, s->plan);
    s->ban = REMAT_NEW_ARRAY(&job->arena, uint8_t, s->g->n);
    if (s->place == NULL)
        return false;
    s->runs = find_runs(&job->arena, s->g, s->plan, s->place);
    s->above = REMAT_NEW_ARRAY(&job->arena, remat_node, s->g->n);
    s->below = REMAT_NEW_ARRAY(&job->arena, remat_node, s->g->n);
    if (job->arena.status != REMAT_OK)
        return false;
    mark_bans(s);
    return true;
}

/* ---- chains ------------------------------------------------------------ */

static remat_node find_above(const struct side *s, const struct side *t,
                             remat_node v)
{
    for (uint32_t i = s->g->inputs.begin[v]; i < s->g->inputs.begin[v + 1];
         i++) {
        remat_node input = s->g->inputs.items[i];
        remat_node found = REMAT_NONE;

        if (runs(s, input))
            found = s->above[input];
        else if (is_saved(s, input) && other_of(s, input) != REMAT_NONE &&
                 !is_saved(t, other_of(s, input)))
            found = input;
        if (found != REMAT_NONE)
            return found;
    }
    return REMAT_NONE;
}

static remat_node find_below(const struct side *s, const struct side *t,
                             remat_node v)
{
    for (uint32_t i = s->g->users.begin[v]; i < s->g->users.begin[v + 1]; i++) {
        remat_node user = s->g->users.items[i];
        remat_node found;

        if (!runs(s, user))
            continue;
        found = is_saved(t, other_of(s, user)) ? user : s->below[user];
        if (found != REMAT_NONE)
            return found;
    }
    return REMAT_NONE;
}

static void follow_chains(struct side *s, const struct side *t)
{
    for (remat_node v = 0; v < s->g->n; v++)
        s->above[v] = find_above(s, t, v);
    for (remat_node v = s->g->n; v-- > 0;)
        s->below[v] = find_below(s, t, v);
}

/* ---- reasons ----------------------------------------------------------- */

/* A value in both plans, its place different. */
struct pair {
    remat_node before;
    remat_node after;
};

static const char *name_of(const struct side *s, remat_node v)
{
    return remat_spec(s->g, v)->name;
}

static const char *tag_now(uint8_t tag)
{
    static const char *const texts[] = {[REMAT_UNTAGGED] = "has no tag",
#define X(name, text) [name] = "is tagged " text,
                                        REMAT_POLICY_MAP(X)
#undef X
    };

    return texts[tag];
}

static const char *tag_before(uint8_t tag)
{
    static const char *const texts[] = {[REMAT_UNTAGGED] = "had none",
#define X(name, text) [name] = "was tagged " text,
                                        REMAT_POLICY_MAP(X)
#undef X
    };

    return texts[tag];
}

static const char *why_tag(const struct comparison *c, struct pair p)
{
    uint8_t before = c->before.plan->facts.tag[p.before];
    uint8_t after = c->after.plan->facts.tag[p.after];

    if (before == after)
        return NULL;
    return remat_format(&c->job->arena, "it %s now, before it %s",
                        tag_now(after), tag_before(before));
}

static const char *why_ban(const struct comparison *c, struct pair p)
{
    enum remat_ban_reason before =
        (enum remat_ban_reason)c->before.ban[p.before];
    enum remat_ban_reason after = (enum remat_ban_reason)c->after.ban[p.after];

    if ((before == REMAT_BAN_NONE) == (after == REMAT_BAN_NONE))
        return NULL;
    if (after == REMAT_BAN_NONE)
        return remat_format(&c->job->arena,
                            "may be computed again now; before it might not, "
                            "as it %s",
                            remat_ban_text(before));
    return remat_format(&c->job->arena,
                        "may not be computed again now, as it %s",
                        remat_ban_text(after));
}

/* A user that the backward of `s` computes and that of `t` does not. */
static remat_node reader_of(const struct side *s, const struct side *t,
                            remat_node v)
{
    for (uint32_t i = s->g->users.begin[v]; i < s->g->users.begin[v + 1]; i++) {
        remat_node user = s->g->users.items[i];

        if (runs(s, user) && !runs(t, other_of(s, user)))
            return user;
    }
    return REMAT_NONE;
}

/* Of the last cut; negative where there is none. */
static int64_t weight_of(const struct side *side, remat_node v)
{
    const int64_t *weight = side->plan->facts.weight;

    return weight == NULL ? -1 : weight[v];
}

static const char *why_weight(const struct comparison *c, struct pair p)
{
    int64_t before = weight_of(&c->before, p.before);
    int64_t after = weight_of(&c->after, p.after);

    if (before == after || before < 0 || after < 0)
        return NULL;
    return remat_format(&c->job->arena,
                        "its weight is %" PRId64 " now, before it was %" PRId64,
                        after, before);
}

static const char *or_else(const char *why, const char *otherwise)
{
    return why == NULL ? otherwise : why;
}

static const char *why_saved(const struct comparison *c, struct pair p)
{
    struct remat_arena *arena = &c->job->arena;
    remat_node above =
        runs(&c->before, p.before) ? c->before.above[p.before] : REMAT_NONE;
    remat_node below = c->after.below[p.after];
    remat_node reader = reader_of(&c->after, &c->before, p.after);

    if (above != REMAT_NONE)
        return remat_format(arena,
                            "saved instead of %s, from which the backward "
                            "computed it",
                            name_of(&c->before, above));
    if (below != REMAT_NONE)
        return remat_format(arena,
                            "saved instead of %s, which the backward computes "
                            "from it now",
                            name_of(&c->after, below));
    if (reader != REMAT_NONE)
        return remat_format(arena,
                            "the backward computes %s now, which reads it",
                            name_of(&c->after, reader));
    if (weight_of(&c->before, p.before) != weight_of(&c->after, p.after))
        return or_else(why_weight(c, p),
                       "the cheapest values to save lie elsewhere now");
    return "the cheapest values to save lie elsewhere now; its own tag and "
           "weight are the same";
}

static const char *why_again(const struct comparison *c, struct pair p)
{
    struct remat_arena *arena = &c->job->arena;
    remat_node above = c->after.above[p.after];
    remat_node reader = reader_of(&c->after, &c->before, p.after);

    if (above != REMAT_NONE)
        return remat_format(arena, "computed again from %s, which is saved now",
                            name_of(&c->after, above));
    if (!is_saved(&c->before, p.before) && reader != REMAT_NONE)
        return remat_format(arena,
                            "the backward computes %s now, which reads it",
                            name_of(&c->after, reader));
    return or_else(why_weight(c, p),
                   is_saved(&c->before, p.before)
                       ? "computed again from what both plans save"
                       : "both halves compute it now");
}

static const char *why_neither(const struct comparison *c, struct pair p)
{
    struct remat_arena *arena = &c->job->arena;
    remat_node below = c->before.below[p.before];
    remat_node reader = reader_of(&c->before, &c->after, p.before);

    if (runs(&c->after, p.after))
        return "the backward alone computes it now";
    if (below != REMAT_NONE)
        return remat_format(arena,
                            "not needed any more: %s, which the backward "
                            "computed from it, is saved now",
                            name_of(&c->before, below));
    if (reader != REMAT_NONE)
        return remat_format(arena,
                            "not needed any more: the backward does not "
                            "compute %s, which read it",
                            name_of(&c->before, reader));
    return "nothing in the backward needs it any more";
}

static const char *why_live(const struct comparison *c, struct pair p)
{
    bool before = c->before.plan->facts.live[p.before];
    bool after = c->after.plan->facts.live[p.after];

    if (before == after)
        return NULL;
    return after ? "it is no dead code any more" : "it is dead code now";
}

/* What took its place says more than the tag or the ban of a value that is
 * needed no longer. */
static const char *why(const struct comparison *c, struct pair p)
{
    const char *text = why_live(c, p);

    if (text == NULL && place_of(&c->after, p.after) != REMAT_PLACE_NONE)
        text = why_tag(c, p);
    if (text == NULL && place_of(&c->after, p.after) != REMAT_PLACE_NONE)
        text = why_ban(c, p);
    if (text != NULL || c->job->arena.status != REMAT_OK)
        return text;
    switch (place_of(&c->after, p.after)) {
    case REMAT_PLACE_SAVED:
        return why_saved(c, p);
    case REMAT_PLACE_RECOMPUTED:
        return why_again(c, p);
    case REMAT_PLACE_NONE:
        break;
    }
    return why_neither(c, p);
}

/* ---- the difference ---------------------------------------------------- */

static bool is_move(const struct comparison *c, remat_node v)
{
    remat_node before = other_of(&c->after, v);

    return before != REMAT_NONE &&
           place_of(&c->before, before) != place_of(&c->after, v);
}

static enum remat_status list_moves(const struct comparison *c,
                                    struct remat_diff *diff)
{
    const struct remat_graph *g = c->after.g;
    struct remat_move *moves;
    uint32_t n = 0;

    for (remat_node v = 0; v < g->n; v++)
        n += is_move(c, v);
    moves = REMAT_NEW_ARRAY(&c->job->arena, struct remat_move, n);
    diff->moves = moves;
    diff->n_moves = n;
    n = 0;
    for (remat_node v = 0; v < g->n && c->job->arena.status == REMAT_OK; v++) {
        struct pair p = {other_of(&c->after, v), v};

        if (!is_move(c, v))
            continue;
        moves[n++] =
            (struct remat_move){.node = v,
                                .before = place_of(&c->before, p.before),
                                .after = place_of(&c->after, v),
                                .n_bytes = remat_node_bytes(c->job, v),
                                .flops = remat_node_flops(c->job, v),
                                .why = why(c, p)};
    }
    return c->job->arena.status == REMAT_OK
               ? REMAT_OK
               : remat_job_no_memory(c->job, c->err);
}

static int64_t peak_of(const struct remat_plan *plan)
{
    const struct remat_memory *m = &plan->memory;

    return m->peak_forward_bytes > m->peak_backward_bytes
               ? m->peak_forward_bytes
               : m->peak_backward_bytes;
}

static uint64_t n_edges(const struct remat_graph *g)
{
    return (uint64_t)g->inputs.begin[g->n] + g->users.begin[g->n] + g->n;
}

static enum remat_status compare(struct comparison *c, struct remat_diff *diff)
{
    const struct remat_plan *before = c->before.plan;
    const struct remat_plan *after = c->after.plan;
    enum remat_status status;

    if (before->outcome != REMAT_PLAN || after->outcome != REMAT_PLAN)
        return remat_error_set(c->err, REMAT_E_OPTION, REMAT_NONE,
                               "difference: both must be plans");
    status = remat_job_spend(c->job,
                             2 * (n_edges(c->before.g) + n_edges(c->after.g)),
                             "difference", c->err);
    if (status != REMAT_OK)
        return status;
    if (!open_side(c->job, &c->before) || !open_side(c->job, &c->after))
        return remat_job_no_memory(c->job, c->err);
    follow_chains(&c->before, &c->after);
    follow_chains(&c->after, &c->before);
    *diff = (struct remat_diff){
        .saved_bytes = after->saved_bytes - before->saved_bytes,
        .recomputed_flops = after->recomputed_flops - before->recomputed_flops,
        .peak_bytes = peak_of(after) - peak_of(before)};
    return list_moves(c, diff);
}

enum remat_status remat_plan_diff(struct remat_job *job,
                                  const struct remat_plan *before,
                                  const struct remat_plan *after,
                                  struct remat_diff *diff,
                                  struct remat_error *err)
{
    struct comparison c = {.job = job,
                           .before = {.g = &job->graph, .plan = before},
                           .after = {.g = &job->graph, .plan = after},
                           .err = err};

    return compare(&c, diff);
}

static enum remat_status turn_around(struct comparison *c,
                                     const remat_node *of_after)
{
    remat_node *of_before =
        REMAT_NEW_ARRAY(&c->job->arena, remat_node, c->before.g->n);

    if (of_before == NULL)
        return remat_job_no_memory(c->job, c->err);
    for (remat_node v = 0; v < c->before.g->n; v++)
        of_before[v] = REMAT_NONE;
    for (remat_node v = 0; v < c->after.g->n; v++)
        if (of_after[v] != REMAT_NONE)
            of_before[of_after[v]] = v;
    c->before.other = of_before;
    c->after.other = of_after;
    return REMAT_OK;
}

enum remat_status remat_plan_diff_graphs(const struct remat_solved *before,
                                         struct remat_job *job,
                                         const struct remat_plan *after,
                                         const remat_node *counterpart,
                                         struct remat_diff *diff,
                                         struct remat_error *err)
{
    struct comparison c = {
        .job = job,
        .before = {.g = &before->job->graph, .plan = before->plan},
        .after = {.g = &job->graph, .plan = after},
        .err = err};
    enum remat_status status = turn_around(&c, counterpart);

    return status == REMAT_OK ? compare(&c, diff) : status;
}
