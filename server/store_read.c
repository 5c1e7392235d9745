/*
 * store_read.c: reads. What is copied out of the database is unpacked after the
 * lock is given back, since that takes longest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_sqlite.h"

/* A frame copied out of the database, and how long it will be. */
struct frame {
    char *bytes;
    size_t length;
    size_t unpacked;
};

static void lock_reads(struct srv_sqlite *store)
{
    pthread_mutex_lock(&store->read_lock);
}

static void unlock_reads(struct srv_sqlite *store)
{
    pthread_mutex_unlock(&store->read_lock);
}

/* SRV_STORE_FAILED goes to the status, without calling the store down: that is
 * about writes. */
static enum srv_store_result
judge(struct srv_sqlite *store, enum srv_store_result result, const char *what)
{
    if (result == SRV_STORE_FAILED) {
        pthread_mutex_lock(&store->lock);
        store->status.n_errors++;
        store->status.error_ms = (int64_t)store->options.now_ms();
        snprintf(store->status.error, sizeof store->status.error,
                 "cannot read %s", what);
        pthread_mutex_unlock(&store->lock);
    }
    return result;
}

/* Under read_lock. */
static enum srv_store_result result_of(struct srv_sqlite *store, int code)
{
    return srv_sql_result(srv_sqlite_reader(store)->db, code);
}

static bool copy_frame(const struct srv_query *query, int column,
                       struct frame *frame)
{
    const void *bytes = sqlite3_column_blob(query->statement, column);
    const int length = sqlite3_column_bytes(query->statement, column);

    frame->length = length > 0 && bytes != NULL ? (size_t)length : 0;
    frame->bytes = malloc(frame->length + 1);
    if (frame->bytes == NULL)
        return false;
    if (frame->length > 0)
        memcpy(frame->bytes, bytes, frame->length);
    return true;
}

/* ---- one job ------------------------------------------------------------ */

/* The row as a record, without body and answer. False without memory. */
static bool read_row(const struct srv_query *query,
                     struct srv_job_record *record)
{
    sqlite3_stmt *row = query->statement;
    const int state = sqlite3_column_int(row, 6);

    srv_query_copy(query, 1, record->id, sizeof record->id);
    srv_query_copy(query, 2, record->owner, sizeof record->owner);
    srv_query_copy(query, 3, record->call, sizeof record->call);
    record->format = sqlite3_column_int(row, 4);
    record->priority = sqlite3_column_int(row, 5);
    record->state = state >= 0 && state < SRV_N_STATES ? (enum srv_state)state
                                                       : SRV_STATE_FAILED;
    record->created_ms = sqlite3_column_int64(row, 7);
    record->started_ms = sqlite3_column_int64(row, 8);
    record->finished_ms = sqlite3_column_int64(row, 9);
    record->queue_deadline_ms = sqlite3_column_int64(row, 10);
    record->run_ms = sqlite3_column_int64(row, 11);
    record->attempts = (unsigned)sqlite3_column_int(row, 12);
    record->crashes = (unsigned)sqlite3_column_int(row, 13);
    srv_query_copy(query, 14, record->digest, sizeof record->digest);
    record->body_length = (size_t)sqlite3_column_int64(row, 17);
    srv_query_copy(query, 19, record->outcome, sizeof record->outcome);
    return srv_query_dup(query, 15, &record->note) &&
           srv_query_dup(query, 16, &record->problem);
}

static enum srv_store_result read_removed(struct srv_sqlite *store,
                                          const char *id,
                                          struct srv_job_record *record)
{
    enum srv_store_result result = SRV_STORE_ABSENT;
    struct srv_query query;

    srv_query_begin(&query, srv_sqlite_reader(store), SRV_SQL_FIND_REMOVED);
    srv_query_text(&query, 1, id);
    if (srv_query_step(&query) == SQLITE_ROW) {
        result = SRV_STORE_REMOVED;
        snprintf(record->id, sizeof record->id, "%s", id);
        srv_query_copy(&query, 0, record->owner, sizeof record->owner);
    }
    const int code = srv_query_end(&query);
    return code != SQLITE_OK ? result_of(store, code) : result;
}

static enum srv_store_result read_body(struct srv_sqlite *store, int64_t n,
                                       struct frame *frame)
{
    enum srv_store_result result = SRV_STORE_FAILED; /* a job has a body */
    struct srv_query query;

