/*
 * metrics.h: what is counted, and how Prometheus reads it (text format 0.0.4).
 *
 * Counters and histograms are atomics: counting takes no lock and allocates
 * nothing, from any thread. Every label comes from a fixed list, so no client
 * can make the document grow; what is in no list is "other". Gauges are not
 * kept here: whoever writes the document reads them and hands them in.
 *
 * Names and labels are a promise to dashboards and alert rules.
 */
#ifndef SRV_METRICS_H
#define SRV_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto.h"
#include "store.h"

/* A histogram with fixed bounds; the last bucket has none. */
#define SRV_BUCKETS_MOST 16
struct srv_histogram {
    atomic_uint_fast64_t counts[SRV_BUCKETS_MOST + 1];
    atomic_uint_fast64_t sum_ns;
};

enum {
    SRV_N_METHODS = 8,   /* known ones and "other" */
    SRV_N_STATUSES = 32, /* "closed", known ones and "other" */
    SRV_N_OUTCOMES = 64, /* as above: outcomes of jobs and problem codes */
    SRV_N_SIZES = 5,     /* up to 1e2, 1e3, 1e4, 1e5 nodes, and more */
    SRV_N_PHASES = PROTO_N_PHASES + 1, /* "queue" first */
    SRV_METRICS_PRIORITIES = 2
};

enum srv_cache_result {
    SRV_CACHE_HIT,       /* in memory */
    SRV_CACHE_STORE_HIT, /* in the store */
    SRV_CACHE_MAPPED,    /* same structure under other names */
    SRV_CACHE_MERGE,     /* joined a request that is being planned */
    SRV_CACHE_MISS,      /* planned */
    SRV_N_CACHE_RESULTS
};

const char *srv_cache_result_name(enum srv_cache_result result);

/* Counters of one route. */
struct srv_route_metrics {
    atomic_uint_fast64_t requests[SRV_N_METHODS][SRV_N_STATUSES];
    struct srv_histogram duration;
};

struct srv_metrics {
    const char *const *routes; /* not ours */
    size_t n_routes;
    struct srv_route_metrics *by_route; /* n_routes + 1: the last is "none" */
    atomic_uint_fast64_t jobs[SRV_N_OUTCOMES];
    atomic_uint_fast64_t refused[SRV_N_OUTCOMES];
    struct srv_histogram phases[SRV_N_PHASES][SRV_N_SIZES];
    atomic_uint_fast64_t cache[SRV_N_CACHE_RESULTS];
    atomic_uint_fast64_t saved_bytes;
};

/* `routes` are the values of the label route, which outlive the metrics. False
 * without memory. */
bool srv_metrics_init(struct srv_metrics *metrics, const char *const *routes,
                      size_t n_routes);
void srv_metrics_release(struct srv_metrics *metrics);

/* A request is over. route: its number in `routes`, n_routes or more for none.
 * status 0: closed without an answer. O(1). */
void srv_metrics_request(struct srv_metrics *metrics, size_t route,
                         const char *method, int status, uint64_t duration_ns);
/* A request was refused, by the code of its problem. */
void srv_metrics_refused(struct srv_metrics *metrics, const char *code);
/* A job reached its end: plan, infinite_flow, invalid_output, canceled,
 * expired, or the code of its problem. */
void srv_metrics_job(struct srv_metrics *metrics, const char *outcome);
/* How long a job waited, and how long each phase of a document took. n_nodes 0,
 * a graph that was not read: counts as the smallest. Phases that took no time
 * did not happen. */
void srv_metrics_queue(struct srv_metrics *metrics, uint32_t n_nodes,
                       uint64_t queue_ns);
void srv_metrics_phases(struct srv_metrics *metrics, uint32_t n_nodes,
                        const uint64_t phase_ns[PROTO_N_PHASES]);
void srv_metrics_cache(struct srv_metrics *metrics,
                       enum srv_cache_result result);
/* What the forward of a plan saves. */
void srv_metrics_saved(struct srv_metrics *metrics, uint64_t n_bytes);
/* What is true now. */
struct srv_gauges {
    bool is_ready;
    bool is_draining;
    uint64_t n_in_flight;
    uint64_t n_connections;
    uint64_t n_queued[SRV_METRICS_PRIORITIES]; /* interactive, batch */
    uint64_t oldest_queued_ns;                 /* how long; 0: none */
    uint64_t n_running;
    uint64_t n_workers;
    uint64_t cache_bytes;
    const struct srv_store_status *store; /* NULL: there is none to tell of */
};

/* The document, malloc'ed, NUL-terminated; NULL without memory. A histogram's
 * count is the sum of its buckets, also while others count. O(series). */
char *srv_metrics_write(const struct srv_metrics *metrics,
                        const struct srv_gauges *gauges, size_t *length);

#endif
