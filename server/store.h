/*
 * store.h: what outlives the process: jobs, and answers by key.
 *
 * An interface: struct srv_store_methods can be filled by another database. The
 * one that exists keeps a SQLite database in a directory (store_sqlite.h).
 *
 * Writes are handed over and done on a thread of the store, in the order in
 * which they came, many in one transaction. `done` is called on that thread
 * once the write is on disk, or has failed: it must not block, must not call
 * the store's reads, and may hand over more writes. A write that is refused at
 * once (any result but SRV_STORE_OK) calls no `done`.
 *
 * Reads are done at once, in the caller's thread, and see every write whose
 * `done` has been called. They may take as long as reading a body from disk:
 * not for a thread that serves many.
 *
 * Threads: every function but open and close from any thread. The store holds
 * none of its locks while it calls back.
 */
#ifndef SRV_STORE_H
#define SRV_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"

enum srv_store_result {
    SRV_STORE_OK,
    SRV_STORE_ABSENT,   /* there is no such job or answer, and was none */
    SRV_STORE_REMOVED,  /* there was such a job (410) */
    SRV_STORE_CONFLICT, /* the id is taken; the job is already finished */
    SRV_STORE_BUSY,     /* too many writes wait, or the store is closing */
    SRV_STORE_FULL,     /* the disk is full (507) */
    SRV_STORE_FAILED,   /* the database cannot be read or written (503) */
    SRV_STORE_NO_MEMORY
};
const char *srv_store_result_name(enum srv_store_result result);

/* X(enumerator, name). Numbers are on disk: only add at the end. */
#define SRV_STATE_MAP(X)                \
    X(SRV_STATE_QUEUED, "queued")       \
    X(SRV_STATE_RUNNING, "running")     \
    X(SRV_STATE_SUCCEEDED, "succeeded") \
    X(SRV_STATE_FAILED, "failed")       \
    X(SRV_STATE_CANCELED, "canceled")   \
    X(SRV_STATE_EXPIRED, "expired")
enum srv_state {
#define X(name, text) name,
    SRV_STATE_MAP(X)
#undef X
    SRV_N_STATES
};
const char *srv_state_name(enum srv_state state);
/* False when the text names no state. */
bool srv_state_parse(const char *text, enum srv_state *state);
static inline bool srv_state_is_final(enum srv_state state)
{
    return state != SRV_STATE_QUEUED && state != SRV_STATE_RUNNING;
}

#define SRV_JOB_ID_SIZE 33 /* 32 hex digits and the NUL */
#define SRV_OWNER_SIZE  65
#define SRV_CALL_SIZE   24
#define SRV_CURSOR_SIZE 56

/* A job as it is kept. Times are wall-clock milliseconds since 1970, 0 for not
 * yet or none. */
struct srv_job_record {
    char id[SRV_JOB_ID_SIZE];
    char owner[SRV_OWNER_SIZE];
    char call[SRV_CALL_SIZE]; /* which call made it: the caller's word */
    int format;               /* the caller's number, as is `priority` */
    int priority;
    enum srv_state state;
    int64_t created_ms;
    int64_t started_ms; /* the last time */
    int64_t finished_ms;
    int64_t queue_deadline_ms;
    int64_t run_ms;                 /* how long it may run */
    unsigned attempts;              /* how often it was started */
    unsigned crashes;               /* how often it took the process with it */
    char digest[SRV_DIGEST_SIZE];   /* of the plan; "" as long as unknown */
    char outcome[SRV_OUTCOME_SIZE]; /* of the answer; "" when there is none */
    char *note;         /* JSON text of the caller's about the job, or NULL */
    char *problem;      /* JSON text: why there is no answer, or NULL */
    char *body;         /* NUL-terminated; NULL unless asked for */
    size_t body_length; /* known in any case */
    struct srv_answer *answer; /* NULL unless asked for, or none */
};
/* Frees what the pointers hold and makes them NULL. For records that the store
 * filled; pointers in records given to it stay with the caller. */
void srv_job_record_release(struct srv_job_record *record);

/* What to read of a job besides its row. */
#define SRV_WITH_BODY   1u
#define SRV_WITH_ANSWER 2u

typedef void srv_store_done(void *context, enum srv_store_result result);

/* How a job ended. `answer` or `problem` or neither (canceled). `key`, when not
 * NULL, also keeps the answer under that key: the bytes are stored once. */
