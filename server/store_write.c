/*
 * store_write.c: what each write does to the tables.
 *
 * Each function returns SQLite's code; what the write itself came to is in
 * write->result.
 */
#include <string.h>

#include "failpoint.h"
#include "store_sqlite.h"

/* ---- documents ---------------------------------------------------------- */

/* *content: the number of the document kept under the key, 0 for none. */
static int find_answer(struct srv_sqlite *store, const struct srv_key *key,
                       int64_t *content)
{
    struct srv_query query;

    *content = 0;
    srv_query_begin(&query, &store->write, SRV_SQL_FIND_ANSWER);
    srv_query_blob(&query, 1, key->bytes, sizeof key->bytes);
    if (srv_query_step(&query) == SQLITE_ROW)
        *content = sqlite3_column_int64(query.statement, 0);
    return srv_query_end(&query);
}

enum srv_store_result srv_write_pack(struct srv_sqlite *store,
                                     struct srv_write *write)
{
    const struct srv_job_record *job = &write->job;

    if (write->packed.bytes != NULL)
        return SRV_STORE_OK;
    if (write->kind == SRV_WRITE_PUT)
        return srv_pack(&store->packer, job->body, job->body_length,
                        &write->packed);
    if (job->answer == NULL)
        return SRV_STORE_OK;
    return srv_pack(&store->packer, job->answer->bytes, job->answer->length,
                    &write->packed);
}

bool srv_write_is_kept(struct srv_sqlite *store, const struct srv_write *write)
{
    int64_t content = 0;

    if (!write->has_key)
        return false;
    if (store->in_memory)
        pthread_mutex_lock(&store->read_lock);
    const int code = find_answer(store, &write->key, &content);
    if (store->in_memory)
        pthread_mutex_unlock(&store->read_lock);
    return code == SQLITE_OK && content != 0;
}

static int put_content(struct srv_sqlite *store, struct srv_write *write,
                       int64_t *content)
{
    const struct srv_answer *answer = write->job.answer;
    struct srv_query query;

    if (srv_write_pack(store, write) != SRV_STORE_OK)
        return SQLITE_NOMEM;
    srv_query_begin(&query, &store->write, SRV_SQL_PUT_CONTENT);
    srv_query_text(&query, 1, answer->type);
    srv_query_text(&query, 2, answer->etag);
    srv_query_text(&query, 3, answer->digest);
    srv_query_text(&query, 4, answer->outcome);
    srv_query_number(&query, 5, (int64_t)answer->length);
    srv_query_blob(&query, 6, write->packed.bytes, write->packed.length);
    if (srv_query_step(&query) == SQLITE_DONE)
        *content = sqlite3_last_insert_rowid(store->write.db);
    return srv_query_end(&query);
}

/* The document's number: the one kept under the key, or a new one. */
static int keep_document(struct srv_sqlite *store, struct srv_write *write,
                         int64_t *content)
{
    struct srv_query query;
    int code =
        write->has_key ? find_answer(store, &write->key, content) : SQLITE_OK;

    if (code != SQLITE_OK || *content != 0)
        return code;
    code = put_content(store, write, content);
    if (code != SQLITE_OK || !write->has_key)
        return code;
    srv_query_begin(&query, &store->write, SRV_SQL_PUT_ANSWER);
    srv_query_blob(&query, 1, write->key.bytes, sizeof write->key.bytes);
    srv_query_number(&query, 2, *content);
    srv_query_number(&query, 3, (int64_t)store->options.now_ms());
    (void)srv_query_step(&query);
    code = srv_query_end(&query);
    if (code == SQLITE_OK)
        store->counts.n_answers++;
    return code;
}