    srv_query_begin(&query, srv_sqlite_reader(store), SRV_SQL_GET_BODY);
    srv_query_number(&query, 1, n);
    if (srv_query_step(&query) == SQLITE_ROW)
        result =
            copy_frame(&query, 0, frame) ? SRV_STORE_OK : SRV_STORE_NO_MEMORY;
    const int code = srv_query_end(&query);
    return code != SQLITE_OK ? result_of(store, code) : result;
}

/* The document's frame and, in `answer`, what is known of it. */
static enum srv_store_result read_content(struct srv_sqlite *store,
                                          int64_t content,
                                          struct srv_answer *answer,
                                          struct frame *frame)
{
    enum srv_store_result result = SRV_STORE_FAILED;
    struct srv_query query;

    srv_query_begin(&query, srv_sqlite_reader(store), SRV_SQL_GET_CONTENT);
    srv_query_number(&query, 1, content);
    if (srv_query_step(&query) == SQLITE_ROW) {
        srv_query_copy(&query, 0, answer->type, sizeof answer->type);
        srv_query_copy(&query, 1, answer->etag, sizeof answer->etag);
        srv_query_copy(&query, 2, answer->digest, sizeof answer->digest);
        srv_query_copy(&query, 3, answer->outcome, sizeof answer->outcome);
        frame->unpacked = (size_t)sqlite3_column_int64(query.statement, 4);
        result =
            copy_frame(&query, 5, frame) ? SRV_STORE_OK : SRV_STORE_NO_MEMORY;
    }
    const int code = srv_query_end(&query);
    return code != SQLITE_OK ? result_of(store, code) : result;
}

/* Unpacks the frame; a new answer with the facts of `known`. */
static enum srv_store_result make_answer(struct srv_sqlite *store,
                                         const struct srv_answer *known,
                                         const struct frame *frame,
                                         struct srv_answer **answer)
{
    char *bytes = NULL;
    const enum srv_store_result result =
        srv_unpack(frame->bytes, frame->length, frame->unpacked,
                   store->options.max_body, &bytes);

    if (result != SRV_STORE_OK)
        return result;
    *answer = srv_answer_new_take(bytes, frame->unpacked);
    if (*answer == NULL) {
        free(bytes);
        return SRV_STORE_NO_MEMORY;
    }
    memcpy((*answer)->type, known->type, sizeof known->type);
    memcpy((*answer)->etag, known->etag, sizeof known->etag);
    memcpy((*answer)->digest, known->digest, sizeof known->digest);
    memcpy((*answer)->outcome, known->outcome, sizeof known->outcome);
    return SRV_STORE_OK;
}

/* What reading a job takes out of the database. */
struct parts {
    struct frame body;
    struct frame document;
    struct srv_answer known; /* what is known of the document; never shared */
    bool has_document;
};

static enum srv_store_result read_parts(struct srv_sqlite *store,
                                        const char *id, unsigned with,
                                        struct srv_job_record *record,
                                        struct parts *parts)
{
    enum srv_store_result result = SRV_STORE_ABSENT;
    int64_t n = 0;
    int64_t content = 0;
    struct srv_query query;

    srv_query_begin(&query, srv_sqlite_reader(store), SRV_SQL_GET_JOB);
    srv_query_text(&query, 1, id);
    if (srv_query_step(&query) == SQLITE_ROW) {
        n = sqlite3_column_int64(query.statement, 0);
        content = sqlite3_column_int64(query.statement, 18);
        result = read_row(&query, record) ? SRV_STORE_OK : SRV_STORE_NO_MEMORY;
    }
    const int code = srv_query_end(&query);
    if (code != SQLITE_OK)
        return result_of(store, code);
    if (result == SRV_STORE_ABSENT)
        return read_removed(store, id, record);
    if (result == SRV_STORE_OK && (with & SRV_WITH_BODY) != 0)
        result = read_body(store, n, &parts->body);
    parts->has_document = (with & SRV_WITH_ANSWER) != 0 && content != 0;
    if (result == SRV_STORE_OK && parts->has_document)
        result = read_content(store, content, &parts->known, &parts->document);
    return result;
}

/* Reads all parts as of one moment. */
static enum srv_store_result read_at_once(struct srv_sqlite *store,
                                          const char *id, unsigned with,
                                          struct srv_job_record *record,
                                          struct parts *parts)
{
    enum srv_store_result result;

