/*
 * Counting: the right counter, bounded labels, no event lost between threads,
 * a document that agrees with itself. Its grammar: test_metrics.py.
 */
#include "metrics.h"
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

static const char *const routes[] = {"/v1/plans", "/v1/\"odd\\route\n"};

static struct srv_metrics metrics;
static const struct srv_gauges no_gauges;

static void start(void)
{
    ck_assert(srv_metrics_init(&metrics, routes, 2));
}

/* Whether the document has that line. */
static bool says(const struct srv_gauges *gauges, const char *line)
{
    size_t length = 0;
    char *text = srv_metrics_write(&metrics, gauges, &length);
    char wanted[512];

    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), length);
    ck_assert(text[length - 1] == '\n');
    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    const bool found = strstr(text, wanted) != NULL;
    if (!found)
        fprintf(stderr, "not in:\n%s", text);
    free(text);
    return found;
}

START_TEST(requests)
{
    start();
    srv_metrics_request(&metrics, 0, "POST", 200, 3 * MS);
    srv_metrics_request(&metrics, 0, "POST", 200, 3 * MS);
    srv_metrics_request(&metrics, 0, "POST", 0, 3 * MS);
    srv_metrics_request(&metrics, 0, "BREW", 418, 3 * MS);
    srv_metrics_request(&metrics, 2, "GET", 404, 3 * MS);
    srv_metrics_request(&metrics, (size_t)-1, "GET", 404, 3 * MS);
    srv_metrics_request(&metrics, 1, "other", 200, 3 * MS);
    ck_assert(says(&no_gauges, "rematd_http_requests_total{route=\"/v1/plans\","
                               "method=\"POST\",status=\"200\"} 2"));
    ck_assert(says(&no_gauges, "rematd_http_requests_total{route=\"/v1/plans\","
                               "method=\"POST\",status=\"closed\"} 1"));
    ck_assert(says(&no_gauges, "rematd_http_requests_total{route=\"/v1/plans\","
                               "method=\"other\",status=\"other\"} 1"));
    ck_assert(says(&no_gauges, "rematd_http_requests_total{route=\"none\","
                               "method=\"GET\",status=\"404\"} 2"));
    ck_assert(says(&no_gauges, "rematd_http_requests_total{route="
                               "\"/v1/\\\"odd\\\\route\\n\",method=\"other\","
                               "status=\"200\"} 1"));
    srv_metrics_release(&metrics);
}
END_TEST

START_TEST(a_bound_belongs_to_its_bucket)
{
    start();
    srv_metrics_request(&metrics, 0, "GET", 200, 10 * MS);
    srv_metrics_request(&metrics, 0, "GET", 200, 10 * MS + 1);
    srv_metrics_request(&metrics, 0, "GET", 200, 0);
    srv_metrics_request(&metrics, 0, "GET", 200, 3600 * 1000 * MS);
#define BUCKET(le, n)                                                \
    ck_assert(says(&no_gauges, "rematd_http_request_duration_"       \
                               "seconds_bucket{route=\"/v1/plans\"," \
                               "le=\"" le "\"} " n))
    BUCKET("0.001", "1");
    BUCKET("0.005", "1");
    BUCKET("0.01", "2");
    BUCKET("0.025", "3");
    BUCKET("60", "3");
    BUCKET("+Inf", "4");
#undef BUCKET
    ck_assert(says(&no_gauges, "rematd_http_request_duration_seconds_sum{"
                               "route=\"/v1/plans\"} 3600.020000001"));
    ck_assert(says(&no_gauges, "rematd_http_request_duration_seconds_count{"
                               "route=\"/v1/plans\"} 4"));
    srv_metrics_release(&metrics);
}
END_TEST

