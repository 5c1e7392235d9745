/*
 * test_http_thread.c: the thread of the HTTP library, with requests that are
 * suspended and resumed in every order, and all of them at once.
 */
#include "http_thread.h"

#include <microhttpd.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "registry.h"
#include "suite.h"

#define MOST 300

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

enum way {
    AT_ONCE,   /* answers when it is asked */
    BY_ITSELF, /* suspends and resumes within one call */
    BY_ANOTHER /* another thread resumes */
};

struct bench {
    enum way way;
    struct srv_http_thread thread;
    struct srv_registry registry;
    struct MHD_Daemon *library;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct MHD_Connection *suspended[MOST];
    size_t n_suspended;
    int clients[MOST];
};

static enum MHD_Result answer(struct MHD_Connection *connection)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    const enum MHD_Result result =
        MHD_queue_response(connection, MHD_HTTP_OK, response);

    MHD_destroy_response(response);
    return result;
}

static void suspend(struct bench *bench, struct MHD_Connection *connection)
{
    MHD_suspend_connection(connection);
    if (bench->way == BY_ITSELF) {
        MHD_resume_connection(connection);
        srv_http_thread_wake(&bench->thread);
        return;
    }
    pthread_mutex_lock(&bench->lock);
    bench->suspended[bench->n_suspended++] = connection;
    pthread_cond_signal(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
}

/* Called for the header, for the end, and again after a resume. */
static enum MHD_Result on_request(void *context,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *data,
                                  size_t *n_bytes, void **state)
{
    static char header; /* only their addresses matter */
    static char waited;
    struct bench *bench = context;

    (void)url;
    (void)method;
    (void)version;
    (void)data;
    (void)n_bytes;
    if (*state == NULL) {
        *state = &header;
        return MHD_YES;
    }
    if (bench->way == AT_ONCE || *state == &waited)
        return answer(connection);
    *state = &waited;
    suspend(bench, connection);
    return MHD_YES;
}

static void on_connection(void *context, struct MHD_Connection *connection,
                          void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct bench *bench = context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context =
            srv_registry_open(&bench->registry, info->connect_fd, UINT64_MAX);
    else
        srv_registry_close(&bench->registry, *socket_context);
}

static void begin(struct bench *bench, enum way way)
{
    memset(bench, 0, sizeof *bench);
    bench->way = way;
    pthread_mutex_init(&bench->lock, NULL);
    pthread_cond_init(&bench->changed, NULL);
    ck_assert_int_eq(srv_registry_init(&bench->registry, 0), 0);
    bench->library = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0,
        NULL, NULL, on_request, bench, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, bench, MHD_OPTION_END);
    ck_assert_ptr_nonnull(bench->library);
    ck_assert(srv_http_thread_start(&bench->thread, bench->library,
                                    &bench->registry));
}

static void end(struct bench *bench)
{
    srv_http_thread_stop(&bench->thread);
    MHD_stop_daemon(bench->library);
    ck_assert(srv_registry_is_quiet(&bench->registry));
    srv_registry_release(&bench->registry);
    pthread_cond_destroy(&bench->changed);
    pthread_mutex_destroy(&bench->lock);
}

/* A client whose request has been sent before the library knows it. */
static void ask(struct bench *bench, size_t i)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX};
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
                     0);
    ck_assert_int_eq(write(pair[0], request, sizeof request - 1),
                     sizeof request - 1);
    bench->clients[i] = pair[0];
    ck_assert(srv_registry_expect(&bench->registry, MOST));
    srv_http_thread_add(&bench->thread, pair[1],
                        (const struct sockaddr *)&address, sizeof address);
}

/* Waits for what the client is sent; true: an answer, false: the end. */
static bool is_answered(const struct bench *bench, size_t i)
{
    static const char success[] = "HTTP/1.1 200 ";
    struct pollfd polled = {.fd = bench->clients[i], .events = POLLIN};
    char bytes[512];

    ck_assert_int_eq(poll(&polled, 1, -1), 1);
    const ssize_t n = read(bench->clients[i], bytes, sizeof bytes);
    close(bench->clients[i]);
    if (n <= 0)
        return false;
    ck_assert_int_ge(n, sizeof success - 1);
    ck_assert_mem_eq(bytes, success, sizeof success - 1);
    return true;
}

/* Nothing else happens after they have asked: nothing else wakes the thread. */
static void check_all(enum way way, size_t n_clients)
{
    static struct bench bench;

    begin(&bench, way);
    for (size_t i = 0; i < n_clients; i++)
        ask(&bench, i);
    for (size_t n = 0; way == BY_ANOTHER && n < n_clients; n++) {
        pthread_mutex_lock(&bench.lock);
        while (bench.n_suspended <= n)
            pthread_cond_wait(&bench.changed, &bench.lock);
        struct MHD_Connection *connection = bench.suspended[n];
        pthread_mutex_unlock(&bench.lock);
        MHD_resume_connection(connection);
        srv_http_thread_wake(&bench.thread);
    }
    for (size_t i = 0; i < n_clients; i++)
        ck_assert(is_answered(&bench, i));
    end(&bench);
}

/* Around the number of events that the library takes at once. */
static void check_sizes(enum way way)
{
    static const size_t sizes[] = {1, 2, 127, 128, 129, 256, MOST};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_all(way, sizes[i]);
}

START_TEST(test_answers)
{
    check_sizes(AT_ONCE);
}
END_TEST

START_TEST(test_resumes_its_own)
{
    check_sizes(BY_ITSELF);
}
END_TEST

START_TEST(test_resumed_by_another)
{
    check_sizes(BY_ANOTHER);
}
END_TEST

START_TEST(test_stops_at_any_moment)
{
    static struct bench bench;

    for (size_t n_clients = 0; n_clients < 40; n_clients++) {
        begin(&bench, AT_ONCE);
        for (size_t i = 0; i < n_clients; i++)
            ask(&bench, i);
        end(&bench);
        for (size_t i = 0; i < n_clients; i++)
            (void)is_answered(&bench, i); /* or closed, but not left */
    }
}
END_TEST

SUITE("http_thread", test_answers, test_resumes_its_own,
      test_resumed_by_another, test_stops_at_any_moment)
