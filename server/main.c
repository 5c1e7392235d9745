/*
 * main.c: rematd from its arguments to its exit code. 0: ended by a signal, in
 * order. 1: could not start. 2: wrong usage. 5: could not end in order.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin.h"
#include "clock.h"
#include "config.h"
#include "config_print.h"
#include "count.h"
#include "crash.h"
#include "failpoint.h"
#include "http.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "reload.h"
#include "server.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NO_START = 1,
    EXIT_USAGE = 2,
    EXIT_INTERNAL = 5
};

#define STACK_BYTES       ((rlim_t)1 << 20)
#define SPARE_DESCRIPTORS ((rlim_t)160) /* the admin listener has 64 */
#define MMAP_BYTES        (1 << 20)

/* Worker threads get their stack size from this limit (libuv), and JSON parsing
 * recurses; a container with a tiny limit must not crash. */
static bool ensure_stack(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= STACK_BYTES)
        return true;
    limit.rlim_cur = STACK_BYTES;
    if (setrlimit(RLIMIT_STACK, &limit) == 0)
        return true;
    fprintf(stderr, "rematd: needs stacks of 1 MiB (ulimit -s 1024)\n");
    return false;
}

/* A server started without standard streams would get its sockets in their
 * place, and write its log into them. */
static bool ensure_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    return fd >= 0 && close(fd) == 0;
}

/* Room for all connections, or fewer connections. */
static void fit_descriptors(struct srv_config *config)
{
    struct rlimit limit;
    const rlim_t need = (rlim_t)config->max_connections + SPARE_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < need) {
        config->max_connections = limit.rlim_cur > 2 * SPARE_DESCRIPTORS
                                      ? limit.rlim_cur - SPARE_DESCRIPTORS
                                      : SPARE_DESCRIPTORS / 2;
        srv_log_event("warn", "limits", "message",
                      "the limit of open files (ulimit -n) is below "
                      "--max-connections: fewer connections are allowed");
    }
}

/* Bodies and trees go back to the system when they are freed. Left alone, the
 * allocator raises this bound with every large block it sees, and keeps the
 * next ones. Growing such a block moves no bytes either. */
static void keep_allocator_small(void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): still the only thread */
    mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
}

/* Threads of libuv's pool. Its size is read at first use. */
static void size_thread_pool(const struct srv_config *config)
{
    char text[24];

    /* One more, which reads from the store what clients ask for. */
    snprintf(text, sizeof text, "%" PRIu64, config->workers + 1);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): still the only thread */
    setenv("UV_THREADPOOL_SIZE", text, 1);
}

struct listeners {
    struct srv_listener main;
    struct srv_listener admin;
};

static void announce(const struct srv_server *server,
                     const struct listeners *listeners)
{
    const char *rest = listeners->main.url + strlen("http");
    char url[128];
    struct srv_log log;

    snprintf(url, sizeof url, "http%s%s", srv_is_tls(server) ? "s" : "", rest);
    printf("listening on %s\n", url);
    if (server->admin != NULL)
        printf("admin listening on %s\n", listeners->admin.url);
    fflush(stdout);
    srv_log_begin(&log, "info", "start");
    srv_log_text(&log, "url", url);
    srv_log_text(&log, "admin_url",
                 server->admin != NULL ? listeners->admin.url : NULL);
    srv_log_text(&log, "engine", PROTO_ENGINE);
    srv_log_number(&log, "workers", server->config.workers);
    srv_log_number(&log, "pid", (uint64_t)getpid());
    srv_log_end(&log);
}

static void complain_of_thread(void)
{
    fprintf(stderr, "rematd: cannot start the HTTP thread\n");
}

/* With the HTTP thread running, which it ends. */
static enum exit_code run(struct srv_server *server, struct srv_loop *loop,
                          struct listeners *listeners)
{
    enum exit_code code = EXIT_NO_START;

    if (srv_admin_start(server, &listeners->admin)) {
        announce(server, listeners);
        if (srv_loop_run(loop) == 0)
            code = EXIT_DONE;
    } else {
        complain_of_thread();
    }
    srv_http_stop(server);
    srv_admin_stop(server); /* the last to go: it says how the end goes */
    /* What it still writes is told to the loop's handles. */
    srv_store_close(server->store);
    server->store = NULL;
    return code;
}

/* Serves until a signal; the exit code. */
static enum exit_code serve(struct srv_server *server, struct srv_loop *loop,
                            struct listeners *listeners)
{
    enum exit_code code = EXIT_NO_START;

    if (srv_http_start(server))
        code = run(server, loop, listeners);
    else
        complain_of_thread();
    if (srv_loop_close(loop) != 0) {
        srv_log_event("error", "stop", "message", "a handle was left open");
        return EXIT_INTERNAL;
    }
    srv_log_event("info", "stop", "message", "done");
    return code;
}

/* From here on a job that brings the process down is marked in `data`. */
static bool start_marking(const char *data)
{
    const int error = strcmp(data, ":memory:") != 0 ? srv_crash_start(data) : 0;

    if (error == 0)
        return true;
    fprintf(stderr,
            "rematd: --data %s: cannot write the file " SRV_CRASH_FILE
            " (error %d)\n",
            data, error);
    return false;
}