START_TEST(every_problem_is_an_outcome)
{
    static const char *const codes[] = {
#define X(kind, code, status, title) code,
        PROTO_PROBLEM_MAP(X)
#undef X
    };
    const size_t n = sizeof codes / sizeof codes[0];
    char line[128];

    start();
    for (size_t i = 1; i < n; i++) {
        srv_metrics_job(&metrics, codes[i]);
        for (size_t k = 0; k < i; k++)
            srv_metrics_refused(&metrics, codes[i]);
    }
    for (size_t i = 1; i < n; i++) {
        snprintf(line, sizeof line, "rematd_jobs_total{outcome=\"%s\"} 1",
                 codes[i]);
        ck_assert(says(&no_gauges, line));
        snprintf(line, sizeof line, "rematd_refused_total{code=\"%s\"} %zu",
                 codes[i], i);
        ck_assert(says(&no_gauges, line));
    }
    srv_metrics_job(&metrics, "something new");
    srv_metrics_refused(&metrics, "something new");
    ck_assert(says(&no_gauges, "rematd_jobs_total{outcome=\"other\"} 1"));
    ck_assert(says(&no_gauges, "rematd_refused_total{code=\"other\"} 1"));
    srv_metrics_release(&metrics);
}
END_TEST

START_TEST(what_an_alert_rates_is_there_from_the_start)
{
    static const char *const lines[] = {
        "rematd_jobs_total{outcome=\"plan\"} 0",
        "rematd_jobs_total{outcome=\"infinite_flow\"} 0",
        "rematd_jobs_total{outcome=\"invalid_output\"} 0",
        "rematd_jobs_total{outcome=\"canceled\"} 0",
        "rematd_jobs_total{outcome=\"expired\"} 0",
        "rematd_refused_total{code=\"queue-full\"} 0",
        "rematd_refused_total{code=\"out-of-memory\"} 0",
        "rematd_cache_total{result=\"hit\"} 0",
        "rematd_cache_total{result=\"store_hit\"} 0",
        "rematd_cache_total{result=\"mapped\"} 0",
        "rematd_cache_total{result=\"merge\"} 0",
        "rematd_cache_total{result=\"miss\"} 0",
        "rematd_saved_bytes_total 0",
    };

    start();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(says(&no_gauges, lines[i]), "%s", lines[i]);
    srv_metrics_release(&metrics);
}
END_TEST

START_TEST(phases_by_size)
{
    static const struct {
        uint32_t n_nodes;
        const char *size;
    } cases[] = {{0, "1e2"},      {100, "1e2"},    {101, "1e3"},
                 {1000, "1e3"},   {10001, "1e5"},  {100000, "1e5"},
                 {100001, "1e6"}, {1000001, "1e6"}};
    uint64_t phase_ns[PROTO_N_PHASES] = {0};
    char line[128];

    phase_ns[1] = 2 * MS;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start();
        srv_metrics_queue(&metrics, cases[i].n_nodes, 0);
        srv_metrics_phases(&metrics, cases[i].n_nodes, phase_ns);
        snprintf(line, sizeof line,
                 "rematd_job_phase_seconds_count{phase=\"queue\",size=\"%s\"} "
                 "1",
                 cases[i].size);
        ck_assert(says(&no_gauges, line));
        snprintf(line, sizeof line,
                 "rematd_job_phase_seconds_sum{phase=\"%s\",size=\"%s\"} "
                 "0.002000000",
                 proto_phase_name((enum proto_phase)1), cases[i].size);
        ck_assert(says(&no_gauges, line));
        snprintf(line, sizeof line,
                 "rematd_job_phase_seconds_count{phase=\"%s\",size=\"%s\"} 1",
                 proto_phase_name((enum proto_phase)0), cases[i].size);
        size_t length = 0;
        char *text = srv_metrics_write(&metrics, &no_gauges, &length);
        ck_assert_ptr_null(strstr(text, line)); /* it took no time */
        free(text);
        srv_metrics_release(&metrics);
    }
}
END_TEST

