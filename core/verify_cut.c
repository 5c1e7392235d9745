/*
 * verify_cut.c: a claimed maximum flow and minimum cut, held against the rules.
 *
 *   read_claim        the solver's flow, sorted by what it flows through
 *   check_counts      as many vertices and edges as the rules make
 *   check_amounts     within capacity, conserved, adding up to the value
 *   check_sides       the smallest sink side, grown anew from the sink
 *   check_separation  no path from a banned value around the saved ones
 *
 * A flow and a cut of equal value prove each other (Ford & Fulkerson, Canadian
 * Journal of Mathematics 8, 1956), so nothing of the search has to be believed.
 */
#include "error.h"
#include "verify.h"
#include "verify_capacity.h"

struct claim {
    struct remat_work *w;
    const struct remat_cut_work *c;
    struct remat_error *err;
    /* flow by node, and by place in w->users.items */
    int64_t *from_source;
    int64_t *through;
    int64_t *in_to_sink;
    int64_t *out_to_sink;
    int64_t *use;
    bool *is_banned;
    bool *is_saved;
    int64_t *capacity; /* remat_verify_through by node */
    /* worked out here */
    bool *in_side;   /* v_in is on the sink side */
    bool *out_side;  /* v_out is */
    uint32_t *queue; /* 2 v for v_in, 2 v + 1 for v_out */
    uint32_t n_queue;
};

static enum remat_status off(struct claim *k, remat_node v, const char *what)
{
    return remat_error_set(k->err, REMAT_E_BUG, v, "cut: %s", what);
}

static bool allocate(struct claim *k)
{
    struct remat_arena *arena = &k->w->job->arena;
    size_t n = k->w->g->n;

    k->from_source = REMAT_NEW_ARRAY(arena, int64_t, n);
    k->through = REMAT_NEW_ARRAY(arena, int64_t, n);
    k->in_to_sink = REMAT_NEW_ARRAY(arena, int64_t, n);
    k->out_to_sink = REMAT_NEW_ARRAY(arena, int64_t, n);
    k->use = REMAT_NEW_ARRAY(arena, int64_t, k->w->users.begin[n]);
    k->capacity = REMAT_NEW_ARRAY(arena, int64_t, n);
    k->is_banned = REMAT_NEW_ARRAY(arena, bool, n);
    k->is_saved = REMAT_NEW_ARRAY(arena, bool, n);
    k->in_side = REMAT_NEW_ARRAY(arena, bool, n);
    k->out_side = REMAT_NEW_ARRAY(arena, bool, n);
    k->queue = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n);
    return arena->status == REMAT_OK;
}

/* ---- reading the claim ------------------------------------------------- */

/* The place of `user` in the row of v, or REMAT_NONE. Rows are in node order.
 */
