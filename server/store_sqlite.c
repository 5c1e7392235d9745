/*
 * store_sqlite.c: opens and closes the SQLite store.
 *
 *   DIR/rematd.db   the database (and -wal, -shm beside it)
 *   DIR/lock        held by flock as long as a process has the store
 *   DIR/crashed     crash.h
 */
#include "store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define MEMORY_BYTES (UINT64_C(256) << 20) /* what :memory: may keep */

static void status(struct srv_store *base, struct srv_store_status *status)
{
    struct srv_sqlite *store = srv_sqlite_of(base);

    pthread_mutex_lock(&store->lock);
    *status = store->status;
    status->n_waiting = store->n_waiting;
    pthread_mutex_unlock(&store->lock);
}

/* What open made, in reverse. */
static void release(struct srv_sqlite *store)
{
    srv_connection_close(&store->read);
    srv_connection_close(&store->write);
    ZSTD_freeCCtx(store->packer);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->read_lock);
    free(store->folder);
    free(store->path);
    free(store);
}

static void close_store(struct srv_store *base)
{
    struct srv_sqlite *store = srv_sqlite_of(base);

    pthread_mutex_lock(&store->lock);
    store->closing = true;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->writer, NULL);
    release(store);
}

static const struct srv_store_methods methods = {
    .close = close_store,
    .put_job = srv_sqlite_put_job,
    .start_job = srv_sqlite_start_job,
    .finish_job = srv_sqlite_finish_job,
    .remove_job = srv_sqlite_remove_job,
    .put_answer = srv_sqlite_put_answer,
    .sweep = srv_sqlite_sweep,
    .get_job = srv_sqlite_get_job,
    .list_jobs = srv_sqlite_list_jobs,
    .unfinished = srv_sqlite_unfinished,
    .get_answer = srv_sqlite_get_answer,
    .status = status,
};

static int init_wake(struct srv_sqlite *store)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error != 0)
        return error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (error == 0)
        error = pthread_cond_init(&store->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

static struct srv_sqlite *make(const char *where,
                               const struct srv_store_options *options)
{
    struct srv_sqlite *store = calloc(1, sizeof *store);
    const size_t room = strlen(where) + sizeof "/rematd.db";

    if (store == NULL)
        return NULL;
    store->base.methods = &methods;
    store->options = *options;
    store->lock_fd = -1;
    store->status.up = true;
    store->in_memory = strcmp(where, ":memory:") == 0;
    if (store->in_memory && store->options.retain_bytes > MEMORY_BYTES)
        store->options.retain_bytes = MEMORY_BYTES;
    if (store->options.retain_bytes > INT64_MAX / 2)
        store->options.retain_bytes = INT64_MAX / 2;
    if (store->options.retain_ms > INT64_MAX / 2)
        store->options.retain_ms = INT64_MAX / 2;
    if (!store->in_memory)
        store->folder = strdup(where);
    store->path = malloc(room);
    if (store->path != NULL)
        snprintf(store->path, room, "%s%s", where,
                 store->in_memory ? "" : "/rematd.db");
    if (store->path == NULL || (!store->in_memory && store->folder == NULL) ||
        pthread_mutex_init(&store->lock, NULL) != 0 ||
        pthread_mutex_init(&store->read_lock, NULL) != 0 ||
        init_wake(store) != 0) {
        free(store->folder);
        free(store->path);
        free(store);
        return NULL;
    }
    return store;
}

/* A sentence about an errno. */
static bool refuse(char *message, size_t size, const char *place,
                   const char *what, int error)
{
    char why[128];

    if (strerror_r(error, why, sizeof why) != 0)
        snprintf(why, sizeof why, "error %d", error);
    snprintf(message, size, "%s: cannot %s: %s", place, what, why);
    return false;
}

/* Makes the directory and takes its lock, which ends with the process. */
static bool take_folder(struct srv_sqlite *store, char *message, size_t size)
{
    char path[4096];

    if (mkdir(store->folder, 0700) != 0 && errno != EEXIST)
        return refuse(message, size, store->folder, "make the directory",
                      errno);
    if (snprintf(path, sizeof path, "%s/lock", store->folder) >=
        (int)sizeof path) {
        snprintf(message, size, "%s: the name is too long", store->folder);
        return false;
    }
    store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->lock_fd < 0)
        return refuse(message, size, path,
                      "write to the directory as this user", errno);
    if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return refuse(message, size, path, "lock the file", errno);
    snprintf(message, size,
             "%s: in use by another rematd; stop it, or give --data another "
             "directory",
             store->folder);
    return false;
}

/* SQLite calls it after each commit, with the length of the log. */
static int note_log(void *context, sqlite3 *db, const char *name, int n_pages)
{
    struct srv_sqlite *store = context;

    (void)db;
    (void)name;
    store->n_log_pages = n_pages;
    return SQLITE_OK;
}

static bool count(struct srv_sqlite *store, char *message, size_t size)
{
    struct srv_connection *c = &store->write;

    if (srv_query_one(c, SRV_SQL_PAGE_SIZE, &store->page_bytes) == SQLITE_OK &&
        srv_query_one(c, SRV_SQL_COUNT_JOBS, &store->counts.n_jobs) ==
            SQLITE_OK &&
        srv_query_one(c, SRV_SQL_COUNT_UNFINISHED,
                      &store->counts.n_unfinished) == SQLITE_OK &&
        srv_query_one(c, SRV_SQL_COUNT_ANSWERS, &store->counts.n_answers) ==
            SQLITE_OK) {
        store->status.n_jobs = (uint64_t)store->counts.n_jobs;
        store->status.n_unfinished = (uint64_t)store->counts.n_unfinished;
        store->status.n_answers = (uint64_t)store->counts.n_answers;
        (void)srv_sweep_look(store);
        return true;
    }
    snprintf(message, size, "%s: cannot read: %s", store->path,
             sqlite3_errmsg(c->db));
    return false;
}

static bool open_files(struct srv_sqlite *store, char *message, size_t size)
{
    if (!store->in_memory && !take_folder(store, message, size))
        return false;
    if (!srv_schema_open(store, &store->write, true, message, size) ||
        !srv_recover(store, message, size) || !count(store, message, size))
        return false;
    if (store->in_memory)
        return true;
    sqlite3_wal_hook(store->write.db, note_log, store);
    return srv_schema_open(store, &store->read, false, message, size);
}

struct srv_store *srv_sqlite_open(const char *where,
                                  const struct srv_store_options *options,
                                  char *message, size_t size)
{
    struct srv_sqlite *store = make(where, options);

    if (store == NULL) {
        snprintf(message, size, "%s: out of memory", where);
        return NULL;
    }
    if (!open_files(store, message, size)) {
        release(store);
        return NULL;
    }
    const int error =
        pthread_create(&store->writer, NULL, srv_writer_main, store);
    if (error != 0) {
        (void)refuse(message, size, where, "start a thread", error);
        release(store);
        return NULL;
    }
    return &store->base;
}
