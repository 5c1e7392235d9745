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
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"
#include "http.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "server.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NO_START = 1,
    EXIT_USAGE = 2,
    EXIT_INTERNAL = 5
};

#define STACK_BYTES       ((rlim_t)1 << 20)
#define SPARE_DESCRIPTORS ((rlim_t)64)
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

    snprintf(text, sizeof text, "%" PRIu64, config->workers);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): still the only thread */
    setenv("UV_THREADPOOL_SIZE", text, 1);
}

static void announce(const struct srv_server *server, const char *url)
{
    struct srv_log log;

    printf("listening on %s\n", url);
    fflush(stdout);
    srv_log_begin(&log, "info", "start");
    srv_log_text(&log, "url", url);
    srv_log_text(&log, "engine", PROTO_ENGINE);
    srv_log_number(&log, "workers", server->config.workers);
    srv_log_number(&log, "pid", (uint64_t)getpid());
    srv_log_end(&log);
}

/* Serves until a signal; the exit code. */
static enum exit_code serve(struct srv_server *server, struct srv_loop *loop,
                            const char *url)
{
    enum exit_code code = EXIT_NO_START;

    if (srv_http_start(server)) {
        announce(server, url);
        if (srv_loop_run(loop) == 0)
            code = EXIT_DONE;
        srv_http_stop(server);
    } else {
        fprintf(stderr, "rematd: cannot start the HTTP thread\n");
    }
    if (srv_loop_close(loop) != 0) {
        srv_log_event("error", "stop", "message", "a handle was left open");
        return EXIT_INTERNAL;
    }
    srv_log_event("info", "stop", "message", "done");
    return code;
}

static enum exit_code start(struct srv_server *server,
                            const struct srv_listener *listener)
{
    struct srv_loop loop;

    server->listener = listener->fd;
    server->is_loopback = listener->is_loopback;
    server->budget.limit_bytes = (size_t)server->config.body_memory;
    if (getrandom(&server->instance, sizeof server->instance, 0) !=
        (ssize_t)sizeof server->instance)
        server->instance = srv_now_ns();
    if (srv_loop_init(&loop, server) != 0 ||
        srv_registry_init(&server->registry) != 0 ||
        srv_pool_init(&server->pool, (size_t)server->config.workers,
                      (size_t)server->config.queue, &loop.uv, &loop.wake,
                      srv_loop_job_done) != 0) {
        fprintf(stderr, "rematd: cannot start: out of memory or descriptors\n");
        return EXIT_NO_START;
    }
    const enum exit_code code = serve(server, &loop, listener->url);
    srv_pool_release(&server->pool);
    srv_registry_release(&server->registry);
    return code;
}

int main(int argc, char **argv)
{
    static struct srv_server server; /* zero, and as long as the process */
    struct srv_listener listener = {.fd = -1};

    if (!ensure_streams())
        return EXIT_NO_START;
    srv_loop_hold_signals(); /* until the loop can take them */
    switch (srv_config_read(&server.config, argc, argv)) {
    case SRV_CONFIG_DONE:
        return EXIT_DONE;
    case SRV_CONFIG_WRONG:
        return EXIT_USAGE;
    case SRV_CONFIG_UNSAID:
        return EXIT_INTERNAL;
    case SRV_CONFIG_RUN:
        break;
    }
    signal(SIGPIPE, SIG_IGN); /* a client that left is an errno */
    if (!ensure_stack())
        return EXIT_NO_START;
    fit_descriptors(&server.config);
    size_thread_pool(&server.config);
    keep_allocator_small();
    proto_start();
    switch (
        srv_listen(server.config.listen, server.config.anonymous, &listener)) {
    case SRV_LISTEN_WRONG:
        return EXIT_USAGE;
    case SRV_LISTEN_FAILED:
        return EXIT_NO_START;
    case SRV_LISTEN_OK:
        break;
    }
    return start(&server, &listener);
}
