/*
 * A process that dies at each of the store's fail points, and one that a job
 * brings down: what was acknowledged is there for the next one, and a job that
 * crashes is not run for ever. The dying is done by children; they note what
 * they were told in a file, which outlives them.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "store_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash.h"
#include "failpoint.h"
#include "suite.h"

#define N_JOBS   6
#define LARGE_ID 100 /* a job of 3 MB, put and removed */

static char folder[256];
static char notes[300];

static struct srv_store *open_store(void)
{
    struct srv_store_options options;
    char message[512] = "";
    struct srv_store *store;

    srv_store_options_init(&options);
    store = srv_store_open(folder, &options, message, sizeof message);
    ck_assert_msg(store != NULL, "%s", message);
    return store;
}

static void set_up(void)
{
    kit_folder(folder, sizeof folder);
    snprintf(notes, sizeof notes, "%s/notes", folder);
}

/* ---- what the child was told -------------------------------------------- */

struct note {
    char what; /* 'p'ut, 's'tarted, 'f'inished, 'r'emoved */
    unsigned number;
};

static void note(char what, unsigned number)
{
    struct note line;
    const int fd = open(notes, O_WRONLY | O_CREAT | O_APPEND, 0600);

    memset(&line, 0, sizeof line);
    line.what = what;
    line.number = number;
    ck_assert_int_eq(write(fd, &line, sizeof line), sizeof line);
    close(fd);
}

static bool noted(char what, unsigned number)
{
    FILE *file = fopen(notes, "r");
    struct note line;
    bool found = false;

    if (file == NULL)
        return false;
    while (fread(&line, sizeof line, 1, file) == 1)
        found |= line.what == what && line.number == number;
    fclose(file);
    return found;
}

/* Everything a store does, noting each acknowledgement. */
static void do_all(struct srv_store *store)
{
    char *large = kit_noise((size_t)3 << 20, 1);
    struct srv_answer *answer = kit_answer("by key");
    struct srv_key key;
    char text[64];

    for (unsigned i = 1; i <= N_JOBS; i++) {
        snprintf(text, sizeof text, "body of %u", i);
        if (kit_put(store, i, text) == SRV_STORE_OK)
            note('p', i);
        if (kit_start(store, i) == SRV_STORE_OK)
            note('s', i);
        snprintf(text, sizeof text, "answer of %u", i);
        if (i != N_JOBS &&
            kit_finish(store, i, text, i, INT64_MAX / 2) == SRV_STORE_OK)
            note('f', i);
    }
    kit_key(&key, 77);
    srv_store_put_answer(store, &key, answer);
    srv_answer_unref(answer);
    if (kit_remove_job(store, 1) == SRV_STORE_OK)
        note('r', 1);
    if (kit_put(store, LARGE_ID, large) == SRV_STORE_OK)
        note('p', LARGE_ID);
    if (kit_remove_job(store, LARGE_ID) == SRV_STORE_OK)
        note('r', LARGE_ID);
    free(large);
    (void)kit_sweep(store);
}

/* The next process finds what the notes say. */
static void check_notes(struct srv_store *store)
{
    for (unsigned i = 1; i <= N_JOBS; i++) {
        struct srv_job_record job;
        char text[64];
        const enum srv_store_result result =
            kit_get(store, i, SRV_WITH_BODY | SRV_WITH_ANSWER, &job);

        if (noted('r', i))
            ck_assert_int_eq(result, SRV_STORE_REMOVED);
        else if (noted('p', i) && i != 1)
            ck_assert_int_eq(result, SRV_STORE_OK);
        if (result != SRV_STORE_OK)
            continue;
        snprintf(text, sizeof text, "body of %u", i);
        ck_assert_str_eq(job.body, text);
        ck_assert_int_eq(job.state, job.answer != NULL ? SRV_STATE_SUCCEEDED
                                                       : SRV_STATE_QUEUED);
        if (noted('f', i))
            ck_assert_ptr_nonnull(job.answer);
        if (noted('s', i))
            ck_assert_uint_eq(job.attempts, 1);
        snprintf(text, sizeof text, "answer of %u", i);
        if (job.answer != NULL)
            ck_assert_str_eq(job.answer->bytes, text);
        srv_job_record_release(&job);
    }
}

/* What the process before the child leaves: a running job and its marker. */
static void leave_running(void)
{
    struct srv_store *store = open_store();
    char path[300];
    FILE *file;

    ck_assert_int_eq(kit_put(store, 50, "running"), SRV_STORE_OK);
    ck_assert_int_eq(kit_start(store, 50), SRV_STORE_OK);
    srv_store_close(store);
    snprintf(path, sizeof path, "%s/" SRV_CRASH_FILE, folder);
    file = fopen(path, "w");
    fprintf(file, "%032x %016x\n", 50u, 0xabcu);
    fclose(file);
}

