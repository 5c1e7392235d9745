/*
 * http_thread.h: the thread that runs libmicrohttpd.
 *
 * The library has such a thread of its own. It is not used, because in 0.9.75
 * it falls asleep over work at hand: when exactly 128 events (its MAX_EVENTS)
 * have come at once, it waits for a 129th before it looks at them, as long as
 * it takes (MHD_epoll in src/microhttpd/daemon.c). Run from outside it never
 * waits, so that cannot happen.
 *
 * Whoever runs it from outside must ask MHD_get_timeout before each wait, since
 * its descriptors are edge-triggered, and must run it after every
 * MHD_resume_connection, of this thread's too: the library drops MHD_USE_ITC
 * then, so no descriptor of its own tells. srv_http_thread_wake does.
 */
#ifndef SRV_HTTP_THREAD_H
#define SRV_HTTP_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

struct MHD_Daemon;
struct srv_handed;
struct srv_registry;

struct srv_http_thread {
    struct MHD_Daemon *library;
    struct srv_registry *registry;
    pthread_t id;
    int wake; /* an eventfd */
    atomic_bool is_ending;
    pthread_mutex_t lock; /* guards the list */
    struct srv_handed *first;
};

/*
 * Runs `library`, which was started with MHD_USE_EPOLL and without a thread,
 * in a new thread. The library stays the caller's, the registry is told of each
 * socket that the library does not take. False when there is no descriptor or
 * thread to be had: then nothing needs to be stopped.
 */
bool srv_http_thread_start(struct srv_http_thread *thread,
                           struct MHD_Daemon *library,
                           struct srv_registry *registry);

/* Hands over an accepted socket, which the registry expects
 * (srv_registry_expect). Owns it from then on, also when memory is short: then
 * it is closed. Any thread. */
void srv_http_thread_add(struct srv_http_thread *thread, int fd,
                         const struct sockaddr *address, socklen_t size);

/* The library has something to do that no descriptor of its own shows. Any
 * thread, this one too. */
void srv_http_thread_wake(struct srv_http_thread *thread);

/* Ends the thread and closes what it has not handed on. */
void srv_http_thread_stop(struct srv_http_thread *thread);

#endif
