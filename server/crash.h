/*
 * crash.h: which job brought the process down.
 *
 * A thread says which jobs it is about to run. When it dies of SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL or SIGABRT, their ids are written to a file opened before, one
 * a line, and the signal goes on to whoever handled it before, in the end to
 * the system. The store reads the file at the next start: a job that crashes
 * the process is not run for ever.
 *
 * Threads: start and stop before and after all others; the rest in the thread
 * they are about.
 */
#ifndef SRV_CRASH_H
#define SRV_CRASH_H

#include <stddef.h>

/* The file: lines of an id, a blank, and the number of this process's life. It
 * is filled with zeros beforehand, so that no room is needed in the end. */
#define SRV_CRASH_FILE   "crashed"
#define SRV_CRASH_ID     32 /* hex digits of an id */
#define SRV_CRASH_NUMBER 16 /* hex digits */
#define SRV_CRASH_LINE   (SRV_CRASH_ID + 1 + SRV_CRASH_NUMBER + 1)
#define SRV_CRASH_BYTES  4096

/* What a thread is running; scopes nest. The caller owns it and the ids, which
 * stay as they are until leave. */
struct srv_crash_scope {
    struct srv_crash_scope *outer;
    const char *const *ids;
    size_t n_ids;
};

/* Installs the handlers and makes `folder`/crashed. After the store has been
 * opened, which reads what the last process left there. 0, or an errno. */
int srv_crash_start(const char *folder);
void srv_crash_stop(void);
/* Gives the calling thread a stack of its own to die on, so that an overflow of
 * its own is marked too; may be called again. 0, or an errno: it then dies on
 * the normal one. */
int srv_crash_thread_start(void);

/* An empty id says that the job is not on disk. */
void srv_crash_enter(struct srv_crash_scope *scope, const char *const *ids,
                     size_t n_ids);
void srv_crash_leave(struct srv_crash_scope *scope);

#endif
