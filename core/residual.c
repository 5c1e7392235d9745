/*
 * residual.c: from a list of edges to arcs, and the two regions that infinite
 * edges tie to the source and to the sink.
 */
#include "residual.h"

#include "error.h"

#include <string.h>

static bool allocate(struct remat_arena *arena, const struct remat_network *net,
                     struct remat_residual *r)
{
    size_t n = net->n_vertices;

    *r = (struct remat_residual){.n_vertices = net->n_vertices,
                                 .n_arcs = 2 * net->n_edges,
                                 .source = net->source,
                                 .sink = net->sink};
    r->residual = REMAT_NEW_ARRAY(arena, int64_t, r->n_arcs);
    r->region = REMAT_NEW_ARRAY(arena, uint8_t, n);
    r->region_order = REMAT_NEW_ARRAY(arena, uint32_t, n);
    r->region_arc = REMAT_NEW_ARRAY(arena, uint32_t, n);
    return arena->status == REMAT_OK;
}

/* Counts the arcs of each vertex, then deals the edges out in their order, so
 * that the arcs of a vertex keep it. */
static bool lay_out_arcs(struct remat_arena *arena,
                         const struct remat_network *net,
                         struct remat_residual *r)
{
    uint32_t n = net->n_vertices;
    uint32_t *first = REMAT_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
    uint32_t *head = REMAT_NEW_ARRAY(arena, uint32_t, r->n_arcs);
    uint32_t *twin = REMAT_NEW_ARRAY(arena, uint32_t, r->n_arcs);
    uint32_t *arc = REMAT_NEW_ARRAY(arena, uint32_t, net->n_edges);

    if (arena->status != REMAT_OK)
        return false;
    for (uint32_t e = 0; e < net->n_edges; e++) {
        first[net->edges[e].from + 2]++;
        first[net->edges[e].to + 2]++;
    }
    for (uint32_t v = 0; v < n; v++)
        first[v + 2] += first[v + 1];
    /* first[v + 1] is where v's next arc goes; in the end, where v + 1 begins
     */
    for (uint32_t e = 0; e < net->n_edges; e++) {
        const struct remat_edge *edge = &net->edges[e];
        uint32_t forth = first[edge->from + 1]++;
        uint32_t back = first[edge->to + 1]++;

        head[forth] = edge->to;
        head[back] = edge->from;
        twin[forth] = back;
        twin[back] = forth;
        arc[e] = forth;
        r->residual[forth] = edge->capacity;
    }
    r->first = first;
    r->head = head;
    r->twin = twin;
    r->arc = arc;
    return true;
}

/* Breadth first from one terminal over infinite edges, along them from the
 * source, against them from the sink. Returns how many vertices it found. */
static uint32_t find_region(struct remat_residual *r, uint32_t terminal,
                            enum remat_region region, uint32_t *queue)
{
    uint32_t n = 0;

    r->region[terminal] = (uint8_t)region;
    queue[n++] = terminal;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = queue[i];

        for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++) {
            uint32_t toward = region == REMAT_AT_SOURCE ? a : r->twin[a];
            uint32_t u = r->head[a];

            if (r->residual[toward] != REMAT_INFINITE ||
                r->region[u] == (uint8_t)region)
                continue;
            if (r->region[u] != REMAT_BETWEEN) {
                r->infinite = true;
                return n;
            }
            r->region[u] = (uint8_t)region;
            r->region_arc[u] = toward;
            queue[n++] = u;
        }
    }
    return n;
}

/* The lesser of two finite cuts: around the source's region, and around the
 * sink's. Sticks at the greatest int64_t. */
static int64_t known_cut(const struct remat_network *net,
                         const struct remat_residual *r)
{
    int64_t at_source = 0;
    int64_t at_sink = 0;

    for (uint32_t e = 0; e < net->n_edges; e++) {
        uint8_t from = r->region[net->edges[e].from];
        uint8_t to = r->region[net->edges[e].to];
        int64_t capacity = net->edges[e].capacity;

        if (from == REMAT_AT_SOURCE && to != REMAT_AT_SOURCE)
            at_source = remat_add_saturating(at_source, capacity);
        if (to == REMAT_AT_SINK && from != REMAT_AT_SINK)
            at_sink = remat_add_saturating(at_sink, capacity);
    }
    return at_source < at_sink ? at_source : at_sink;
}

enum remat_status remat_residual_build(struct remat_job *job,
                                       const struct remat_network *net,
                                       struct remat_residual *r,
                                       struct remat_error *err)
{
    int64_t bound;

    if (!allocate(&job->arena, net, r) || !lay_out_arcs(&job->arena, net, r))
        return remat_job_no_memory(job, err);
    r->n_at_source =
        find_region(r, net->source, REMAT_AT_SOURCE, r->region_order);
    if (r->region[net->sink] == REMAT_AT_SOURCE)
        r->infinite = true;
    if (!r->infinite)
        r->n_at_sink = find_region(r, net->sink, REMAT_AT_SINK,
                                   r->region_order + r->n_at_source);
    if (r->infinite)
        return remat_job_spend(job, r->n_arcs, "regions", err);
    bound = known_cut(net, r);
    if (bound >= REMAT_WEIGHT_MAX)
        return remat_error_set(err, REMAT_E_WEIGHT, REMAT_NONE,
                               "network: every known cut costs 2^62 or more; "
                               "values this large cannot be weighed");
    for (uint32_t a = 0; a < r->n_arcs; a++)
        if (r->residual[a] > bound + 1)
            r->residual[a] = bound + 1;
    return remat_job_spend(job, r->n_arcs, "regions", err);
}
