/*
 * store_sqlite.h: the inside of the SQLite store.
 *
 *   store_sqlite.c   open, close, the table of methods, status
 *   store_schema.c   the database file: settings, tables, migrations
 *   store_recover.c  what the last process left
 *   store_queue.c    writes handed over
 *   store_writer.c   the writer thread: batches, commits, failures
 *   store_write.c    what each write does to the tables
 *   store_sweep.c    retention
 *   store_read.c     reads
 *   store_sql.h      statements; store_pack.h: documents as they lie there
 *
 * Locks: `lock` guards queue and status, `read_lock` the connection of reads.
 * Neither is taken while the other is held. In memory there is one connection:
 * the writer then holds read_lock for each transaction.
 */
#ifndef SRV_STORE_SQLITE_H
#define SRV_STORE_SQLITE_H

#include <pthread.h>

#include "store.h"
#include "store_pack.h"
#include "store_sql.h"

#define SRV_SCHEMA_VERSION 2

enum srv_write_kind {
    SRV_WRITE_PUT,
    SRV_WRITE_START,
    SRV_WRITE_FINISH,
    SRV_WRITE_REMOVE,
    SRV_WRITE_ANSWER,
    SRV_WRITE_SWEEP
};

/* A write handed over. */
struct srv_write {
    struct srv_write *next;
    enum srv_write_kind kind;
    srv_store_done *done; /* may be NULL */
    void *context;
    enum srv_store_result result;
    struct srv_job_record job; /* what of it the kind needs. note and problem
                                  are copies, body is the caller's, answer a
                                  reference */
    bool has_key;
    struct srv_key key;
    struct srv_packed packed; /* body or answer */
};
void srv_write_free(struct srv_write *write);

struct srv_counts {
    int64_t n_jobs;
    int64_t n_unfinished;
    int64_t n_answers;
};

struct srv_sqlite {
    struct srv_store base; /* first: the store that callers hold */
    struct srv_store_options options;
    bool in_memory;
    char *folder; /* NULL in memory */
    char *path;   /* of the database, for SQLite */
    int lock_fd;

    pthread_mutex_t read_lock;
    struct srv_connection read; /* files only */

    /* Of the writer thread. */
    struct srv_connection write;
    struct ZSTD_CCtx_s *packer;
    struct srv_counts counts; /* with the running transaction */
    int64_t page_bytes;
    bool sweeping;  /* retention has more to do */
    bool oversize;  /* and because the database is too large */
    bool vacuuming; /* free pages are to be given back */
    int64_t n_free_pages;
    uint64_t swept_ns; /* when retention last looked */
    uint64_t n_swept;  /* in the running transaction */
    int n_log_pages;   /* in the log after the last commit */

    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct srv_write *first; /* the queue */
    struct srv_write *last;
    size_t n_waiting; /* in the queue and being done */
    bool closing;
    struct srv_store_status status;
    pthread_t writer;
};

static inline struct srv_sqlite *srv_sqlite_of(struct srv_store *store)
{
    return (struct srv_sqlite *)(void *)store;
}
/* The connection of reads, under read_lock. */
static inline struct srv_connection *srv_sqlite_reader(struct srv_sqlite *store)
{
    return store->in_memory ? &store->write : &store->read;
}

struct srv_store *srv_sqlite_open(const char *where,
                                  const struct srv_store_options *options,
                                  char *message, size_t size);

/* store_schema.c. Opens one connection; the first one prepares the file. False
 * with a message. */
bool srv_schema_open(struct srv_sqlite *store,
                     struct srv_connection *connection, bool first,
                     char *message, size_t size);

/* store_recover.c: before the writer runs. False with a message. */
bool srv_recover(struct srv_sqlite *store, char *message, size_t size);

/* store_queue.c: the methods that hand over. */
enum srv_store_result srv_sqlite_put_job(struct srv_store *base,
                                         const struct srv_job_record *record,
                                         srv_store_done *done, void *context);
enum srv_store_result srv_sqlite_start_job(struct srv_store *base,
                                           const char *id, int64_t started_ms,
                                           srv_store_done *done, void *context);
enum srv_store_result srv_sqlite_finish_job(struct srv_store *base,
                                            const struct srv_job_end *end,
                                            srv_store_done *done,
                                            void *context);
enum srv_store_result srv_sqlite_remove_job(struct srv_store *base,
                                            const char *id,
                                            srv_store_done *done,
                                            void *context);
void srv_sqlite_put_answer(struct srv_store *base, const struct srv_key *key,
                           struct srv_answer *answer);
enum srv_store_result srv_sqlite_sweep(struct srv_store *base,
                                       srv_store_done *done, void *context);

/* store_writer.c. */
void *srv_writer_main(void *context);
/* A transaction: begin takes read_lock in memory, end gives it back. `commit`
 * false, or a commit that fails, rolls back and restores the counts. */
int srv_transaction_begin(struct srv_sqlite *store, struct srv_counts *before);
int srv_transaction_end(struct srv_sqlite *store,
                        const struct srv_counts *before, bool commit);
/* Moves the log into the database; `mode` is SQLite's. */
void srv_writer_checkpoint(struct srv_sqlite *store, int mode);
/* Notes in the status how a transaction ended. */
void srv_writer_note(struct srv_sqlite *store, enum srv_store_result result,
                     const char *error);

/* store_write.c: inside a transaction. *code is SQLite's; when it is SQLITE_OK
 * the returned result is the write's own. */
enum srv_store_result srv_write_apply(struct srv_sqlite *store,
                                      struct srv_write *write, int *code);
/* Packs what the write will need; best before the transaction. */
enum srv_store_result srv_write_pack(struct srv_sqlite *store,
                                     struct srv_write *write);
/* Whether its document is there already. Outside a transaction. */
bool srv_write_is_kept(struct srv_sqlite *store, const struct srv_write *write);
/* A job or an answer leaves; SQLite's code. */
int srv_write_delete_job(struct srv_sqlite *store, const char *id,
                         int64_t now_ms);
int srv_write_delete_answer(struct srv_sqlite *store, const void *key,
                            size_t key_length, int64_t content);

/* store_sweep.c: one small step of retention or of giving pages back, in its
 * own transaction. Clears `sweeping` and `vacuuming` when there is no more. */
void srv_sweep_step(struct srv_sqlite *store);
/* To the end; what it came to. */
enum srv_store_result srv_sweep_all(struct srv_sqlite *store);
/* Updates the sizes in the status; whether the database is too large. */
bool srv_sweep_look(struct srv_sqlite *store);

/* store_read.c: the methods that read. */
enum srv_store_result srv_sqlite_get_job(struct srv_store *base, const char *id,
                                         unsigned with,
                                         struct srv_job_record *record);
enum srv_store_result srv_sqlite_list_jobs(struct srv_store *base,
                                           struct srv_job_list *list);
enum srv_store_result srv_sqlite_unfinished(
    struct srv_store *base, unsigned with,
    bool (*each)(void *context, struct srv_job_record *record), void *context);
enum srv_store_result srv_sqlite_get_answer(struct srv_store *base,
                                            const struct srv_key *key,
                                            struct srv_answer **answer);

#endif
