/*
 * Opening a store: what the last process left, older and newer versions, other
 * databases, and who may open it.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "store_frame.h"

#include <pthread.h> /* the store has a thread: tsan looks for this */

#include "suite.h"

/* ---- what the last process left ----------------------------------------- */

struct seen {
    unsigned numbers[16];
    size_t n;
};

static bool see(void *context, struct srv_job_record *record)
{
    struct seen *seen = context;

    ck_assert_uint_lt(seen->n, 16);
    ck_assert_int_eq(record->state, SRV_STATE_QUEUED);
    ck_assert_ptr_nonnull(record->body);
    seen->numbers[seen->n++] = (unsigned)strtoul(record->id + 24, NULL, 16);
    return true;
}

static void expect_unfinished(struct srv_store *store, const unsigned *numbers,
                              size_t n)
{
    struct seen seen = {.n = 0};

    ck_assert_int_eq(srv_store_unfinished(store, SRV_WITH_BODY, see, &seen),
                     SRV_STORE_OK);
    ck_assert_uint_eq(seen.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(seen.numbers[i], numbers[i]);
}

START_TEST(unfinished_in_order)
{
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(kit_put(store, 9 - i, "b"), SRV_STORE_OK);
    ck_assert_int_eq(kit_start(store, 8), SRV_STORE_OK);
    ck_assert_int_eq(kit_finish(store, 6, "a", 0, 1), SRV_STORE_OK);
    srv_store_close(store);
    store = open_at(folder);
    expect_unfinished(store, (const unsigned[]){9, 8, 7, 5, 4}, 5);
    srv_store_close(store);
    tear_down();
}
END_TEST

static void expect_aside(struct srv_store *store, unsigned number,
                         const char *words)
{
    struct srv_job_record job;

    ck_assert_int_eq(kit_get(store, number, SRV_WITH_BODY, &job), SRV_STORE_OK);
    ck_assert_int_eq(job.state, SRV_STATE_FAILED);
    ck_assert_ptr_nonnull(job.problem);
    ck_assert_ptr_nonnull(strstr(job.problem, "\"crashed\""));
    ck_assert_msg(strstr(job.problem, words) != NULL, "%s", job.problem);
    ck_assert_str_eq(job.body, "poison");
    ck_assert_int_eq(job.finished_ms, (int64_t)now);
    srv_job_record_release(&job);
}

START_TEST(ten_starts_are_enough)
{
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, "poison"), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 2, "other"), SRV_STORE_OK);
    for (unsigned i = 0; i < 10; i++) {
        expect_unfinished(store, (const unsigned[]){1, 2}, 2);
        ck_assert_int_eq(kit_start(store, 1), SRV_STORE_OK);
        srv_store_close(store);
        store = open_at(folder);
    }
    expect_unfinished(store, (const unsigned[]){2}, 1);
    expect_aside(store, 1, "10 times");
    srv_store_close(store);
    tear_down();
}
END_TEST

static void leave_marker(unsigned number, const char *life)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/crashed", folder);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%032x %s\n", number, life);
    fclose(file);
}

/* Jobs 1 and 3 have the same body and run at the same time. */
START_TEST(three_crashes_are_enough)
{
    static const char *const lives[] = {"00000000000000aa", "00000000000000bb",
                                        "00000000000000cc"};
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, "poison"), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 2, "harmless"), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 3, "poison"), SRV_STORE_OK);
    for (unsigned i = 0; i < 3; i++) {
        expect_unfinished(store, (const unsigned[]){1, 2, 3}, 3);
        for (unsigned job = 1; job <= 3; job++)
            ck_assert_int_eq(kit_start(store, job), SRV_STORE_OK);
        srv_store_close(store);
        leave_marker(1, lives[i]);
        store = open_at(folder);
        if (i < 2) { /* the same death again: counted once */
            srv_store_close(store);
            leave_marker(1, lives[i]);
            store = open_at(folder);
        }
    }
    expect_unfinished(store, (const unsigned[]){2}, 1);
    expect_aside(store, 1, "3 times");
    expect_aside(store, 3, "3 times");
    srv_store_close(store);
    tear_down();
}
END_TEST

START_TEST(markers_of_others)
{
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, "b"), SRV_STORE_OK);
    srv_store_close(store);
    leave_marker(1, "not hex at all!!");
    store = open_at(folder);
    srv_store_close(store);
    ck_assert_int_eq(kit_number(folder, "SELECT sum(crashes) FROM job"), 0);
    leave_marker(2, "00000000000000aa"); /* no such job */
    store = open_at(folder);
    srv_store_close(store);
    ck_assert_int_eq(kit_number(folder, "SELECT sum(crashes) FROM job"), 0);
    tear_down();
}
END_TEST

/* ---- versions ----------------------------------------------------------- */