struct srv_job_end {
    const char *id;
    enum srv_state state; /* a final one */
    int64_t started_ms;   /* 0: as the store knows it */
    int64_t finished_ms;
    struct srv_answer *answer;
    const struct srv_key *key;
    const char *digest;  /* NULL: the answer's, if any */
    const char *problem; /* JSON text */
    const char *note;    /* JSON text in place of the job's, or NULL */
};

struct srv_job_list {
    const char *owner;              /* NULL: everybody's */
    int state;                      /* an enum srv_state, or -1 for any */
    size_t n_most;                  /* at least 1 */
    const char *cursor;             /* NULL or "": from the newest */
    struct srv_job_record *records; /* room for n_most; without bodies */
    size_t n_records;               /* out */
    char next[SRV_CURSOR_SIZE];     /* out: "" when there are no more */
};

#define SRV_STORE_BUCKETS 12
/* Upper bounds of the commit histogram's buckets in seconds; the last bucket,
 * past the table, has none. */
extern const double srv_store_bucket_s[SRV_STORE_BUCKETS];

struct srv_store_status {
    bool up; /* the last attempt to write succeeded */
    enum srv_store_result last_result;
    char error[160]; /* of the last failure, "" if there was none */
    int64_t error_ms;
    uint64_t
        used_bytes; /* database without free pages; what retention counts */
    uint64_t disk_bytes; /* database and its log as they lie on disk */
    uint64_t free_bytes; /* of the file system; 0 in memory */
    uint64_t n_jobs;
    uint64_t n_unfinished;
    uint64_t n_answers;
    uint64_t n_waiting; /* writes handed over and not done */
    uint64_t n_errors;  /* writes that failed, in all */
    uint64_t n_dropped; /* answers not kept under pressure */
    uint64_t n_swept;   /* jobs and answers that retention removed */
    uint64_t commit_buckets[SRV_STORE_BUCKETS + 1]; /* not cumulative */
    uint64_t commit_sum_ns;
    uint64_t n_commits;
};

struct srv_store_options {
    uint64_t retain_ms;     /* finished jobs and answers older than that go */
    uint64_t retain_bytes;  /* and the oldest of them above that size */
    size_t n_waiting;       /* writes that may wait; more are SRV_STORE_BUSY */
    uint64_t reserve_bytes; /* new jobs are refused (FULL) when the file system
                               has less free: what finishes must still fit */
    unsigned max_crashes;   /* a job that crashed the process that often, or */
    unsigned max_attempts;  /* was started that often, is not run again */
    size_t max_body;        /* no body or answer above it is read back */
    uint64_t (*now_ms)(void); /* the wall clock */
    const char *vfs;          /* SQLite's, NULL: its default. For tests */
};
/* 7 days, 10 GiB, 4096, 64 MiB, 3, 10, 1 GiB. */
void srv_store_options_init(struct srv_store_options *options);

struct srv_store;
struct srv_store_methods {
    void (*close)(struct srv_store *store);
    enum srv_store_result (*put_job)(struct srv_store *store,
                                     const struct srv_job_record *record,
                                     srv_store_done *done, void *context);
    enum srv_store_result (*start_job)(struct srv_store *store, const char *id,
                                       int64_t started_ms, srv_store_done *done,
                                       void *context);
    enum srv_store_result (*finish_job)(struct srv_store *store,
                                        const struct srv_job_end *end,
                                        srv_store_done *done, void *context);
    enum srv_store_result (*remove_job)(struct srv_store *store, const char *id,
                                        srv_store_done *done, void *context);
    void (*put_answer)(struct srv_store *store, const struct srv_key *key,
                       struct srv_answer *answer);
    enum srv_store_result (*sweep)(struct srv_store *store,
                                   srv_store_done *done, void *context);
    enum srv_store_result (*get_job)(struct srv_store *store, const char *id,
                                     unsigned with,
                                     struct srv_job_record *record);
    enum srv_store_result (*list_jobs)(struct srv_store *store,
                                       struct srv_job_list *list);
    enum srv_store_result (*unfinished)(
        struct srv_store *store, unsigned with,
        bool (*each)(void *context, struct srv_job_record *record),
        void *context);
    enum srv_store_result (*get_answer)(struct srv_store *store,
                                        const struct srv_key *key,
                                        struct srv_answer **answer);
    void (*status)(struct srv_store *store, struct srv_store_status *status);
};
struct srv_store { /* first member of every implementation */
    const struct srv_store_methods *methods;
};

