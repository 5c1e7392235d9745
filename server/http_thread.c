/*
 * http_thread.c: wait, hand sockets on, let the library run, again.
 */
#include "http_thread.h"

#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "registry.h"

/* A socket on its way to the library. */
struct srv_handed {
    struct srv_handed *next;
    struct srv_handed *prev; /* of utlist */
    int fd;
    socklen_t size;
    struct sockaddr_storage address;
};

/* ---- sockets on their way ---------------------------------------------- */

static void append(struct srv_http_thread *thread, struct srv_handed *handed)
{
    pthread_mutex_lock(&thread->lock);
    DL_APPEND(thread->first, handed);
    pthread_mutex_unlock(&thread->lock);
}

static struct srv_handed *take_all(struct srv_http_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    struct srv_handed *handed = thread->first;
    thread->first = NULL;
    pthread_mutex_unlock(&thread->lock);
    return handed;
}

static void hand_on(struct srv_http_thread *thread)
{
    struct srv_handed *handed;
    struct srv_handed *next;

    DL_FOREACH_SAFE(take_all(thread), handed, next)
    {
        /* Closes the socket itself when it fails. */
        if (MHD_add_connection(thread->library, handed->fd,
                               (const struct sockaddr *)&handed->address,
                               handed->size) != MHD_YES)
            srv_registry_unexpect(thread->registry);
        free(handed);
    }
}

static void drop(struct srv_http_thread *thread, int fd)
{
    srv_registry_unexpect(thread->registry);
    close(fd);
}

void srv_http_thread_add(struct srv_http_thread *thread, int fd,
                         const struct sockaddr *address, socklen_t size)
{
    struct srv_handed *handed = calloc(1, sizeof *handed);

    if (handed == NULL || size > sizeof handed->address) {
        free(handed);
        drop(thread, fd);
        return;
    }
    handed->fd = fd;
    handed->size = size;
    memcpy(&handed->address, address, size);
    append(thread, handed);
    srv_http_thread_wake(thread);
}

/* ---- the thread -------------------------------------------------------- */

/* What poll(2) may wait, in milliseconds; -1 for ever. */
static int patience_ms(const struct srv_http_thread *thread)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;

    if (MHD_get_timeout(thread->library, &ms) != MHD_YES)
        return -1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void *run(void *context)
{
    struct srv_http_thread *thread = context;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(
        thread->library, MHD_DAEMON_INFO_EPOLL_FD_LINUX_ONLY);
    struct pollfd polled[2] = {{.fd = info->epoll_fd, .events = POLLIN},
                               {.fd = thread->wake, .events = POLLIN}};

    while (!atomic_load(&thread->is_ending)) {
        eventfd_t n_wakes = 0;

        polled[1].revents = 0;
        (void)poll(polled, 2, patience_ms(thread));
        /* Before what it stands for is looked at, so that none is missed. */
        if (polled[1].revents != 0)
            (void)eventfd_read(thread->wake, &n_wakes);
        hand_on(thread);
        (void)MHD_run(thread->library);
    }
    return NULL;
}

void srv_http_thread_wake(struct srv_http_thread *thread)
{
    (void)eventfd_write(thread->wake, 1);
}

static bool start(struct srv_http_thread *thread)
{
    if (pthread_mutex_init(&thread->lock, NULL) != 0)
        return false;
    if (pthread_create(&thread->id, NULL, run, thread) == 0)
        return true;
    pthread_mutex_destroy(&thread->lock);
    return false;
}

bool srv_http_thread_start(struct srv_http_thread *thread,
                           struct MHD_Daemon *library,
                           struct srv_registry *registry)
{
    *thread =
        (struct srv_http_thread){.library = library, .registry = registry};
    thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thread->wake < 0)
        return false;
    if (start(thread))
        return true;
    close(thread->wake);
    return false;
}

void srv_http_thread_stop(struct srv_http_thread *thread)
{
    struct srv_handed *handed;
    struct srv_handed *next;

    atomic_store(&thread->is_ending, true);
    srv_http_thread_wake(thread);
    pthread_join(thread->id, NULL);
    DL_FOREACH_SAFE(take_all(thread), handed, next)
    {
        drop(thread, handed->fd);
        free(handed);
    }
    pthread_mutex_destroy(&thread->lock);
    close(thread->wake);
}
