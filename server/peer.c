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

void srv_peer_refuse(int fd, const struct proto_problem *problem,
                     const char *request_id, unsigned retry_after_s)
{
    char *document = proto_problem_encode(problem, request_id);
    const int status = proto_problem_status(problem->kind);
    char retry[48] = "";
    char answer[4096];

    if (retry_after_s > 0)
        snprintf(retry, sizeof retry, "Retry-After: %u\r\n", retry_after_s);
    if (document != NULL) {
        const int n = snprintf(
            answer, sizeof answer,
            "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
            "Content-Length: %zu\r\nX-Request-Id: %s\r\n%s"
            "Connection: close\r\n\r\n%s",
            status, MHD_get_reason_phrase_for((unsigned)status),
            strlen(document), request_id, retry, document);
        if (n > 0 && (size_t)n < sizeof answer)
            (void)!send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        proto_free(document);
    }
    srv_peer_shutdown(fd);
}

void srv_peer_shutdown(int fd)
{
    shutdown(fd, SHUT_RDWR);
}
