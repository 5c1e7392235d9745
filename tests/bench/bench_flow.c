/*
 * bench_flow.c: our maximum flow against Boost's, on the network that core
 * itself built for a request.
 *
 * The linker routes core's call of remat_residual_build through here
 * (-Wl,--wrap), so neither core nor the network is changed for the benchmark:
 * both solvers get the same vertices, edges and clipped capacities. Runs
 * alternate, ours and the peer's, so that noise of the machine meets both.
 */
#include "bench.h"

#include "maxflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES 1000
#define MIN_SAMPLES 5

static struct {
    bool armed;
    uint64_t budget_ns;
    struct bench_flow result;
} state;

enum remat_status __real_remat_residual_build(struct remat_job *job,
                                              const struct remat_network *net,
                                              struct remat_residual *r,
                                              struct remat_error *err);
enum remat_status __wrap_remat_residual_build(struct remat_job *job,
                                              const struct remat_network *net,
                                              struct remat_residual *r,
                                              struct remat_error *err);

void bench_flow_begin(uint64_t budget_ns)
{
    state.armed = true;
    state.budget_ns = budget_ns;
    memset(&state.result, 0, sizeof state.result);
}

struct bench_flow bench_flow_end(void)
{
    state.armed = false;
    return state.result;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* The edges as arrays, with the capacities that r was given. */
static struct bench_network copy_network(const struct remat_network *net,
                                         const struct remat_residual *r)
{
    struct bench_network copy = {
        .n_vertices = net->n_vertices,
        .n_edges = net->n_edges,
        .source = net->source,
        .sink = net->sink,
        .from = bench_allocate(net->n_edges, sizeof(uint32_t)),
        .to = bench_allocate(net->n_edges, sizeof(uint32_t)),
        .capacity = bench_allocate(net->n_edges, sizeof(int64_t)),
    };

    for (uint32_t e = 0; e < net->n_edges; e++) {
        copy.from[e] = net->edges[e].from;
        copy.to[e] = net->edges[e].to;
        copy.capacity[e] = r->residual[r->arc[e]];
    }
    return copy;
}

/* Layout and flow of ours, once; the arena is as before afterwards. */
static int64_t run_ours(struct remat_job *job, const struct remat_network *net,
                        uint64_t *layout_ns, uint64_t *flow_ns)
{
    const struct remat_mark mark = remat_arena_mark(&job->arena);
    struct remat_residual r;
    struct remat_flow flow = {0};
    const uint64_t begin = bench_now_ns();

    must(__real_remat_residual_build(job, net, &r, NULL) == REMAT_OK,
         "our layout failed");
    const uint64_t middle = bench_now_ns();
    must(remat_maxflow(job, &r, &flow, NULL) == REMAT_OK, "our flow failed");
    *flow_ns = bench_now_ns() - middle;
    *layout_ns = middle - begin;
    remat_arena_rewind(&job->arena, mark);
    return flow.value;
}

static int64_t run_peer(const struct bench_network *network,
                        uint64_t *layout_ns, uint64_t *flow_ns)
{
    const uint64_t begin = bench_now_ns();
    struct peer *peer = peer_new(network);
    const uint64_t middle = bench_now_ns();
    const int64_t value = peer_solve(peer);

    *flow_ns = bench_now_ns() - middle;
    *layout_ns = middle - begin;
    peer_free(peer);
    return value;
}

static void measure(struct remat_job *job, const struct remat_network *net,
                    const struct bench_network *network)
{
    struct bench_flow *result = &state.result;
    uint64_t *ours = bench_allocate(4 * MAX_SAMPLES, sizeof *ours);
    uint64_t *ours_layout = ours + MAX_SAMPLES;
    uint64_t *peer = ours_layout + MAX_SAMPLES;
    uint64_t *peer_layout = peer + MAX_SAMPLES;
    const uint64_t begin = bench_now_ns();
    uint32_t n = 0;

    while (n < MAX_SAMPLES &&
           (n < MIN_SAMPLES || bench_now_ns() - begin < state.budget_ns)) {
        result->value = run_ours(job, net, &ours_layout[n], &ours[n]);
        must(run_peer(network, &peer_layout[n], &peer[n]) == result->value,
             "the two flows have different values");
        n++;
    }
    result->n_samples = n;
    result->n_vertices = net->n_vertices;
    result->n_edges = net->n_edges;
    result->ours_ns = bench_median(ours, n);
    result->ours_layout_ns = bench_median(ours_layout, n);
    result->peer_ns = bench_median(peer, n);
    result->peer_layout_ns = bench_median(peer_layout, n);
    free(ours);
}

enum remat_status __wrap_remat_residual_build(struct remat_job *job,
                                              const struct remat_network *net,
                                              struct remat_residual *r,
                                              struct remat_error *err)
{
    const enum remat_status status =
        __real_remat_residual_build(job, net, r, err);

    if (status == REMAT_OK && state.armed && !r->infinite) {
        struct bench_network network = copy_network(net, r);

        state.armed = false; /* the first cut of the request only */
        measure(job, net, &network);
        free(network.from);
        free(network.to);
        free(network.capacity);
    }
    return status;
}
