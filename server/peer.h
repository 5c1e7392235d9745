/*
 * peer.h: what can be said about, and to, a socket behind the library's back.
 */
#ifndef SRV_PEER_H
#define SRV_PEER_H

#include <stdbool.h>

#include "proto.h"

/* Whether the other side has closed its end. Also a half-closed one counts as
 * gone: it cannot be told apart before something is written. */
bool srv_peer_is_gone(int fd);
/* Whether it has, and everything it sent was read. */
bool srv_peer_has_ended(int fd);
/* Whether it has sent something that was not read yet. */
bool srv_peer_has_sent(int fd);
/* Writes a whole HTTP answer with the problem, as far as it fits into the
 * socket's buffer, and ends the connection in both directions. The library
 * notices and closes the descriptor. retry_after_s 0: no header. On a TLS
 * connection nothing is written, since only the library could encrypt it. */
struct srv_refusal {
    const struct proto_problem *problem;
    const char *request_id;
    unsigned retry_after_s;
    bool is_tls;
};
void srv_peer_refuse(int fd, const struct srv_refusal *refusal);
void srv_peer_shutdown(int fd);

#endif