START_TEST(gauges_are_told)
{
    const struct srv_store_status store = {
        .up = true,
        .disk_bytes = 10,
        .n_errors = 1,
        .commit_buckets = {[3] = 1, [SRV_STORE_BUCKETS] = 4},
        .commit_sum_ns = 2 * MS};
    const struct srv_gauges gauges = {.is_ready = true,
                                      .n_in_flight = 3,
                                      .n_connections = 4,
                                      .n_queued = {5, 6},
                                      .oldest_queued_ns = 1500 * MS,
                                      .n_running = 7,
                                      .n_workers = 8,
                                      .cache_bytes = 9,
                                      .store = &store};
    char line[128];

    start();
    srv_metrics_saved(&metrics, UINT64_C(1) << 40);
    srv_metrics_cache(&metrics, SRV_CACHE_MERGE);
    ck_assert(says(&gauges, "rematd_ready 1"));
    ck_assert(says(&gauges, "rematd_draining 0"));
    ck_assert(says(&gauges, "rematd_http_requests_in_flight 3"));
    ck_assert(says(&gauges, "rematd_connections 4"));
    ck_assert(says(&gauges, "rematd_queue_depth{priority=\"interactive\"} 5"));
    ck_assert(says(&gauges, "rematd_queue_depth{priority=\"batch\"} 6"));
    ck_assert(says(&gauges, "rematd_queue_oldest_seconds 1.500000"));
    ck_assert(says(&gauges, "rematd_jobs_running 7"));
    ck_assert(says(&gauges, "rematd_workers 8"));
    ck_assert(says(&gauges, "rematd_cache_bytes 9"));
    ck_assert(says(&gauges, "rematd_store_up 1"));
    ck_assert(says(&gauges, "rematd_store_bytes 10"));
    ck_assert(says(&gauges, "rematd_store_commit_seconds_count 5"));
    ck_assert(says(&gauges, "rematd_store_commit_seconds_sum 0.002000000"));
    for (size_t i = 0; i < SRV_STORE_BUCKETS; i++) {
        snprintf(line, sizeof line,
                 "rematd_store_commit_seconds_bucket{le=\"%g\"} %d",
                 srv_store_bucket_s[i], i < 3 ? 0 : 1);
        ck_assert(says(&gauges, line));
    }
    ck_assert(says(&gauges, "rematd_store_errors_total 1"));
    ck_assert(says(&gauges, "rematd_saved_bytes_total 1099511627776"));
    ck_assert(says(&gauges, "rematd_cache_total{result=\"merge\"} 1"));
    srv_metrics_release(&metrics);
}
END_TEST

enum {
    N_THREADS = 4,
    N_EVENTS = 20000
};

static void *count(void *argument)
{
    const uint64_t phase_ns[PROTO_N_PHASES] = {1};

    (void)argument;
    for (int i = 0; i < N_EVENTS; i++) {
        srv_metrics_request(&metrics, 0, "POST", 200, MS);
        srv_metrics_job(&metrics, "plan");
        srv_metrics_queue(&metrics, 50, MS);
        srv_metrics_phases(&metrics, 50, phase_ns);
        srv_metrics_saved(&metrics, 3);
    }
    return NULL;
}

START_TEST(no_event_is_lost)
{
    pthread_t threads[N_THREADS];
    char line[128];

    start();
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count, NULL), 0);
    for (int i = 0; i < 20; i++) { /* reading does not disturb */
        size_t length = 0;
        char *text = srv_metrics_write(&metrics, &no_gauges, &length);

        ck_assert_ptr_nonnull(text);
        free(text);
    }
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    snprintf(line, sizeof line, "rematd_jobs_total{outcome=\"plan\"} %d",
             N_THREADS * N_EVENTS);
    ck_assert(says(&no_gauges, line));
    snprintf(line, sizeof line, "rematd_saved_bytes_total %d",
             3 * N_THREADS * N_EVENTS);
    ck_assert(says(&no_gauges, line));
    snprintf(line, sizeof line,
             "rematd_http_request_duration_seconds_bucket{route=\"/v1/plans\","
             "le=\"0.001\"} %d",
             N_THREADS * N_EVENTS);
    ck_assert(says(&no_gauges, line));
    snprintf(line, sizeof line,
             "rematd_job_phase_seconds_sum{phase=\"queue\",size=\"1e2\"} "
             "%d.000000000",
             N_THREADS * N_EVENTS / 1000);
    ck_assert(says(&no_gauges, line));
    srv_metrics_release(&metrics);
}
END_TEST

SUITE("metrics", requests, a_bound_belongs_to_its_bucket,
      every_problem_is_an_outcome, what_an_alert_rates_is_there_from_the_start,
      phases_by_size, gauges_are_told, no_event_is_lost)
