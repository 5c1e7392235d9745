/*
 * reload.h: what is read when the server starts and again on SIGHUP: tokens and
 * certificate.
 */
#ifndef SRV_RELOAD_H
#define SRV_RELOAD_H

#include <stdbool.h>

struct srv_server;

/* At the start: sets who may do what, and reads the files; false after a
 * message on stderr. */
bool srv_reload_first(struct srv_server *server);
/* Reads the files again. One that has a fault changes nothing. Logs what came
 * of it: event "reload", outcome "ok" or "kept". */
void srv_reload(struct srv_server *server);
void srv_reload_release(struct srv_server *server);

#endif
