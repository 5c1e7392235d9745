/*
 * store_writer.c: the writer thread.
 *
 * It takes what waits, up to a bound, and does it in one transaction: under
 * load one fsync serves many writes. When a batch fails, each of its writes is
 * tried in a transaction of its own, so that a body too large for the disk does
 * not take its neighbours with it. Between batches it looks after retention, in
 * steps, and after a failure it tries the disk again once a second.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <zstd.h>

#include "clock.h"
#include "failpoint.h"
#include "log.h"
#include "store_sqlite.h"

#define BATCH_WRITES 256
#define BATCH_BYTES  ((size_t)32 << 20)
#define LOG_PAGES    1000 /* then the log goes into the database, after */
#define LONG_LOG_PAGES                                    \
    32768 /* the callers were told; then, if readers wait \
           */
#define IDLE_WAIT_MS   5000
#define SWEEP_NS       (5 * SRV_NS_PER_S)
#define BUSY_VACUUM_NS (SRV_NS_PER_S / 10)
#define BROKEN_WAIT_MS 1000

/* ---- transactions ------------------------------------------------------- */

int srv_transaction_begin(struct srv_sqlite *store, struct srv_counts *before)
{
    if (store->in_memory)
        pthread_mutex_lock(&store->read_lock);
    *before = store->counts;
    const int code = srv_query_run(&store->write, SRV_SQL_BEGIN);
    if (code != SQLITE_OK && store->in_memory)
        pthread_mutex_unlock(&store->read_lock);
    return code;
}

static void note_commit(struct srv_sqlite *store, uint64_t took_ns)
{
    const double seconds = (double)took_ns / (double)SRV_NS_PER_S;
    size_t bucket = 0;

    while (bucket < SRV_STORE_BUCKETS && seconds > srv_store_bucket_s[bucket])
        bucket++;
    pthread_mutex_lock(&store->lock);
    store->status.commit_buckets[bucket]++;
    store->status.commit_sum_ns += took_ns;
    store->status.n_commits++;
    store->status.n_swept += store->n_swept;
    store->status.n_jobs = (uint64_t)store->counts.n_jobs;
    store->status.n_unfinished = (uint64_t)store->counts.n_unfinished;
    store->status.n_answers = (uint64_t)store->counts.n_answers;
    pthread_mutex_unlock(&store->lock);
}

int srv_transaction_end(struct srv_sqlite *store,
                        const struct srv_counts *before, bool commit)
{
    const uint64_t start_ns = srv_now_ns();
    int code = SQLITE_ABORT;

    if (commit) {
        srv_fail_point(SRV_FAIL_COMMIT);
        code = srv_query_run(&store->write, SRV_SQL_COMMIT);
    }
    if (code == SQLITE_OK) {
        srv_fail_point(SRV_FAIL_COMMITTED);
    } else {
        /* SQLite may have rolled back by itself. */
        if (sqlite3_get_autocommit(store->write.db) == 0)
            (void)srv_query_run(&store->write, SRV_SQL_ROLLBACK);
        store->counts = *before;
    }
    if (store->in_memory)
        pthread_mutex_unlock(&store->read_lock);
    if (code == SQLITE_OK)
        note_commit(store, srv_now_ns() - start_ns);
    store->n_swept = 0;
    return code;
}

void srv_writer_note(struct srv_sqlite *store, enum srv_store_result result,
                     const char *error)
{
    bool was_up;

    pthread_mutex_lock(&store->lock);
    was_up = store->status.up;
    store->status.up = result == SRV_STORE_OK;
    store->status.last_result = result;
    if (result != SRV_STORE_OK) {
        store->status.n_errors++;
        store->status.error_ms = (int64_t)store->options.now_ms();
        snprintf(store->status.error, sizeof store->status.error, "%s", error);
    }
    pthread_mutex_unlock(&store->lock);
    if (was_up && result != SRV_STORE_OK)
        srv_log_event("error", "store_down", "error", error);
    else if (!was_up && result == SRV_STORE_OK)
        srv_log_event("info", "store_up", "store",
                      store->in_memory ? ":memory:" : store->folder);
}

