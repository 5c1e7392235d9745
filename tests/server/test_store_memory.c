/*
 * The store and the cache without memory: each allocation fails in turn, once
 * and from then on. Nothing crashes or leaks, what was acknowledged is there,
 * and the next call with memory succeeds. Only our own allocations: the linker
 * wraps them (tests/store.mk), SQLite's and zstd's are theirs.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "store_frame.h"

#include <pthread.h> /* the store has a thread: tsan looks for this */

#include "cache.h"
#include "suite.h"

static atomic_int n_left = -1; /* allocations that succeed; -1: all */
static atomic_bool for_ever;
static atomic_bool has_failed;
static _Thread_local bool spared; /* the test's own allocations succeed */

static bool fails(void)
{
    int left = spared ? -1 : atomic_load(&n_left);

    while (left >= 0) {
        const int next = left > 0 ? left - 1 : (for_ever ? 0 : -1);

        if (!atomic_compare_exchange_weak(&n_left, &left, next))
            continue;
        if (left == 0)
            has_failed = true;
        return left == 0;
    }
    return false;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t n);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t n)
{
    return fails() ? NULL : __real_realloc(old, n);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* The allocation after k more fails. */
static void arm(int k, bool ever)
{
    has_failed = false;
    for_ever = ever;
    n_left = k;
    spared = true;
}

static void begin_call(void)
{
    spared = false;
}

static enum srv_store_result end_call(enum srv_store_result result)
{
    spared = true;
    return result;
}

/* A call of the store, during which this thread's allocations fail as well. */
#define CALL(expression) (begin_call(), end_call(expression))

static bool disarm(void)
{
    n_left = -1;
    return has_failed;
}

/* Done, or refused for want of memory. */
static bool done(enum srv_store_result result)
{
    ck_assert_msg(result == SRV_STORE_OK ||
                      (result == SRV_STORE_NO_MEMORY && has_failed),
                  "%s", srv_store_result_name(result));
    return result == SRV_STORE_OK;
}

static bool see(void *context, struct srv_job_record *record)
{
    (void)context;
    spared = true;
    ck_assert_str_eq(record->body, "a body");
    spared = false;
    return true;
}

/* Every call of the store, on what the calls before left. */
static void use(struct srv_store *store, struct srv_answer *answer)
{
    char note[] = "{}";
    char body[] = "a body";
    struct kit_wait wait = KIT_WAIT;
    struct srv_job_record records[4];
    struct srv_job_list list = {.state = -1, .n_most = 4, .records = records};
    struct srv_job_record job = {.owner = "alice", .call = "plan"};
    struct srv_answer *got = NULL;
    struct srv_key key;

    job.note = note;
    job.body = body;
    job.body_length = strlen(body);
    kit_id(job.id, 1);
    kit_key(&key, 1);
    const struct srv_job_end end = {.id = job.id,
                                    .state = SRV_STATE_SUCCEEDED,
                                    .finished_ms = 5,
                                    .answer = answer,
                                    .key = &key,
                                    .note = note};
    if (!done(kit_await(&wait,
                        CALL(srv_store_put_job(store, &job, kit_told, &wait)))))
        return;
    (void)done(CALL(srv_store_unfinished(store, SRV_WITH_BODY, see, NULL)));
    (void)done(kit_await(
        &wait, CALL(srv_store_start_job(store, job.id, 3, kit_told, &wait))));
    const bool finished = done(kit_await(
        &wait, CALL(srv_store_finish_job(store, &end, kit_told, &wait))));
    if (done(CALL(srv_store_get_job(
            store, job.id, SRV_WITH_BODY | SRV_WITH_ANSWER, &records[0])))) {
        ck_assert_str_eq(records[0].body, "a body");
        ck_assert(records[0].answer != NULL || !finished);
        srv_job_record_release(&records[0]);
    }
    if (done(CALL(srv_store_list_jobs(store, &list))))
        ck_assert_uint_eq(list.n_records, 1);
    for (size_t i = 0; i < list.n_records; i++)
        srv_job_record_release(&records[i]);
    if (finished && done(CALL(srv_store_get_answer(store, &key, &got))))
        ck_assert_str_eq(got->bytes, "an answer");
    srv_answer_unref(got);
    (void)done(kit_await(
        &wait, CALL(srv_store_remove_job(store, job.id, kit_told, &wait))));
    begin_call();
    srv_store_put_answer(store, &key, answer);
    spared = true;
    (void)done(kit_await(&wait, CALL(srv_store_sweep(store, kit_told, &wait))));
}

static bool run(int k, bool ever)
{
    struct srv_answer *answer = kit_answer("an answer");
    char message[512] = "";
    struct srv_store *store;
    bool failed;

    set_up();
    arm(k, ever);
    begin_call();
    store = srv_store_open(folder, &options, message, sizeof message);
    spared = true;
    if (store == NULL) {
        failed = disarm();
        ck_assert(failed);
        ck_assert_ptr_nonnull(strstr(message, "memory"));
    } else {
        use(store, answer);
        failed = disarm();
        ck_assert_int_eq(kit_put(store, 9, "with memory"), SRV_STORE_OK);
        srv_store_close(store);
        kit_check(folder);
    }
    srv_answer_unref(answer);
    tear_down();
    return failed;
}

START_TEST(store_without_memory)
{
    int k = 0;

    while (run(k, false))
        k++;
    ck_assert_int_gt(k, 15);
    for (k = 0; run(k, true); k++)
        continue;
    ck_assert_int_gt(k, 15);
}
END_TEST

START_TEST(cache_without_memory)
{
    struct srv_answer *answer = kit_answer("an answer");

    for (int k = 0; k < 300; k++) {
        struct srv_cache cache;

        arm(k, true);
        spared = false;
        const int error = srv_cache_init(&cache, 1 << 20);
        spared = true;
        if (error == 0) {
            for (unsigned i = 0; i < 200; i++) { /* the buckets grow */
                struct srv_key key;

                kit_key(&key, i);
                spared = false;
                srv_cache_put(&cache, &key, answer);
                spared = true;
                struct srv_answer *got = srv_cache_get(&cache, &key);
                ck_assert(got == answer || (got == NULL && has_failed));
                srv_answer_unref(got);
            }
            srv_cache_release(&cache);
        }
        (void)disarm();
    }
    srv_answer_unref(answer);
}
END_TEST

SUITE("store_memory", store_without_memory, cache_without_memory)
