/*
 * peer.c: see peer.h.
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "peer.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

bool srv_peer_is_gone(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLRDHUP};

    return poll(&poller, 1, 0) == 1 &&
           (poller.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool srv_peer_has_ended(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool srv_peer_has_sent(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void write_refusal(int fd, const struct srv_refusal *refusal)
{
    char *document =
        proto_problem_encode(refusal->problem, refusal->request_id);
    const int status = proto_problem_status(refusal->problem->kind);
    char retry[48] = "";
    char answer[4096];

    if (document == NULL)
        return;
    if (refusal->retry_after_s > 0)
        snprintf(retry, sizeof retry, "Retry-After: %u\r\n",
                 refusal->retry_after_s);
    const int n =
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                 "Content-Length: %zu\r\nX-Request-Id: %s\r\n%s"
                 "Connection: close\r\n\r\n%s",
                 status, MHD_get_reason_phrase_for((unsigned)status),
                 strlen(document), refusal->request_id, retry, document);
    if (n > 0 && (size_t)n < sizeof answer)
        (void)!send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    proto_free(document);
}

void srv_peer_refuse(int fd, const struct srv_refusal *refusal)
{
    if (!refusal->is_tls)
        write_refusal(fd, refusal);
    srv_peer_shutdown(fd);
}

void srv_peer_shutdown(int fd)
{
    shutdown(fd, SHUT_RDWR);
}
