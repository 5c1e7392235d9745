/*
 * store_sql.c: prepared statements by number.
 */
#include "store_sql.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[SRV_N_SQL] = {
#define X(name, text) text,
    SRV_SQL_MAP(X)
#undef X
};

void srv_connection_close(struct srv_connection *connection)
{
    for (size_t i = 0; i < SRV_N_SQL; i++) {
        sqlite3_finalize(connection->statements[i]);
        connection->statements[i] = NULL;
    }
    sqlite3_close(connection->db);
    connection->db = NULL;
}

void srv_query_begin(struct srv_query *query, struct srv_connection *connection,
                     enum srv_sql_id id)
{
    sqlite3_stmt **slot = &connection->statements[id];

    query->connection = connection;
    query->code = SQLITE_OK;
    if (*slot == NULL)
        query->code = sqlite3_prepare_v3(connection->db, texts[id], -1,
                                         SQLITE_PREPARE_PERSISTENT, slot, NULL);
    query->statement = *slot;
}

void srv_query_text(struct srv_query *query, int at, const char *text)
{
    if (query->code == SQLITE_OK)
        query->code =
            sqlite3_bind_text(query->statement, at, text, -1, SQLITE_STATIC);
}

void srv_query_number(struct srv_query *query, int at, int64_t value)
{
    if (query->code == SQLITE_OK)
        query->code = sqlite3_bind_int64(query->statement, at, value);
}

void srv_query_blob(struct srv_query *query, int at, const void *bytes,
                    size_t length)
{
    if (query->code == SQLITE_OK)
        query->code = sqlite3_bind_blob64(query->statement, at, bytes, length,
                                          SQLITE_STATIC);
}

int srv_query_step(struct srv_query *query)
{
    if (query->code != SQLITE_OK)
        return query->code;
    const int code = sqlite3_step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        query->code = code;
    return code;
}

int srv_query_end(struct srv_query *query)
{
    if (query->statement != NULL) {
        sqlite3_reset(query->statement);
        sqlite3_clear_bindings(query->statement);
    }
    return query->code;
}

int srv_query_run(struct srv_connection *connection, enum srv_sql_id id)
{
    struct srv_query query;

    srv_query_begin(&query, connection, id);
    while (srv_query_step(&query) == SQLITE_ROW)
        continue;
    return srv_query_end(&query);
}

int srv_query_one(struct srv_connection *connection, enum srv_sql_id id,
                  int64_t *value)
{
    struct srv_query query;

    srv_query_begin(&query, connection, id);
    if (srv_query_step(&query) == SQLITE_ROW)
        *value = sqlite3_column_int64(query.statement, 0);
    return srv_query_end(&query);
}

void srv_query_copy(const struct srv_query *query, int column, char *out,
                    size_t size)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);

    snprintf(out, size, "%s", text != NULL ? (const char *)text : "");
}

bool srv_query_dup(const struct srv_query *query, int column, char **out)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);

    *out = NULL;
    if (text == NULL)
        return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
    *out = strdup((const char *)text);
    return *out != NULL;
}

enum srv_store_result srv_sql_result(sqlite3 *db, int code)
{
    const int system_error = db != NULL ? sqlite3_system_errno(db) : 0;

    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return SRV_STORE_OK;
    case SQLITE_FULL:
        return SRV_STORE_FULL;
    case SQLITE_NOMEM:
        return SRV_STORE_NO_MEMORY;
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM)
            return SRV_STORE_NO_MEMORY;
        return system_error == ENOSPC || system_error == EDQUOT
                   ? SRV_STORE_FULL
                   : SRV_STORE_FAILED;
    default:
        return SRV_STORE_FAILED;
    }
}
