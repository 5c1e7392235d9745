/*
 * store_frame.h: a store in a folder of the test's own, with a clock that it
 * sets.
 */
#ifndef STORE_FRAME_H
#define STORE_FRAME_H

#include "store_kit.h"

static char folder[256];
static _Atomic uint64_t now; /* the writer's thread reads it */
static struct srv_store_options options;

static inline uint64_t kit_now(void)
{
    return now;
}

static inline struct srv_store *open_at(const char *where)
{
    char message[512] = "";
    struct srv_store *store =
        srv_store_open(where, &options, message, sizeof message);

    ck_assert_msg(store != NULL, "%s", message);
    return store;
}

static inline void set_up_memory(void)
{
    srv_store_options_init(&options);
    options.now_ms = kit_now;
    now = 1000000;
}

static inline void set_up(void)
{
    kit_folder(folder, sizeof folder);
    set_up_memory();
}

static inline void tear_down(void)
{
    kit_remove(folder);
}

/* Job 7 is as kit_put made it. */
static inline void check_put(struct srv_store *store)
{
    struct srv_job_record job;

    ck_assert_int_eq(kit_get(store, 7, SRV_WITH_BODY, &job), SRV_STORE_OK);
    ck_assert_str_eq(job.owner, "alice");
    ck_assert_str_eq(job.call, "plans");
    ck_assert_int_eq(job.format, 1);
    ck_assert_int_eq(job.priority, 2);
    ck_assert_int_eq(job.created_ms, 1007);
    ck_assert_int_eq(job.queue_deadline_ms, 77);
    ck_assert_int_eq(job.run_ms, 88);
    ck_assert_uint_eq(job.body_length, 4);
    ck_assert_str_eq(job.body, "body");
    ck_assert_ptr_null(job.answer);
    srv_job_record_release(&job);
}

/* Job 7 was started, and finished at 9000 with `answer`. */
static inline void check_finished(struct srv_store *store)
{
    struct srv_job_record job;

    ck_assert_int_eq(kit_get(store, 7, SRV_WITH_ANSWER, &job), SRV_STORE_OK);
    ck_assert_int_eq(job.state, SRV_STATE_SUCCEEDED);
    ck_assert_int_eq(job.finished_ms, 9000);
    ck_assert_int_eq(job.started_ms, 5000);
    ck_assert_uint_eq(job.attempts, 1);
    ck_assert_ptr_null(job.body);
    ck_assert_str_eq(job.digest, "d-answer");
    ck_assert_str_eq(job.answer->bytes, "answer");
    ck_assert_str_eq(job.answer->type, "application/json");
    ck_assert_str_eq(job.answer->etag, "e-answer");
    ck_assert_str_eq(job.answer->digest, "d-answer");
    ck_assert_str_eq(job.answer->outcome, "plan");
    srv_job_record_release(&job);
}

#endif
