/*
 * ops.c: gathers what operators ask for. What the parts say of themselves is
 * copied under their own locks, one after the other, so that the whole is not
 * of one instant.
 */
#include "ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "health.h"
#include "metrics.h"
#include "process.h"
#include "server.h"
#include "text.h"

#define MOST_JOBS       100U /* of the table: the oldest */
#define MOST_PRINCIPALS 500U

bool srv_ops_takes(enum srv_call call)
{
    return call == SRV_CALL_LIVEZ || call == SRV_CALL_READYZ ||
           call == SRV_CALL_METRICS || call == SRV_CALL_OPS;
}

static struct srv_answer *text_answer(const char *bytes, const char *type)
{
    struct srv_text text = {0};

    srv_text_bytes(&text, bytes, strlen(bytes));
    return srv_text_answer(&text, type);
}

/* ---- probes ------------------------------------------------------------ */

static size_t n_queued(const struct srv_pool_state *pool)
{
    size_t n = 0;

    for (size_t i = 0; i < SRV_N_PRIORITIES; i++)
        n += pool->n_queued[i];
    return n;
}

/* How long ago; clocks of threads may be a little apart. */
static uint64_t age_ns(uint64_t since_ns)
{
    const uint64_t now_ns = srv_now_ns();

    return since_ns == 0 || since_ns > now_ns ? 0 : now_ns - since_ns;
}

static void read_health(struct srv_server *server, enum srv_probe probe,
                        const char *query, struct srv_health *health)
{
    const struct srv_pool_state pool = srv_pool_state(&server->pool);
    struct srv_store_status store;

    srv_store_status(server->store, &store);
    const struct srv_health_facts facts = {
        .loop_age_ns = age_ns(atomic_load(&server->loop_seen_ns)),
        .is_draining = srv_is_draining(server),
        .n_queued = n_queued(&pool),
        .queue_capacity = pool.capacity,
        .is_store_up = store.up,
    };
    srv_health_probe(&facts, probe, query, health);
}

static struct srv_answer *answer_probe(struct srv_server *server,
                                       enum srv_probe probe, const char *query,
                                       int *status,
                                       struct proto_problem *problem)
{
    struct srv_health health;

    read_health(server, probe, query, &health);
    *status = health.is_good ? 200 : 503;
    if (health.is_verbose)
        return text_answer(health.lines, "text/plain; charset=utf-8");
    if (health.is_good)
        return text_answer("{\"status\":\"ok\"}\n", "application/json");
    if (health.only_draining) {
        proto_problem_set(problem, PROTO_DRAINING, NULL,
                          "the server is shutting down");
        return NULL;
    }
    for (size_t i = 0; i < SRV_N_CHECKS; i++) {
        if (health.failed[i])
            proto_problem_set(problem, PROTO_NOT_READY, NULL,
                              "%s; ?verbose lists all checks", health.why[i]);
    }
    return NULL;
}

/* ---- metrics ----------------------------------------------------------- */

static struct srv_answer *answer_metrics(struct srv_server *server)
{
    const struct srv_pool_state pool = srv_pool_state(&server->pool);
    struct srv_store_status store;
    struct srv_health health;
    size_t length = 0;

    read_health(server, SRV_PROBE_READY, "", &health);
    srv_store_status(server->store, &store);
    const struct srv_gauges gauges = {
        .is_ready = health.is_good,
        .is_draining = srv_is_draining(server),
        .n_in_flight = srv_registry_n_counted(&server->registry),
        .n_connections = srv_registry_n_connections(&server->registry),
        .n_queued = {pool.n_queued[SRV_INTERACTIVE], pool.n_queued[SRV_BATCH]},
        .oldest_queued_ns = age_ns(pool.oldest_ns),
        .n_running = pool.n_running,
        .n_workers = pool.n_workers,
        .cache_bytes = srv_cache_bytes(&server->cache),
        .store = &store,
    };
    char *text = srv_metrics_write(&server->metrics, &gauges, &length);
    struct srv_answer *answer =
        text == NULL ? NULL : srv_answer_new_take(text, length);
    if (answer == NULL)
        free(text);
    else
        snprintf(answer->type, sizeof answer->type,
                 "text/plain; version=0.0.4; charset=utf-8");
    return answer;
}

/* ---- the operator table ------------------------------------------------ */

