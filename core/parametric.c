/*
 * parametric.c: the lower convex hull of what minimum cuts cost in bytes and in
 * FLOPs.
 *
 *   lay_out          arcs of each vertex
 *   tie_ends         what infinite edges tie to the sink and to the source
 *   find_ends        the cut of least FLOPs, and the one of least bytes
 *   divide           a stretch between two cuts: a corner between them, or a
 * side
 *
 * The order of the vertices carries everything: the sink side of any cut found
 * is a prefix of it. A stretch of the order lies between the prefixes of two
 * neighbours; what is before it belongs to the sink in every cut still looked
 * for, what is after it to the source, so each flow runs on the stretch alone.
 * No infinite edge leads from a stretch into what is before it, or from what is
 * after it into the stretch: the ends of the stretch are finite cuts.
 */
#include "parametric.h"

#include "error.h"

struct stretch {
    struct remat_part part;
    struct remat_trade left;  /* cut with the sink side before it */
    struct remat_trade right; /* with it */
};

struct hull_search {
    struct remat_parametric s;
    struct remat_hull *hull;
    uint32_t capacity; /* of hull->points */
    struct stretch *stack;
    uint32_t n_stack;
    uint32_t *stops;
    int64_t all_bytes;
    int64_t all_flops;
};

/* ---- set-up ------------------------------------------------------------ */

static bool allocate(struct remat_parametric *s)
{
    struct remat_arena *arena = &s->job->arena;
    size_t n = s->net->n_vertices;

    s->n_arcs = 2 * s->net->n_edges;
    s->order = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->place = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->supply = REMAT_NEW_ARRAY(arena, remat_wide, n);
    s->demand = REMAT_NEW_ARRAY(arena, remat_wide, n);
    s->dist = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->current = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->path = REMAT_NEW_ARRAY(arena, uint32_t, n + 1);
    s->queue = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->residual = REMAT_NEW_ARRAY(arena, remat_wide, s->n_arcs);
    return arena->status == REMAT_OK;
}

static bool lay_out(struct remat_parametric *s)
{
    struct remat_arena *arena = &s->job->arena;
    uint32_t n = s->net->n_vertices;
    uint32_t *first = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
    uint32_t *head = REMAT_NEW_ARRAY(arena, uint32_t, s->n_arcs);
    uint32_t *twin = REMAT_NEW_ARRAY(arena, uint32_t, s->n_arcs);
    int64_t *bytes = REMAT_NEW_ARRAY(arena, int64_t, s->n_arcs);

    if (arena->status != REMAT_OK)
        return false;
    for (uint32_t e = 0; e < s->net->n_edges; e++) {
        first[s->net->edges[e].from + 2]++;
        first[s->net->edges[e].to + 2]++;
    }
    for (uint32_t v = 0; v < n; v++)
        first[v + 2] += first[v + 1];
    for (uint32_t e = 0; e < s->net->n_edges; e++) {
        const struct remat_edge *edge = &s->net->edges[e];
        uint32_t forth = first[edge->from + 1]++;
        uint32_t back = first[edge->to + 1]++;

        head[forth] = edge->to;
        head[back] = edge->from;
        twin[forth] = back;
        twin[back] = forth;
        bytes[forth] = edge->capacity;
    }
    s->first = first;
    s->head = head;
    s->twin = twin;
    s->bytes = bytes;
    return true;
}

static enum remat_status add_up(struct hull_search *h)
{
    const struct remat_trade_network *net = h->s.net;

    for (uint32_t e = 0; e < net->n_edges; e++)
        if (net->edges[e].capacity != REMAT_INFINITE)
            h->all_bytes =
                remat_add_saturating(h->all_bytes, net->edges[e].capacity);
    for (uint32_t v = 0; v < net->n_vertices; v++)
        if (net->flops[v] != REMAT_INFINITE)
            h->all_flops = remat_add_saturating(h->all_flops, net->flops[v]);
    if (h->all_bytes < REMAT_TRADE_MAX && h->all_flops < REMAT_TRADE_MAX)
        return REMAT_OK;
    return remat_error_set(h->s.err, REMAT_E_WEIGHT, REMAT_NONE,
                           "frontier: the %s of the forward add up to 2^61 or "
                           "more; values this large cannot be traded",
                           h->all_bytes < REMAT_TRADE_MAX ? "FLOPs" : "bytes");
}

