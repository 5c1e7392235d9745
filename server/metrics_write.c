/*
 * metrics_write.c: the counters as a document of Prometheus' text format 0.0.4.
 *
 * Counters of which there are many combinations (routes, methods, statuses,
 * sizes) appear when they were counted first; the others are there from the
 * start, so that a rate over them sees the first event.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "metrics_table.h"
#include "process.h"

#define LABELS_SIZE 256

static const char *const size_names[SRV_N_SIZES] = {"1e2", "1e3", "1e4", "1e5",
                                                    "1e6"};
static const char *const cache_names[SRV_N_CACHE_RESULTS] = {
    "hit", "store_hit", "mapped", "merge", "miss"};
static const char *const priority_names[SRV_METRICS_PRIORITIES] = {
    "interactive", "batch"};

const char *srv_cache_result_name(enum srv_cache_result result)
{
    return cache_names[result];
}

static uint64_t value_of(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- the format -------------------------------------------------------- */

static void write_family(FILE *out, const char *name, const char *type,
                         const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Appends name="value" to labels; in a value \, " and line ends are escaped. */
static void add_label(char labels[LABELS_SIZE], const char *name,
                      const char *value)
{
    size_t n = strlen(labels);

    n += (size_t)snprintf(labels + n, LABELS_SIZE - n, "%s%s=\"",
                          n == 0 ? "" : ",", name);
    for (; *value != '\0' && n + 4 < LABELS_SIZE; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n')
            labels[n++] = '\\';
        labels[n++] = *value;
        if (*value == '\n')
            labels[n - 1] = 'n';
    }
    labels[n++] = '"';
    labels[n] = '\0';
}

static void write_counter(FILE *out, const char *name, const char *label,
                          const char *text, uint64_t value)
{
    char labels[LABELS_SIZE] = "";

    add_label(labels, label, text);
    fprintf(out, "%s{%s} %" PRIu64 "\n", name, labels, value);
}

static void write_plain(FILE *out, const char *name, const char *type,
                        const char *help, uint64_t value)
{
    write_family(out, name, type, help);
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void write_seconds(FILE *out, const char *name, const char *type,
                          const char *help, double value)
{
    write_family(out, name, type, help);
    fprintf(out, "%s %.6f\n", name, value);
}

static void write_sum(FILE *out, const char *name, const char *labels,
                      uint64_t sum_ns, uint64_t count)
{
    const char *open = *labels == '\0' ? "" : "{";
    const char *close = *labels == '\0' ? "" : "}";

    fprintf(out, "%s_sum%s%s%s %" PRIu64 ".%09" PRIu64 "\n", name, open, labels,
            close, sum_ns / 1000000000, sum_ns % 1000000000);
    fprintf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close,
            count);
}

static void write_histogram(FILE *out, const char *name, const char *labels,
                            const struct srv_histogram *histogram,
                            const struct srv_bounds *bounds)
{
    const char *comma = *labels == '\0' ? "" : ",";
    uint64_t count = 0;

    for (size_t i = 0; i < bounds->n; i++) {
        count += value_of(&histogram->counts[i]);
        fprintf(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels,
                comma, bounds->at[i].le, count);
    }
    count += value_of(&histogram->counts[bounds->n]);
    fprintf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels,
            comma, count);
    write_sum(out, name, labels, value_of(&histogram->sum_ns), count);
}

static bool is_counted(const struct srv_histogram *histogram,
                       const struct srv_bounds *bounds)
{
    for (size_t i = 0; i <= bounds->n; i++) {
        if (value_of(&histogram->counts[i]) > 0)
            return true;
    }
    return false;
}

/* ---- requests ---------------------------------------------------------- */

static const char *route_name(const struct srv_metrics *metrics, size_t route)
{
    return route < metrics->n_routes ? metrics->routes[route] : "none";
}

static void name_status(int status, char text[16])
{
    if (status > 0)
        snprintf(text, 16, "%d", status);
    else
        snprintf(text, 16, "%s", status == 0 ? "closed" : "other");
}

static void write_requests_of(FILE *out, const struct srv_metrics *metrics,
                              size_t route)
{
    const struct srv_route_metrics *of_route = &metrics->by_route[route];
    char status[16];

    for (size_t m = 0; m < SRV_N_METHODS; m++) {
        for (size_t s = 0; s < SRV_N_STATUSES; s++) {
            const uint64_t n = value_of(&of_route->requests[m][s]);
            char labels[LABELS_SIZE] = "";

            if (n == 0)
                continue;
            name_status(srv_metrics_status(s), status);
            add_label(labels, "route", route_name(metrics, route));
            add_label(labels, "method", srv_method_names[m]);
            add_label(labels, "status", status);
            fprintf(out, "rematd_http_requests_total{%s} %" PRIu64 "\n", labels,
                    n);
        }
    }
}

