/*
 * cli_ping.c: `remat ping`, the container's health check: is a rematd there and
 * alive? One GET over a socket of our own, so that an image needs no curl.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "number.h"

#define PING_MS      3000 /* for all of it: a health check must not hang */
#define DEFAULT_PORT "7433"

struct target {
    char host[256];
    char port[8];
    char path[256];
    bool bracketed; /* an IPv6 address: the Host header wants its brackets */
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Copies n bytes and a NUL; false when they do not fit or are none. */
static bool copy_part(char *to, size_t size, const char *from, size_t n)
{
    if (n == 0 || n >= size)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

/* HOST, HOST:PORT, [HOST]:PORT up to `end`; a missing port is the default. */
static bool parse_authority(const char *text, const char *end,
                            struct target *target)
{
    const char *host_end = NULL;
    const char *rest = NULL;

    target->bracketed = *text == '[';
    if (target->bracketed) {
        text++;
        host_end = memchr(text, ']', (size_t)(end - text));
        if (host_end == NULL)
            return false;
        rest = host_end + 1;
    } else {
        host_end = memchr(text, ':', (size_t)(end - text));
        rest = host_end = host_end == NULL ? end : host_end;
    }
    if (!copy_part(target->host, sizeof target->host, text,
                   (size_t)(host_end - text)))
        return false;
    if (rest == end)
        return copy_part(target->port, sizeof target->port, DEFAULT_PORT,
                         strlen(DEFAULT_PORT));
    return *rest == ':' &&
           copy_part(target->port, sizeof target->port, rest + 1,
                     (size_t)(end - rest - 1)) &&
           srv_is_port(target->port);
}

static bool parse_url(const char *url, struct target *target)
{
    static const char scheme[] = "http://";

    if (strncmp(url, scheme, strlen(scheme)) != 0)
        return false;
    for (const char *c = url; *c != '\0'; c++) {
        if (*c <= ' ' || *c == 0x7f)
            return false; /* it would break the request line */
    }
    const char *authority = url + strlen(scheme);
    const char *path = strchr(authority, '/');
    const char *end = path == NULL ? url + strlen(url) : path;

    if (path == NULL || strcmp(path, "/") == 0)
        path = "/livez";
    return parse_authority(authority, end, target) &&
           copy_part(target->path, sizeof target->path, path, strlen(path));
}

/* The daemon of this machine or container: where its environment puts it, asked
 * over loopback when it listens on every address. The admin listener comes
 * first: it answers under overload, and never speaks TLS. */
static bool default_target(struct target *target)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread reads it */
    const char *listen = getenv("REMATD_ADMIN_LISTEN");

    if (listen == NULL || *listen == '\0')
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): likewise */
        listen = getenv("REMATD_LISTEN");
    if (listen == NULL || *listen == '\0')
        return parse_url("http://127.0.0.1:" DEFAULT_PORT, target);
    if (!copy_part(target->path, sizeof target->path, "/livez",
                   strlen("/livez")) ||
        !parse_authority(listen, listen + strlen(listen), target))
        return false;
    if (strcmp(target->host, "0.0.0.0") == 0)
        memcpy(target->host, "127.0.0.1", sizeof "127.0.0.1");
    if (strcmp(target->host, "::") == 0)
        memcpy(target->host, "::1", sizeof "::1");
    return true;
}

/* Waits until the socket can be written or read; false when time is up. */
static bool wait_for(int fd, short events, int64_t deadline_ms)
{
    for (;;) {
        const int64_t left = deadline_ms - now_ms();
        struct pollfd poller = {.fd = fd, .events = events};

        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        const int n_ready = poll(&poller, 1, (int)left);
        if (n_ready > 0)
            return true;
        if (n_ready < 0 && errno != EINTR)
            return false;
    }
}

/* A connected socket, or -1 with errno. */
static int connect_one(const struct addrinfo *address, int64_t deadline_ms)
{
    int error = 0;
    socklen_t size = sizeof error;
    const int fd = socket(address->ai_family, SOCK_STREAM, 0);

    if (fd < 0)
        return -1;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
        (connect(fd, address->ai_addr, address->ai_addrlen) == 0 ||
         (errno == EINPROGRESS && wait_for(fd, POLLOUT, deadline_ms)))) {
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
            error == 0)
            return fd;
        errno = error;
    }
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A connected socket, or -1 with errno, or with *why where the host has no
 * address. */
