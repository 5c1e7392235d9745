/*
 * store_sweep.c: retention. What is finished or kept by key leaves when it is
 * too old, and the oldest of it when the database is too large; unfinished jobs
 * never. A step removes a few hundred at most, so that writes do not wait long.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "clock.h"
#include "failpoint.h"
#include "store_sqlite.h"

#define STEP_VICTIMS   256 /* as in SRV_SQL_OLDEST */
#define STEP_BYTES     (INT64_C(16) << 20)
#define KEEP_FREE      256 /* pages that are not worth giving back */
#define MOST_REMOVED   1000000
#define BYTES_FOR_ONE  4096 /* of the limit, for each tombstone */
#define STOP_AT_PERMIL 950  /* a sweep by size goes on to below that */

/* Pages in use, in bytes. */
static int used_bytes(struct srv_sqlite *store, int64_t *used)
{
    int64_t pages = 0;
    int64_t free_pages = 0;
    int code = srv_query_one(&store->write, SRV_SQL_PAGES, &pages);

    if (code == SQLITE_OK)
        code = srv_query_one(&store->write, SRV_SQL_FREE_PAGES, &free_pages);
    *used = (pages - free_pages) * store->page_bytes;
    return code;
}

/* Whether there are free pages that are worth giving back. When giving back
 * changed nothing, it will not the next time: another tool may have made the
 * file so. */
static int look_for_free(struct srv_sqlite *store, bool after_vacuum)
{
    const int64_t before = store->n_free_pages;
    int64_t pages = 0;
    int64_t free_pages = 0;
    int code = srv_query_one(&store->write, SRV_SQL_PAGES, &pages);

    if (code == SQLITE_OK)
        code = srv_query_one(&store->write, SRV_SQL_FREE_PAGES, &free_pages);
    store->vacuuming = code == SQLITE_OK && free_pages > KEEP_FREE &&
                       free_pages > pages / 16 &&
                       (!after_vacuum || free_pages < before);
    store->n_free_pages = free_pages;
    return code;
}

/* One victim of the list that SRV_SQL_OLDEST makes. */
struct victim {
    bool is_answer;
    unsigned char name[SRV_KEY_BYTES]; /* a key, or the id without a NUL */
    size_t length;
    int64_t content;
    int64_t at_ms;
};

static int find_victims(struct srv_sqlite *store, struct victim *victims,
                        size_t *n)
{
    struct srv_query query;

    *n = 0;
    srv_query_begin(&query, &store->write, SRV_SQL_OLDEST);
    while (*n < STEP_VICTIMS && srv_query_step(&query) == SQLITE_ROW) {
        struct victim *victim = &victims[*n];
        const void *name = sqlite3_column_blob(query.statement, 0);
        const int length = sqlite3_column_bytes(query.statement, 0);

        if (name == NULL || length != SRV_KEY_BYTES)
            continue; /* not ours: leave it alone */
        memcpy(victim->name, name, SRV_KEY_BYTES);
        victim->length = (size_t)length;
        victim->content = sqlite3_column_int64(query.statement, 1);
        victim->at_ms = sqlite3_column_int64(query.statement, 2);
        victim->is_answer = sqlite3_column_int(query.statement, 3) == 1;
        ++*n;
    }
    return srv_query_end(&query);
}

static int delete_victim(struct srv_sqlite *store, const struct victim *victim)
{
    char id[SRV_JOB_ID_SIZE];

    store->n_swept++;
    if (victim->is_answer)
        return srv_write_delete_answer(store, victim->name, victim->length,
                                       victim->content);
    memcpy(id, victim->name, sizeof id - 1);
    id[sizeof id - 1] = '\0';
    return srv_write_delete_job(store, id, (int64_t)store->options.now_ms());
}

