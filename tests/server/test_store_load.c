/*
 * The store under load: retention, many writes at once, many threads.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "store_frame.h"

#include <sched.h>

#include "suite.h"

/* ---- retention ---------------------------------------------------------- */

START_TEST(retention_by_age)
{
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    options.retain_ms = 1000;
    now = 1000000;
    store = open_at(folder);
    for (unsigned i = 1; i <= 40; i++) {
        ck_assert_int_eq(kit_put(store, i, "b"), SRV_STORE_OK);
        if (i != 40)
            ck_assert_int_eq(kit_finish(store, i, "a", i, (int64_t)(now + i)),
                             SRV_STORE_OK);
    }
    now += 1000 + 30;
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    ck_assert_int_eq(kit_get(store, 29, 0, &job), SRV_STORE_REMOVED);
    ck_assert_int_eq(kit_get(store, 31, 0, &job), SRV_STORE_OK);
    srv_job_record_release(&job);
    ck_assert_int_eq(kit_get(store, 40, 0, &job), SRV_STORE_OK);
    srv_job_record_release(&job);
    now += 100000;
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    ck_assert_int_eq(kit_number(folder, "SELECT count(*) FROM job"), 1);
    ck_assert_int_eq(kit_number(folder, "SELECT count(*) FROM content"), 0);
    ck_assert_int_eq(kit_get(store, 40, SRV_WITH_BODY, &job), SRV_STORE_OK);
    srv_job_record_release(&job);
    srv_store_close(store);
    kit_check(folder);
    tear_down();
}
END_TEST

static void put_noise(struct srv_store *store, unsigned number, bool finish)
{
    char *body = kit_noise(200000, number);

    ck_assert_int_eq(kit_put(store, number, body), SRV_STORE_OK);
    if (finish)
        ck_assert_int_eq(kit_finish(store, number, "a", 0, (int64_t)number),
                         SRV_STORE_OK);
    free(body);
}

/* 60 jobs of about 200 kB under 4 MiB: the oldest go, by themselves, and the
 * file gets smaller again. */
static void retention_by_size(const char *where)
{
    struct srv_store_status status;
    struct srv_job_record job;
    struct srv_store *store;

    options.retain_bytes = 4 << 20;
    now = 1000000;
    store = open_at(where);
    put_noise(store, 1000, false); /* the oldest, but not finished */
    for (unsigned i = 1; i <= 60; i++)
        put_noise(store, i, true);
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    srv_store_status(store, &status);
    ck_assert_uint_le(status.used_bytes, options.retain_bytes);
    ck_assert_uint_ge(status.used_bytes, options.retain_bytes / 2);
    ck_assert_uint_ge(status.n_swept, 30);
    ck_assert_uint_eq(status.n_jobs + status.n_swept, 61);
    ck_assert_uint_eq(status.n_unfinished, 1);
    if (strcmp(where, ":memory:") != 0)
        ck_assert_uint_le(status.disk_bytes, 2 * options.retain_bytes);
    ck_assert_int_eq(kit_get(store, 1, 0, &job), SRV_STORE_REMOVED);
    ck_assert_int_eq(kit_get(store, 60, SRV_WITH_BODY, &job), SRV_STORE_OK);
    srv_job_record_release(&job);
    ck_assert_int_eq(kit_get(store, 1000, SRV_WITH_BODY, &job), SRV_STORE_OK);
    srv_job_record_release(&job);
    srv_store_close(store);
}

START_TEST(retention_by_size_on_disk)
{
    set_up();
    retention_by_size(folder);
    kit_check(folder);
    tear_down();
}
END_TEST

START_TEST(retention_by_size_in_memory)
{
    set_up_memory();
    retention_by_size(":memory:");
}
END_TEST

/* Nothing may go: the sweep ends all the same. */
START_TEST(retention_finds_nothing)
{
    struct srv_store *store;

    set_up();
    options.retain_bytes = 1 << 20;
    store = open_at(folder);
    for (unsigned i = 1; i <= 8; i++)
        put_noise(store, i, false);
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    ck_assert_int_eq(kit_number(folder, "SELECT count(*) FROM job"), 8);
    srv_store_close(store);
    tear_down();
}
END_TEST