static uint32_t place_of(const struct remat_work *w, remat_node v,
                         remat_node user)
{
    uint32_t low = w->users.begin[v];
    uint32_t high = w->users.begin[v + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (w->users.items[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == w->users.begin[v + 1] || w->users.items[low] != user)
        return REMAT_NONE;
    return low;
}

/* Where the flow of an edge is counted, or NULL for an edge that no rule
 * makes. */
static int64_t *account(struct claim *k, const struct remat_edge *edge)
{
    const struct remat_network *net = &k->c->net;
    remat_node from = net->node[edge->from];
    remat_node to = net->node[edge->to];
    bool from_in = from != REMAT_NONE && net->in[from] == edge->from;
    bool to_in = to != REMAT_NONE && net->in[to] == edge->to;
    uint32_t place;

    if (edge->from == net->source)
        return to_in ? &k->from_source[to] : NULL;
    if (edge->to == net->sink)
        return from_in ? &k->in_to_sink[from] : &k->out_to_sink[from];
    if (from == REMAT_NONE || to == REMAT_NONE)
        return NULL;
    if (from == to)
        return from_in && !to_in ? &k->through[from] : NULL;
    place = place_of(k->w, from, to);
    return place != REMAT_NONE && !from_in && to_in ? &k->use[place] : NULL;
}

static bool has_capacity(const struct claim *k, const struct remat_edge *edge)
{
    remat_node from = k->c->net.node[edge->from];

    if (from != REMAT_NONE && from == k->c->net.node[edge->to])
        return edge->capacity == k->capacity[from];
    return edge->capacity == REMAT_UNLIMITED;
}

static enum remat_status read_claim(struct claim *k)
{
    const struct remat_residual *r = &k->c->residual;

    for (uint32_t i = 0; i < k->c->cut.n_bans; i++)
        k->is_banned[k->c->cut.bans[i].node] = true;
    for (uint32_t i = 0; i < k->c->cut.nodes.n; i++)
        k->is_saved[k->c->cut.nodes.at[i]] = true;
    for (remat_node v = 0; v < k->w->g->n; v++)
        k->capacity[v] = remat_verify_through(k->w, v);
    for (uint32_t e = 0; e < k->c->net.n_edges && !k->c->trivial; e++) {
        int64_t *sum = account(k, &k->c->net.edges[e]);
        int64_t flow = r->residual[r->twin[r->arc[e]]];

        if (sum == NULL)
            return off(k, REMAT_NONE, "an edge that no rule makes");
        if (!has_capacity(k, &k->c->net.edges[e]))
            return off(k, k->c->net.node[k->c->net.edges[e].from],
                       "an edge has another capacity than the rules give it");
        if (flow < 0)
            return off(k, REMAT_NONE, "an edge carries less than nothing");
        *sum += flow;
    }
    return REMAT_OK;
}

/* ---- counts ------------------------------------------------------------ */

static bool has_in_vertex(const struct claim *k, remat_node v)
{
    const struct remat_work *w = k->w;

    if (!w->live[v])
        return false;
    if (k->is_banned[v] || k->capacity[v] != REMAT_NO_EDGE ||
        remat_verify_in_to_sink(w, v))
        return true;
    REMAT_FOR_INPUTS (w->g, v, i)
        if (k->capacity[w->g->inputs.items[i]] != REMAT_NO_EDGE)
            return true;
    return false;
}

static enum remat_status check_counts(struct claim *k)
{
    const struct remat_work *w = k->w;
    uint64_t n_edges = k->c->cut.n_bans;
    uint64_t n_vertices = k->c->cut.n_bans > 0;
    bool some_sink = false;

    for (remat_node v = 0; v < w->g->n; v++) {
        bool has_through = k->capacity[v] != REMAT_NO_EDGE;
        bool in_to_sink = remat_verify_in_to_sink(w, v);
        bool out_to_sink = remat_verify_out_to_sink(w, v);

        n_edges += (uint64_t)in_to_sink + out_to_sink + has_through;
        if (has_through)
            n_edges += w->users.begin[v + 1] - w->users.begin[v];
        n_vertices += has_in_vertex(k, v);
        n_vertices += has_through || out_to_sink;
        some_sink = some_sink || in_to_sink || out_to_sink;
    }
    n_vertices += some_sink;
    if (n_edges != k->c->cut.n_edges)
        return off(k, REMAT_NONE, "the network has too many or too few edges");
    if (n_vertices != k->c->cut.n_vertices)
        return off(k, REMAT_NONE,
                   "the network has too many or too few vertices");
    if (k->c->trivial != (k->c->cut.n_bans == 0 || !some_sink))
        return off(k, REMAT_NONE, "an edge at a terminal is missing");
    return REMAT_OK;
}

/* ---- amounts ----------------------------------------------------------- */

static enum remat_status check_allowed(struct claim *k, remat_node v)
{
    const struct remat_work *w = k->w;
    bool has_through = k->capacity[v] != REMAT_NO_EDGE;

    if (k->from_source[v] > 0 && !k->is_banned[v])
        return off(k, v, "flow from the source to a value that is not banned");
    if (k->in_to_sink[v] > 0 && !remat_verify_in_to_sink(w, v))
        return off(k, v,
                   "flow to the sink from before a value that may be "
                   "saved");
    if (k->out_to_sink[v] > 0 && !remat_verify_out_to_sink(w, v))
        return off(k, v,
                   "flow to the sink from a value the backward does not "
                   "return");
    if (k->through[v] > (has_through ? k->capacity[v] : 0))
        return off(k, v, "more flow through a value than it weighs");
    if (!has_through)
        REMAT_FOR_USERS (w, v, i)
            if (k->use[i] > 0)
                return off(k, v, "flow out of a value that is not saved");
    return REMAT_OK;
}

static enum remat_status check_conserved(struct claim *k, remat_node v)
{
    const struct remat_work *w = k->w;
    int64_t into = k->from_source[v];
    int64_t out_of = k->out_to_sink[v];

    REMAT_FOR_INPUTS (w->g, v, i) {
        uint32_t place = place_of(w, w->g->inputs.items[i], v);

        into += place == REMAT_NONE ? 0 : k->use[place];
    }
    if (into != k->through[v] + k->in_to_sink[v])
        return off(k, v, "flow is not conserved before a value");
    REMAT_FOR_USERS (w, v, i)
        out_of += k->use[i];
    if (out_of != k->through[v])
        return off(k, v, "flow is not conserved behind a value");
    return REMAT_OK;
}

static enum remat_status check_amounts(struct claim *k)
{
    int64_t value = 0;
    int64_t weight = 0;

    for (remat_node v = 0; v < k->w->g->n; v++) {
        enum remat_status status = check_allowed(k, v);

        if (status == REMAT_OK)
            status = check_conserved(k, v);
        if (status != REMAT_OK)
            return status;
        value += k->from_source[v];
        if (k->is_saved[v])
            weight = remat_add_saturating(weight, k->capacity[v]);
    }
    if (value != k->c->cut.value)
        return off(k, REMAT_NONE, "the flow is not the value of the cut");
    if (weight != k->c->cut.value)
        return off(k, REMAT_NONE,
                   "the saved values do not weigh what the cut "
                   "costs");
    return REMAT_OK;
}

/* ---- sides ------------------------------------------------------------- */

static void reach_in(struct claim *k, remat_node v)
{
    if (k->in_side[v])
        return;
    k->in_side[v] = true;
    k->queue[k->n_queue++] = 2 * v;
}

static void reach_out(struct claim *k, remat_node v)
{
    if (k->out_side[v])
        return;
    k->out_side[v] = true;
    k->queue[k->n_queue++] = 2 * v + 1;
}

/* Whatever could still send to v_in: the values v reads, and v_out where flow
 * could be taken back. */
static void grow_from_in(struct claim *k, remat_node v)
{
    const struct remat_work *w = k->w;

    REMAT_FOR_INPUTS (w->g, v, i)
        if (k->capacity[w->g->inputs.items[i]] != REMAT_NO_EDGE)
            reach_out(k, w->g->inputs.items[i]);
    if (k->through[v] > 0)
        reach_out(k, v);
}

static void grow_from_out(struct claim *k, remat_node v)
{
    const struct remat_work *w = k->w;

    if (k->capacity[v] != REMAT_NO_EDGE && k->through[v] < k->capacity[v])
        reach_in(k, v);
    REMAT_FOR_USERS (w, v, i)
        if (k->use[i] > 0)
            reach_in(k, w->users.items[i]);
}

static enum remat_status check_sides(struct claim *k)
{
    const struct remat_work *w = k->w;

    for (remat_node v = 0; v < w->g->n && !k->c->trivial; v++) {
        if (remat_verify_in_to_sink(w, v))
            reach_in(k, v);
        if (remat_verify_out_to_sink(w, v))
            reach_out(k, v);
    }
    for (uint32_t i = 0; i < k->n_queue; i++)
        if (k->queue[i] % 2 == 0)
            grow_from_in(k, k->queue[i] / 2);
        else
            grow_from_out(k, k->queue[i] / 2);
    for (remat_node v = 0; v < w->g->n; v++) {
        bool crosses =
            k->capacity[v] != REMAT_NO_EDGE && !k->in_side[v] && k->out_side[v];

        if (k->in_side[v] && k->is_banned[v])
            return off(k, v, "the flow is not a maximum");
        if (crosses != k->is_saved[v])
            return off(k, v,
                       crosses ? "a value of the canonical cut is missing"
                               : "a value is not of the canonical cut");
    }
    return REMAT_OK;
}

/* ---- separation -------------------------------------------------------- */

/* Follows every edge from the banned values on, whatever it carries, but not
 * through saved ones. in_side and out_side serve as marks. */
static enum remat_status check_separation(struct claim *k)
{
    const struct remat_work *w = k->w;

    k->n_queue = 0;
    for (remat_node v = 0; v < w->g->n; v++)
        k->in_side[v] = k->out_side[v] = false;
    for (remat_node v = 0; v < w->g->n; v++)
        if (k->is_banned[v])
            reach_in(k, v);
    for (uint32_t i = 0; i < k->n_queue; i++) {
        remat_node v = k->queue[i] / 2;
        bool is_in = k->queue[i] % 2 == 0;

        if (is_in ? remat_verify_in_to_sink(w, v)
                  : remat_verify_out_to_sink(w, v))
            return off(k, v, "a path leads around the saved values");
        if (is_in && k->capacity[v] != REMAT_NO_EDGE && !k->is_saved[v])
            reach_out(k, v);
        if (is_in)
            continue;
        REMAT_FOR_USERS (w, v, j)
            if (remat_verify_takes_part(w, w->users.items[j]))
                reach_in(k, w->users.items[j]);
    }
    return REMAT_OK;
}

enum remat_status remat_verify_cut(struct remat_work *w,
                                   const struct remat_cut_work *c,
                                   struct remat_error *err)
{
    struct remat_mark mark = remat_arena_mark(&w->job->arena);
    struct claim k = {.w = w, .c = c, .err = err};
    enum remat_status status;

    if (!allocate(&k))
        return remat_job_no_memory(w->job, err);
    status = read_claim(&k);
    if (status == REMAT_OK)
        status = check_counts(&k);
    if (status == REMAT_OK)
        status = check_amounts(&k);
    if (status == REMAT_OK)
        status = check_sides(&k);
    if (status == REMAT_OK)
        status = check_separation(&k);
    remat_arena_rewind(&w->job->arena, mark);
    return status;
}
