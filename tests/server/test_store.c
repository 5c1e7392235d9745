/*
 * The store: what is put can be read, before and after it was closed; states
 * only go forward; lists; documents that are damaged.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "store_frame.h"

#include <pthread.h> /* the store has a thread: tsan looks for this */

#include "suite.h"

/* ---- jobs --------------------------------------------------------------- */

static void life(const char *where, bool again)
{
    struct srv_job_record job;
    struct srv_store *store = open_at(where);

    ck_assert_int_eq(kit_get(store, 7, 0, &job), SRV_STORE_ABSENT);
    ck_assert_int_eq(kit_put(store, 7, "body"), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 7, "other"), SRV_STORE_CONFLICT);
    check_put(store);
    ck_assert_int_eq(kit_start(store, 7), SRV_STORE_OK);
    ck_assert_int_eq(kit_get(store, 7, 0, &job), SRV_STORE_OK);
    ck_assert_int_eq(job.state, SRV_STATE_RUNNING);
    ck_assert_int_eq(kit_finish(store, 7, "answer", 0, 9000), SRV_STORE_OK);
    check_finished(store);
    ck_assert_int_eq(kit_finish(store, 7, "another", 0, 9999),
                     SRV_STORE_CONFLICT);
    ck_assert_int_eq(kit_start(store, 7), SRV_STORE_CONFLICT);
    check_finished(store);
    if (again) {
        srv_store_close(store);
        store = open_at(where);
        check_put(store);
        check_finished(store);
    }
    ck_assert_int_eq(kit_remove_job(store, 7), SRV_STORE_OK);
    ck_assert_int_eq(kit_remove_job(store, 7), SRV_STORE_REMOVED);
    ck_assert_int_eq(kit_remove_job(store, 8), SRV_STORE_ABSENT);
    ck_assert_int_eq(kit_finish(store, 7, "late", 0, 1), SRV_STORE_REMOVED);
    ck_assert_int_eq(kit_start(store, 8), SRV_STORE_ABSENT);
    ck_assert_int_eq(kit_get(store, 7, 0, &job), SRV_STORE_REMOVED);
    ck_assert_str_eq(job.owner, "alice");
    srv_store_close(store);
}

START_TEST(life_on_disk)
{
    set_up();
    life(folder, true);
    tear_down();
}
END_TEST

START_TEST(life_in_memory)
{
    set_up_memory();
    life(":memory:", false);
}
END_TEST

/* ---- answers by key ----------------------------------------------------- */

START_TEST(answers_by_key)
{
    struct srv_answer *put = kit_answer("document");
    struct srv_answer *got = NULL;
    struct srv_key key;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    kit_key(&key, 1);
    ck_assert_int_eq(srv_store_get_answer(store, &key, &got), SRV_STORE_ABSENT);
    ck_assert_ptr_null(got);
    srv_store_put_answer(store, &key, put);
    srv_answer_unref(put);
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK); /* behind the put */
    srv_store_close(store);
    store = open_at(folder);
    ck_assert_int_eq(srv_store_get_answer(store, &key, &got), SRV_STORE_OK);
    ck_assert_uint_eq(got->length, 8);
    ck_assert_str_eq(got->bytes, "document");
    ck_assert_str_eq(got->etag, "e-document");
    srv_answer_unref(got);
    kit_key(&key, 2);
    ck_assert_int_eq(srv_store_get_answer(store, &key, &got), SRV_STORE_ABSENT);
    srv_store_close(store);
    tear_down();
}
END_TEST

/* Jobs that end with the same key share one document; it goes with the last who
 * needs it. */
START_TEST(documents_are_shared)
{
    static const char count[] = "SELECT count(*) FROM content";
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert_int_eq(kit_put(store, i, "body"), SRV_STORE_OK);
        ck_assert_int_eq(kit_finish(store, i, "same", 9, (int64_t)now),
                         SRV_STORE_OK);
    }
    ck_assert_int_eq(kit_number(folder, count), 1);
    ck_assert_int_eq(kit_remove_job(store, 1), SRV_STORE_OK);
    ck_assert_int_eq(kit_get(store, 3, SRV_WITH_ANSWER, &job), SRV_STORE_OK);
    ck_assert_str_eq(job.answer->bytes, "same");
    srv_job_record_release(&job);
    ck_assert_int_eq(kit_remove_job(store, 2), SRV_STORE_OK);
    ck_assert_int_eq(kit_remove_job(store, 3), SRV_STORE_OK);
    ck_assert_int_eq(kit_number(folder, count), 1); /* the key's */
    now += options.retain_ms + 1;
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    ck_assert_int_eq(kit_number(folder, count), 0);
    srv_store_close(store);
    kit_check(folder);
    tear_down();
}
END_TEST

