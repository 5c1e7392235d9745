/*
 * loop.c: handles of the loop thread and the order of the end (loop.h).
 */
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "desk.h"
#include "http.h"
#include "job.h"
#include "log.h"
#include "reload.h"

#define PULSE_MS         1000U
#define TICK_MS          100U /* how exact deadlines are */
#define DRAIN_TICK_MS    20U
#define PEERS_NS         (UINT64_C(500) * SRV_NS_PER_MS)
#define GRACE_S          UINT64_C(1)
#define STOP_S           UINT64_C(5) /* for who does not read its answer */
#define QUIET_TICKS      3U /* what is in the sockets has been seen then */
#define ACCEPTS_PER_TURN 64

/* ---- jobs and connections ---------------------------------------------- */

static void on_tick(uv_timer_t *tick);

/* Ticks only while there is something to watch. */
static void start_ticking(struct srv_loop *loop)
{
    if (!uv_is_active((const uv_handle_t *)&loop->tick))
        uv_timer_start(&loop->tick, on_tick, TICK_MS, TICK_MS);
}

static void on_wake(uv_async_t *wake)
{
    struct srv_loop *loop = wake->data;

    srv_desk_read(&loop->server->desk);
    srv_pool_pump(&loop->server->pool);
    start_ticking(loop);
}

/* Takes waiting connections; false when none was left. */
static bool accept_some(struct srv_loop *loop)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        const int fd =
            accept(loop->server->listener, (struct sockaddr *)&address, &size);

        if (fd >= 0) {
            srv_http_add(loop->server, fd, (const struct sockaddr *)&address,
                         size);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            /* Out of descriptors: the tick looks again, not a busy loop. */
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                uv_poll_stop(&loop->accept);
            return false;
        }
    }
    return true;
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
    struct srv_loop *loop = poll->data;

    (void)status;
    (void)events;
    (void)accept_some(loop);
    start_ticking(loop);
}

static void sweep(struct srv_loop *loop, uint64_t now_ns, bool stop)
{
    const bool check_peers = now_ns - loop->peers_checked_ns >= PEERS_NS;
    struct srv_sweep found =
        srv_registry_sweep(&loop->server->registry, now_ns, check_peers, stop);

    if (check_peers)
        loop->peers_checked_ns = now_ns;
    while (found.defer != NULL) {
        struct srv_request *request = found.defer;

        found.defer = request->next;
        srv_desk_keep(&loop->server->desk, request->job);
    }
    while (found.resume != NULL) {
        struct srv_request *request = found.resume;

        found.resume = request->next;
        if (request->is_interested)
            srv_desk_leave(&loop->server->desk, request->job);
        srv_http_resume(request);
    }
    srv_desk_tick(&loop->server->desk, now_ns);
}

/* ---- the end ----------------------------------------------------------- */

static void on_signal(uv_signal_t *handle, int number)
{
    struct srv_loop *loop = handle->data;
    struct srv_server *server = loop->server;
    const uint64_t now_ns = srv_now_ns();
    const uint64_t drain_s = server->config.drain_timeout;

    if (atomic_load(&server->phase) != SRV_SERVING) {
        loop->drain_end_ns = now_ns;
        return;
    }
    srv_log_event("info", "drain", "signal",
                  number == SIGTERM ? "SIGTERM" : "SIGINT");
    loop->drain_end_ns = now_ns + drain_s * SRV_NS_PER_S;
    loop->grace_end_ns =
        now_ns + (drain_s < GRACE_S ? drain_s : GRACE_S) * SRV_NS_PER_S;
    atomic_store(&server->phase, SRV_DRAINING);
    uv_timer_start(&loop->tick, on_tick, 0, DRAIN_TICK_MS);
}

static void on_hangup(uv_signal_t *handle, int number)
{
    struct srv_loop *loop = handle->data;

    (void)number;
    srv_reload(loop->server);
}

/* Who connected before the end is still answered, so the backlog is taken. */
static void close_listener(struct srv_loop *loop)
{
    while (accept_some(loop)) {
    }
    uv_poll_stop(&loop->accept);
    close(loop->server->listener);
    loop->server->listener = -1;
}

