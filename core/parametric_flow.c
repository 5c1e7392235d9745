/*
 * parametric_flow.c: one maximum flow on a part of a network with two costs.
 *
 * Level by level (Dinic, Soviet Mathematics Doklady 11, 1970), with distances
 * to the sink. Source and sink are no vertices: what a vertex gets from one and
 * may give to the other is kept beside it, and holds what the contracted rest
 * of the network sends and takes.
 *
 *   load        capacities of the part
 *   level       distances, backwards from open demand
 *   drain       empties the supply of a vertex along shortest paths
 *   take_sides  who still reaches open demand, first in the order
 */
#include "parametric.h"

#include "error.h"

#define INFINITE ((remat_wide)1 << 125)

enum {
    SPEND_AFTER = 1 << 12
};

static bool is_in(const struct remat_parametric *s, struct remat_part part,
                  uint32_t v)
{
    return s->place[v] >= part.begin && s->place[v] < part.end;
}

static enum remat_status spend(struct remat_parametric *s)
{
    uint64_t n = s->work;

    s->work = 0;
    return remat_job_spend(s->job, n, "frontier", s->err);
}

/* ---- capacities -------------------------------------------------------- */

static remat_wide capacity(int64_t amount, int64_t price)
{
    return amount == REMAT_INFINITE ? INFINITE : (remat_wide)amount * price;
}

/* Arcs inside the part get their capacity; those to the contracted sides add to
 * demand and supply. An infinite one cannot lead there: see remat_trade_solve.
 */
static void load_vertex(struct remat_parametric *s, struct remat_part part,
                        uint32_t v, int64_t p, int64_t q)
{
    s->supply[v] = capacity(s->net->flops[v], q);
    s->demand[v] = 0;
    for (uint32_t a = s->first[v]; a < s->first[v + 1]; a++) {
        uint32_t u = s->head[a];

        if (is_in(s, part, u))
            s->residual[a] = capacity(s->bytes[a], p);
        else if (s->place[u] < part.begin)
            s->demand[v] += capacity(s->bytes[a], p);
        else
            s->supply[v] += capacity(s->bytes[s->twin[a]], p);
    }
    s->work += s->first[v + 1] - s->first[v] + 1;
}

/* What a vertex gets and may give at once needs no path. Returns the sum. */
static remat_wide load(struct remat_parametric *s, struct remat_part part,
                       int64_t p, int64_t q, remat_wide *around_sink)
{
    remat_wide flow = 0;

    *around_sink = 0;
    for (uint32_t i = part.begin; i < part.end; i++) {
        uint32_t v = s->order[i];
        remat_wide amount;

        load_vertex(s, part, v, p, q);
        *around_sink += s->demand[v];
        amount = s->supply[v] < s->demand[v] ? s->supply[v] : s->demand[v];
        s->supply[v] -= amount;
        s->demand[v] -= amount;
        flow += amount;
    }
    return flow;
}

/* ---- levels ------------------------------------------------------------ */

