/*
 * listen.c: HOST:PORT to a listening socket, and whether that is loopback.
 */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "number.h"

#define BACKLOG 1024

struct place {
    char host[256];
    char port[8];
};

/* The last colon parts host and port; an IPv6 host is in brackets. */
static bool parse_place(const char *text, struct place *place)
{
    const char *colon = strrchr(text, ':');
    const char *host = text;

    if (colon == NULL || colon == text || strlen(colon + 1) == 0 ||
        strlen(colon + 1) >= sizeof place->port)
        return false;
    size_t n_host = (size_t)(colon - text);
    const bool bracketed = *text == '[';
    if (bracketed) {
        if (n_host < 3 || text[n_host - 1] != ']')
            return false;
        host++;
        n_host -= 2;
    }
    if (n_host >= sizeof place->host ||
        (!bracketed && memchr(host, ':', n_host) != NULL))
        return false;
    memcpy(place->host, host, n_host);
    place->host[n_host] = '\0';
    memcpy(place->port, colon + 1, strlen(colon + 1) + 1);
    return srv_is_port(place->port);
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 =
            (const struct sockaddr_in *)(const void *)address;

        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 =
            (const struct sockaddr_in6 *)(const void *)address;

        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) &&
                v6->sin6_addr.s6_addr[12] == 127);
    }
    return false;
}

/* A bound, listening socket, or -1 with errno. */
static int open_socket(const struct addrinfo *address)
{
    const int yes = 1;
    const int fd = socket(address->ai_family, SOCK_STREAM, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
        fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
        bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The address in numbers, with the port that was picked. */
static bool name_socket(struct srv_listener *listener)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[64];
    char port[8];

    if (getsockname(listener->fd, (struct sockaddr *)&address, &size) != 0 ||
        getnameinfo((const struct sockaddr *)&address, size, host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    const bool is_v6 = address.ss_family == AF_INET6;
    snprintf(listener->url, sizeof listener->url, "http://%s%s%s:%s",
             is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    return true;
}

static enum srv_listen_result open_listener(const char *flag,
                                            const char *listen_on, bool for_all,
                                            const struct addrinfo *address,
                                            struct srv_listener *listener)
{
    char why[128] = "";

    listener->is_loopback = is_loopback(address->ai_addr);
    if (!listener->is_loopback && !for_all) {
        fprintf(stderr,
                "rematd: %s %s can be reached from other machines, and "
                "everybody there could use the server. Give --tokens to say "
                "who may, --anonymous to allow everybody, or listen on "
                "127.0.0.1.\n",
                flag, listen_on);
        return SRV_LISTEN_WRONG;
    }
    listener->fd = open_socket(address);
    if (listener->fd >= 0 && name_socket(listener))
        return SRV_LISTEN_OK;
    if (strerror_r(errno, why, sizeof why) != 0)
        snprintf(why, sizeof why, "error %d", errno);
    fprintf(stderr, "rematd: %s %s: %s\n", flag, listen_on, why);
    return SRV_LISTEN_FAILED;
}

enum srv_listen_result srv_listen(const char *flag, const char *listen_on,
                                  bool for_all, struct srv_listener *listener)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    struct place place;

    if (!parse_place(listen_on, &place)) {
        fprintf(stderr,
                "rematd: %s \"%s\": must be HOST:PORT, an IPv6 address in "
                "brackets\n",
                flag, listen_on);
        return SRV_LISTEN_WRONG;
    }
    const int error = getaddrinfo(place.host, place.port, &hints, &addresses);
    if (error != 0) {
        fprintf(stderr, "rematd: %s %s: %s\n", flag, listen_on,
                gai_strerror(error));
        return SRV_LISTEN_WRONG;
    }
    const enum srv_listen_result result =
        open_listener(flag, listen_on, for_all, addresses, listener);
    freeaddrinfo(addresses);
    return result;
}
