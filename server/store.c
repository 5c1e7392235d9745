/*
 * store.c: what every store shares: names, defaults, and which one a place
 * means.
 */
#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store_sqlite.h"

const double srv_store_bucket_s[SRV_STORE_BUCKETS] = {
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5};

const char *srv_store_result_name(enum srv_store_result result)
{
    switch (result) {
    case SRV_STORE_OK:
        return "ok";
    case SRV_STORE_ABSENT:
        return "absent";
    case SRV_STORE_REMOVED:
        return "removed";
    case SRV_STORE_CONFLICT:
        return "conflict";
    case SRV_STORE_BUSY:
        return "busy";
    case SRV_STORE_FULL:
        return "full";
    case SRV_STORE_FAILED:
        return "failed";
    case SRV_STORE_NO_MEMORY:
        return "no memory";
    }
    return "unknown";
}

static const char *const state_names[SRV_N_STATES] = {
#define X(name, text) text,
    SRV_STATE_MAP(X)
#undef X
};

const char *srv_state_name(enum srv_state state)
{
    return (unsigned)state < SRV_N_STATES ? state_names[state] : "unknown";
}

bool srv_state_parse(const char *text, enum srv_state *state)
{
    for (unsigned i = 0; i < SRV_N_STATES; i++) {
        if (strcmp(text, state_names[i]) == 0) {
            *state = (enum srv_state)i;
            return true;
        }
    }
    return false;
}

void srv_job_record_release(struct srv_job_record *record)
{
    free(record->note);
    free(record->problem);
    free(record->body);
    srv_answer_unref(record->answer);
    record->note = NULL;
    record->problem = NULL;
    record->body = NULL;
    record->answer = NULL;
}

static uint64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void srv_store_options_init(struct srv_store_options *options)
{
    memset(options, 0, sizeof *options);
    options->retain_ms = UINT64_C(7) * 24 * 3600 * 1000;
    options->retain_bytes = UINT64_C(10) << 30;
    options->n_waiting = 4096;
    options->reserve_bytes = UINT64_C(64) << 20;
    options->max_crashes = 3;
    options->max_attempts = 10;
    options->max_body = (size_t)1 << 30;
    options->now_ms = wall_ms;
}

struct srv_store *srv_store_open(const char *where,
                                 const struct srv_store_options *options,
                                 char *message, size_t size)
{
    return srv_sqlite_open(where, options, message, size);
}