static int drop_document(struct srv_sqlite *store, int64_t content)
{
    struct srv_query query;

    if (content == 0)
        return SQLITE_OK;
    srv_query_begin(&query, &store->write, SRV_SQL_DELETE_CONTENT);
    srv_query_number(&query, 1, content);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

/* ---- jobs --------------------------------------------------------------- */

/* What there is under that id: SRV_STORE_OK with its state, SRV_STORE_REMOVED
 * or SRV_STORE_ABSENT. */
struct found {
    enum srv_store_result result;
    enum srv_state state;
    int64_t n;
    int64_t content;
};

static int find_job(struct srv_sqlite *store, const char *id,
                    struct found *found)
{
    struct srv_query query;

    *found = (struct found){.result = SRV_STORE_ABSENT};
    srv_query_begin(&query, &store->write, SRV_SQL_STATE);
    srv_query_text(&query, 1, id);
    if (srv_query_step(&query) == SQLITE_ROW) {
        found->result = SRV_STORE_OK;
        found->state = (enum srv_state)sqlite3_column_int(query.statement, 0);
        found->n = sqlite3_column_int64(query.statement, 1);
        found->content = sqlite3_column_int64(query.statement, 2);
    }
    const int code = srv_query_end(&query);
    if (code != SQLITE_OK || found->result == SRV_STORE_OK)
        return code;
    srv_query_begin(&query, &store->write, SRV_SQL_FIND_REMOVED);
    srv_query_text(&query, 1, id);
    if (srv_query_step(&query) == SQLITE_ROW)
        found->result = SRV_STORE_REMOVED;
    return srv_query_end(&query);
}

/* The job of a write, in its result: SRV_STORE_OK while it is not finished, and
 * SRV_STORE_CONFLICT afterwards. */
static int find_unfinished(struct srv_sqlite *store, struct srv_write *write)
{
    struct found found;
    const int code = find_job(store, write->job.id, &found);

    write->result = found.result;
    if (code == SQLITE_OK && found.result == SRV_STORE_OK &&
        srv_state_is_final(found.state))
        write->result = SRV_STORE_CONFLICT;
    return code;
}

static int put_row(struct srv_sqlite *store, struct srv_write *write,
                   int64_t *n)
{
    const struct srv_job_record *job = &write->job;
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_PUT_JOB);
    srv_query_text(&query, 1, job->id);
    srv_query_text(&query, 2, job->owner);
    srv_query_text(&query, 3, job->call);
    srv_query_number(&query, 4, job->format);
    srv_query_number(&query, 5, job->priority);
    srv_query_number(&query, 6, job->state);
    srv_query_number(&query, 7, job->created_ms);
    srv_query_number(&query, 8, job->started_ms);
    srv_query_number(&query, 9, job->queue_deadline_ms);
    srv_query_number(&query, 10, job->run_ms);
    srv_query_number(&query, 11, job->attempts);
    srv_query_text(&query, 12, job->digest);
    srv_query_text(&query, 13, job->note);
    srv_query_number(&query, 14, (int64_t)job->body_length);
    if (srv_query_step(&query) == SQLITE_DONE) {
        if (sqlite3_changes(store->write.db) == 0)
            write->result = SRV_STORE_CONFLICT;
        else
            *n = sqlite3_last_insert_rowid(store->write.db);
    }
    return srv_query_end(&query);
}

static int put_job(struct srv_sqlite *store, struct srv_write *write)
{
    struct srv_query query;
    int64_t n = 0;
    int code =
        srv_write_pack(store, write) == SRV_STORE_OK ? SQLITE_OK : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = put_row(store, write, &n);
    if (code != SQLITE_OK || write->result != SRV_STORE_OK)
        return code;
    srv_fail_point(SRV_FAIL_PUT_ROW);
    srv_query_begin(&query, &store->write, SRV_SQL_PUT_BODY);
    srv_query_number(&query, 1, n);
    srv_query_blob(&query, 2, write->packed.bytes, write->packed.length);
    (void)srv_query_step(&query);
    code = srv_query_end(&query);
    if (code == SQLITE_OK) {
        store->counts.n_jobs++;
        store->counts.n_unfinished++;
    }
    srv_fail_point(SRV_FAIL_PUT_BODY);
    return code;
}

static int start_job(struct srv_sqlite *store, struct srv_write *write)
{
    struct srv_query query;
    int code = find_unfinished(store, write);

    if (code != SQLITE_OK || write->result != SRV_STORE_OK)
        return code;
    srv_query_begin(&query, &store->write, SRV_SQL_START_JOB);
    srv_query_text(&query, 1, write->job.id);
    srv_query_number(&query, 2, write->job.started_ms);
    (void)srv_query_step(&query);
    code = srv_query_end(&query);
    srv_fail_point(SRV_FAIL_START);
    return code;
}