static void check_running(struct srv_store *store)
{
    struct srv_job_record job;

    ck_assert_int_eq(kit_get(store, 50, 0, &job), SRV_STORE_OK);
    ck_assert_int_eq(job.state, SRV_STATE_QUEUED);
    ck_assert_uint_eq(job.crashes, 1); /* not twice, wherever it died */
    srv_job_record_release(&job);
}

static void die_at(const char *point, bool is_new)
{
    char message[1024] = "";
    int status = 0;

    set_up();
    if (!is_new)
        leave_running();
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        setenv("REMATD_FAIL_POINT", point, 1);
        if (!srv_fail_point_start(message, sizeof message))
            _exit(3);
        do_all(open_store());
        _exit(4);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "%s: the point was not passed (status %x)", point,
                  (unsigned)status);
    struct srv_store *store = open_store();
    check_notes(store);
    if (!is_new)
        check_running(store);
    ck_assert_int_eq(kit_put(store, 60, "goes on"), SRV_STORE_OK);
    srv_store_close(store);
    kit_check(folder);
    kit_remove(folder);
}

static const struct {
    const char *name;
    bool is_new; /* met only with a new database */
} points[] = {
    {"migrate", true},     {"migrated", true},        {"migrate:2", true},
    {"recover", false},    {"recovered", false},      {"put-row", false},
    {"put-body", false},   {"commit", false},         {"commit:5", false},
    {"committed", false},  {"committed:4", false},    {"told", false},
    {"told:3", false},     {"start", false},          {"start:2", false},
    {"finish", false},     {"finish-content", false}, {"finished", false},
    {"finished:3", false}, {"answer", false},         {"remove", false},
    {"remove:2", false},   {"sweep", false},          {"vacuum", false},
    {"checkpoint", false},
};
#define N_POINTS (sizeof points / sizeof points[0])

START_TEST(each_fail_point)
{
    for (size_t i = 0; i < N_POINTS; i++)
        die_at(points[i].name, points[i].is_new);
}
END_TEST

/* The table above leaves none of the store's out. */
START_TEST(no_fail_point_is_left_out)
{
    static const char *const names[] = {
#define X(name, text, where) text,
        SRV_FAIL_POINT_MAP(X)
#undef X
    };
    size_t n_here = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t k = 0; k < N_POINTS; k++) {
            if (strcmp(names[i], points[k].name) == 0)
                n_here++;
        }
    }
    ck_assert_uint_ge(n_here, 12);
    ck_assert_uint_ge(n_here, (unsigned)SRV_N_STORE_FAIL_POINTS);
}
END_TEST

START_TEST(unknown_fail_points)
{
    static const char *const bad[] = {"commits",  "commit:", "commit:0",
                                      "commit:x", ":1",      "commit :1"};
    char message[1024];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("REMATD_FAIL_POINT", bad[i], 1);
        ck_assert_msg(!srv_fail_point_start(message, sizeof message), "%s",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(message, bad[i]));
        ck_assert_ptr_nonnull(strstr(message, " committed"));
    }
    setenv("REMATD_FAIL_POINT", "", 1);
    ck_assert(srv_fail_point_start(message, sizeof message));
    unsetenv("REMATD_FAIL_POINT");
    ck_assert(srv_fail_point_start(message, sizeof message));
}
END_TEST

/* ---- a job that brings the process down --------------------------------- */

static int deep(volatile int *depth)
{
    volatile char room[4096];

    room[0] = (char)*depth;
    ++*depth;
    return *depth > 0 ? deep(depth) + room[0] : 0;
}

static void die(int how)
{
    volatile int zero = 0;

    switch (how) {
    case 0:
        (void)raise(SIGSEGV);
        break;
    case 1:
        abort();
    case 2:
        (void)raise(SIGBUS);
        break;
    case 3:
        (void)raise(SIGFPE);
        break;
    case 4:
        (void)raise(SIGILL);
        break;
    default:
        (void)deep(&zero);
    }
}

struct idle {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    bool ready;
};

/* Another thread, busy with job 9 when the first one dies. */
static void *be_busy(void *context)
{
    struct idle *idle = context;
    char id[SRV_JOB_ID_SIZE];
    const char *ids[] = {id};
    struct srv_crash_scope scope;

    kit_id(id, 9);
    srv_crash_enter(&scope, ids, 1);
    pthread_mutex_lock(&idle->lock);
    idle->ready = true;
    pthread_cond_signal(&idle->turn);
    while (idle->ready)
        pthread_cond_wait(&idle->turn, &idle->lock);
    return NULL;
}

