/*
 * listen.h: the listening socket.
 */
#ifndef SRV_LISTEN_H
#define SRV_LISTEN_H

#include <stdbool.h>

enum srv_listen_result {
    SRV_LISTEN_OK,
    SRV_LISTEN_WRONG, /* not an address, or one that needs --anonymous */
    SRV_LISTEN_FAILED /* taken, not ours, ... */
};

struct srv_listener {
    int fd;
    bool is_loopback;
    char url[96]; /* "http://127.0.0.1:7433" */
};

/* Opens a non-blocking listener on HOST:PORT, [HOST]:PORT, the value of `flag`
 * ("--listen"); beyond loopback only when it is `for_all`. After a
 * failure a message is on stderr. */
enum srv_listen_result srv_listen(const char *flag, const char *listen_on,
                                  bool for_all, struct srv_listener *listener);

#endif