/* ---- lists -------------------------------------------------------------- */

static void expect_page(struct srv_store *store, struct srv_job_list *list,
                        const unsigned *numbers, size_t n, bool more)
{
    struct srv_job_record records[8];
    char id[SRV_JOB_ID_SIZE];

    list->records = records;
    ck_assert_int_eq(srv_store_list_jobs(store, list), SRV_STORE_OK);
    ck_assert_uint_eq(list->n_records, n);
    for (size_t i = 0; i < n; i++) {
        kit_id(id, numbers[i]);
        ck_assert_str_eq(records[i].id, id);
        ck_assert_ptr_null(records[i].body);
        srv_job_record_release(&records[i]);
    }
    ck_assert_int_eq(list->next[0] != '\0', more);
}

static void put_for(struct srv_store *store, unsigned number, const char *owner)
{
    struct kit_wait wait = KIT_WAIT;
    struct srv_job_record job;

    kit_job(&job, number, "b");
    snprintf(job.owner, sizeof job.owner, "%s", owner);
    ck_assert_int_eq(
        kit_await(&wait, srv_store_put_job(store, &job, kit_told, &wait)),
        SRV_STORE_OK);
    free(job.body);
}

static void pages(const char *where)
{
    struct srv_job_list list = {.owner = "alice", .state = -1, .n_most = 2};
    char cursor[SRV_CURSOR_SIZE];
    struct srv_store *store = open_at(where);

    for (unsigned i = 1; i <= 6; i++)
        put_for(store, i, i == 3 ? "bob" : "alice");
    expect_page(store, &list, (const unsigned[]){6, 5}, 2, true);
    memcpy(cursor, list.next, sizeof cursor);
    put_for(store, 7, "alice"); /* newer: not on a later page */
    ck_assert_int_eq(kit_remove_job(store, 5), SRV_STORE_OK); /* the cursor's */
    list.cursor = cursor;
    expect_page(store, &list, (const unsigned[]){4, 2}, 2, true);
    memcpy(cursor, list.next, sizeof cursor);
    expect_page(store, &list, (const unsigned[]){1}, 1, false);

    list = (struct srv_job_list){.state = -1, .n_most = 8};
    expect_page(store, &list, (const unsigned[]){7, 6, 4, 3, 2, 1}, 6, false);
    ck_assert_int_eq(kit_start(store, 4), SRV_STORE_OK);
    ck_assert_int_eq(kit_start(store, 3), SRV_STORE_OK);
    list.state = SRV_STATE_RUNNING;
    expect_page(store, &list, (const unsigned[]){4, 3}, 2, false);
    list.owner = "bob";
    expect_page(store, &list, (const unsigned[]){3}, 1, false);
    list.owner = "carol";
    expect_page(store, &list, NULL, 0, false);
    srv_store_close(store);
}

START_TEST(pages_on_disk)
{
    set_up();
    pages(folder);
    tear_down();
}
END_TEST

START_TEST(pages_in_memory)
{
    set_up_memory();
    pages(":memory:");
}
END_TEST

START_TEST(cursors_of_others)
{
    static const char *const bad[] = {
        "x",
        "0000000000000001",
        "0000000000000001-",
        "0000000000000001-0000000000000000000000000000000",
        "0000000000000001-000000000000000000000000000000011",
        "000000000000000g-00000000000000000000000000000001",
        "0000000000000001+00000000000000000000000000000001",
        "ffffffffffffffff-00000000000000000000000000000001",
        "0000000000000001-0000000000000000000000000000000G",
    };
    struct srv_job_record record;
    struct srv_store *store;

    set_up_memory();
    store = open_at(":memory:");
    ck_assert_int_eq(kit_put(store, 1, "b"), SRV_STORE_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct srv_job_list list = {
            .state = -1, .n_most = 1, .cursor = bad[i], .records = &record};

        ck_assert_msg(srv_store_list_jobs(store, &list) == SRV_STORE_ABSENT,
                      "%s", bad[i]);
    }
    srv_store_close(store);
}
END_TEST