static int connect_any(const struct target *target, int64_t deadline_ms,
                       const char **why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    int fd = -1;
    const int error =
        getaddrinfo(target->host, target->port, &hints, &addresses);

    if (error != 0) {
        *why = gai_strerror(error);
        return -1;
    }
    for (const struct addrinfo *a = addresses; a != NULL && fd < 0;
         a = a->ai_next)
        fd = connect_one(a, deadline_ms);
    freeaddrinfo(addresses);
    return fd;
}

/* Sends the request; false with errno. */
static bool send_request(int fd, const struct target *target,
                         int64_t deadline_ms)
{
    char request[1024];
    const int length =
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: %s%s%s:%s\r\n"
                 "Connection: close\r\nUser-Agent: remat-ping\r\n\r\n",
                 target->path, target->bracketed ? "[" : "", target->host,
                 target->bracketed ? "]" : "", target->port);
    size_t sent = 0;

    while (sent < (size_t)length) {
        if (!wait_for(fd, POLLOUT, deadline_ms))
            return false;
        const ssize_t n =
            send(fd, request + sent, (size_t)length - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n > 0)
            sent += (size_t)n;
    }
    return true;
}

/* The status code of the answer, 0 when there is none that is HTTP. */
static int read_status(int fd, int64_t deadline_ms)
{
    char line[16] = "";
    size_t length = 0;
    const size_t want = strlen("HTTP/1.1 200");

    while (length < want) {
        if (!wait_for(fd, POLLIN, deadline_ms))
            return 0;
        const ssize_t n = recv(fd, line + length, want - length, 0);
        if (n > 0) {
            length += (size_t)n;
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            errno = n == 0 ? ECONNRESET : errno;
            return 0;
        }
    }
    int status = 0;
    errno = EPROTO;
    if (strncmp(line, "HTTP/1.", strlen("HTTP/1.")) != 0)
        return 0;
    for (const char *c = line + strlen("HTTP/1.1 "); *c != '\0'; c++) {
        if (*c < '0' || *c > '9')
            return 0;
        status = status * 10 + (*c - '0');
    }
    return status;
}

/* The status of GET on the target, 0 with errno or *why when there is no
 * answer.
 */
static int ask(const struct target *target, const char **why)
{
    const int64_t deadline_ms = now_ms() + PING_MS;
    const int fd = connect_any(target, deadline_ms, why);
    int status = 0;

    if (fd < 0)
        return 0;
    if (send_request(fd, target, deadline_ms))
        status = read_status(fd, deadline_ms);
    const int error = errno;
    close(fd);
    errno = error;
    return status;
}

enum cli_exit cli_ping(int argc, char **argv)
{
    struct target target;
    struct proto_problem problem = {0};
    char text[128] = "";
    const char *why = NULL;

    if (argc > 1 || (argc == 1 && argv[0][0] == '-'))
        return cli_usage_error("ping takes one address and no flags");
    if (argc == 1 && strncmp(argv[0], "https://", strlen("https://")) == 0)
        return cli_usage_error("ping: \"%s\": no TLS; ask rematd's "
                               "--admin-listen over http://",
                               argv[0]);
    if (argc == 1 ? !parse_url(argv[0], &target) : !default_target(&target))
        return cli_usage_error("ping: \"%s\" is not http://HOST:PORT",
                               argc == 1 ? argv[0] : "what REMATD_LISTEN says");
    const int status = ask(&target, &why);
    if (status == 200)
        return CLI_DONE;
    if (strerror_r(errno, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", errno);
    if (status == 0)
        proto_problem_set(&problem, PROTO_NOT_READY, NULL,
                          "no answer from %s port %s: %s; is rematd running?",
                          target.host, target.port, why == NULL ? text : why);
    else
        proto_problem_set(&problem, PROTO_NOT_READY, NULL,
                          "%s port %s answered %d to GET %s", target.host,
                          target.port, status, target.path);
    cli_problem_print(&problem);
    return CLI_GAVE_UP;
}
