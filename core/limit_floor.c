/*
 * limit_floor.c: a peak that no plan goes below.
 *
 * Every plan runs the operators that depend on a tangent and lead to an output
 * of the backward, in document order. At each, what it reads is there; a value
 * that two of them read is there from the first to the last; and one that must
 * be passed on is there from the start to the last. In the forward, every plan
 * runs what its outputs and those values need, and keeps them to its end.
 */
#include "limit.h"

static bool allocate(struct remat_limit *l)
{
    struct remat_arena *arena = &l->w->job->arena;
    size_t n = l->w->g->n;

    l->steps = REMAT_NEW_ARRAY(arena, remat_node, n);
    l->first_read = REMAT_NEW_ARRAY(arena, uint32_t, n);
    l->last_read = REMAT_NEW_ARRAY(arena, uint32_t, n);
    l->n_alive = REMAT_NEW_ARRAY(arena, uint32_t, n);
    return arena->status == REMAT_OK;
}

static bool reads_tangent(const struct remat_work *w, remat_node v)
{
    REMAT_FOR_INPUTS(w->g, v, i)
        if (w->g->role[w->g->inputs.items[i]] == REMAT_TANGENT)
            return true;
    return false;
}

static bool counts(const struct remat_limit *l, remat_node v)
{
    remat_node root = l->sim.root[v];

    return l->sim.kind[root] == REMAT_ACTIVATION && l->sim.bytes[root] > 0 &&
           !l->sim.is_container[root];
}

static void note_reads(struct remat_limit *l, remat_node v)
{
    uint32_t step = l->n_steps;

    l->steps[l->n_steps++] = v;
    REMAT_FOR_INPUTS(l->w->g, v, i)
    {
        remat_node input = l->w->g->inputs.items[i];

        if (!counts(l, input))
            continue;
        if (l->first_read[input] == REMAT_NONE)
            l->first_read[input] = step;
        l->last_read[input] = step;
    }
}

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

static void mark_needed(const struct remat_work *w,
                        const struct remat_subgraph *backward, bool *needed)
{
    for (uint32_t i = 0; i < w->g->bwd_outputs.n; i++) {
        remat_node v = w->g->bwd_outputs.at[i];

        if (v != REMAT_NONE && backward->valid[v] && is_firm_output(w->g, v))
            needed[v] = true;
    }
    for (remat_node v = w->g->n; v-- > 0;)
        if (needed[v] && backward->kept[v])
            REMAT_FOR_INPUTS(w->g, v, i)
                needed[w->g->inputs.items[i]] = true;
}

static void find_steps(struct remat_limit *l,
                       const struct remat_subgraph *backward, bool *needed)
{
    const struct remat_work *w = l->w;
    bool begun = false;

    mark_needed(w, backward, needed);
    for (remat_node v = 0; v < w->g->n; v++)
        l->first_read[v] = l->last_read[v] = REMAT_NONE;
    for (remat_node v = 0; v < w->g->n; v++) {
        if (!needed[v] || !backward->kept[v] || !w->closure[v])
            continue;
        begun = begun || reads_tangent(w, v);
        if (begun)
            note_reads(l, v);
    }
}

/* ---- the backward ------------------------------------------------------ */

/* Whether v is made of its root by views alone. */
static bool is_view_of_root(const struct remat_simulator *s, remat_node v)
{
    bool found = true;

    while (s->root[v] != v && found) {
        remat_node root = s->root[v];

        found = false;
        REMAT_FOR_INPUTS(s->w->g, v, i)
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

int64_t remat_limit_bound(const struct remat_limit *l, const bool *in)
{
    const struct remat_rows *inputs = &l->w->g->inputs;
    int64_t sum = 0;
    int64_t most;

    for (remat_node v = 0; v < l->w->g->n; v++)
        if (l->first_read[v] != REMAT_NONE && is_sure(l, in, v))
            enter(l, v, &sum);
    most = sum;
    for (uint32_t step = 0; step < l->n_steps; step++) {
        uint32_t begin = inputs->begin[l->steps[step]];
        uint32_t end = inputs->begin[l->steps[step] + 1];

        for (uint32_t i = begin; i < end; i++)
            if (l->first_read[inputs->items[i]] == step &&
                !is_sure(l, in, inputs->items[i]))
                enter(l, inputs->items[i], &sum);
        most = sum > most ? sum : most;
        for (uint32_t i = begin; i < end; i++)
            if (l->last_read[inputs->items[i]] == step)
                leave(l, inputs->items[i], &sum);
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
        if (l->firm[v] && l->first_read[v] != REMAT_NONE)
            l->chosen[outputs[1].n++] = v;
    remat_subgraph_extract(w, &forward, false, outputs, 2);
    *peak = 0;
    if (forward.invalid != REMAT_NONE)
        return REMAT_OK;
    remat_simulate_half(&l->sim, &forward, &l->trace);
    *peak = l->trace.peak;
    return REMAT_OK;
}

enum remat_status remat_limit_find_floor(struct remat_limit *l)
{
    struct remat_arena *arena = &l->w->job->arena;
    struct remat_mark mark;
    struct remat_extraction x;
    enum remat_status status;
    int64_t forward;
    uint32_t n = 0;
    bool *needed;

    if (!allocate(l))
        return remat_job_no_memory(l->w->job, l->err);
    mark = remat_arena_mark(arena);
    needed = REMAT_NEW_ARRAY(arena, bool, l->w->g->n);
    if (needed == NULL)
        return remat_job_no_memory(l->w->job, l->err);
    for (remat_node v = 0; v < l->w->g->n; v++)
        if (l->always[v] || l->is_candidate[v])
            l->chosen[n++] = v;
    status = remat_extract(l->w, (struct remat_nodes){l->chosen, n}, &x,
                           l->err);
    if (status != REMAT_OK || x.is_invalid)
        return status;
    find_steps(l, &x.backward, needed);
    status = bound_forward(l, &forward);
    if (status != REMAT_OK)
        return status;
    l->floor = remat_limit_bound(l, l->firm);
    if (forward > l->floor)
        l->floor = forward;
    remat_arena_rewind(arena, mark);
    return REMAT_OK;
}