    lock_reads(store);
    struct srv_connection *connection = srv_sqlite_reader(store);
    const int code = srv_query_run(connection, SRV_SQL_BEGIN_READ);
    if (code == SQLITE_OK) {
        result = read_parts(store, id, with, record, parts);
        (void)srv_query_run(connection, SRV_SQL_COMMIT);
    } else {
        result = result_of(store, code);
    }
    unlock_reads(store);
    return result;
}

enum srv_store_result srv_sqlite_get_job(struct srv_store *base, const char *id,
                                         unsigned with,
                                         struct srv_job_record *record)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    struct parts parts = {.has_document = false};
    enum srv_store_result result;

    memset(record, 0, sizeof *record);
    result = read_at_once(store, id, with, record, &parts);
    if (result == SRV_STORE_OK && parts.body.bytes != NULL)
        result =
            srv_unpack(parts.body.bytes, parts.body.length, record->body_length,
                       store->options.max_body, &record->body);
    if (result == SRV_STORE_OK && parts.has_document)
        result =
            make_answer(store, &parts.known, &parts.document, &record->answer);
    free(parts.body.bytes);
    free(parts.document.bytes);
    if (result != SRV_STORE_OK) {
        srv_job_record_release(record);
        if (result != SRV_STORE_REMOVED)
            memset(record, 0, sizeof *record);
    }
    return judge(store, result, "a job");
}

/* ---- lists -------------------------------------------------------------- */

/* A cursor is the creation time of the last job of a page in hex, a '-' and its
 * id: both are known to who sees the job, and neither moves. */
static bool read_cursor(const char *text, int64_t *created_ms, const char **id)
{
    uint64_t sum = 0;

    *created_ms = INT64_MAX;
    *id = "~"; /* after every id */
    if (text == NULL || text[0] == '\0')
        return true;
    if (strlen(text) != 16 + 1 + SRV_JOB_ID_SIZE - 1 || text[16] != '-')
        return false;
    for (size_t i = 0; text[i] != '\0'; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = strchr(digits, text[i]);

        if (i == 16)
            continue;
        if (digit == NULL)
            return false;
        if (i < 16)
            sum = sum * 16 + (uint64_t)(digit - digits);
    }
    if (sum > INT64_MAX)
        return false;
    *created_ms = (int64_t)sum;
    *id = text + 17;
    return true;
}

static enum srv_sql_id list_statement(const struct srv_job_list *list)
{
    if (list->owner == NULL)
        return list->state < 0 ? SRV_SQL_LIST : SRV_SQL_LIST_STATE;
    return list->state < 0 ? SRV_SQL_LIST_OWNER : SRV_SQL_LIST_OWNER_STATE;
}

/* Under read_lock. One row more than wanted tells whether there are more. */
static enum srv_store_result read_list(struct srv_sqlite *store,
                                       struct srv_job_list *list,
                                       int64_t created_ms, const char *id)
{
    enum srv_store_result result = SRV_STORE_OK;
    struct srv_query query;

    srv_query_begin(&query, srv_sqlite_reader(store), list_statement(list));
    srv_query_number(&query, 1, created_ms);
    srv_query_text(&query, 2, id);
    srv_query_number(&query, 3, (int64_t)list->n_most + 1);
    if (list->owner != NULL)
        srv_query_text(&query, 4, list->owner);
    if (list->state >= 0)
        srv_query_number(&query, 5, list->state);
    while (result == SRV_STORE_OK && srv_query_step(&query) == SQLITE_ROW) {
        if (list->n_records == list->n_most) {
            const struct srv_job_record *last =
                &list->records[list->n_most - 1];

            snprintf(list->next, sizeof list->next, "%016llx-%s",
                     (unsigned long long)last->created_ms, last->id);
            break;
        }
        memset(&list->records[list->n_records], 0, sizeof list->records[0]);
        if (!read_row(&query, &list->records[list->n_records++]))
            result = SRV_STORE_NO_MEMORY;
    }
    const int code = srv_query_end(&query);
    return code != SQLITE_OK ? result_of(store, code) : result;
}

