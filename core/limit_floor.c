/*
 * limit_floor.c: a peak that no plan goes below.
 *
 *   find_forced   operators that the backward of every plan runs
 *   find_turns    when: the operator of the backward they come right before
 *   find_spans    from when to when a value is there in every plan
 *   remat_limit_bound  the most that is there at once
 *
 * Every plan runs the operators that depend on a tangent and lead to an output
 * of the backward, in document order, and what these need and cannot be saved.
 * Such a value is computed before the first operator that reads it, which in
 * some plans is an earlier one than in others: then only what holds for all of
 * them counts. What one operator reads is there from then on to the last one
 * that reads it, and what must be passed on from the start. In the forward,
 * every plan runs what its outputs and those values need, and keeps them to its
 * end.
 */
#include "limit.h"

struct floor_search {
    struct remat_limit *l;
    const struct remat_subgraph *backward; /* with all saved that can be */
    bool *is_forced;
    uint32_t *early; /* the turn it comes in at the earliest; NONE: never */
    uint32_t *turn;  /* and at the latest, of forced ones */
    uint32_t *place; /* of a turn: the first step that is in it or later */
};

static bool allocate_spans(struct remat_limit *l)
{
    struct remat_arena *arena = &l->w->job->arena;
    size_t n = l->w->g->n;

    l->steps = REMAT_NEW_ARRAY(arena, remat_node, n);
    l->from = REMAT_NEW_ARRAY(arena, uint32_t, n);
    l->to = REMAT_NEW_ARRAY(arena, uint32_t, n);
    l->coming = REMAT_NEW_ARRAY(arena, remat_node, n);
    l->going = REMAT_NEW_ARRAY(arena, remat_node, n);
    l->n_alive = REMAT_NEW_ARRAY(arena, uint32_t, n);
    return arena->status == REMAT_OK;
}

static bool allocate(struct floor_search *s)
{
    struct remat_arena *arena = &s->l->w->job->arena;
    size_t n = s->l->w->g->n;

    s->is_forced = REMAT_NEW_ARRAY(arena, bool, n);
    s->early = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->turn = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->place = REMAT_NEW_ARRAY(arena, uint32_t, n + 1);
    return arena->status == REMAT_OK;
}

/* ---- what every backward runs ------------------------------------------ */

/* Whether an output must be computed itself: some may be replaced (3.5). */
static bool is_firm_output(const struct remat_graph *g, remat_node v)
{
    remat_node getitem = remat_special(g, v) == REMAT_VIEW_OR_RESHAPE
                             ? remat_arg_node(g, v, 0)
                             : v;

    if (remat_special(g, v) == REMAT_COPY)
        return false;
    return getitem == REMAT_NONE ||
           remat_special(g, getitem) != REMAT_GETITEM ||
           remat_spec(g, getitem)->n_args < 2 ||
           remat_spec(g, getitem)->args[1].kind != REMAT_ARG_STRING;
}

/* Operators that depend on a tangent and are needed; of the others those that
 * a forced one reads and that cannot be saved. */
static void find_forced(struct floor_search *s)
{
    const struct remat_work *w = s->l->w;

    for (uint32_t i = 0; i < w->g->bwd_outputs.n; i++) {
        remat_node v = w->g->bwd_outputs.at[i];

        if (v != REMAT_NONE && s->backward->valid[v] && is_firm_output(w->g, v))
            s->is_forced[v] = true;
    }
    for (remat_node v = w->g->n; v-- > 0;) {
        s->is_forced[v] = s->is_forced[v] && s->backward->kept[v] &&
                          remat_is_call(w->g, v) &&
                          (w->closure[v] || !s->l->can_be_saved[v]);
        if (s->is_forced[v])
            REMAT_FOR_INPUTS (w->g, v, i)
                s->is_forced[w->g->inputs.items[i]] = true;
    }
}

static bool reads_tangent(const struct remat_work *w, remat_node v)
{
    REMAT_FOR_INPUTS (w->g, v, i)
        if (w->g->role[w->g->inputs.items[i]] == REMAT_TANGENT)
            return true;
    return false;
}

/* ---- when -------------------------------------------------------------- */

/* The first operator that reads a tangent, of all that may run or of those that
 * must; what comes before it waits until it is needed (simulate.h). */
static remat_node find_first(const struct floor_search *s, const bool *among)
{
    const struct remat_work *w = s->l->w;

    for (remat_node v = 0; v < w->g->n; v++)
        if (among[v] && w->closure[v] && reads_tangent(w, v))
            return v;
    return w->g->n;
}

/* The earliest turn in which any plan runs v: that of a user that may run. */
static uint32_t earliest(const struct floor_search *s, remat_node v,
                         remat_node first)
{
    const struct remat_work *w = s->l->w;
    uint32_t early = REMAT_NONE;

    if (v >= first || remat_special(w->g, v) == REMAT_COPY)
        return v;
    REMAT_FOR_USERS (w, v, i) {
        remat_node user = w->users.items[i];

        if (!w->closure[user] && s->l->fixed[user] && w->fw[user])
            continue;
        if (s->early[user] < early)
            early = s->early[user];
    }
    return early;
}

