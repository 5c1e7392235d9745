/*
 * store_schema.c: the database file, its settings and its tables.
 *
 * A new file goes through every migration there is, so that the way from an
 * older version is the way that is always taken.
 */
#include <stdio.h>
#include <string.h>

#include "failpoint.h"
#include "store_sqlite.h"

#define APPLICATION_ID 0x72656d74 /* "remt": says whose database it is */

/* Step k brings version k to version k + 1. */
static const char *const steps[SRV_SCHEMA_VERSION] = {
    /* 1: jobs, their bodies, documents, and answers by key. */
    "CREATE TABLE job("
    " n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
    " owner TEXT NOT NULL, call TEXT NOT NULL, format INTEGER NOT NULL,"
    " priority INTEGER NOT NULL, state INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL DEFAULT 0,"
    " finished_ms INTEGER NOT NULL DEFAULT 0,"
    " queue_deadline_ms INTEGER NOT NULL DEFAULT 0,"
    " run_ms INTEGER NOT NULL DEFAULT 0, digest TEXT NOT NULL DEFAULT '',"
    " problem TEXT, body_length INTEGER NOT NULL, content INTEGER);"
    "CREATE INDEX job_by_owner ON job(owner,created_ms,id);"
    "CREATE INDEX job_by_owner_state ON job(owner,state,created_ms,id);"
    "CREATE INDEX job_by_time ON job(created_ms,id);"
    "CREATE INDEX job_unfinished ON job(n) WHERE state<=1;"
    "CREATE INDEX job_finished ON job(finished_ms) WHERE state>1;"
    "CREATE INDEX job_content ON job(content) WHERE content IS NOT NULL;"
    "CREATE TABLE body(job INTEGER PRIMARY KEY, z BLOB NOT NULL);"
    "CREATE TABLE content(n INTEGER PRIMARY KEY, type TEXT NOT NULL,"
    " etag TEXT NOT NULL, digest TEXT NOT NULL, outcome TEXT NOT NULL,"
    " length INTEGER NOT NULL, z BLOB NOT NULL);"
    "CREATE TABLE answer(key BLOB PRIMARY KEY, content INTEGER NOT NULL,"
    " stored_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX answer_by_time ON answer(stored_ms);"
    "CREATE INDEX answer_content ON answer(content);",
    /* 2: how often a job was tried, and which jobs there were. */
    "ALTER TABLE job ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN last_crash TEXT;"
    "ALTER TABLE job ADD COLUMN note TEXT;"
    "UPDATE job SET attempts=1 WHERE started_ms>0;"
    "CREATE INDEX job_by_state ON job(state,created_ms,id);"
    "CREATE TABLE removed(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " owner TEXT NOT NULL, removed_ms INTEGER NOT NULL);"
    "CREATE TABLE probe(n INTEGER NOT NULL);"
    "INSERT INTO probe(n) VALUES(0);",
};

static bool say(const struct srv_sqlite *store, sqlite3 *db, const char *what,
                char *message, size_t size)
{
    snprintf(message, size, "%s: cannot %s: %s", store->path, what,
             db != NULL ? sqlite3_errmsg(db) : "out of memory");
    return false;
}

static bool pragma_number(sqlite3 *db, const char *text, int64_t *value)
{
    sqlite3_stmt *statement = NULL;
    const bool found =
        sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW;

    if (found)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return found;
}

static bool migrate(struct srv_sqlite *store, sqlite3 *db, int64_t from,
                    char *message, size_t size)
{
    char mark[96];

    snprintf(mark, sizeof mark,
             "PRAGMA user_version=%d; PRAGMA application_id=%d", (int)from + 1,
             APPLICATION_ID);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db, steps[from], NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db, mark, NULL, NULL, NULL) != SQLITE_OK)
        return say(store, db, "bring the tables up to date", message, size);
    srv_fail_point(SRV_FAIL_MIGRATE);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return say(store, db, "bring the tables up to date", message, size);
    srv_fail_point(SRV_FAIL_MIGRATED);
    return true;
}

/* Whose file it is, and how old. */
static bool check_version(struct srv_sqlite *store, sqlite3 *db,
                          int64_t *version, char *message, size_t size)
{
    int64_t application = 0;
    int64_t n_tables = 0;

    if (!pragma_number(db, "PRAGMA application_id", &application) ||
        !pragma_number(db, "PRAGMA user_version", version) ||
        !pragma_number(db, "SELECT count(*) FROM sqlite_schema", &n_tables))
        return say(store, db, "read the file", message, size);
    if (application != APPLICATION_ID && (n_tables > 0 || *version != 0)) {
        snprintf(message, size,
                 "%s: not a store of rematd but some other SQLite database; "
                 "give --data another directory",
                 store->path);
        return false;
    }
    if (*version < 0 || *version > SRV_SCHEMA_VERSION) {
        snprintf(message, size,
                 "%s: schema version %lld, written by a newer rematd; this one "
                 "reads up to version %d: start the newer one, or give --data "
                 "another directory",
                 store->path, (long long)*version, SRV_SCHEMA_VERSION);
        return false;
    }
    return true;
}

static bool prepare_file(struct srv_sqlite *store, sqlite3 *db, char *message,
                         size_t size)
{
    int64_t version = 0;

    if (!check_version(store, db, &version, message, size))
        return false;
    if (version == 0 && sqlite3_exec(db, "PRAGMA auto_vacuum=INCREMENTAL", NULL,
                                     NULL, NULL) != SQLITE_OK)
        return say(store, db, "set the file up", message, size);
    if (!store->in_memory && sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL,
                                          NULL, NULL) != SQLITE_OK)
        return say(store, db, "set its log up", message, size);
    for (; version < SRV_SCHEMA_VERSION; version++) {
        if (!migrate(store, db, version, message, size))
            return false;
    }
    return true;
}

bool srv_schema_open(struct srv_sqlite *store,
                     struct srv_connection *connection, bool first,
                     char *message, size_t size)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_EXRESCODE | (first ? SQLITE_OPEN_CREATE : 0);
    static const char settings[] = "PRAGMA synchronous=FULL;"
                                   "PRAGMA foreign_keys=OFF;"
                                   "PRAGMA trusted_schema=OFF;"
                                   "PRAGMA cell_size_check=ON;"
                                   "PRAGMA journal_size_limit=67108864;"
                                   "PRAGMA temp_store=MEMORY;";

    if (sqlite3_open_v2(store->path, &connection->db, flags,
                        store->options.vfs) != SQLITE_OK)
        return say(store, connection->db, "open the file", message, size);
    sqlite3_busy_timeout(connection->db, first ? 2000 : 500);
    if (sqlite3_exec(connection->db, settings, NULL, NULL, NULL) != SQLITE_OK)
        return say(store, connection->db, "read the file", message, size);
    if (!first)
        return sqlite3_exec(connection->db, "PRAGMA query_only=ON", NULL, NULL,
                            NULL) == SQLITE_OK ||
               say(store, connection->db, "read the file", message, size);
    return prepare_file(store, connection->db, message, size);
}