/* ---- infinite edges ---------------------------------------------------- */

/* Marks what must be on one side: breadth first over infinite edges, against
 * them from the sink, along them from the source. */
static uint32_t tie(struct remat_parametric *s, bool at_sink, uint8_t *side)
{
    uint8_t mark = at_sink ? 1 : 2;
    uint32_t n = 0;

    for (uint32_t v = 0; v < s->net->n_vertices; v++)
        if (at_sink ? s->net->at_sink[v] : s->net->flops[v] == REMAT_INFINITE) {
            side[v] |= mark;
            s->queue[n++] = v;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = s->queue[i];

        for (uint32_t a = s->first[v]; a < s->first[v + 1]; a++) {
            uint32_t u = s->head[a];
            uint32_t along = at_sink ? s->twin[a] : a;

            if (s->bytes[along] != REMAT_INFINITE || (side[u] & mark) != 0)
                continue;
            side[u] |= mark;
            s->queue[n++] = u;
        }
    }
    return n;
}

/* The order: what is tied to the sink, the rest, what is tied to the source. */
static enum remat_status tie_ends(struct hull_search *h,
                                  struct remat_part *between)
{
    static const uint8_t sides[] = {1, 0, 2};
    struct remat_parametric *s = &h->s;
    struct remat_mark mark = remat_arena_mark(&s->job->arena);
    uint32_t n = s->net->n_vertices;
    uint8_t *side = REMAT_NEW_ARRAY(&s->job->arena, uint8_t, n);
    uint32_t at = 0;

    if (side == NULL)
        return remat_job_no_memory(s->job, s->err);
    between->begin = tie(s, true, side);
    between->end = n - tie(s, false, side);
    h->hull->infinite = between->begin > between->end;
    for (unsigned k = 0; k < 3; k++)
        for (uint32_t v = 0; v < n; v++)
            if (side[v] == sides[k]) {
                s->place[v] = at;
                s->order[at++] = v;
            }
    h->hull->infinite = h->hull->infinite || at < n;
    remat_arena_rewind(&s->job->arena, mark);
    return remat_job_spend(s->job, s->n_arcs, "frontier", s->err);
}

/* ---- points ------------------------------------------------------------ */

static enum remat_status add_point(struct hull_search *h,
                                   struct remat_trade point)
{
    struct remat_hull *hull = h->hull;

    if (hull->n_points == h->capacity) {
        uint32_t capacity = 2 * h->capacity + 16;
        struct remat_trade *points =
            REMAT_NEW_ARRAY(&h->s.job->arena, struct remat_trade, capacity);

        if (points == NULL)
            return remat_job_no_memory(h->s.job, h->s.err);
        for (uint32_t i = 0; i < hull->n_points; i++)
            points[i] = hull->points[i];
        hull->points = points;
        h->capacity = capacity;
    }
    hull->points[hull->n_points++] = point;
    remat_job_tell(h->s.job, hull->n_points, 0);
    return REMAT_OK;
}

/* The cut whose sink side ends at `end`, from one whose side ends before it. */
static struct remat_trade grown(const struct hull_search *h,
                                struct remat_trade from, uint32_t end)
{
    struct remat_change change = remat_parametric_change(
        &h->s, (struct remat_part){from.n_sink_side, end});

    return (struct remat_trade){from.bytes + change.bytes,
                                from.flops + change.flops, true, end};
}

/* The trade of a prefix, from scratch. */
static struct remat_trade trade_of(const struct hull_search *h, uint32_t end)
{
    const struct remat_parametric *s = &h->s;
    struct remat_trade trade = {0, 0, true, end};

    for (uint32_t i = 0; i < end; i++) {
        uint32_t v = s->order[i];

        trade.flops += s->net->flops[v];
        for (uint32_t a = s->first[v]; a < s->first[v + 1]; a++)
            if (s->place[s->head[a]] >= end)
                trade.bytes += s->bytes[s->twin[a]];
    }
    return trade;
}