/* The turn of a forced operator in the plan that runs it last: that of the
 * first forced user. */
static uint32_t latest(const struct floor_search *s, remat_node v,
                       remat_node first)
{
    const struct remat_work *w = s->l->w;
    uint32_t turn = REMAT_NONE;

    if (v >= first)
        return v;
    REMAT_FOR_USERS (w, v, i)
        if (s->is_forced[w->users.items[i]] &&
            s->turn[w->users.items[i]] < turn)
            turn = s->turn[w->users.items[i]];
    return turn;
}

static bool is_exact(const struct floor_search *s, remat_node v)
{
    return s->early[v] == s->turn[v];
}

/* Sorts the forced operators by turn, then by place in the document. One
 * without a turn leads to an output alone; it says nothing. */
static void find_turns(struct floor_search *s)
{
    const struct remat_work *w = s->l->w;
    remat_node first_of_all = find_first(s, s->backward->kept);
    remat_node first = find_first(s, s->is_forced);
    uint32_t n = 0;

    for (remat_node v = w->g->n; v-- > 0;) {
        s->early[v] = earliest(s, v, first_of_all);
        s->turn[v] = s->is_forced[v] ? latest(s, v, first) : REMAT_NONE;
        s->is_forced[v] = s->turn[v] != REMAT_NONE;
        if (s->is_forced[v])
            s->place[s->turn[v]]++;
    }
    for (uint32_t turn = 0; turn <= w->g->n; turn++) {
        uint32_t count = s->place[turn];

        s->place[turn] = n;
        n += count;
    }
    for (remat_node v = 0; v < w->g->n; v++)
        if (s->is_forced[v])
            s->l->steps[s->place[s->turn[v]]++] = v;
    s->l->n_steps = n;
    for (uint32_t turn = w->g->n; turn > 0; turn--)
        s->place[turn] = s->place[turn - 1];
    s->place[0] = 0;
}

/* ---- what is there ----------------------------------------------------- */

static bool counts(const struct remat_limit *l, remat_node v)
{
    remat_node root = l->sim.root[v];

    return l->sim.kind[root] == REMAT_ACTIVATION && l->sim.bytes[root] > 0;
}

/* v is there at `from` at the latest, and at `to` at the earliest. */
static void touch(struct remat_limit *l, remat_node v, uint32_t from,
                  uint32_t to)
{
    if (l->from[v] == REMAT_NONE) {
        l->from[v] = from;
        l->to[v] = to;
        return;
    }
    if (from < l->from[v])
        l->from[v] = from;
    if (to > l->to[v])
        l->to[v] = to;
}

/* Moments are numbered from 0, when nothing has run yet; step i is moment i
 * + 1. What reads in an uncertain turn reads after the last step before that
 * turn. A container gives its bytes away part by part, so it is there only for
 * the step that makes it. */
static void find_spans(struct floor_search *s)
{
    struct remat_limit *l = s->l;
    const struct remat_work *w = l->w;

    for (remat_node v = 0; v < w->g->n; v++)
        l->from[v] = l->to[v] = REMAT_NONE;
    for (uint32_t step = 0; step < l->n_steps; step++) {
        remat_node v = l->steps[step];
        uint32_t from = step + 1;
        uint32_t to = is_exact(s, v) ? from : s->place[s->early[v]];

        if (counts(l, v) && (is_exact(s, v) || !l->sim.is_container[v]))
            touch(l, v, from, to);
        REMAT_FOR_INPUTS (w->g, v, i)
            if (counts(l, w->g->inputs.items[i]) &&
                !l->sim.is_container[l->sim.root[w->g->inputs.items[i]]])
                touch(l, w->g->inputs.items[i], from, to);
    }
}

/* Sorts values by a moment, by counting. */
static void sort_by(const struct remat_limit *l, const uint32_t *key,
                    uint32_t *place, remat_node *sorted)
{
    uint32_t n = 0;

    for (uint32_t at = 0; at <= l->n_steps; at++)
        place[at] = 0;
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (key[v] != REMAT_NONE)
            place[key[v]]++;
    for (uint32_t at = 0; at <= l->n_steps; at++) {
        uint32_t count = place[at];

        place[at] = n;
        n += count;
    }
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (key[v] != REMAT_NONE)
            sorted[place[key[v]]++] = v;
}

static void sort_spans(struct floor_search *s)
{
    struct remat_limit *l = s->l;

    for (remat_node v = 0; v < l->w->g->n; v++)
        l->n_spans += l->from[v] != REMAT_NONE;
    sort_by(l, l->from, s->place, l->coming);
    sort_by(l, l->to, s->place, l->going);
}