/* ---- documents ---------------------------------------------------------- */

START_TEST(large_bodies)
{
    const size_t length = (size_t)40 << 20;
    char *body = kit_noise(length, 1);
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, body), SRV_STORE_OK);
    ck_assert_int_eq(kit_finish(store, 1, body, 0, 1), SRV_STORE_OK);
    srv_store_close(store);
    store = open_at(folder);
    ck_assert_int_eq(kit_get(store, 1, SRV_WITH_BODY | SRV_WITH_ANSWER, &job),
                     SRV_STORE_OK);
    ck_assert_uint_eq(job.body_length, length);
    ck_assert_int_eq(memcmp(job.body, body, length + 1), 0);
    ck_assert_uint_eq(job.answer->length, length);
    ck_assert_int_eq(memcmp(job.answer->bytes, body, length + 1), 0);
    srv_job_record_release(&job);
    srv_store_close(store);
    free(body);
    tear_down();
}
END_TEST

/* A frame that is not what was written is an error, not another document. */
static void damage(const char *sql)
{
    struct srv_store_status status;
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, "a body of some length"), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 2, "a body of some length"), SRV_STORE_OK);
    srv_store_close(store);
    kit_exec(folder, sql);
    store = open_at(folder);
    ck_assert_int_eq(kit_get(store, 1, SRV_WITH_BODY, &job), SRV_STORE_FAILED);
    ck_assert_ptr_null(job.body);
    ck_assert_int_eq(kit_get(store, 2, SRV_WITH_BODY, &job), SRV_STORE_OK);
    srv_job_record_release(&job);
    srv_store_status(store, &status);
    ck_assert_uint_eq(status.n_errors, 1);
    ck_assert(status.up);
    srv_store_close(store);
    tear_down();
}

START_TEST(damaged_bodies)
{
    damage("UPDATE body SET z=x'00' WHERE job=1");
    damage("UPDATE body SET z=x'' WHERE job=1");
    damage("DELETE FROM body WHERE job=1");
    damage("UPDATE body SET z=substr(z,1,length(z)-1) WHERE job=1");
    damage("UPDATE body SET z=replace(hex(z),'62','63') WHERE job=1");
    damage("UPDATE job SET body_length=22 WHERE n=1");
    damage("UPDATE job SET body_length=1000000000000 WHERE n=1");
}
END_TEST

START_TEST(empty_body)
{
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, ""), SRV_STORE_OK);
    ck_assert_int_eq(kit_get(store, 1, SRV_WITH_BODY, &job), SRV_STORE_OK);
    ck_assert_str_eq(job.body, "");
    srv_job_record_release(&job);
    srv_store_close(store);
    tear_down();
}
END_TEST

/* ---- less room than the reserve ----------------------------------------- */

START_TEST(reserve_is_kept)
{
    struct srv_store_status status;
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 1, "b"), SRV_STORE_OK);
    srv_store_close(store);
    options.reserve_bytes = UINT64_MAX; /* no disk has that */
    store = open_at(folder);
    ck_assert_int_eq(kit_put(store, 2, "b"), SRV_STORE_FULL);
    ck_assert_int_eq(kit_get(store, 2, 0, &job), SRV_STORE_ABSENT);
    srv_store_status(store, &status);
    ck_assert(!status.up);
    ck_assert_int_eq(status.last_result, SRV_STORE_FULL);
    ck_assert_ptr_nonnull(strstr(status.error, "reserve"));
    ck_assert_int_eq(kit_start(store, 1), SRV_STORE_OK);
    ck_assert_int_eq(kit_finish(store, 1, "a", 0, 5), SRV_STORE_OK);
    srv_store_close(store);
    tear_down();
}
END_TEST

START_TEST(names)
{
    enum srv_state state;

    for (int i = 0; i < SRV_N_STATES; i++) {
        ck_assert(srv_state_parse(srv_state_name((enum srv_state)i), &state));
        ck_assert_int_eq(state, i);
    }
    ck_assert(!srv_state_parse("Queued", &state));
    ck_assert_str_eq(srv_store_result_name(SRV_STORE_FULL), "full");
}
END_TEST

SUITE("store", life_on_disk, life_in_memory, answers_by_key,
      documents_are_shared, pages_on_disk, pages_in_memory, cursors_of_others,
      large_bodies, damaged_bodies, empty_body, reserve_is_kept, names)