/* Points on a side of the hull, whose last flow is still loaded. */
static enum remat_status add_between(struct hull_search *h,
                                     const struct stretch *t)
{
    struct remat_trade last = t->left;
    uint32_t n_stops;
    enum remat_status status =
        remat_parametric_chain(&h->s, t->part, h->stops, &n_stops);
    uint32_t stride = n_stops / REMAT_MOST_BETWEEN + 1;

    for (uint32_t i = stride; i < n_stops && status == REMAT_OK; i += stride) {
        struct remat_trade next = grown(h, last, h->stops[i - 1]);

        next.is_vertex = false;
        if (next.flops != last.flops && next.flops != t->right.flops)
            status = add_point(h, next);
        last = next;
    }
    return status;
}

/* ---- the search -------------------------------------------------------- */

static void push(struct hull_search *h, struct remat_trade left,
                 struct remat_trade right)
{
    if (left.flops == right.flops)
        return; /* one and the same point */
    h->stack[h->n_stack++] =
        (struct stretch){{left.n_sink_side, right.n_sink_side}, left, right};
}

/* Looks for a cut below the line through the ends of a stretch. */
static enum remat_status divide(struct hull_search *h, struct stretch t)
{
    int64_t p = t.right.flops - t.left.flops;
    int64_t q = t.left.bytes - t.right.bytes;
    struct remat_trade corner;
    uint32_t middle;
    enum remat_status status =
        remat_parametric_cut(&h->s, t.part, p, q, &middle);

    if (status != REMAT_OK)
        return status;
    corner = grown(h, t.left, middle);
    if ((remat_wide)p * (corner.bytes - t.left.bytes) +
            (remat_wide)q * (corner.flops - t.left.flops) <
        0) {
        push(h, corner, t.right);
        push(h, t.left, corner);
        return REMAT_OK;
    }
    status = add_between(h, &t);
    return status == REMAT_OK ? add_point(h, t.right) : status;
}

/* Least FLOPs, then bytes: a byte costs 1 and a FLOP more than all bytes. Least
 * bytes, then FLOPs, the other way round. */
static enum remat_status find_ends(struct hull_search *h,
                                   struct remat_part between)
{
    struct remat_trade left;
    struct remat_trade right;
    uint32_t middle;
    enum remat_status status =
        remat_parametric_cut(&h->s, between, 1, h->all_bytes + 1, &middle);

    if (status != REMAT_OK)
        return status;
    left = trade_of(h, middle);
    between.begin = middle;
    status = remat_parametric_cut(&h->s, between, h->all_flops + 1, 1, &middle);
    if (status != REMAT_OK)
        return status;
    right = grown(h, left, middle);
    status = add_point(h, left);
    push(h, left, right);
    return status;
}

enum remat_status remat_trade_solve(struct remat_job *job,
                                    const struct remat_trade_network *net,
                                    struct remat_hull *hull,
                                    struct remat_error *err)
{
    struct hull_search h = {.s = {.job = job, .err = err, .net = net},
                            .hull = hull};
    struct remat_part between = {0};
    enum remat_status status;

    *hull = (struct remat_hull){.infinite = false};
    status = add_up(&h);
    if (status != REMAT_OK)
        return status;
    if (!allocate(&h.s) || !lay_out(&h.s))
        return remat_job_no_memory(job, err);
    h.stack = REMAT_NEW_ARRAY(&job->arena, struct stretch, net->n_vertices + 2);
    h.stops = REMAT_NEW_ARRAY(&job->arena, uint32_t, net->n_vertices);
    if (job->arena.status != REMAT_OK)
        return remat_job_no_memory(job, err);
    hull->order = h.s.order;
    hull->place = h.s.place;
    status = tie_ends(&h, &between);
    if (status != REMAT_OK || hull->infinite)
        return status;
    status = find_ends(&h, between);
    while (status == REMAT_OK && h.n_stack > 0)
        status = divide(&h, h.stack[--h.n_stack]);
    return status;
}
