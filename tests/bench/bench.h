/*
 * bench.h: the parts of the benchmark program.
 *
 * bench_main.c times whole requests and their phases; bench_flow.c takes the
 * network of a request as core hands it to its maximum flow, and runs that and
 * Boost's Boykov-Kolmogorov (peer.cpp) on it in turn; chain.c makes long
 * graphs. Results are JSON lines; run.py makes the table.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Monotonic nanoseconds. */
uint64_t bench_now_ns(void);
/* Sorts and returns the middle; n > 0. */
uint64_t bench_median(uint64_t *samples, size_t n);
/* Memory or the end of the program. */
void *bench_allocate(size_t n, size_t size);

/* A training step of about n_nodes nodes as a graph document: blocks of matrix
 * product, activation and residual add, every second one checkpointed, and
 * their backward. NUL-terminated; the caller frees it. */
char *bench_chain(uint32_t n_nodes, size_t *length);

/* A flow network in arrays, edge i from from[i] to to[i]. */
struct bench_network {
    uint32_t n_vertices;
    uint32_t n_edges;
    uint32_t source;
    uint32_t sink;
    uint32_t *from;
    uint32_t *to;
    int64_t *capacity;
};

/* What bench_flow.c saw; times are medians. */
struct bench_flow {
    uint32_t n_vertices;
    uint32_t n_edges;
    uint32_t n_samples;
    int64_t value;
    uint64_t ours_ns;        /* maximum flow on arcs laid out before */
    uint64_t peer_ns;        /* likewise */
    uint64_t ours_layout_ns; /* from the list of edges to the arcs */
    uint64_t peer_layout_ns; /* likewise */
};
/* From here on the next maximum flow of core is measured, for up to
 * `budget_ns`; bench_flow_end returns the result, n_samples 0 when there was no
 * (finite) flow to measure. */
void bench_flow_begin(uint64_t budget_ns);
struct bench_flow bench_flow_end(void);

/* Boost's solver on a network: the graph is laid out by peer_new, and each
 * peer_solve starts from zero flow and returns the value. */
struct peer;
struct peer *peer_new(const struct bench_network *network);
int64_t peer_solve(struct peer *peer);
void peer_free(struct peer *peer);

#ifdef __cplusplus
}
#endif

#endif