/* A file from which no pages can be given back. */
START_TEST(file_without_auto_vacuum)
{
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    srv_store_close(store);
    kit_exec(folder, "PRAGMA journal_mode=DELETE; PRAGMA auto_vacuum=NONE;"
                     "VACUUM;");
    ck_assert_int_eq(kit_number(folder, "PRAGMA auto_vacuum"), 0);
    store = open_at(folder);
    for (unsigned i = 1; i <= 12; i++)
        put_noise(store, i, false);
    for (unsigned i = 1; i <= 12; i++)
        ck_assert_int_eq(kit_remove_job(store, i), SRV_STORE_OK);
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    ck_assert_int_gt(kit_number(folder, "PRAGMA freelist_count"), 256);
    srv_store_close(store);
    kit_check(folder);
    tear_down();
}
END_TEST

/* Tombstones are kept for a number that goes with the size. */
START_TEST(tombstones_are_bounded)
{
    struct srv_store *store;

    set_up();
    options.retain_bytes = 64 * 4096;
    store = open_at(folder);
    for (unsigned i = 1; i <= 100; i++) {
        ck_assert_int_eq(kit_put(store, i, "b"), SRV_STORE_OK);
        ck_assert_int_eq(kit_remove_job(store, i), SRV_STORE_OK);
    }
    ck_assert_int_eq(kit_sweep(store), SRV_STORE_OK);
    ck_assert_int_eq(kit_number(folder, "SELECT count(*) FROM removed"), 64);
    ck_assert_int_eq(kit_remove_job(store, 100), SRV_STORE_REMOVED);
    ck_assert_int_eq(kit_remove_job(store, 1), SRV_STORE_ABSENT);
    srv_store_close(store);
    tear_down();
}
END_TEST

