/*
 * loop.h: the loop thread (the main thread): accepts, moves jobs, sweeps
 * connections, handles signals, and ends it all in order.
 *
 * The end, after SIGTERM or SIGINT:
 *   draining  new work is answered 503; accepted work goes on; connections are
 *             still accepted, so that probes see /readyz say 503. For the drain
 *             time at most, or until nothing is left, but a second at least.
 *   stopping  the listener is closed; whoever still waits is answered 503 and
 *             running jobs are told to stop. Until every request is over: the
 *             library may not be stopped while one is suspended.
 * A second signal ends the drain time.
 */
#ifndef SRV_LOOP_H
#define SRV_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server.h"

struct srv_loop {
    struct srv_server *server;
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick;
    uv_timer_t pulse; /* says that the thread turns: health.h */
    uv_poll_t accept;
    uv_signal_t terminate;
    uv_signal_t interrupt;
    uv_signal_t hangup;   /* SIGHUP: reload.h */
    uv_work_t first_work; /* makes the pool start its threads */
    uint64_t peers_checked_ns;
    uint64_t drain_end_ns;
    uint64_t grace_end_ns;
    uint64_t stop_end_ns;
    unsigned n_quiet_ticks;
};

/* 0, or a libuv error. After srv_loop_init the pool can be given its handles;
 * srv_loop_run returns when every request is over. */
int srv_loop_init(struct srv_loop *loop, struct srv_server *server);
/* Keeps SIGTERM, SIGINT and SIGHUP from this thread and those it starts. Only
 * while srv_loop_run serves does the loop thread take them, so that one that
 * comes too early or too late does no harm. */
void srv_loop_hold_signals(void);
int srv_loop_run(struct srv_loop *loop);
/* Waits for the last jobs and closes all handles; 0, or a libuv error when
 * something was left over. After srv_http_stop. */
int srv_loop_close(struct srv_loop *loop);

#endif
