/*
 * crash.c: writes down what a dying thread was running.
 *
 * The handler does nothing but pwrite, sigaction and raise, all of which may be
 * called from a signal handler. The thread-local list is read there by the very
 * thread that made it; it links a scope only when that is whole.
 */
#define _XOPEN_SOURCE 700 /* sigaltstack */

#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "key.h"

#define STACK_BYTES 32768 /* of which the handler needs a small part */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define N_SIGNALS (sizeof signals / sizeof signals[0])

static _Thread_local struct srv_crash_scope *volatile running;
static _Thread_local char stack[STACK_BYTES];

static int marker_fd = -1;
static char life[SRV_CRASH_NUMBER + 1];
static atomic_size_t n_lines;
static struct sigaction before[N_SIGNALS];

static void write_id(const char *id)
{
    char line[SRV_CRASH_LINE];
    size_t at;

    if (marker_fd < 0 || id[0] == '\0')
        return;
    at = atomic_fetch_add(&n_lines, 1) * SRV_CRASH_LINE;
    if (at + sizeof line > SRV_CRASH_BYTES)
        return;
    memcpy(line, id, SRV_CRASH_ID);
    line[SRV_CRASH_ID] = ' ';
    memcpy(line + SRV_CRASH_ID + 1, life, SRV_CRASH_NUMBER);
    line[SRV_CRASH_LINE - 1] = '\n';
    if (pwrite(marker_fd, line, sizeof line, (off_t)at) < 0)
        return; /* nobody is left to tell */
}

static void on_crash(int number)
{
    const int saved = errno;

    for (const struct srv_crash_scope *scope = running; scope != NULL;
         scope = scope->outer) {
        for (size_t i = 0; i < scope->n_ids; i++)
            write_id(scope->ids[i]);
    }
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (signals[i] == number)
            sigaction(number, &before[i], NULL);
    }
    errno = saved;
    /* A fault comes again when the instruction is repeated, and then with its
     * address; abort raises again by itself. This covers kill(1). */
    (void)raise(number);
}

/* A number that no other life has. */
static int make_life(void)
{
    unsigned char bytes[SRV_CRASH_NUMBER / 2];
    const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const bool made =
        fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;

    if (fd >= 0)
        close(fd);
    if (!made)
        return EIO;
    srv_hex(bytes, sizeof bytes, life);
    return 0;
}

static int open_marker(const char *folder)
{
    static const char zeros[SRV_CRASH_BYTES];
    char path[4096];
    int error = 0;

    if (snprintf(path, sizeof path, "%s/" SRV_CRASH_FILE, folder) >=
        (int)sizeof path)
        return ENAMETOOLONG;
    marker_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (marker_fd < 0)
        return errno;
    errno = ENOSPC; /* unless write says otherwise */
    if (write(marker_fd, zeros, sizeof zeros) != (ssize_t)sizeof zeros)
        error = errno;
    if (error != 0) {
        close(marker_fd);
        marker_fd = -1;
    }
    return error;
}

int srv_crash_start(const char *folder)
{
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    int error = make_life();

    if (error == 0)
        error = open_marker(folder);
    if (error != 0)
        return error;
    atomic_store(&n_lines, 0);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
    return 0;
}

void srv_crash_stop(void)
{
    if (marker_fd < 0)
        return;
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    close(marker_fd);
    marker_fd = -1;
}

int srv_crash_thread_start(void)
{
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    stack_t there;

    if (sigaltstack(NULL, &there) == 0 && (there.ss_flags & SS_DISABLE) == 0)
        return 0; /* done before, or a sanitizer has given one */
    return sigaltstack(&own, NULL) == 0 ? 0 : errno;
}

void srv_crash_enter(struct srv_crash_scope *scope, const char *const *ids,
                     size_t n_ids)
{
    scope->outer = running;
    scope->ids = ids;
    scope->n_ids = n_ids;
    atomic_signal_fence(memory_order_release);
    running = scope;
}

void srv_crash_leave(struct srv_crash_scope *scope)
{
    running = scope->outer;
    atomic_signal_fence(memory_order_release);
}