static void write_requests(FILE *out, const struct srv_metrics *metrics)
{
    write_family(out, "rematd_http_requests_total", "counter",
                 "Requests that are over, by what they were answered.");
    for (size_t i = 0; i <= metrics->n_routes; i++)
        write_requests_of(out, metrics, i);
    write_family(out, "rematd_http_request_duration_seconds", "histogram",
                 "From the request line to the last byte of the answer.");
    for (size_t i = 0; i <= metrics->n_routes; i++) {
        const struct srv_histogram *duration = &metrics->by_route[i].duration;
        char labels[LABELS_SIZE] = "";

        if (!is_counted(duration, &srv_duration_bounds))
            continue;
        add_label(labels, "route", route_name(metrics, i));
        write_histogram(out, "rematd_http_request_duration_seconds", labels,
                        duration, &srv_duration_bounds);
    }
}

/* ---- jobs -------------------------------------------------------------- */

/* The number of an outcome as a problem, or -1. */
static int problem_kind(const char *outcome)
{
    static const char *const codes[] = {
#define X(kind, code, status, title) code,
        PROTO_PROBLEM_MAP(X)
#undef X
    };

    for (int i = 1; i < (int)(sizeof codes / sizeof codes[0]); i++) {
        if (strcmp(codes[i], outcome) == 0)
            return i;
    }
    return -1;
}

/* Whether a refusal says "come back later". */
static bool is_of_load(int kind)
{
    const int status = proto_problem_status((enum proto_problem_kind)kind);

    return status == 429 || status == 503 || status == 507;
}

static void write_outcomes(FILE *out, const struct srv_metrics *metrics)
{
    write_family(out, "rematd_jobs_total", "counter",
                 "Jobs that reached their end, by how.");
    for (size_t i = 0; i < SRV_N_OUTCOMES; i++) {
        const char *outcome = srv_metrics_outcome(i);
        const uint64_t n = value_of(&metrics->jobs[i]);

        if (outcome != NULL && (n > 0 || i < SRV_N_JOB_ENDS))
            write_counter(out, "rematd_jobs_total", "outcome", outcome, n);
    }
    write_family(out, "rematd_refused_total", "counter",
                 "Requests that were refused, by the code of the problem.");
    for (size_t i = 0; i < SRV_N_OUTCOMES; i++) {
        const char *code = srv_metrics_outcome(i);
        const uint64_t n = value_of(&metrics->refused[i]);
        const int kind = code == NULL ? -1 : problem_kind(code);

        if (code != NULL && (n > 0 || (kind > 0 && is_of_load(kind))))
            write_counter(out, "rematd_refused_total", "code", code, n);
    }
}

static void write_phases(FILE *out, const struct srv_metrics *metrics)
{
    write_family(out, "rematd_job_phase_seconds", "histogram",
                 "Where the time of a job went, by the number of nodes of its "
                 "graph (up to).");
    for (size_t p = 0; p < SRV_N_PHASES; p++) {
        const char *phase =
            p == 0 ? "queue" : proto_phase_name((enum proto_phase)(p - 1));

        for (size_t s = 0; s < SRV_N_SIZES; s++) {
            char labels[LABELS_SIZE] = "";

            if (!is_counted(&metrics->phases[p][s], &srv_fine_bounds))
                continue;
            add_label(labels, "phase", phase);
            add_label(labels, "size", size_names[s]);
            write_histogram(out, "rematd_job_phase_seconds", labels,
                            &metrics->phases[p][s], &srv_fine_bounds);
        }
    }
}