void srv_writer_checkpoint(struct srv_sqlite *store, int mode)
{
    int n_pages = 0;
    int n_done = 0;
    int code;

    if (store->in_memory)
        return;
    srv_fail_point(SRV_FAIL_CHECKPOINT);
    code = sqlite3_wal_checkpoint_v2(store->write.db, NULL, mode, &n_pages,
                                     &n_done);
    if (code == SQLITE_OK && n_done >= n_pages)
        store->n_log_pages = 0;
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
        srv_writer_note(store, srv_sql_result(store->write.db, code),
                        sqlite3_errstr(code));
}

/* ---- batches ------------------------------------------------------------ */

static size_t bytes_of(const struct srv_write *write)
{
    if (write->kind == SRV_WRITE_PUT)
        return write->job.body_length;
    return write->job.answer != NULL ? write->job.answer->length : 0;
}

/* Takes writes from the queue: a batch of neighbours, or a sweep alone. Under
 * the lock. */
static struct srv_write *take_batch(struct srv_sqlite *store)
{
    struct srv_write *batch = store->first;
    struct srv_write *last = batch;
    size_t n_bytes;
    size_t n = 1;

    if (batch == NULL)
        return NULL;
    n_bytes = bytes_of(batch);
    while (batch->kind != SRV_WRITE_SWEEP && last->next != NULL &&
           last->next->kind != SRV_WRITE_SWEEP && n < BATCH_WRITES) {
        const size_t more = bytes_of(last->next);

        if (more > BATCH_BYTES || n_bytes > BATCH_BYTES - more)
            break;
        n_bytes += more;
        n++;
        last = last->next;
    }
    store->first = last->next;
    if (store->first == NULL)
        store->last = NULL;
    last->next = NULL;
    return batch;
}

/* Whether the file system has the reserve left; new work is refused if not, so
 * that ends and retention still find room. */
static bool has_reserve(struct srv_sqlite *store)
{
    struct statvfs fs;

    if (store->in_memory || store->options.reserve_bytes == 0 ||
        statvfs(store->folder, &fs) != 0)
        return true;
    return (uint64_t)fs.f_bavail * fs.f_frsize >= store->options.reserve_bytes;
}

static bool is_new_work(const struct srv_write *write)
{
    return write->kind == SRV_WRITE_PUT || write->kind == SRV_WRITE_ANSWER;
}

/* The writes from `first` up to but not `behind`, in one transaction. */
static int run_together(struct srv_sqlite *store, struct srv_write *first,
                        const struct srv_write *behind, bool room)
{
    struct srv_counts before;
    int code = srv_transaction_begin(store, &before);

    if (code != SQLITE_OK)
        return code;
    for (struct srv_write *write = first; write != behind && code == SQLITE_OK;
         write = write->next) {
        if (!room && is_new_work(write))
            write->result = SRV_STORE_FULL;
        else
            (void)srv_write_apply(store, write, &code);
    }
    const int end = srv_transaction_end(store, &before, code == SQLITE_OK);
    return code != SQLITE_OK ? code : end;
}

static void run_alone(struct srv_sqlite *store, struct srv_write *write,
                      bool room)
{
    const int code = run_together(store, write, write->next, room);

    if (code != SQLITE_OK) {
        write->result = srv_sql_result(store->write.db, code);
        srv_writer_note(store, write->result, sqlite3_errstr(code));
    }
}

static void run_batch(struct srv_sqlite *store, struct srv_write *batch)
{
    const bool room = has_reserve(store);

    for (struct srv_write *write = batch; write != NULL && room;
         write = write->next) {
        if (!srv_write_is_kept(store, write))
            (void)srv_write_pack(store, write); /* apply tries again */
    }
    const int code = run_together(store, batch, NULL, room);
    if (code == SQLITE_OK) {
        srv_writer_note(store, room ? SRV_STORE_OK : SRV_STORE_FULL,
                        "less room on the disk than the reserve");
        return;
    }
    srv_writer_note(store, srv_sql_result(store->write.db, code),
                    sqlite3_errstr(code));
    for (struct srv_write *write = batch; write != NULL; write = write->next)
        run_alone(store, write, room);
}

