/*
 * The store on a disk that fails: for every operation that changes a file, once
 * and from then on, full or broken. What was acknowledged is there afterwards,
 * what was refused may be, the file is sound, and the store goes on by itself.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "store_kit.h"

#include <pthread.h> /* the store has a thread: tsan looks for this */

#include <unistd.h>

#include "faulty_vfs.h"
#include "store_sqlite.h"
#include "suite.h"

static char folder[256];

#define N_JOBS 4

/* What the caller was told. */
struct told {
    bool put[N_JOBS];
    bool finished[N_JOBS];
    bool removed[N_JOBS];
    size_t n_refused;
};

static struct srv_store *open_with(const char *vfs)
{
    struct srv_store_options options;
    char message[512] = "";
    struct srv_store *store;

    srv_store_options_init(&options);
    options.vfs = vfs;
    options.retain_ms = UINT64_MAX;
    store = srv_store_open(folder, &options, message, sizeof message);
    ck_assert_msg(store != NULL, "%s", message);
    return store;
}

static void body_of(unsigned number, char *body, size_t size)
{
    size_t at = 0;

    while (at + 12 < size) /* some pages, so that a write is several */
        at += (size_t)snprintf(body + at, size - at, "%u.%zu;",
                               number * 2654435761u, at);
}

/* Whether the write was done; nothing but a failed disk may refuse it. */
static bool done(struct told *told, enum srv_store_result result)
{
    if (result == SRV_STORE_OK)
        return true;
    told->n_refused++;
    ck_assert_msg(result == SRV_STORE_FULL || result == SRV_STORE_FAILED, "%s",
                  srv_store_result_name(result));
    ck_assert(faulty_has_failed());
    return false;
}

static void run_load(struct srv_store *store, struct told *told)
{
    char body[6000];
    char text[64];

    for (unsigned i = 0; i < N_JOBS; i++) {
        body_of(i, body, sizeof body);
        told->put[i] = done(told, kit_put(store, i, body));
        if (!told->put[i])
            continue;
        (void)done(told, kit_start(store, i));
        snprintf(text, sizeof text, "answer of %u", i);
        if (i != 2)
            told->finished[i] =
                done(told, kit_finish(store, i, text, i + 1, 1000 + i));
        if (i == 1)
            told->removed[i] = done(told, kit_remove_job(store, i));
    }
    (void)done(told, kit_sweep(store)); /* with a checkpoint */
}

static void check_job(struct srv_store *store, const struct told *told,
                      unsigned i)
{
    const unsigned with = SRV_WITH_BODY | SRV_WITH_ANSWER;
    struct srv_job_record job;
    char body[6000];
    char text[64];
    const enum srv_store_result result = kit_get(store, i, with, &job);

    if (told->removed[i])
        ck_assert_int_eq(result, SRV_STORE_REMOVED);
    if (!told->put[i] || result == SRV_STORE_REMOVED) {
        /* refused, but the disk may have kept it: whole, or not at all */
        ck_assert(result == SRV_STORE_OK || result == SRV_STORE_ABSENT ||
                  (result == SRV_STORE_REMOVED && i == 1));
    } else {
        ck_assert_msg(result == SRV_STORE_OK, "job %u: %s", i,
                      srv_store_result_name(result));
    }
    if (result != SRV_STORE_OK)
        return;
    body_of(i, body, sizeof body);
    ck_assert_str_eq(job.body, body);
    snprintf(text, sizeof text, "answer of %u", i);
    if (told->finished[i])
        ck_assert_int_eq(job.state, SRV_STATE_SUCCEEDED);
    if (job.state == SRV_STATE_SUCCEEDED)
        ck_assert_str_eq(job.answer->bytes, text);
    srv_job_record_release(&job);
}

/* The disk is well again: the next write is done. */
static void check_recovers(struct srv_store *store)
{
    struct srv_store_status status;

    ck_assert_int_eq(kit_put(store, 99, "after the fault"), SRV_STORE_OK);
    srv_store_status(store, &status);
    ck_assert(status.up);
}

/* One run with a fault at k; false when there were fewer operations. */
static bool run_fault(unsigned k, int for_ever, enum faulty_kind kind)
{
    struct told told = {.n_refused = 0};
    struct srv_store_status status;
    struct srv_store *store;

    kit_folder(folder, sizeof folder);
    store = open_with(FAULTY_VFS);
    faulty_arm(k, for_ever, kind);
    run_load(store, &told);
    const bool failed = faulty_has_failed() != 0;
    srv_store_status(store, &status);
    if (told.n_refused > 0)
        ck_assert_str_ne(status.error, "");
    faulty_arm(0, 0, kind);
    for (unsigned i = 0; i < N_JOBS; i++)
        check_job(store, &told, i);
    check_recovers(store);
    srv_store_close(store);

    kit_check(folder);
    store = open_with(FAULTY_VFS);
    for (unsigned i = 0; i < N_JOBS; i++)
        check_job(store, &told, i);
    srv_store_close(store);
    kit_remove(folder);
    return failed;
}

