/*
 * http.h: the adapter to libmicrohttpd.
 *
 * The library runs in a thread of its own (http_thread.h) and gets its
 * connections from the loop thread (srv_http_add), so that listening, limits
 * and the end of listening are ours. A request that needs a plan is suspended,
 * its job handed to the pool, and resumed by the loop thread when there is
 * something to say.
 *
 * Note SUSPEND. The order matters: suspend, then make the request visible as
 * waiting (or, within a stream, as parked). Only what is visible so is ever
 * resumed by the loop thread, and once, because that also takes it out of that
 * stage under the registry's lock. What it waits for may have come before it is
 * visible: then the HTTP thread resumes it itself.
 */
#ifndef SRV_HTTP_H
#define SRV_HTTP_H

#include <stdbool.h>
#include <sys/socket.h>

struct srv_request;
struct srv_server;

/* Starts the HTTP thread; false when it cannot. */
bool srv_http_start(struct srv_server *server);
/* Takes over an accepted socket, or refuses and closes it. */
void srv_http_add(struct srv_server *server, int fd,
                  const struct sockaddr *address, socklen_t size);
/* Lets the HTTP thread answer a request that was waiting. Loop or HTTP thread.
 */
void srv_http_resume(const struct srv_request *request);
/* Ends the thread and closes every connection. No request may be waiting. */
void srv_http_stop(struct srv_server *server);

#endif
