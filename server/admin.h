/*
 * admin.h: --admin-listen, a listener for operators: /livez, /readyz, /metrics
 * and /v1/ops.
 *
 * It has a thread and connections of its own and waits for nothing that the
 * main listener can use up, so that it answers when that one is overloaded. It
 * asks for no token, except for /v1/ops beyond loopback.
 */
#ifndef SRV_ADMIN_H
#define SRV_ADMIN_H

#include <stdbool.h>

#include "listen.h"

struct srv_server;

/* Opens the listener of --admin-listen; fd -1 without one. */
enum srv_listen_result srv_admin_listen(const struct srv_server *server,
                                        struct srv_listener *listener);
/* Serves on it, until stopped; takes over the listener. False when it cannot.
 * Without a listener nothing happens. */
bool srv_admin_start(struct srv_server *server, struct srv_listener *listener);
void srv_admin_stop(struct srv_server *server);

#endif