/* Tells and frees; counts what is done before it tells, so that whoever is told
 * sees it. */
static void tell(struct srv_sqlite *store, struct srv_write *batch)
{
    size_t n = 0;

    for (const struct srv_write *write = batch; write != NULL;
         write = write->next)
        n++;
    pthread_mutex_lock(&store->lock);
    store->n_waiting -= n;
    pthread_mutex_unlock(&store->lock);
    while (batch != NULL) {
        struct srv_write *write = batch;

        batch = write->next;
        if (write->done != NULL)
            write->done(write->context, write->result);
        srv_write_free(write);
    }
    srv_fail_point(SRV_FAIL_TOLD);
}

static void run(struct srv_sqlite *store, struct srv_write *batch)
{
    if (batch->kind == SRV_WRITE_SWEEP)
        batch->result = srv_sweep_all(store);
    else
        run_batch(store, batch);
    if (srv_sweep_look(store))
        store->sweeping = true;
    tell(store, batch);
    if (store->n_log_pages >= LOG_PAGES)
        srv_writer_checkpoint(store, store->n_log_pages >= LONG_LOG_PAGES
                                         ? SQLITE_CHECKPOINT_RESTART
                                         : SQLITE_CHECKPOINT_PASSIVE);
}

/* ---- the loop ----------------------------------------------------------- */

/* After a failure: is the disk well again? */
static void probe(struct srv_sqlite *store)
{
    struct srv_counts before;
    int code = srv_transaction_begin(store, &before);

    if (code == SQLITE_OK) {
        code = srv_query_run(&store->write, SRV_SQL_PROBE);
        const int end = srv_transaction_end(store, &before, code == SQLITE_OK);
        code = code != SQLITE_OK ? code : end;
    }
    if (code == SQLITE_OK && !has_reserve(store))
        srv_writer_note(store, SRV_STORE_FULL,
                        "less room on the disk than the reserve");
    else
        srv_writer_note(store, srv_sql_result(store->write.db, code),
                        sqlite3_errstr(code));
}

/* Waits for a write or for the time. Under the lock. */
static void wait_ms(struct srv_sqlite *store, unsigned ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&store->wake, &store->lock, &until);
}

/* Retention, if it is time for it. Under load it goes on after each batch, else
 * it would never come to it; pages are given back less often, since it writes
 * more. */
static void sweep(struct srv_sqlite *store, bool is_busy)
{
    const uint64_t since_ns = srv_now_ns() - store->swept_ns;

    if (since_ns >= SWEEP_NS)
        store->sweeping = true;
    if (store->sweeping ||
        (store->vacuuming && (!is_busy || since_ns >= BUSY_VACUUM_NS)))
        srv_sweep_step(store);
}

/* What to do when no write waits. */
static void look_after(struct srv_sqlite *store, bool up)
{
    if (!up && !store->sweeping && !store->vacuuming)
        probe(store);
    sweep(store, false);
}

void *srv_writer_main(void *context)
{
    struct srv_sqlite *store = context;
    bool waited = false;

    pthread_mutex_lock(&store->lock);
    for (;;) {
        struct srv_write *batch = take_batch(store);
        const bool up = store->status.up;

        if (batch == NULL && store->closing)
            break;
        if (batch == NULL && !waited && !store->sweeping && !store->vacuuming) {
            wait_ms(store, up ? IDLE_WAIT_MS : BROKEN_WAIT_MS);
            waited = true;
            continue;
        }
        pthread_mutex_unlock(&store->lock);
        if (batch != NULL) {
            run(store, batch);
            sweep(store, true);
        } else {
            look_after(store, up);
        }
        waited = false;
        pthread_mutex_lock(&store->lock);
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}
