/*
 * store_sql.h: the statements of the SQLite store, and a short way to run one.
 *
 * A connection prepares a statement when it is first used and keeps it. Binding
 * to a query that has failed does nothing, so that a caller checks once, at the
 * step.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#ifndef SRV_STORE_SQL_H
#define SRV_STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

#define SRV_JOB_COLUMNS                                                        \
    "n,id,owner,call,format,priority,state,created_ms,started_ms,finished_ms," \
    "queue_deadline_ms,run_ms,attempts,crashes,digest,note,problem,"           \
    "body_length,content,"                                                     \
    "(SELECT c.outcome FROM content AS c WHERE c.n=job.content)"
#define SRV_LIST_FROM "SELECT " SRV_JOB_COLUMNS " FROM job WHERE "
#define SRV_LIST_ORDER         \
    "(created_ms,id)<(?1,?2) " \
    "ORDER BY created_ms DESC,id DESC LIMIT ?3"

/* X(enumerator, SQL). States 0 and 1 are queued and running. */
#define SRV_SQL_MAP(X)                                                        \
    X(SRV_SQL_BEGIN_READ, "BEGIN")                                            \
    X(SRV_SQL_BEGIN, "BEGIN IMMEDIATE")                                       \
    X(SRV_SQL_COMMIT, "COMMIT")                                               \
    X(SRV_SQL_ROLLBACK, "ROLLBACK")                                           \
    X(SRV_SQL_PAGES, "PRAGMA page_count")                                     \
    X(SRV_SQL_FREE_PAGES, "PRAGMA freelist_count")                            \
    X(SRV_SQL_PAGE_SIZE, "PRAGMA page_size")                                  \
    X(SRV_SQL_VACUUM, "PRAGMA incremental_vacuum(512)")                       \
    X(SRV_SQL_PROBE, "UPDATE probe SET n=n+1")                                \
    X(SRV_SQL_COUNT_JOBS, "SELECT count(*) FROM job")                         \
    X(SRV_SQL_COUNT_UNFINISHED, "SELECT count(*) FROM job WHERE state<=1")    \
    X(SRV_SQL_COUNT_ANSWERS, "SELECT count(*) FROM answer")                   \
    X(SRV_SQL_PUT_JOB,                                                        \
      "INSERT OR IGNORE INTO job(id,owner,call,format,priority,state,"        \
      "created_ms,started_ms,queue_deadline_ms,run_ms,attempts,digest,note,"  \
      "body_length) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)")  \
    X(SRV_SQL_PUT_BODY, "INSERT INTO body(job,z) VALUES(?1,?2)")              \
    X(SRV_SQL_START_JOB,                                                      \
      "UPDATE job SET state=1,started_ms=?2,attempts=attempts+1 "             \
      "WHERE id=?1 AND state<=1")                                             \
    X(SRV_SQL_STATE, "SELECT state,n,content FROM job WHERE id=?1")           \
    X(SRV_SQL_FINISH_JOB,                                                     \
      "UPDATE job SET state=?2,started_ms=coalesce(nullif(?3,0),started_ms)," \
      "finished_ms=?4,digest=coalesce(?5,digest),problem=?6,content=?7,"      \
      "note=coalesce(?8,note) WHERE id=?1 AND state<=1")                      \
    X(SRV_SQL_PUT_CONTENT,                                                    \
      "INSERT INTO content(type,etag,digest,outcome,length,z) "               \
      "VALUES(?1,?2,?3,?4,?5,?6)")                                            \
    X(SRV_SQL_PUT_ANSWER,                                                     \
      "INSERT INTO answer(key,content,stored_ms) VALUES(?1,?2,?3)")           \
    X(SRV_SQL_FIND_ANSWER, "SELECT content FROM answer WHERE key=?1")         \
    X(SRV_SQL_TOMBSTONE, "INSERT INTO removed(id,owner,removed_ms) "          \
                         "SELECT id,owner,?2 FROM job WHERE id=?1")           \
    X(SRV_SQL_FIND_REMOVED, "SELECT owner FROM removed WHERE id=?1")          \
    X(SRV_SQL_DELETE_BODY, "DELETE FROM body WHERE job=?1")                   \
    X(SRV_SQL_DELETE_JOB, "DELETE FROM job WHERE id=?1")                      \
    X(SRV_SQL_DELETE_ANSWER, "DELETE FROM answer WHERE key=?1")               \
    X(SRV_SQL_DELETE_CONTENT,                                                 \
      "DELETE FROM content WHERE n=?1 "                                       \
      "AND NOT EXISTS(SELECT 1 FROM job WHERE content=?1) "                   \
      "AND NOT EXISTS(SELECT 1 FROM answer WHERE content=?1)")                \
    X(SRV_SQL_OLDEST,                                                         \
      "SELECT * FROM (SELECT id,content,finished_ms AS at,0 FROM job "        \
      "WHERE state>1 ORDER BY finished_ms LIMIT 256) UNION ALL "              \
      "SELECT * FROM (SELECT key,content,stored_ms AS at,1 FROM answer "      \
      "ORDER BY stored_ms LIMIT 256) ORDER BY at LIMIT 256")                  \
    X(SRV_SQL_FORGET_REMOVED,                                                 \
      "DELETE FROM removed WHERE n IN (SELECT n FROM removed WHERE "          \
      "n<=(SELECT max(n) FROM removed)-?1 ORDER BY n LIMIT 256)")             \
    X(SRV_SQL_GET_JOB, "SELECT " SRV_JOB_COLUMNS " FROM job WHERE id=?1")     \
    X(SRV_SQL_GET_BODY, "SELECT z FROM body WHERE job=?1")                    \
    X(SRV_SQL_GET_CONTENT,                                                    \
      "SELECT type,etag,digest,outcome,length,z FROM content WHERE n=?1")     \
    X(SRV_SQL_LIST, SRV_LIST_FROM SRV_LIST_ORDER)                             \
    X(SRV_SQL_LIST_STATE, SRV_LIST_FROM "state=?5 AND " SRV_LIST_ORDER)       \
    X(SRV_SQL_LIST_OWNER, SRV_LIST_FROM "owner=?4 AND " SRV_LIST_ORDER)       \
    X(SRV_SQL_LIST_OWNER_STATE,                                               \
      SRV_LIST_FROM "owner=?4 AND state=?5 AND " SRV_LIST_ORDER)              \
    X(SRV_SQL_UNFINISHED, "SELECT id FROM job WHERE state<=1 ORDER BY n")     \
    X(SRV_SQL_CRASHED,                                                        \
      "UPDATE job SET crashes=crashes+1,attempts=max(attempts,crashes+1),"    \
      "last_crash=?2 WHERE state<=1 "                                         \
      "AND last_crash IS NOT ?2 AND (id=?1 OR (state=1 AND "                  \
      "body_length=(SELECT body_length FROM job WHERE id=?1) AND "            \
      "(SELECT z FROM body WHERE job=job.n)=(SELECT z FROM body "             \
      "WHERE job=(SELECT n FROM job WHERE id=?1))))")                         \
    X(SRV_SQL_SPENT,                                                          \
      "SELECT id,crashes,attempts FROM job WHERE state<=1 AND "               \
      "(crashes>=?1 OR (state=1 AND attempts>=?2)) ORDER BY n LIMIT 1")       \
    X(SRV_SQL_SET_ASIDE,                                                      \
      "UPDATE job SET state=3,finished_ms=?2,problem=?3 WHERE id=?1")         \
    X(SRV_SQL_REQUEUE, "UPDATE job SET state=0,started_ms=0 WHERE state=1")

