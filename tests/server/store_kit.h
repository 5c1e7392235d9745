/*
 * store_kit.h: what the suites of the store share: a folder of their own, jobs
 * to put, and waiting for a write.
 */
#ifndef STORE_KIT_H
#define STORE_KIT_H

#include <check.h>
#include <ftw.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

/* ---- folders ------------------------------------------------------------ */

static inline void kit_folder(char *folder, size_t size)
{
    const char *base = getenv("TMPDIR");

    snprintf(folder, size, "%s/remat-store-XXXXXX",
             base != NULL ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline int kit_unlink(const char *path, const struct stat *info,
                             int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static inline void kit_remove(const char *folder)
{
    nftw(folder, kit_unlink, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- waiting ------------------------------------------------------------ */

struct kit_wait {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool done;
    enum srv_store_result result;
};
#define KIT_WAIT                                                            \
    {                                                                       \
        .lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER \
    }

static inline void kit_told(void *context, enum srv_store_result result)
{
    struct kit_wait *wait = context;

    pthread_mutex_lock(&wait->lock);
    wait->done = true;
    wait->result = result;
    pthread_cond_signal(&wait->told);
    pthread_mutex_unlock(&wait->lock);
}

/* What a write came to that was handed over with `handed`. */
static inline enum srv_store_result kit_await(struct kit_wait *wait,
                                              enum srv_store_result handed)
{
    if (handed != SRV_STORE_OK)
        return handed;
    pthread_mutex_lock(&wait->lock);
    while (!wait->done)
        pthread_cond_wait(&wait->told, &wait->lock);
    wait->done = false;
    pthread_mutex_unlock(&wait->lock);
    return wait->result;
}

/* ---- jobs --------------------------------------------------------------- */

static inline void kit_id(char *id, unsigned number)
{
    snprintf(id, SRV_JOB_ID_SIZE, "%032x", number);
}

static inline void kit_job(struct srv_job_record *job, unsigned number,
                           const char *body)
{
    memset(job, 0, sizeof *job);
    kit_id(job->id, number);
    snprintf(job->owner, sizeof job->owner, "alice");
    snprintf(job->call, sizeof job->call, "plans");
    job->format = 1;
    job->priority = 2;
    job->created_ms = 1000 + (int64_t)number;
    job->queue_deadline_ms = 77;
    job->run_ms = 88;
    job->note = NULL;
    job->body_length = strlen(body);
    job->body = malloc(job->body_length + 1);
    memcpy(job->body, body, job->body_length + 1);
}

static inline enum srv_store_result kit_put(struct srv_store *store,
                                            unsigned number, const char *body)
{
    struct kit_wait wait = KIT_WAIT;
    struct srv_job_record job;

    kit_job(&job, number, body);
    const enum srv_store_result result =
        kit_await(&wait, srv_store_put_job(store, &job, kit_told, &wait));
    free(job.body);
    return result;
}

static inline enum srv_store_result kit_start(struct srv_store *store,
                                              unsigned number)
{
    struct kit_wait wait = KIT_WAIT;
    char id[SRV_JOB_ID_SIZE];

    kit_id(id, number);
    return kit_await(&wait,
                     srv_store_start_job(store, id, 5000, kit_told, &wait));
}

static inline struct srv_answer *kit_answer(const char *text)
{
    char *bytes = malloc(strlen(text) + 1);
    struct srv_answer *answer;

    memcpy(bytes, text, strlen(text) + 1);
    answer = srv_answer_new_take(bytes, strlen(text));
    snprintf(answer->type, sizeof answer->type, "application/json");
    snprintf(answer->etag, sizeof answer->etag, "e-%.20s", text);
    snprintf(answer->digest, sizeof answer->digest, "d-%.20s", text);
    snprintf(answer->outcome, sizeof answer->outcome, "plan");
    return answer;
}

static inline void kit_key(struct srv_key *key, unsigned number)
{
    memset(key, 0x5a, sizeof *key);
    memcpy(key->bytes, &number, sizeof number);
}

/* Ends a job with the answer `text`, kept under key `key` unless that is 0. */
static inline enum srv_store_result kit_finish(struct srv_store *store,
                                               unsigned number,
                                               const char *text, unsigned key,
                                               int64_t finished_ms)
{
    struct kit_wait wait = KIT_WAIT;
    struct srv_answer *answer = kit_answer(text);
    struct srv_key name;
    char id[SRV_JOB_ID_SIZE];

    kit_id(id, number);
    kit_key(&name, key);
    const struct srv_job_end end = {.id = id,
                                    .state = SRV_STATE_SUCCEEDED,
                                    .finished_ms = finished_ms,
                                    .answer = answer,
                                    .key = key != 0 ? &name : NULL};
    const enum srv_store_result result =
        kit_await(&wait, srv_store_finish_job(store, &end, kit_told, &wait));
    srv_answer_unref(answer);
    return result;
}

static inline enum srv_store_result kit_remove_job(struct srv_store *store,
                                                   unsigned number)
{
    struct kit_wait wait = KIT_WAIT;
    char id[SRV_JOB_ID_SIZE];

    kit_id(id, number);
    return kit_await(&wait, srv_store_remove_job(store, id, kit_told, &wait));
}

static inline enum srv_store_result kit_sweep(struct srv_store *store)
{
    struct kit_wait wait = KIT_WAIT;

    return kit_await(&wait, srv_store_sweep(store, kit_told, &wait));
}

static inline enum srv_store_result kit_get(struct srv_store *store,
                                            unsigned number, unsigned with,
                                            struct srv_job_record *record)
{
    char id[SRV_JOB_ID_SIZE];

    kit_id(id, number);
    return srv_store_get_job(store, id, with, record);
}

/* ---- the database from outside ------------------------------------------ */

static inline long long kit_read(const char *folder, const char *options,
                                 const char *sql)
{
    char path[512];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    long long value;

    snprintf(path, sizeof path, "file:%s/rematd.db%s", folder, options);
    ck_assert_int_eq(sqlite3_open_v2(path, &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI,
                                     NULL),
                     SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) ==
                      SQLITE_OK,
                  "%s", sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

/* One number out of the database in the folder. */
static inline long long kit_number(const char *folder, const char *sql)
{
    return kit_read(folder, "", sql);
}

static inline void kit_exec(const char *folder, const char *sql)
{
    char path[512];
    sqlite3 *db = NULL;
    char *error = NULL;

    snprintf(path, sizeof path, "%s/rematd.db", folder);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &error) == SQLITE_OK,
                  "%s: %s", sql, error);
    sqlite3_close(db);
}

/* The file is sound, and so is what the tables say of each other. Of a store
 * that is closed. */
static inline void kit_check(const char *folder)
{
    static const char sql[] =
        "SELECT (SELECT integrity_check<>'ok' FROM pragma_integrity_check) "
        "+ 10 * (SELECT count(*) FROM job WHERE n NOT IN "
        "(SELECT job FROM body))"
        "+ 100 * (SELECT count(*) FROM body WHERE job NOT IN "
        "(SELECT n FROM job))"
        "+ 1000 * (SELECT count(*) FROM job WHERE content IS NOT NULL "
        "AND content NOT IN (SELECT n FROM content))"
        "+ 10000 * (SELECT count(*) FROM answer "
        "WHERE content NOT IN (SELECT n FROM content))"
        "+ 100000 * (SELECT count(*) FROM content WHERE n NOT IN "
        "(SELECT content FROM answer) AND n NOT IN "
        "(SELECT content FROM job WHERE content IS NOT NULL))"
        "+ 1000000 * (SELECT count(*) FROM job "
        "WHERE state=2 AND content IS NULL)"
        "+ 10000000 * (SELECT count(*) FROM job "
        "WHERE id IN (SELECT id FROM removed))";

    ck_assert_int_eq(kit_read(folder, "?immutable=1", sql), 0);
}

/* Text that does not pack. */
static inline char *kit_noise(size_t length, unsigned seed)
{
    char *text = malloc(length + 1);
    uint64_t x = seed + UINT64_C(88172645463325252);

    for (size_t i = 0; i < length; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        text[i] = (char)(33 + x % 94);
    }
    text[length] = '\0';
    return text;
}

#endif