/* At most that much work in one transaction; *more when there may be more. */
static int sweep_some(struct srv_sqlite *store, bool *more)
{
    const int64_t now_ms = (int64_t)store->options.now_ms();
    const int64_t oldest_ms = now_ms - (int64_t)store->options.retain_ms;
    const int64_t limit = (int64_t)store->options.retain_bytes;
    struct victim victims[STEP_VICTIMS];
    int64_t used = 0;
    int64_t first;
    size_t n = 0;
    int code = used_bytes(store, &used);

    *more = false;
    first = used;
    if (used > limit)
        store->oversize = true;
    if (code == SQLITE_OK)
        code = find_victims(store, victims, &n);
    for (size_t i = 0; code == SQLITE_OK && i < n; i++) {
        if (used <= limit / 1000 * STOP_AT_PERMIL)
            store->oversize = false;
        if (victims[i].at_ms > oldest_ms && !store->oversize)
            return SQLITE_OK;
        code = delete_victim(store, &victims[i]);
        if (code == SQLITE_OK)
            code = used_bytes(store, &used);
        *more = true;
        if (first - used > STEP_BYTES)
            break;
    }
    if (!*more)
        store->oversize = false; /* nothing left that may go */
    return code;
}

static int forget_removed(struct srv_sqlite *store)
{
    const uint64_t fitting = store->options.retain_bytes / BYTES_FOR_ONE;
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_FORGET_REMOVED);
    srv_query_number(&query, 1,
                     fitting < MOST_REMOVED ? (int64_t)fitting : MOST_REMOVED);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

static int sweep_step(struct srv_sqlite *store)
{
    struct srv_counts before;
    bool more = false;
    int code = srv_transaction_begin(store, &before);

    if (code != SQLITE_OK)
        return code;
    code = sweep_some(store, &more);
    if (code == SQLITE_OK)
        code = forget_removed(store);
    if (code == SQLITE_OK)
        code = look_for_free(store, false);
    srv_fail_point(SRV_FAIL_SWEEP);
    const int end = srv_transaction_end(store, &before, code == SQLITE_OK);
    store->sweeping = more;
    return code != SQLITE_OK ? code : end;
}

static int vacuum_step(struct srv_sqlite *store)
{
    int code;

    srv_fail_point(SRV_FAIL_VACUUM);
    if (store->in_memory)
        pthread_mutex_lock(&store->read_lock);
    code = srv_query_run(&store->write, SRV_SQL_VACUUM);
    if (code == SQLITE_OK)
        code = look_for_free(store, true);
    if (store->in_memory)
        pthread_mutex_unlock(&store->read_lock);
    return code;
}

static enum srv_store_result step(struct srv_sqlite *store)
{
    const int code = store->sweeping ? sweep_step(store) : vacuum_step(store);
    const enum srv_store_result result = srv_sql_result(store->write.db, code);

    store->swept_ns = srv_now_ns();
    if (code != SQLITE_OK) {
        store->sweeping = false;
        store->vacuuming = false;
        srv_writer_note(store, result, sqlite3_errstr(code));
    }
    return result;
}

void srv_sweep_step(struct srv_sqlite *store)
{
    (void)step(store);
    (void)srv_sweep_look(store);
}

enum srv_store_result srv_sweep_all(struct srv_sqlite *store)
{
    enum srv_store_result result = SRV_STORE_OK;

    store->sweeping = true;
    while (result == SRV_STORE_OK && (store->sweeping || store->vacuuming))
        result = step(store);
    if (result == SRV_STORE_OK)
        srv_writer_checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE);
    return result;
}

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat info;

    if (snprintf(name, sizeof name, "%s%s", path, suffix) >= (int)sizeof name ||
        stat(name, &info) != 0)
        return 0;
    return (uint64_t)info.st_size;
}

bool srv_sweep_look(struct srv_sqlite *store)
{
    struct statvfs fs;
    int64_t used = 0;
    uint64_t disk = 0;
    uint64_t room = 0;

    if (store->in_memory)
        pthread_mutex_lock(&store->read_lock);
    const int code = used_bytes(store, &used);
    if (store->in_memory)
        pthread_mutex_unlock(&store->read_lock);
    if (!store->in_memory) {
        disk = size_of(store->path, "") + size_of(store->path, "-wal");
        if (statvfs(store->folder, &fs) == 0)
            room = (uint64_t)fs.f_bavail * fs.f_frsize;
    }
    pthread_mutex_lock(&store->lock);
    if (code == SQLITE_OK)
        store->status.used_bytes = (uint64_t)used;
    store->status.disk_bytes = disk;
    store->status.free_bytes = room;
    pthread_mutex_unlock(&store->lock);
    return code == SQLITE_OK && used > (int64_t)store->options.retain_bytes;
}