enum srv_sql_id {
#define X(name, text) name,
    SRV_SQL_MAP(X)
#undef X
    SRV_N_SQL
};

struct srv_connection {
    sqlite3 *db;
    sqlite3_stmt *statements[SRV_N_SQL];
};
/* Finalizes and closes; NULL inside is fine. */
void srv_connection_close(struct srv_connection *connection);

struct srv_query {
    struct srv_connection *connection;
    sqlite3_stmt *statement;
    int code; /* SQLite's */
};
void srv_query_begin(struct srv_query *query, struct srv_connection *connection,
                     enum srv_sql_id id);
/* Parameters from 1; NULL binds NULL. What is bound must stay until end. */
void srv_query_text(struct srv_query *query, int at, const char *text);
void srv_query_number(struct srv_query *query, int at, int64_t value);
void srv_query_blob(struct srv_query *query, int at, const void *bytes,
                    size_t length);
/* The next row: SQLITE_ROW, SQLITE_DONE or an error. */
int srv_query_step(struct srv_query *query);
/* Resets; SQLITE_OK unless something failed. */
int srv_query_end(struct srv_query *query);

/* A statement without parameters or rows to look at. */
int srv_query_run(struct srv_connection *connection, enum srv_sql_id id);
/* One row, one number. */
int srv_query_one(struct srv_connection *connection, enum srv_sql_id id,
                  int64_t *value);
/* Column as text into a fixed array, cut at its size. */
void srv_query_copy(const struct srv_query *query, int column, char *out,
                    size_t size);
/* Column as malloc'ed text, NULL for NULL; false without memory. */
bool srv_query_dup(const struct srv_query *query, int column, char **out);

/* What a SQLite code means to callers. */
enum srv_store_result srv_sql_result(sqlite3 *db, int code);

#endif