/* Distances to open demand. False when no supply is left that reaches any. */
static bool level(struct remat_parametric *s, struct remat_part part)
{
    uint32_t n = 0;
    bool reached = false;

    for (uint32_t i = part.begin; i < part.end; i++) {
        uint32_t v = s->order[i];

        s->dist[v] = REMAT_NONE;
        s->current[v] = s->first[v];
        if (s->demand[v] > 0) {
            s->dist[v] = 0;
            s->queue[n++] = v;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = s->queue[i];

        reached = reached || s->supply[v] > 0;
        for (uint32_t a = s->first[v]; a < s->first[v + 1]; a++) {
            uint32_t u = s->head[a];

            if (!is_in(s, part, u) || s->dist[u] != REMAT_NONE ||
                s->residual[s->twin[a]] == 0)
                continue;
            s->dist[u] = s->dist[v] + 1;
            s->queue[n++] = u;
        }
        s->work += s->first[v + 1] - s->first[v];
    }
    s->work += part.end - part.begin;
    return reached;
}

/* ---- paths ------------------------------------------------------------- */

static void send(struct remat_parametric *s, uint32_t a, remat_wide amount)
{
    s->residual[a] -= amount;
    s->residual[s->twin[a]] += amount;
}

/* Sends what fits from `start` along n arcs to the demand of `last`. Returns
 * how many arcs of the path stay open. */
static uint32_t augment(struct remat_parametric *s, uint32_t start,
                        uint32_t last, uint32_t n, remat_wide *flow)
{
    remat_wide amount = s->supply[start];
    uint32_t open = n;

    if (s->demand[last] < amount)
        amount = s->demand[last];
    for (uint32_t i = 0; i < n; i++)
        if (s->residual[s->path[i]] < amount)
            amount = s->residual[s->path[i]];
    for (uint32_t i = n; i-- > 0;) {
        send(s, s->path[i], amount);
        if (s->residual[s->path[i]] == 0)
            open = i;
    }
    s->supply[start] -= amount;
    s->demand[last] -= amount;
    *flow += amount;
    s->work += n + 1;
    return open;
}

/* The next arc of v one level down, or REMAT_NONE. */
static uint32_t next_arc(struct remat_parametric *s, struct remat_part part,
                         uint32_t v)
{
    uint32_t a = s->current[v];

    while (a < s->first[v + 1] &&
           (!is_in(s, part, s->head[a]) || s->residual[a] == 0 ||
            s->dist[s->head[a]] == REMAT_NONE ||
            s->dist[s->head[a]] + 1 != s->dist[v]))
        a++;
    s->work += a - s->current[v] + 1;
    s->current[v] = a;
    return a < s->first[v + 1] ? a : REMAT_NONE;
}

/* Empties the supply of a vertex as far as this level goes. */
static enum remat_status drain(struct remat_parametric *s,
                               struct remat_part part, uint32_t start,
                               remat_wide *flow)
{
    uint32_t n = 0; /* arcs on the path */
    uint32_t v = start;

    while (s->supply[start] > 0 && s->dist[start] != REMAT_NONE) {
        uint32_t a;

        if (s->dist[v] == 0 && s->demand[v] > 0) {
            n = augment(s, start, v, n, flow);
            v = n > 0 ? s->head[s->path[n - 1]] : start;
            continue;
        }
        a = s->dist[v] == 0 ? REMAT_NONE : next_arc(s, part, v);
        if (a != REMAT_NONE) {
            s->path[n++] = a;
            v = s->head[a];
            continue;
        }
        s->dist[v] = REMAT_NONE; /* done at this level */
        if (n > 0)
            v = s->head[s->twin[s->path[--n]]];
        if (s->work >= SPEND_AFTER) {
            enum remat_status status = spend(s);

            if (status != REMAT_OK)
                return status;
        }
    }
    return REMAT_OK;
}

static enum remat_status find_flow(struct remat_parametric *s,
                                   struct remat_part part, remat_wide *flow)
{
    enum remat_status status = REMAT_OK;

    while (status == REMAT_OK && level(s, part)) {
        for (uint32_t i = part.begin; i < part.end && status == REMAT_OK; i++)
            if (s->supply[s->order[i]] > 0)
                status = drain(s, part, s->order[i], flow);
        if (status == REMAT_OK)
            status = spend(s);
    }
    return status == REMAT_OK ? spend(s) : status;
}

/* ---- sides ------------------------------------------------------------- */

/* The last levels say who reaches open demand: the smallest sink side. Stable,
 * so that the order never depends on more than the network. */
static uint32_t take_sides(struct remat_parametric *s, struct remat_part part)
{
    uint32_t middle = part.begin;
    uint32_t n = 0;

    for (uint32_t i = part.begin; i < part.end; i++) {
        uint32_t v = s->order[i];

        if (s->dist[v] != REMAT_NONE)
            s->order[middle++] = v;
        else
            s->queue[n++] = v;
    }
    for (uint32_t i = 0; i < n; i++)
        s->order[middle + i] = s->queue[i];
    for (uint32_t i = part.begin; i < part.end; i++)
        s->place[s->order[i]] = i;
    return middle;
}

struct remat_change remat_parametric_change(const struct remat_parametric *s,
                                            struct remat_part moved)
{
    struct remat_change change = {0, 0};

    for (uint32_t i = moved.begin; i < moved.end; i++) {
        uint32_t v = s->order[i];

        change.flops += s->net->flops[v];
        for (uint32_t a = s->first[v]; a < s->first[v + 1]; a++) {
            if (s->place[s->head[a]] < moved.begin)
                change.bytes -= s->bytes[a];
            else if (s->place[s->head[a]] >= moved.end)
                change.bytes += s->bytes[s->twin[a]];
        }
    }
    return change;
}

enum remat_status remat_parametric_cut(struct remat_parametric *s,
                                       struct remat_part part, int64_t p,
                                       int64_t q, uint32_t *middle)
{
    remat_wide around_sink;
    remat_wide flow = load(s, part, p, q, &around_sink);
    struct remat_change change;
    enum remat_status status = find_flow(s, part, &flow);

    if (status != REMAT_OK)
        return status;
    *middle = take_sides(s, part);
    change =
        remat_parametric_change(s, (struct remat_part){part.begin, *middle});
    if (around_sink + (remat_wide)p * change.bytes +
            (remat_wide)q * change.flops !=
        flow)
        return remat_error_set(s->err, REMAT_E_BUG, REMAT_NONE,
                               "frontier: a cut differs from its flow");
    return REMAT_OK;
}