enum srv_store_result srv_sqlite_list_jobs(struct srv_store *base,
                                           struct srv_job_list *list)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    enum srv_store_result result;
    int64_t created_ms;
    const char *id;

    list->n_records = 0;
    list->next[0] = '\0';
    if (!read_cursor(list->cursor, &created_ms, &id))
        return SRV_STORE_ABSENT;
    lock_reads(store);
    result = read_list(store, list, created_ms, id);
    unlock_reads(store);
    if (result != SRV_STORE_OK) {
        while (list->n_records > 0)
            srv_job_record_release(&list->records[--list->n_records]);
        list->next[0] = '\0';
    }
    return judge(store, result, "the list of jobs");
}

/* All ids of unfinished jobs, one after the other; *ids is malloc'ed. Under
 * read_lock. */
static enum srv_store_result read_ids(struct srv_sqlite *store,
                                      char (**ids)[SRV_JOB_ID_SIZE], size_t *n)
{
    enum srv_store_result result = SRV_STORE_OK;
    struct srv_query query;
    size_t room = 0;

    srv_query_begin(&query, srv_sqlite_reader(store), SRV_SQL_UNFINISHED);
    while (result == SRV_STORE_OK && srv_query_step(&query) == SQLITE_ROW) {
        if (*n == room) {
            char(*more)[SRV_JOB_ID_SIZE];

            room = room == 0 ? 64 : 2 * room;
            more = realloc(*ids, room * sizeof **ids);
            if (more == NULL) {
                result = SRV_STORE_NO_MEMORY;
                break;
            }
            *ids = more;
        }
        srv_query_copy(&query, 0, (*ids)[(*n)++], SRV_JOB_ID_SIZE);
    }
    const int code = srv_query_end(&query);
    return code != SQLITE_OK ? result_of(store, code) : result;
}

enum srv_store_result srv_sqlite_unfinished(
    struct srv_store *base, unsigned with,
    bool (*each)(void *context, struct srv_job_record *record), void *context)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    char(*ids)[SRV_JOB_ID_SIZE] = NULL;
    enum srv_store_result result;
    size_t n = 0;
    bool go_on = true;

    lock_reads(store);
    result = read_ids(store, &ids, &n);
    unlock_reads(store);
    for (size_t i = 0; i < n && result == SRV_STORE_OK && go_on; i++) {
        struct srv_job_record record;

        result = srv_sqlite_get_job(base, ids[i], with, &record);
        if (result == SRV_STORE_OK) {
            go_on = srv_state_is_final(record.state) || each(context, &record);
            srv_job_record_release(&record);
        } else if (result == SRV_STORE_REMOVED || result == SRV_STORE_ABSENT) {
            result = SRV_STORE_OK; /* gone since */
        }
    }
    free(ids);
    return judge(store, result, "the unfinished jobs");
}

/* ---- answers ------------------------------------------------------------ */

static enum srv_store_result read_answer(struct srv_sqlite *store,
                                         const struct srv_key *key,
                                         struct srv_answer *known,
                                         struct frame *frame)
{
    struct srv_query query;
    int64_t content = 0;

    srv_query_begin(&query, srv_sqlite_reader(store), SRV_SQL_FIND_ANSWER);
    srv_query_blob(&query, 1, key->bytes, sizeof key->bytes);
    if (srv_query_step(&query) == SQLITE_ROW)
        content = sqlite3_column_int64(query.statement, 0);
    const int code = srv_query_end(&query);
    if (code != SQLITE_OK)
        return result_of(store, code);
    if (content == 0)
        return SRV_STORE_ABSENT;
    return read_content(store, content, known, frame);
}

enum srv_store_result srv_sqlite_get_answer(struct srv_store *base,
                                            const struct srv_key *key,
                                            struct srv_answer **answer)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    struct frame frame = {.bytes = NULL};
    struct srv_answer known;
    enum srv_store_result result;

    *answer = NULL;
    memset(&known, 0, sizeof known);
    lock_reads(store);
    struct srv_connection *connection = srv_sqlite_reader(store);
    const int code = srv_query_run(connection, SRV_SQL_BEGIN_READ);
    if (code == SQLITE_OK) {
        result = read_answer(store, key, &known, &frame);
        (void)srv_query_run(connection, SRV_SQL_COMMIT);
    } else {
        result = result_of(store, code);
    }
    unlock_reads(store);
    if (result == SRV_STORE_OK)
        result = make_answer(store, &known, &frame, answer);
    free(frame.bytes);
    return judge(store, result, "an answer");
}