/* Every operation; one of some where a sanitizer or valgrind (which the runner
 * starts without forks) makes them slow. */
static unsigned stride(void)
{
    const char *variant = getenv("REMAT_VARIANT");
    const char *level = getenv("REMAT_LEVEL");
    const char *fork = getenv("CK_FORK");

    if (level != NULL && strcmp(level, "torture") == 0)
        return 1;
    if (fork != NULL && strcmp(fork, "no") == 0)
        return 50;
    return variant == NULL || strcmp(variant, "release") == 0 ? 1 : 5;
}

static void run_faults(int for_ever, enum faulty_kind kind)
{
    unsigned k = 1;

    faulty_register();
    while (run_fault(k, for_ever, kind))
        k += stride();
    ck_assert_uint_gt(k, 100); /* the load does write */
}

START_TEST(full_once)
{
    run_faults(0, FAULTY_DISK_FULL);
}
END_TEST

START_TEST(full_for_ever)
{
    run_faults(1, FAULTY_DISK_FULL);
}
END_TEST

START_TEST(broken_once)
{
    run_faults(0, FAULTY_BROKEN);
}
END_TEST

START_TEST(broken_for_ever)
{
    run_faults(1, FAULTY_BROKEN);
}
END_TEST

/* While it opens: an error that says where, and the next try succeeds. */
START_TEST(faults_at_open)
{
    struct srv_store_options options;
    char message[512];
    unsigned k = 1;

    faulty_register();
    srv_store_options_init(&options);
    options.vfs = FAULTY_VFS;
    for (;; k += stride()) {
        struct srv_store *store;

        kit_folder(folder, sizeof folder);
        faulty_arm(k, 1, FAULTY_DISK_FULL);
        message[0] = '\0';
        store = srv_store_open(folder, &options, message, sizeof message);
        const bool failed = faulty_has_failed() != 0;
        ck_assert_msg(store != NULL || (failed && strstr(message, folder)),
                      "%s", message);
        faulty_arm(0, 0, FAULTY_DISK_FULL);
        srv_store_close(store);
        store = open_with(FAULTY_VFS);
        ck_assert_int_eq(kit_put(store, 1, "b"), SRV_STORE_OK);
        srv_store_close(store);
        kit_check(folder);
        kit_remove(folder);
        if (!failed)
            break;
    }
    ck_assert_uint_gt(k, 20);
}
END_TEST

/* ---- a database that may not grow --------------------------------------- */

static void set_most_pages(void *context, enum srv_store_result result)
{
    struct srv_sqlite *store = context;

    (void)result; /* on the writer's thread: its connection is ours */
    ck_assert_int_eq(sqlite3_exec(store->write.db, "PRAGMA max_page_count=600",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
}

/* A body too large is refused, its neighbours in the same batch are not, and
 * room made by a removal is used again. */
START_TEST(no_more_pages)
{
    struct kit_wait waits[3] = {KIT_WAIT, KIT_WAIT, KIT_WAIT};
    char *large = kit_noise((size_t)4 << 20, 1);
    struct srv_job_record job;
    struct srv_store *store;

    kit_folder(folder, sizeof folder);
    store = open_with(NULL);
    ck_assert_int_eq(srv_store_sweep(store, set_most_pages, store),
                     SRV_STORE_OK);
    for (unsigned i = 0; i < 3; i++) {
        kit_job(&job, i, "small");
        free(job.body);
        job.body = i == 1 ? large : (char *)(uintptr_t) "small";
        job.body_length = strlen(job.body);
        ck_assert_int_eq(srv_store_put_job(store, &job, kit_told, &waits[i]),
                         SRV_STORE_OK);
    }
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(kit_await(&waits[i], SRV_STORE_OK),
                         i == 1 ? SRV_STORE_FULL : SRV_STORE_OK);
    large[(size_t)1 << 20] = '\0';
    ck_assert_int_eq(kit_put(store, 10, large), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 11, large), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 12, large), SRV_STORE_FULL);
    ck_assert_int_eq(kit_remove_job(store, 10), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 12, large), SRV_STORE_OK);
    srv_store_close(store);
    kit_check(folder);
    kit_remove(folder);
    free(large);
}
END_TEST

SUITE("store_faults", full_once, full_for_ever, broken_once, broken_for_ever,
      faults_at_open, no_more_pages)