/* Whether v is made of its root by views alone. */
static bool is_view_of_root(const struct remat_simulator *s, remat_node v)
{
    bool found = true;

    while (s->root[v] != v && found) {
        remat_node root = s->root[v];

        found = false;
        REMAT_FOR_INPUTS (s->w->g, v, i)
            if (s->root[s->w->g->inputs.items[i]] == root) {
                v = s->w->g->inputs.items[i];
                found = true;
                break;
            }
    }
    return found;
}

/* Whether its storage is passed on, given that all of `in` is that is read. */
static bool is_sure(const struct remat_limit *l, const bool *in, remat_node v)
{
    return in[v] || (in[l->sim.root[v]] && is_view_of_root(&l->sim, v));
}

static void enter(const struct remat_limit *l, remat_node v, int64_t *sum)
{
    remat_node root = l->sim.root[v];

    if (l->n_alive[root]++ == 0)
        *sum += l->sim.bytes[root];
}

static void leave(const struct remat_limit *l, remat_node v, int64_t *sum)
{
    remat_node root = l->sim.root[v];

    if (--l->n_alive[root] == 0)
        *sum -= l->sim.bytes[root];
}

/* A span that ends before it begins says nothing: in one plan the value is gone
 * by the time that another makes it. */
int64_t remat_limit_bound(const struct remat_limit *l, const bool *in)
{
    int64_t sum = 0;
    int64_t most;
    uint32_t n_come = 0;
    uint32_t n_gone = 0;

    for (uint32_t i = 0; i < l->n_spans; i++)
        if (is_sure(l, in, l->coming[i]))
            enter(l, l->coming[i], &sum);
    most = sum;
    for (uint32_t at = 0; at <= l->n_steps; at++) {
        for (; n_come < l->n_spans && l->from[l->coming[n_come]] == at;
             n_come++) {
            remat_node v = l->coming[n_come];

            if (l->from[v] <= l->to[v] && !is_sure(l, in, v))
                enter(l, v, &sum);
        }
        most = sum > most ? sum : most;
        for (; n_gone < l->n_spans && l->to[l->going[n_gone]] == at; n_gone++) {
            remat_node v = l->going[n_gone];

            if (l->from[v] <= l->to[v] || is_sure(l, in, v))
                leave(l, v, &sum);
        }
    }
    return most;
}

/* ---- the forward ------------------------------------------------------- */

static enum remat_status bound_forward(struct remat_limit *l, int64_t *peak)
{
    struct remat_work *w = l->w;
    struct remat_subgraph forward;
    struct remat_nodes outputs[2] = {w->g->fwd_outputs, {l->chosen, 0}};
    enum remat_status status = remat_subgraph_init(w, &forward, l->err);

    if (status != REMAT_OK)
        return status;
    for (uint32_t i = 0; i < w->g->primals.n; i++)
        forward.is_input[w->g->primals.at[i]] = true;
    for (uint32_t i = 0; i < w->g->forward_seeds.n; i++)
        forward.is_input[w->g->forward_seeds.at[i]] = true;
    for (remat_node v = 0; v < w->g->n; v++)
        if (l->always[v] && l->from[v] != REMAT_NONE)
            l->chosen[outputs[1].n++] = v;
    remat_subgraph_extract(w, &forward, false, outputs, 2);
    *peak = 0;
    if (forward.invalid != REMAT_NONE)
        return REMAT_OK;
    remat_simulate_half(&l->sim, &forward, &l->trace);
    *peak = l->trace.peak;
    return REMAT_OK;
}

/* A plan of a budget may compute twice what otherwise may not be; no plan is
 * lower than the lowest of these and the bound of the others. */
static enum remat_status find_floor(struct floor_search *s)
{
    struct remat_limit *l = s->l;
    enum remat_status status;
    int64_t forward;

    find_forced(s);
    find_turns(s);
    find_spans(s);
    sort_spans(s);
    status = bound_forward(l, &forward);
    if (status != REMAT_OK)
        return status;
    l->floor = remat_limit_bound(l, l->always);
    if (forward > l->floor)
        l->floor = forward;
    return remat_job_spend(l->w->job, l->cost, "memory limit", l->err);
}

enum remat_status remat_limit_find_floor(struct remat_limit *l)
{
    struct remat_arena *arena = &l->w->job->arena;
    struct floor_search s = {.l = l};
    struct remat_mark mark;
    struct remat_extraction x;
    enum remat_status status;
    uint32_t n = 0;

    if (!allocate_spans(l))
        return remat_job_no_memory(l->w->job, l->err);
    mark = remat_arena_mark(arena);
    if (!allocate(&s))
        return remat_job_no_memory(l->w->job, l->err);
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (l->can_be_saved[v])
            l->chosen[n++] = v;
    status =
        remat_extract(l->w, (struct remat_nodes){l->chosen, n}, &x, l->err);
    if (status == REMAT_OK && !x.is_invalid) {
        s.backward = &x.backward;
        status = find_floor(&s);
    }
    if (status == REMAT_OK && l->lowest_loose < l->floor)
        l->floor = l->lowest_loose;
    if (status == REMAT_OK)
        remat_arena_rewind(arena, mark);
    return status;
}