static void write_jobs(FILE *out, const struct srv_metrics *metrics,
                       const struct srv_gauges *gauges)
{
    write_outcomes(out, metrics);
    write_phases(out, metrics);
    write_family(out, "rematd_queue_depth", "gauge",
                 "Jobs that wait for a worker.");
    for (size_t i = 0; i < SRV_METRICS_PRIORITIES; i++)
        write_counter(out, "rematd_queue_depth", "priority", priority_names[i],
                      gauges->n_queued[i]);
    write_seconds(out, "rematd_queue_oldest_seconds", "gauge",
                  "How long the oldest of them waits.",
                  (double)gauges->oldest_queued_ns / 1e9);
    write_plain(out, "rematd_jobs_running", "gauge",
                "Jobs that a worker has taken.", gauges->n_running);
    write_plain(out, "rematd_workers", "gauge",
                "Jobs that can run at the same time.", gauges->n_workers);
    write_plain(out, "rematd_saved_bytes_total", "counter",
                "Bytes that the forwards of all plans made here save.",
                value_of(&metrics->saved_bytes));
}

/* ---- the rest ---------------------------------------------------------- */

static void write_cache(FILE *out, const struct srv_metrics *metrics,
                        const struct srv_gauges *gauges)
{
    write_family(out, "rematd_cache_total", "counter",
                 "Where answers came from: memory, store, another graph of "
                 "the same structure, a request under way, a worker.");
    for (size_t i = 0; i < SRV_N_CACHE_RESULTS; i++)
        write_counter(out, "rematd_cache_total", "result", cache_names[i],
                      value_of(&metrics->cache[i]));
    write_plain(out, "rematd_cache_bytes", "gauge",
                "Bytes of answers kept in memory.", gauges->cache_bytes);
}

/* The store counts its transactions itself. */
static void write_commits(FILE *out, const struct srv_store_status *store)
{
    uint64_t count = 0;

    write_family(out, "rematd_store_commit_seconds", "histogram",
                 "How long transactions of the store took.");
    for (size_t i = 0; i <= SRV_STORE_BUCKETS; i++) {
        count += store->commit_buckets[i];
        if (i < SRV_STORE_BUCKETS)
            fprintf(out,
                    "rematd_store_commit_seconds_bucket{le=\"%g\"} %" PRIu64
                    "\n",
                    srv_store_bucket_s[i], count);
    }
    fprintf(out,
            "rematd_store_commit_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n",
            count);
    write_sum(out, "rematd_store_commit_seconds", "", store->commit_sum_ns,
              count);
}

static void write_store(FILE *out, const struct srv_store_status *store)
{
    if (store == NULL)
        return;
    write_plain(out, "rematd_store_up", "gauge",
                "Whether the store takes what is written.", store->up);
    write_plain(out, "rematd_store_bytes", "gauge",
                "Bytes of the store's files.", store->disk_bytes);
    write_commits(out, store);
    write_plain(out, "rematd_store_errors_total", "counter",
                "Writes to the store that failed.", store->n_errors);
}

static void write_process(FILE *out)
{
    struct srv_process process;

    srv_process_read(&process);
    write_plain(out, "process_resident_memory_bytes", "gauge",
                "Resident memory size in bytes.", process.resident_bytes);
    write_plain(out, "process_virtual_memory_bytes", "gauge",
                "Virtual memory size in bytes.", process.virtual_bytes);
    write_plain(out, "process_open_fds", "gauge",
                "Number of open file descriptors.", process.n_descriptors);
    write_plain(out, "process_max_fds", "gauge",
                "Maximum number of open file descriptors.",
                process.most_descriptors);
    write_plain(out, "process_threads", "gauge", "Number of threads.",
                process.n_threads);
    write_seconds(out, "process_start_time_seconds", "gauge",
                  "Start time of the process since unix epoch in seconds.",
                  process.started_s);
    write_seconds(out, "process_cpu_seconds_total", "counter",
                  "Total user and system CPU time spent in seconds.",
                  process.cpu_s);
}

char *srv_metrics_write(const struct srv_metrics *metrics,
                        const struct srv_gauges *gauges, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);

    if (out == NULL)
        return NULL;
    write_family(out, "rematd_build_info", "gauge",
                 "1; the version is a label.");
    write_counter(out, "rematd_build_info", "version", PROTO_ENGINE, 1);
    write_plain(out, "rematd_ready", "gauge", "Whether /readyz says yes.",
                gauges->is_ready);
    write_plain(out, "rematd_draining", "gauge", "Whether it is shutting down.",
                gauges->is_draining);
    write_plain(out, "rematd_connections", "gauge", "Open connections.",
                gauges->n_connections);
    write_plain(out, "rematd_http_requests_in_flight", "gauge",
                "Requests that are not over.", gauges->n_in_flight);
    write_requests(out, metrics);
    write_jobs(out, metrics, gauges);
    write_cache(out, metrics, gauges);
    write_store(out, gauges->store);
    write_process(out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}