/* The store, and what is kept in memory. */
static bool open_store(struct srv_server *server)
{
    const struct srv_config *config = &server->config;
    struct srv_store_options options;
    char message[512];

    srv_store_options_init(&options);
    options.retain_ms = config->retain * 1000;
    options.retain_bytes = config->retain_bytes;
    options.max_body = (size_t)config->max_body;
    if (srv_cache_init(&server->cache, (size_t)config->cache) != 0) {
        fprintf(stderr, "rematd: cannot start: out of memory\n");
        return false;
    }
    server->store =
        srv_store_open(config->data, &options, message, sizeof message);
    if (server->store != NULL && start_marking(config->data))
        return true;
    if (server->store == NULL)
        fprintf(stderr, "rematd: --data %s: %s\n", config->data, message);
    srv_store_close(server->store);
    srv_cache_release(&server->cache);
    return false;
}

static bool recover(struct srv_server *server)
{
    struct srv_log log;
    const long n_jobs = srv_desk_recover(&server->desk);

    if (n_jobs < 0) {
        fprintf(stderr, "rematd: the jobs of --data cannot be read\n");
        return false;
    }
    srv_log_begin(&log, "info", "recovered");
    srv_log_number(&log, "jobs", (uint64_t)n_jobs);
    srv_log_end(&log);
    return true;
}

static enum exit_code start(struct srv_server *server,
                            struct listeners *listeners)
{
    struct srv_loop loop;
    enum exit_code code = EXIT_NO_START;

    server->listener = listeners->main.fd;
    server->started_ns = srv_now_ns();
    server->budget.limit_bytes = (size_t)server->config.body_memory;
    if (getrandom(&server->instance, sizeof server->instance, 0) !=
        (ssize_t)sizeof server->instance)
        server->instance = srv_now_ns();
    if (!srv_count_init(server) || !srv_site_init(&server->site) ||
        srv_loop_init(&loop, server) != 0 ||
        srv_registry_init(&server->registry,
                          server->config.heartbeat * SRV_NS_PER_S) != 0 ||
        srv_registry_init(&server->admin_registry, 0) != 0 ||
        srv_desk_init(&server->desk, server, &loop.wake) != 0 ||
        srv_groups_init(&server->groups, server) != 0 ||
        srv_pool_init(&server->pool, (size_t)server->config.workers,
                      (size_t)server->config.queue, &loop.wake, srv_desk_begun,
                      srv_desk_done) != 0) {
        fprintf(stderr, "rematd: cannot start: out of memory or descriptors\n");
        return EXIT_NO_START;
    }
    if (recover(server))
        code = serve(server, &loop, listeners);
    srv_desk_release(&server->desk);
    srv_groups_release(&server->groups);
    srv_pool_release(&server->pool);
    srv_registry_release(&server->registry);
    srv_registry_release(&server->admin_registry);
    srv_metrics_release(&server->metrics);
    srv_site_release(&server->site);
    return code;
}

static enum srv_listen_result listen_all(const struct srv_server *server,
                                         struct listeners *listeners)
{
    const struct srv_config *config = &server->config;
    const enum srv_listen_result result = srv_listen(
        "--listen", config->listen,
        config->anonymous || *config->tokens != '\0', &listeners->main);

    return result != SRV_LISTEN_OK
               ? result
               : srv_admin_listen(server, &listeners->admin);
}

static bool arm_fail_point(void)
{
    char message[1024];
    const bool is_right = srv_fail_point_start(message, sizeof message);

    if (!is_right)
        fprintf(stderr, "rematd: %s\n", message);
    return is_right;
}

int main(int argc, char **argv)
{
    static struct srv_server server; /* zero, and as long as the process */
    struct listeners listeners = {.main.fd = -1, .admin.fd = -1};
    enum exit_code code = EXIT_NO_START;

    if (!ensure_streams())
        return EXIT_NO_START;
    srv_loop_hold_signals(); /* until the loop can take them */
    const enum srv_config_result asked =
        srv_config_read(&server.config, argc, argv);
    if (asked == SRV_CONFIG_WRONG)
        return EXIT_USAGE;
    if (asked != SRV_CONFIG_RUN)
        return srv_config_print(&server.config, asked) ? EXIT_DONE
                                                       : EXIT_INTERNAL;
    if (!arm_fail_point())
        return EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN); /* a client that left is an errno */
    if (!ensure_stack())
        return EXIT_NO_START;
    fit_descriptors(&server.config);
    size_thread_pool(&server.config);
    keep_allocator_small();
    proto_start();
    if (!open_store(&server))
        return EXIT_NO_START;
    switch (listen_all(&server, &listeners)) {
    case SRV_LISTEN_WRONG:
        return EXIT_USAGE;
    case SRV_LISTEN_FAILED:
        return EXIT_NO_START;
    case SRV_LISTEN_OK:
        break;
    }
    server.is_loopback = listeners.main.is_loopback;
    if (srv_reload_first(&server)) {
        code = start(&server, &listeners);
        srv_reload_release(&server);
    }
    srv_crash_stop();
    srv_store_close(server.store);
    srv_cache_release(&server.cache);
    return (int)code;
}
