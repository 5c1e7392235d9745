/*
 * metrics.c: counting. The document is written by metrics_write.c.
 */
#include "metrics.h"

#include <stdlib.h>
#include <string.h>

#include "metrics_table.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define MS(n) ((uint64_t)((n)*1e6))

static const struct srv_bound second_bounds[] = {
    {MS(1), "0.001"},  {MS(2.5), "0.0025"}, {MS(5), "0.005"},
    {MS(10), "0.01"},  {MS(25), "0.025"},   {MS(50), "0.05"},
    {MS(100), "0.1"},  {MS(250), "0.25"},   {MS(500), "0.5"},
    {MS(1000), "1"},   {MS(2500), "2.5"},   {MS(5000), "5"},
    {MS(10000), "10"}, {MS(30000), "30"},   {MS(60000), "60"},
};
static const struct srv_bound fine_bounds[] = {
    {MS(0.1), "0.0001"}, {MS(0.5), "0.0005"}, {MS(1), "0.001"},
    {MS(5), "0.005"},    {MS(10), "0.01"},    {MS(50), "0.05"},
    {MS(100), "0.1"},    {MS(500), "0.5"},    {MS(1000), "1"},
    {MS(5000), "5"},     {MS(10000), "10"},   {MS(60000), "60"},
};
_Static_assert(LENGTH(second_bounds) <= SRV_BUCKETS_MOST, "buckets");
_Static_assert(LENGTH(fine_bounds) <= SRV_BUCKETS_MOST, "buckets");

const struct srv_bounds srv_duration_bounds = {second_bounds,
                                               LENGTH(second_bounds)};
const struct srv_bounds srv_fine_bounds = {fine_bounds, LENGTH(fine_bounds)};

const char *const srv_method_names[SRV_N_METHODS] = {
    "GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "other"};

/* 0: closed without an answer. What is missing is "other". */
static const int statuses[] = {0,   200, 202, 204, 304, 400, 401, 403, 404,
                               405, 406, 408, 409, 410, 411, 412, 413, 415,
                               422, 429, 431, 500, 501, 503, 504, 507};
_Static_assert(LENGTH(statuses) < SRV_N_STATUSES, "statuses");

static const char *const outcomes[] = {"plan",
                                       "infinite_flow",
                                       "invalid_output",
                                       "canceled",
                                       "expired",
#define X(kind, code, status, title) code,
                                       PROTO_PROBLEM_MAP(X)
#undef X
};
_Static_assert(LENGTH(outcomes) < SRV_N_OUTCOMES, "outcomes");

int srv_metrics_status(size_t i)
{
    return i < LENGTH(statuses) ? statuses[i] : -1;
}

static size_t find_text(const char *const *list, size_t n, const char *text,
                        size_t other)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], text) == 0)
            return i;
    }
    return other;
}

static size_t find_status(int status)
{
    for (size_t i = 0; i < LENGTH(statuses); i++) {
        if (statuses[i] == status)
            return i;
    }
    return SRV_N_STATUSES - 1;
}

static size_t find_outcome(const char *text)
{
    return find_text(outcomes, LENGTH(outcomes), text, SRV_N_OUTCOMES - 1);
}

/* A job can end canceled, and a request for it be refused as "canceled": one
 * word, one counter. */
const char *srv_metrics_outcome(size_t i)
{
    if (i == SRV_N_OUTCOMES - 1)
        return "other";
    if (i >= LENGTH(outcomes) || find_outcome(outcomes[i]) != i)
        return NULL;
    return outcomes[i];
}

/* No order between counters is promised, so none is paid for. */
static void add(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void observe(struct srv_histogram *histogram,
                    const struct srv_bounds *bounds, uint64_t duration_ns)
{
    size_t i = 0;

    while (i < bounds->n && duration_ns > bounds->at[i].ns)
        i++;
    add(&histogram->counts[i], 1);
    add(&histogram->sum_ns, duration_ns);
}

bool srv_metrics_init(struct srv_metrics *metrics, const char *const *routes,
                      size_t n_routes)
{
    memset(metrics, 0, sizeof *metrics);
    metrics->routes = routes;
    metrics->n_routes = n_routes;
    metrics->by_route = calloc(n_routes + 1, sizeof metrics->by_route[0]);
    return metrics->by_route != NULL;
}

void srv_metrics_release(struct srv_metrics *metrics)
{
    free(metrics->by_route);
    metrics->by_route = NULL;
}

void srv_metrics_request(struct srv_metrics *metrics, size_t route,
                         const char *method, int status, uint64_t duration_ns)
{
    struct srv_route_metrics *of_route =
        &metrics
             ->by_route[route < metrics->n_routes ? route : metrics->n_routes];
    const size_t m = find_text(srv_method_names, SRV_N_METHODS - 1, method,
                               SRV_N_METHODS - 1);

    add(&of_route->requests[m][find_status(status)], 1);
    observe(&of_route->duration, &srv_duration_bounds, duration_ns);
}

void srv_metrics_refused(struct srv_metrics *metrics, const char *code)
{
    add(&metrics->refused[find_outcome(code)], 1);
}

void srv_metrics_job(struct srv_metrics *metrics, const char *outcome)
{
    add(&metrics->jobs[find_outcome(outcome)], 1);
}

static size_t size_class(uint32_t n_nodes)
{
    size_t i = 0;

    for (uint32_t most = 100; i < SRV_N_SIZES - 1 && n_nodes > most; i++)
        most *= 10;
    return i;
}

void srv_metrics_queue(struct srv_metrics *metrics, uint32_t n_nodes,
                       uint64_t queue_ns)
{
    observe(&metrics->phases[0][size_class(n_nodes)], &srv_fine_bounds,
            queue_ns);
}

void srv_metrics_phases(struct srv_metrics *metrics, uint32_t n_nodes,
                        const uint64_t phase_ns[PROTO_N_PHASES])
{
    const size_t size = size_class(n_nodes);

    for (size_t i = 0; i < PROTO_N_PHASES; i++) {
        if (phase_ns[i] > 0)
            observe(&metrics->phases[i + 1][size], &srv_fine_bounds,
                    phase_ns[i]);
    }
}

void srv_metrics_cache(struct srv_metrics *metrics,
                       enum srv_cache_result result)
{
    add(&metrics->cache[result], 1);
}

void srv_metrics_saved(struct srv_metrics *metrics, uint64_t n_bytes)
{
    add(&metrics->saved_bytes, n_bytes);
}