/* A database as version 1 wrote it: without attempts, crashes, notes and
 * tombstones. Body and answer are zstd frames of "body" and "answer". */
static const char version_1[] =
    "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
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
    "CREATE INDEX answer_content ON answer(content);"
    "INSERT INTO job(n,id,owner,call,format,priority,state,created_ms,"
    "started_ms,finished_ms,queue_deadline_ms,run_ms,digest,body_length,"
    "content) VALUES"
    "(1,'00000000000000000000000000000007','alice','plans',1,2,2,1007,"
    "5000,9000,77,88,'d-answer',4,1),"
    "(2,'00000000000000000000000000000008','alice','plans',1,2,1,1008,"
    "5000,0,77,88,'',4,NULL),"
    "(3,'00000000000000000000000000000009','alice','plans',1,2,0,1009,"
    "0,0,77,88,'',4,NULL);"
    "INSERT INTO body VALUES"
    "(1,x'28B52FFD2404210000626F64790F2D3D31'),"
    "(2,x'28B52FFD2404210000626F64790F2D3D31'),"
    "(3,x'28B52FFD2404210000626F64790F2D3D31');"
    "INSERT INTO content VALUES(1,'application/json','e-answer','d-answer',"
    "'plan',6,x'28B52FFD2406310000616E7377657258515402');"
    "PRAGMA user_version=1; PRAGMA application_id=1919249780;";

START_TEST(version_1_opens)
{
    struct srv_store *store;

    set_up();
    kit_exec(folder, version_1);
    store = open_at(folder);
    check_put(store);
    check_finished(store);
    expect_unfinished(store, (const unsigned[]){8, 9}, 2);
    ck_assert_int_eq(kit_remove_job(store, 7), SRV_STORE_OK);
    srv_store_close(store);
    ck_assert_int_eq(kit_number(folder, "PRAGMA user_version"), 2);
    ck_assert_int_eq(kit_number(folder, "SELECT attempts FROM job WHERE n=2"),
                     1);
    kit_check(folder);
    tear_down();
}
END_TEST

/* What SQL made of the folder is not opened, for that reason. */
static void expect_refused(const char *sql, const char *words)
{
    char message[512] = "";

    set_up();
    kit_exec(folder, sql);
    ck_assert_ptr_null(
        srv_store_open(folder, &options, message, sizeof message));
    ck_assert_msg(strstr(message, words) != NULL, "%s", message);
    ck_assert_ptr_nonnull(strstr(message, folder));
    tear_down();
}

START_TEST(newer_version_is_refused)
{
    expect_refused(
        "PRAGMA application_id=1919249780; PRAGMA user_version=3;"
        "CREATE TABLE job(n);",
        "version 3, written by a newer rematd; this one reads up to version 2");
}
END_TEST

START_TEST(other_databases_are_refused)
{
    expect_refused("CREATE TABLE photos(n);", "some other SQLite database");
    expect_refused("PRAGMA user_version=2;", "some other SQLite database");
}
END_TEST

START_TEST(files_that_are_no_database)
{
    char message[512] = "";
    char path[512];
    FILE *file;

    set_up();
    snprintf(path, sizeof path, "%s/rematd.db", folder);
    file = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is not a database; ", file);
    fclose(file);
    ck_assert_ptr_null(
        srv_store_open(folder, &options, message, sizeof message));
    ck_assert_msg(strstr(message, "not a database") != NULL, "%s", message);
    tear_down();
}
END_TEST

START_TEST(one_process_at_a_time)
{
    char message[512] = "";
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_ptr_null(
        srv_store_open(folder, &options, message, sizeof message));
    ck_assert_msg(strstr(message, "in use by another rematd") != NULL, "%s",
                  message);
    srv_store_close(store);
    store = open_at(folder);
    srv_store_close(store);
    tear_down();
}
END_TEST

START_TEST(places_that_cannot_be)
{
    char message[512] = "";
    char path[512];

    set_up();
    ck_assert_ptr_null(
        srv_store_open("/nonexistent/a/b", &options, message, sizeof message));
    ck_assert_msg(strstr(message, "cannot make the directory") != NULL, "%s",
                  message);
    snprintf(path, sizeof path, "%s/file", folder);
    fclose(fopen(path, "w"));
    ck_assert_ptr_null(srv_store_open(path, &options, message, sizeof message));
    ck_assert_msg(strstr(message, "Not a directory") != NULL, "%s", message);
    tear_down();
}
END_TEST

SUITE("store_open", unfinished_in_order, ten_starts_are_enough,
      three_crashes_are_enough, markers_of_others, version_1_opens,
      newer_version_is_refused, other_databases_are_refused,
      files_that_are_no_database, one_process_at_a_time, places_that_cannot_be)