static void write_config(struct srv_text *text, const struct srv_config *config)
{
    struct srv_setting setting;

    srv_text_open(text, "config", '{');
    for (size_t i = 0; i < SRV_N_OPTIONS; i++) {
        srv_config_setting(config, i, &setting);
        srv_text_open(text, setting.flag, '{');
        srv_text_string(text, "value", setting.value);
        srv_text_string(text, "from", setting.origin);
        srv_text_close(text, '}');
    }
    srv_text_close(text, '}');
}

static void write_checks(struct srv_text *text, struct srv_server *server)
{
    struct srv_health health;

    read_health(server, SRV_PROBE_READY, "", &health);
    srv_text_bool(text, "ready", health.is_good);
    srv_text_open(text, "failed", '[');
    for (size_t i = 0; i < SRV_N_CHECKS; i++) {
        if (health.failed[i])
            srv_text_string(text, NULL, health.why[i]);
    }
    srv_text_close(text, ']');
}

static const char *phase_name(int phase)
{
    static const char *const names[] = {"serving", "draining", "stopping"};

    return names[phase];
}

static void write_process(struct srv_text *text)
{
    struct srv_process process;

    srv_process_read(&process);
    srv_text_open(text, "process", '{');
    srv_text_number(text, "pid", (uint64_t)getpid());
    srv_text_number(text, "resident_bytes", process.resident_bytes);
    srv_text_number(text, "open_files", process.n_descriptors);
    srv_text_number(text, "most_open_files", process.most_descriptors);
    srv_text_number(text, "threads", process.n_threads);
    srv_text_ms(text, "cpu_ms", (uint64_t)(process.cpu_s * 1e9));
    srv_text_close(text, '}');
}

static void write_queue(struct srv_text *text, struct srv_server *server)
{
    const struct srv_pool_state pool = srv_pool_state(&server->pool);

    srv_text_open(text, "workers", '{');
    srv_text_number(text, "all", pool.n_workers);
    srv_text_number(text, "busy", pool.n_running);
    srv_text_close(text, '}');
    srv_text_open(text, "queue", '{');
    srv_text_number(text, "interactive", pool.n_queued[SRV_INTERACTIVE]);
    srv_text_number(text, "batch", pool.n_queued[SRV_BATCH]);
    srv_text_number(text, "limit", pool.capacity);
    srv_text_ms(text, "oldest_ms", age_ns(pool.oldest_ns));
    srv_text_close(text, '}');
}

static uint64_t since_ms(int64_t from_ms, int64_t to_ms)
{
    return to_ms > from_ms ? (uint64_t)(to_ms - from_ms) : 0;
}

static void write_job(struct srv_text *text, const struct srv_running *job)
{
    srv_text_open(text, NULL, '{');
    if (job->id[0] != '\0')
        srv_text_string(text, "id", job->id);
    srv_text_string(text, "owner", job->owner);
    srv_text_string(text, "call", srv_call_name(job->call));
    srv_text_string(text, "phase", proto_phase_name(job->phase));
    if (job->total > 0) {
        srv_text_number(text, "done", job->done);
        srv_text_number(text, "of", job->total);
    }
    srv_text_number(text, "queued_ms",
                    since_ms(job->created_ms, job->started_ms));
    srv_text_number(text, "running_ms",
                    since_ms(job->started_ms, srv_wall_ms()));
    srv_text_close(text, '}');
}

static void write_jobs(struct srv_text *text, struct srv_server *server)
{
    struct srv_running *jobs = calloc(MOST_JOBS, sizeof *jobs);
    size_t n = 0;

    if (jobs != NULL)
        n = srv_desk_running(&server->desk, jobs, MOST_JOBS);
    srv_text_open(text, "running", '[');
    for (size_t i = 0; i < n; i++)
        write_job(text, &jobs[i]);
    srv_text_close(text, ']');
    free(jobs);
}

static void write_principals(struct srv_text *text, struct srv_server *server)
{
    struct srv_principal_view *views = calloc(MOST_PRINCIPALS, sizeof *views);
    size_t n = 0;

    if (views != NULL)
        n = srv_tokens_list(&server->tokens, views, MOST_PRINCIPALS);
    srv_text_open(text, "principals", '[');
    for (size_t i = 0; i < n; i++) {
        srv_text_open(text, NULL, '{');
        srv_text_string(text, "name", views[i].name);
        srv_text_number(text, "queued", views[i].n_queued);
        srv_text_number(text, "running", views[i].n_running);
        srv_text_number(text, "rate_limit", views[i].quota.rate);
        srv_text_number(text, "queue_limit", views[i].quota.queue);
        srv_text_number(text, "running_limit", views[i].quota.running);
        srv_text_close(text, '}');
    }
    srv_text_close(text, ']');
    free(views);
}

