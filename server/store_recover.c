/*
 * store_recover.c: what the last process left behind.
 *
 * A job that was running is queued again. One that took the process with it
 * (crash.h) counts a crash, and so does every running job with the same body:
 * they wait for the same work. The count is exact even if this process dies
 * here, since each death has a number of its own that a job remembers. A crash
 * may be faster than the note that the job was started, so it counts as one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash.h"
#include "failpoint.h"
#include "proto.h"
#include "store_sqlite.h"

static bool is_hex(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((text[i] < '0' || text[i] > '9') &&
            (text[i] < 'a' || text[i] > 'f'))
            return false;
    }
    return true;
}

static int count_crash(struct srv_sqlite *store, const char *id,
                       const char *death)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_CRASHED);
    srv_query_text(&query, 1, id);
    srv_query_text(&query, 2, death);
    (void)srv_query_step(&query);
    return srv_query_end(&query);
}

/* Lines of the marker: an id, a blank, the number of the death. Anything else,
 * such as the zeros that reserve room, is passed over. */
static int count_crashes(struct srv_sqlite *store, char *text, size_t length)
{
    int code = SQLITE_OK;

    for (size_t i = 0; i + SRV_CRASH_LINE <= length && code == SQLITE_OK;
         i += SRV_CRASH_LINE) {
        char *line = text + i;

        if (line[SRV_CRASH_ID] != ' ' || line[SRV_CRASH_LINE - 1] != '\n' ||
            !is_hex(line, SRV_CRASH_ID) ||
            !is_hex(line + SRV_CRASH_ID + 1, SRV_CRASH_NUMBER))
            continue;
        line[SRV_CRASH_ID] = '\0';
        line[SRV_CRASH_LINE - 1] = '\0';
        code = count_crash(store, line, line + SRV_CRASH_ID + 1);
    }
    return code;
}

/* The next job that is not to be run again: its id and why. SQLITE_ROW, or
 * SQLITE_DONE when there is none. */
static int next_spent(struct srv_sqlite *store, char *id,
                      struct proto_problem *problem)
{
    struct srv_query query;

    srv_query_begin(&query, &store->write, SRV_SQL_SPENT);
    srv_query_number(&query, 1, store->options.max_crashes);
    srv_query_number(&query, 2, store->options.max_attempts);
    const int code = srv_query_step(&query);
    if (code == SQLITE_ROW) {
        const long long crashes = sqlite3_column_int64(query.statement, 1);
        const long long attempts = sqlite3_column_int64(query.statement, 2);

        srv_query_copy(&query, 0, id, SRV_JOB_ID_SIZE);
        memset(problem, 0, sizeof *problem);
        if (crashes >= (long long)store->options.max_crashes)
            proto_problem_set(problem, PROTO_CRASHED, NULL,
                              "the job crashed the process %lld times and is "
                              "not run again; its graph is kept: please report "
                              "it",
                              crashes);
        else
            proto_problem_set(problem, PROTO_CRASHED, NULL,
                              "the process ended %lld times while the job ran, "
                              "and it is not run again; its graph is kept",
                              attempts);
    }
    const int end = srv_query_end(&query);
    return end != SQLITE_OK ? end : code;
}

static int set_aside(struct srv_sqlite *store, const char *id,
                     const struct proto_problem *problem)
{
    char *text = proto_problem_encode(problem, NULL);
    struct srv_query query;

    if (text == NULL)
        return SQLITE_NOMEM;
    srv_query_begin(&query, &store->write, SRV_SQL_SET_ASIDE);
    srv_query_text(&query, 1, id);
    srv_query_number(&query, 2, (int64_t)store->options.now_ms());
    srv_query_text(&query, 3, text);
    (void)srv_query_step(&query);
    const int code = srv_query_end(&query);
    proto_free(text);
    return code;
}

static int settle(struct srv_sqlite *store, char *marker, size_t length)
{
    struct proto_problem problem;
    char id[SRV_JOB_ID_SIZE];
    int code = count_crashes(store, marker, length);

    while (code == SQLITE_OK) {
        code = next_spent(store, id, &problem);
        if (code != SQLITE_ROW)
            break;
        code = set_aside(store, id, &problem);
    }
    if (code != SQLITE_DONE)
        return code;
    code = srv_query_run(&store->write, SRV_SQL_REQUEUE);
    srv_fail_point(SRV_FAIL_RECOVER);
    return code;
}

static int open_marker(const struct srv_sqlite *store)
{
    char path[4096];

    if (store->in_memory || snprintf(path, sizeof path, "%s/" SRV_CRASH_FILE,
                                     store->folder) >= (int)sizeof path)
        return -1;
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

bool srv_recover(struct srv_sqlite *store, char *message, size_t size)
{
    char marker[SRV_CRASH_BYTES];
    struct srv_counts before;
    const int fd = open_marker(store);
    const ssize_t n = fd >= 0 ? read(fd, marker, sizeof marker) : 0;
    int code = srv_transaction_begin(store, &before);

    if (code == SQLITE_OK) {
        code = settle(store, marker, n > 0 ? (size_t)n : 0);
        const int end = srv_transaction_end(store, &before, code == SQLITE_OK);
        code = code != SQLITE_OK ? code : end;
    }
    if (code == SQLITE_OK) {
        srv_fail_point(SRV_FAIL_RECOVERED);
        if (fd >= 0 && ftruncate(fd, 0) != 0)
            code = SQLITE_IOERR;
    }
    if (fd >= 0)
        close(fd);
    if (code == SQLITE_OK)
        return true;
    snprintf(message, size, "%s: cannot settle what the last run left: %s",
             store->path, sqlite3_errmsg(store->write.db));
    return false;
}