static void *run_and_die(void *context)
{
    const int *how = context;
    char ids[3][SRV_JOB_ID_SIZE];
    const char *outer[] = {ids[0], ids[1]};
    const char *inner[] = {ids[2]};
    struct srv_crash_scope scopes[2];

    for (unsigned i = 0; i < 3; i++)
        kit_id(ids[i], i + 1);
    ck_assert_int_eq(srv_crash_thread_start(), 0);
    srv_crash_enter(&scopes[0], outer, 2);
    srv_crash_enter(&scopes[1], inner, 1);
    srv_crash_leave(&scopes[1]); /* job 3 is over */
    die(*how);
    return NULL;
}

static void run_child(int how)
{
    struct idle idle = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .turn = PTHREAD_COND_INITIALIZER};
    struct rlimit none = {0, 0};
    pthread_t busy;
    pthread_t dying;

    setrlimit(RLIMIT_CORE, &none);
    if (srv_crash_start(folder) != 0 ||
        pthread_create(&busy, NULL, be_busy, &idle) != 0)
        _exit(3);
    pthread_mutex_lock(&idle.lock);
    while (!idle.ready)
        pthread_cond_wait(&idle.turn, &idle.lock);
    pthread_mutex_unlock(&idle.lock);
    if (pthread_create(&dying, NULL, run_and_die, &how) != 0)
        _exit(3);
    pthread_join(dying, NULL);
    _exit(0);
}

static void crash(int how)
{
    int status = 0;
    const pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        run_child(how);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    /* A sanitizer ends by exiting, after its report. */
    ck_assert_msg(WIFSIGNALED(status) ||
                      (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3),
                  "%d: status %x", how, (unsigned)status);
}

START_TEST(marks_what_the_thread_ran)
{
    char text[SRV_CRASH_BYTES];
    char path[300];
    char first[SRV_JOB_ID_SIZE];
    char second[SRV_JOB_ID_SIZE];

    kit_id(first, 1);
    kit_id(second, 2);
    for (int how = 0; how < 6; how++) {
        set_up();
        crash(how);
        snprintf(path, sizeof path, "%s/" SRV_CRASH_FILE, folder);
        FILE *file = fopen(path, "r");
        ck_assert_uint_eq(fread(text, 1, sizeof text, file), sizeof text);
        fclose(file);
        ck_assert_msg(memcmp(text, first, 32) == 0, "%d", how);
        ck_assert_msg(memcmp(text + SRV_CRASH_LINE, second, 32) == 0, "%d",
                      how);
        ck_assert_int_eq(text[2 * SRV_CRASH_LINE], '\0');
        kit_remove(folder);
    }
}
END_TEST

/* Three times, then no more; what ran beside it goes on. */
START_TEST(set_aside_after_three)
{
    struct srv_job_record job;
    struct srv_store *store;

    set_up();
    store = open_store();
    ck_assert_int_eq(kit_put(store, 1, "poison"), SRV_STORE_OK);
    ck_assert_int_eq(kit_put(store, 9, "harmless"), SRV_STORE_OK);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(kit_get(store, 1, 0, &job), SRV_STORE_OK);
        ck_assert_int_eq(job.state, SRV_STATE_QUEUED);
        ck_assert_uint_eq(job.crashes, i);
        ck_assert_int_eq(kit_start(store, 1), SRV_STORE_OK);
        ck_assert_int_eq(kit_start(store, 9), SRV_STORE_OK);
        srv_store_close(store);
        crash((int)i);
        store = open_store();
    }
    ck_assert_int_eq(kit_get(store, 1, SRV_WITH_BODY, &job), SRV_STORE_OK);
    ck_assert_int_eq(job.state, SRV_STATE_FAILED);
    ck_assert_ptr_nonnull(strstr(job.problem, "\"crashed\""));
    ck_assert_str_eq(job.body, "poison");
    srv_job_record_release(&job);
    ck_assert_int_eq(kit_get(store, 9, 0, &job), SRV_STORE_OK);
    ck_assert_int_eq(job.state, SRV_STATE_QUEUED);
    ck_assert_uint_eq(job.crashes, 0);
    srv_store_close(store);
    kit_check(folder);
    kit_remove(folder);
}
END_TEST

/* Without a marker file there are no handlers either. */
START_TEST(marker_in_no_folder)
{
    struct sigaction action;

    ck_assert_int_eq(srv_crash_start("/nonexistent/folder"), ENOENT);
    srv_crash_stop();
    set_up();
    ck_assert_int_eq(srv_crash_start(folder), 0);
    sigaction(SIGILL, NULL, &action);
    ck_assert(action.sa_handler != SIG_DFL);
    srv_crash_stop();
    sigaction(SIGILL, NULL, &action);
    kit_remove(folder);
}
END_TEST

SUITE("store_kill", each_fail_point, no_fail_point_is_left_out,
      unknown_fail_points, marks_what_the_thread_ran, set_aside_after_three,
      marker_in_no_folder)