static int write_end(struct srv_sqlite *store, const struct srv_job_record *job,
                     int64_t content)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_FINISH_JOB);
    srv_query_text(&query, 1, job->id);
    srv_query_number(&query, 2, job->state);
    srv_query_number(&query, 3, job->started_ms);
    srv_query_number(&query, 4, job->finished_ms);
    srv_query_text(&query, 5, job->digest[0] != '\0' ? job->digest : NULL);
    srv_query_text(&query, 6, job->problem);
    if (content != 0)
        srv_query_number(&query, 7, content);
    srv_query_text(&query, 8, job->note);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

static int finish_job(struct srv_sqlite *store, struct srv_write *write)
{
    int64_t content = 0;
    int code = find_unfinished(store, write);

    if (code != SQLITE_OK || write->result != SRV_STORE_OK)
        return code;
    srv_fail_point(SRV_FAIL_FINISH);
    if (write->job.answer != NULL)
        code = keep_document(store, write, &content);
    srv_fail_point(SRV_FAIL_FINISH_CONTENT);
    if (code == SQLITE_OK)
        code = write_end(store, &write->job, content);
    if (code == SQLITE_OK)
        store->counts.n_unfinished--;
    srv_fail_point(SRV_FAIL_FINISHED);
    return code;
}

static int run_by_id(struct srv_sqlite *store, enum srv_sql_id sql,
                     const char *id)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, sql);
    srv_query_text(&query, 1, id);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

static int bury(struct srv_sqlite *store, const char *id, int64_t now_ms)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_TOMBSTONE);
    srv_query_text(&query, 1, id);
    srv_query_number(&query, 2, now_ms);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

static int delete_body(struct srv_sqlite *store, int64_t n)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_DELETE_BODY);
    srv_query_number(&query, 1, n);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

static int delete_found(struct srv_sqlite *store, const char *id,
                        const struct found *found, int64_t now_ms)
{
    int code = bury(store, id, now_ms);

    srv_fail_point(SRV_FAIL_REMOVE);
    if (code == SQLITE_OK)
        code = delete_body(store, found->n);
    if (code == SQLITE_OK)
        code = run_by_id(store, SRV_SQL_DELETE_JOB, id);
    if (code == SQLITE_OK)
        code = drop_document(store, found->content);
    if (code == SQLITE_OK) {
        store->counts.n_jobs--;
        store->counts.n_unfinished -= !srv_state_is_final(found->state);
    }
    return code;
}

int srv_write_delete_job(struct srv_sqlite *store, const char *id,
                         int64_t now_ms)
{
    struct found found;
    const int code = find_job(store, id, &found);

    if (code != SQLITE_OK || found.result != SRV_STORE_OK)
        return code;
    return delete_found(store, id, &found, now_ms);
}

int srv_write_delete_answer(struct srv_sqlite *store, const void *key,
                            size_t key_length, int64_t content)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_DELETE_ANSWER);
    srv_query_blob(&query, 1, key, key_length);
    (void)srv_query_step(&query);
    const int code = srv_query_end(&query);
    if (code != SQLITE_OK)
        return code;
    store->counts.n_answers--;
    return drop_document(store, content);
}

static int remove_job(struct srv_sqlite *store, struct srv_write *write)
{
    struct found found;
    const int code = find_job(store, write->job.id, &found);

    write->result = found.result;
    if (code != SQLITE_OK || found.result != SRV_STORE_OK)
        return code;
    return delete_found(store, write->job.id, &found,
                        (int64_t)store->options.now_ms());
}

static int put_answer(struct srv_sqlite *store, struct srv_write *write)
{
    int64_t content = 0;
    const int code = keep_document(store, write, &content);

    srv_fail_point(SRV_FAIL_ANSWER);
    return code;
}

enum srv_store_result srv_write_apply(struct srv_sqlite *store,
                                      struct srv_write *write, int *code)
{
    write->result = SRV_STORE_OK;
    switch (write->kind) {
    case SRV_WRITE_PUT:
        *code = put_job(store, write);
        break;
    case SRV_WRITE_START:
        *code = start_job(store, write);
        break;
    case SRV_WRITE_FINISH:
        *code = finish_job(store, write);
        break;
    case SRV_WRITE_REMOVE:
        *code = remove_job(store, write);
        break;
    case SRV_WRITE_ANSWER:
        *code = put_answer(store, write);
        break;
    case SRV_WRITE_SWEEP: /* the writer's: it has transactions of its own */
        *code = SQLITE_OK;
        break;
    }
    return write->result;
}