static void write_cache(struct srv_text *text, struct srv_server *server)
{
    static const char *const names[SRV_N_CACHE_RESULTS] = {
        "hits", "store_hits", "mapped", "merged", "misses"};

    srv_text_open(text, "cache", '{');
    srv_text_number(text, "bytes", srv_cache_bytes(&server->cache));
    srv_text_number(text, "limit_bytes", server->config.cache);
    srv_text_number(text, "plans", srv_cache_entries(&server->cache));
    for (size_t i = 0; i < SRV_N_CACHE_RESULTS; i++)
        srv_text_number(text, names[i], atomic_load(&server->metrics.cache[i]));
    srv_text_close(text, '}');
}

static void write_store(struct srv_text *text, struct srv_server *server)
{
    struct srv_store_status store;

    srv_store_status(server->store, &store);
    srv_text_open(text, "store", '{');
    srv_text_bool(text, "up", store.up);
    if (store.error[0] != '\0') {
        srv_text_string(text, "last_error", store.error);
        srv_text_time(text, "last_error_at", store.error_ms);
    }
    srv_text_number(text, "jobs", store.n_jobs);
    srv_text_number(text, "unfinished_jobs", store.n_unfinished);
    srv_text_number(text, "answers", store.n_answers);
    srv_text_number(text, "bytes", store.disk_bytes);
    srv_text_number(text, "limit_bytes", server->config.retain_bytes);
    srv_text_number(text, "free_disk_bytes", store.free_bytes);
    srv_text_number(text, "waiting_writes", store.n_waiting);
    srv_text_number(text, "failed_writes", store.n_errors);
    srv_text_number(text, "dropped_answers", store.n_dropped);
    srv_text_number(text, "swept", store.n_swept);
    srv_text_close(text, '}');
}

static void write_connections(struct srv_text *text, struct srv_server *server)
{
    srv_text_open(text, "connections", '{');
    srv_text_number(text, "open",
                    srv_registry_n_connections(&server->registry));
    srv_text_number(text, "limit", server->config.max_connections);
    srv_text_number(text, "requests",
                    srv_registry_n_counted(&server->registry));
    srv_text_number(text, "requests_ever", atomic_load(&server->n_requests));
    srv_text_close(text, '}');
    srv_text_open(text, "body_memory", '{');
    srv_text_number(text, "bytes", atomic_load(&server->budget.used_bytes));
    srv_text_number(text, "limit_bytes", server->budget.limit_bytes);
    srv_text_close(text, '}');
}

static struct srv_answer *answer_table(struct srv_server *server)
{
    struct srv_text text = {0};

    srv_text_open(&text, NULL, '{');
    srv_text_string(&text, "engine", PROTO_ENGINE);
    srv_text_time(&text, "time", srv_wall_ms());
    srv_text_ms(&text, "uptime_ms", age_ns(server->started_ns));
    srv_text_string(&text, "phase", phase_name(atomic_load(&server->phase)));
    write_checks(&text, server);
    write_queue(&text, server);
    write_jobs(&text, server);
    write_principals(&text, server);
    write_cache(&text, server);
    write_store(&text, server);
    write_connections(&text, server);
    write_process(&text);
    write_config(&text, &server->config);
    srv_text_close(&text, '}');
    srv_text_bytes(&text, "\n", 1);
    return srv_text_answer(&text, "application/json");
}

/* ---- all of them ------------------------------------------------------- */

struct srv_answer *srv_ops_answer(struct srv_server *server, enum srv_call call,
                                  const char *query, int *status,
                                  struct proto_problem *problem)
{
    struct srv_answer *answer = NULL;

    *status = 200;
    if (call == SRV_CALL_LIVEZ || call == SRV_CALL_READYZ)
        answer = answer_probe(
            server, call == SRV_CALL_LIVEZ ? SRV_PROBE_LIVE : SRV_PROBE_READY,
            query, status, problem);
    else if (call == SRV_CALL_METRICS)
        answer = answer_metrics(server);
    else
        answer = answer_table(server);
    if (answer == NULL)
        proto_problem_set(problem, PROTO_OUT_OF_MEMORY, NULL,
                          "no memory for the answer");
    return answer;
}