static void tick_draining(struct srv_loop *loop, uint64_t now_ns)
{
    const bool is_idle = srv_registry_n_counted(&loop->server->registry) == 0 &&
                         srv_desk_is_idle(&loop->server->desk);

    if (now_ns < loop->drain_end_ns &&
        !(is_idle && now_ns >= loop->grace_end_ns))
        return;
    close_listener(loop);
    loop->stop_end_ns = now_ns + STOP_S * SRV_NS_PER_S;
    atomic_store(&loop->server->phase, SRV_STOPPING);
    srv_desk_stop(&loop->server->desk);
}

static void tick_stopping(struct srv_loop *loop, uint64_t now_ns)
{
    struct srv_registry *registry = &loop->server->registry;

    srv_desk_stop(&loop->server->desk); /* also what has been kept since */
    if (srv_registry_n_counted(registry) > 0 ||
        srv_desk_n_alive(&loop->server->desk) > 0) {
        loop->n_quiet_ticks = 0;
        if (now_ns >= loop->stop_end_ns)
            srv_registry_shutdown(registry);
    } else if (++loop->n_quiet_ticks >= QUIET_TICKS) {
        uv_stop(&loop->uv);
    }
}

static void on_tick(uv_timer_t *tick)
{
    struct srv_loop *loop = tick->data;
    struct srv_server *server = loop->server;
    const uint64_t now_ns = srv_now_ns();
    const int phase = atomic_load(&server->phase);

    sweep(loop, now_ns, phase == SRV_STOPPING);
    if (phase == SRV_DRAINING)
        tick_draining(loop, now_ns);
    else if (phase == SRV_STOPPING)
        tick_stopping(loop, now_ns);
    if (server->listener >= 0 &&
        !uv_is_active((const uv_handle_t *)&loop->accept))
        uv_poll_start(&loop->accept, UV_READABLE, on_accept);
    if (phase == SRV_SERVING && srv_registry_is_quiet(&server->registry) &&
        srv_desk_is_idle(&server->desk))
        uv_timer_stop(&loop->tick);
}

static void on_pulse(uv_timer_t *pulse)
{
    const struct srv_loop *loop = pulse->data;

    atomic_store(&loop->server->loop_seen_ns, srv_now_ns());
}

/* ---- life -------------------------------------------------------------- */

int srv_loop_init(struct srv_loop *loop, struct srv_server *server)
{
    *loop = (struct srv_loop){.server = server};
    int error = uv_loop_init(&loop->uv);

    if (error == 0)
        error = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (error == 0)
        error = uv_timer_init(&loop->uv, &loop->tick);
    if (error == 0)
        error = uv_timer_init(&loop->uv, &loop->pulse);
    if (error == 0)
        error = uv_poll_init(&loop->uv, &loop->accept, server->listener);
    if (error == 0)
        error = uv_signal_init(&loop->uv, &loop->terminate);
    if (error == 0)
        error = uv_signal_init(&loop->uv, &loop->interrupt);
    if (error == 0)
        error = uv_signal_init(&loop->uv, &loop->hangup);
    /* From here on a signal is an orderly end, also before the loop runs. */
    if (error == 0)
        error = uv_signal_start(&loop->terminate, on_signal, SIGTERM);
    if (error == 0)
        error = uv_signal_start(&loop->interrupt, on_signal, SIGINT);
    if (error == 0)
        error = uv_signal_start(&loop->hangup, on_hangup, SIGHUP);
    loop->wake.data = loop;
    loop->tick.data = loop;
    loop->pulse.data = loop;
    loop->accept.data = loop;
    loop->terminate.data = loop;
    loop->interrupt.data = loop;
    loop->hangup.data = loop;
    return error;
}

static void mask_signals(int how)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(how, &signals, NULL);
}

void srv_loop_hold_signals(void)
{
    mask_signals(SIG_BLOCK);
}

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

static void after_nothing(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
}

int srv_loop_run(struct srv_loop *loop)
{
    int error = uv_poll_start(&loop->accept, UV_READABLE, on_accept);

    /* The pool starts its threads now, while signals are held. */
    if (error == 0)
        error = uv_queue_work(&loop->uv, &loop->first_work, do_nothing,
                              after_nothing);
    if (error == 0)
        error = uv_timer_start(&loop->pulse, on_pulse, 0, PULSE_MS);
    if (error != 0)
        return error;
    mask_signals(SIG_UNBLOCK);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    mask_signals(SIG_BLOCK);
    return 0;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

int srv_loop_close(struct srv_loop *loop)
{
    uv_walk(&loop->uv, close_handle, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT); /* until the last job has stopped */
    return uv_loop_close(&loop->uv);
}