/*
 * Opens the store at `where`: a directory (made when missing, its parent is
 * there) or ":memory:". Brings an older schema up to date, and settles what the
 * last process left: jobs that ran are queued again; those that ran too often
 * are failed with the problem `crashed`, their bodies kept. NULL: `message`
 * says why, naming the place and the fix. One process at a time has a
 * directory. Not for a thread that must not wait for the disk.
 */
struct srv_store *srv_store_open(const char *where,
                                 const struct srv_store_options *options,
                                 char *message, size_t size);

/* Does what was handed over, then closes. No other call may be running. NULL is
 * fine. */
static inline void srv_store_close(struct srv_store *store)
{
    if (store != NULL)
        store->methods->close(store);
}

/* Keeps a job: row, note and body, in the state that the record says (queued or
 * running). The row is copied at once, `body` must stay as it is until `done`.
 * SRV_STORE_CONFLICT: the id is taken. */
static inline enum srv_store_result
srv_store_put_job(struct srv_store *store, const struct srv_job_record *record,
                  srv_store_done *done, void *context)
{
    return store->methods->put_job(store, record, done, context);
}

/* The job runs now: attempts + 1. `done` may be NULL. */
static inline enum srv_store_result
srv_store_start_job(struct srv_store *store, const char *id, int64_t started_ms,
                    srv_store_done *done, void *context)
{
    return store->methods->start_job(store, id, started_ms, done, context);
}

/* The job has ended. SRV_STORE_CONFLICT: it already had, and stays as it was;
 * SRV_STORE_REMOVED, SRV_STORE_ABSENT: it is not there. Takes a reference to
 * the answer, copies all else. Never refused as busy: ends are no more than
 * jobs. */
static inline enum srv_store_result
srv_store_finish_job(struct srv_store *store, const struct srv_job_end *end,
                     srv_store_done *done, void *context)
{
    return store->methods->finish_job(store, end, done, context);
}

/* Removes a job, finished or not, and leaves its id and owner: SRV_STORE_OK,
 * SRV_STORE_REMOVED when it had been, SRV_STORE_ABSENT. */
static inline enum srv_store_result
srv_store_remove_job(struct srv_store *store, const char *id,
                     srv_store_done *done, void *context)
{
    return store->methods->remove_job(store, id, done, context);
}

/* Keeps an answer under its key, some time soon; takes a reference. Dropped
 * when many writes wait, when the disk is full, or when the key is there. */
static inline void srv_store_put_answer(struct srv_store *store,
                                        const struct srv_key *key,
                                        struct srv_answer *answer)
{
    store->methods->put_answer(store, key, answer);
}

/* Retention now, to its end. It runs by itself as well, in small steps. `done`
 * may be NULL. */
static inline enum srv_store_result
srv_store_sweep(struct srv_store *store, srv_store_done *done, void *context)
{
    return store->methods->sweep(store, done, context);
}

/* Fills the record: SRV_STORE_OK, then release it. SRV_STORE_REMOVED fills id
 * and owner. Otherwise the record is empty. */
static inline enum srv_store_result
srv_store_get_job(struct srv_store *store, const char *id, unsigned with,
                  struct srv_job_record *record)
{
    return store->methods->get_job(store, id, with, record);
}

/* A page of jobs, newest first. Jobs that come or go between two pages neither
 * hide nor repeat others. Release the records. SRV_STORE_ABSENT: the cursor is
 * none of ours. */
static inline enum srv_store_result
srv_store_list_jobs(struct srv_store *store, struct srv_job_list *list)
{
    return store->methods->list_jobs(store, list);
}

/* Calls `each` for every job that is not finished, in the order in which they
 * were put, until it says false. The record is released afterwards: a callback
 * that wants to keep a pointer takes it and leaves NULL. */
static inline enum srv_store_result
srv_store_unfinished(struct srv_store *store, unsigned with,
                     bool (*each)(void *context, struct srv_job_record *record),
                     void *context)
{
    return store->methods->unfinished(store, with, each, context);
}

/* SRV_STORE_OK: *answer is a reference for the caller. Else it is NULL. */
static inline enum srv_store_result
srv_store_get_answer(struct srv_store *store, const struct srv_key *key,
                     struct srv_answer **answer)
{
    return store->methods->get_answer(store, key, answer);
}

/* Does not wait for the disk. Counts are those after the last commit. */
static inline void srv_store_status(struct srv_store *store,
                                    struct srv_store_status *status)
{
    store->methods->status(store, status);
}

#endif