/* ---- many writes -------------------------------------------------------- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    bool closed;
    bool reached;
    size_t n_told;
};

/* Holds the writer thread up until the gate opens. */
static void wait_at_gate(void *context, enum srv_store_result result)
{
    struct gate *gate = context;

    (void)result;
    pthread_mutex_lock(&gate->lock);
    gate->reached = true;
    pthread_cond_broadcast(&gate->turn);
    while (gate->closed)
        pthread_cond_wait(&gate->turn, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void count_told(void *context, enum srv_store_result result)
{
    struct gate *gate = context;

    ck_assert_int_eq(result, SRV_STORE_OK);
    pthread_mutex_lock(&gate->lock);
    gate->n_told++;
    pthread_cond_broadcast(&gate->turn);
    pthread_mutex_unlock(&gate->lock);
}

#define GATE                                                                 \
    {                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER, \
        .closed = true                                                       \
    }

static void close_gate(struct srv_store *store, struct gate *gate)
{
    ck_assert_int_eq(srv_store_sweep(store, wait_at_gate, gate), SRV_STORE_OK);
    pthread_mutex_lock(&gate->lock);
    while (!gate->reached)
        pthread_cond_wait(&gate->turn, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void open_gate(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->closed = false;
    pthread_cond_broadcast(&gate->turn);
    pthread_mutex_unlock(&gate->lock);
}

/* 1,000 writes that wait at the same time are few commits. */
START_TEST(groups_share_a_commit)
{
    struct gate gate = GATE;
    struct srv_store_status before;
    struct srv_store_status after;
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    close_gate(store, &gate);
    srv_store_status(store, &before);
    for (unsigned i = 1; i <= 1000; i++) {
        kit_job(&job, i, "b");
        free(job.body);
        job.body = (char *)(uintptr_t) "b"; /* stays until it is told */
        ck_assert_int_eq(srv_store_put_job(store, &job, count_told, &gate),
                         SRV_STORE_OK);
    }
    open_gate(&gate);
    pthread_mutex_lock(&gate.lock);
    while (gate.n_told < 1000)
        pthread_cond_wait(&gate.turn, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    srv_store_status(store, &after);
    ck_assert_uint_le(after.n_commits - before.n_commits, 20);
    ck_assert_uint_eq(after.n_jobs, 1000);
    ck_assert_uint_eq(after.n_unfinished, 1000);
    srv_store_close(store);
    kit_check(folder);
    tear_down();
}
END_TEST

START_TEST(too_many_writes)
{
    struct gate gate = GATE;
    struct srv_store_status status;
    struct srv_answer *answer = kit_answer("a");
    struct srv_job_record job;
    struct srv_key key;
    struct srv_store *store;
    char id[SRV_JOB_ID_SIZE];

    set_up();
    options.n_waiting = 8;
    store = open_at(folder);
    close_gate(store, &gate);
    kit_job(&job, 1, "b");
    kit_key(&key, 1);
    for (unsigned i = 0; i < 6; i++) /* half of 8 */
        srv_store_put_answer(store, &key, answer);
    for (unsigned i = 0; i < 4; i++) {
        kit_id(job.id, i + 1);
        ck_assert_int_eq(srv_store_put_job(store, &job, NULL, NULL),
                         SRV_STORE_OK);
    }
    ck_assert_int_eq(srv_store_put_job(store, &job, NULL, NULL),
                     SRV_STORE_BUSY);
    ck_assert_int_eq(srv_store_remove_job(store, job.id, NULL, NULL),
                     SRV_STORE_BUSY);
    kit_id(id, 1);
    const struct srv_job_end end = {
        .id = id, .state = SRV_STATE_CANCELED, .finished_ms = 5};
    ck_assert_int_eq(srv_store_finish_job(store, &end, NULL, NULL),
                     SRV_STORE_OK);
    srv_store_status(store, &status);
    ck_assert_uint_eq(status.n_waiting, 9);
    ck_assert_uint_eq(status.n_dropped, 2);
    open_gate(&gate);
    while (kit_sweep(store) == SRV_STORE_BUSY)
        sched_yield();
    ck_assert_int_eq(kit_put(store, 99, "b"), SRV_STORE_OK);
    srv_store_close(store);
    ck_assert_int_eq(
        kit_number(folder, "SELECT state FROM job WHERE id LIKE '%01'"),
        SRV_STATE_CANCELED);
    srv_answer_unref(answer);
    free(job.body);
    kit_check(folder);
    tear_down();
}
END_TEST

/* What was handed over is written before the store closes. */
START_TEST(close_writes_all)
{
    struct gate gate = GATE;
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_at(folder);
    kit_job(&job, 1, "b");
    for (unsigned i = 1; i <= 100; i++) {
        kit_id(job.id, i);
        ck_assert_int_eq(srv_store_put_job(store, &job, count_told, &gate),
                         SRV_STORE_OK);
    }
    srv_store_close(store);
    ck_assert_uint_eq(gate.n_told, 100);
    ck_assert_int_eq(kit_number(folder, "SELECT count(*) FROM job"), 100);
    free(job.body);
    tear_down();
}
END_TEST

struct worker {
    struct srv_store *store;
    unsigned first;
};

static void *work(void *context)
{
    const struct worker *worker = context;
    struct srv_job_record record;
    char text[64];

    for (unsigned i = worker->first; i < worker->first + 40; i++) {
        snprintf(text, sizeof text, "text of %u", i);
        ck_assert_int_eq(kit_put(worker->store, i, text), SRV_STORE_OK);
        ck_assert_int_eq(kit_start(worker->store, i), SRV_STORE_OK);
        ck_assert_int_eq(kit_finish(worker->store, i, text, i % 5 + 1, 1),
                         SRV_STORE_OK);
        ck_assert_int_eq(
            kit_get(worker->store, i, SRV_WITH_BODY | SRV_WITH_ANSWER, &record),
            SRV_STORE_OK);
        ck_assert_str_eq(record.body, text);
        ck_assert_int_eq(record.state, SRV_STATE_SUCCEEDED);
        srv_job_record_release(&record);
        if (i % 3 == 0)
            ck_assert_int_eq(kit_remove_job(worker->store, i), SRV_STORE_OK);
    }
    return NULL;
}

static void crowd(const char *where)
{
    struct worker workers[4];
    pthread_t threads[4];
    struct srv_store *store = open_at(where);

    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){.store = store, .first = 1000 * i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    srv_store_close(store);
}

START_TEST(crowd_on_disk)
{
    set_up();
    crowd(folder);
    kit_check(folder);
    tear_down();
}
END_TEST

START_TEST(crowd_in_memory)
{
    set_up_memory();
    crowd(":memory:");
}
END_TEST

SUITE("store_load", retention_by_age, retention_by_size_on_disk,
      retention_by_size_in_memory, retention_finds_nothing,
      file_without_auto_vacuum, tombstones_are_bounded, groups_share_a_commit,
      too_many_writes, close_writes_all, crowd_on_disk, crowd_in_memory)
