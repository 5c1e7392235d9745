/*
 * Progress: it moves, never back within a request, names every phase in which
 * something is done, and stays below a thousand calls.
 */
#include "documents.h"
#include "suite.h"
#include "watch.h"

enum {
    MOST_CALLS = 1000
};

struct event {
    enum proto_phase phase;
    uint32_t done;
    uint32_t total;
};

struct log {
    struct event at[2 * MOST_CALLS];
    size_t n;
};

static void note(void *context, enum proto_phase phase, uint32_t done,
                 uint32_t total)
{
    struct log *log = context;

    ck_assert_uint_lt(log->n, MOST_CALLS);
    log->at[log->n++] = (struct event){phase, done, total};
}

static bool has_phase(const struct log *log, enum proto_phase phase)
{
    for (size_t i = 0; i < log->n; i++)
        if (log->at[i].phase == phase)
            return true;
    return false;
}

/* How many different numbers of parts were told with that total. */
static uint32_t count_steps(const struct log *log, uint32_t total)
{
    uint32_t n = 0;

    for (size_t i = 0; i < log->n; i++)
        n += log->at[i].total == total &&
             (n == 0 || log->at[i].done != log->at[i - 1].done);
    return n;
}

static void check_order(const struct log *log)
{
    ck_assert_uint_gt(log->n, 2);
    ck_assert_int_eq(log->at[0].phase, PROTO_PHASE_DECODE);
    ck_assert_int_eq(log->at[log->n - 1].phase, PROTO_PHASE_ENCODE);
    for (size_t i = 0; i < log->n; i++) {
        ck_assert_msg(log->at[i].total == 0 ||
                          log->at[i].done <= log->at[i].total,
                      "%zu: %u of %u", i, log->at[i].done, log->at[i].total);
        ck_assert_msg(i == 0 || log->at[i].done >= log->at[i - 1].done,
                      "%zu: %u of %u after %u", i, log->at[i].done,
                      log->at[i].total, log->at[i - 1].done);
    }
}

static void ask_watched(const char *name, const char *options, bool frontier,
                        struct log *log)
{
    char *body = read_corpus(name, NULL);
    struct proto_request request = {
        .body = body, .length = strlen(body), .options = options};
    struct proto_answer answer;
    struct proto_env env;

    log->n = 0;
    env_init(&env);
    env.progress = note;
    env.context = log;
    if (frontier)
        proto_frontier(&env, &request, &answer);
    else
        proto_plan(&env, &request, &answer);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    proto_answer_release(&answer);
    free(body);
    check_order(log);
}

START_TEST(a_plan_tells_its_phases)
{
    static struct log log;

    proto_start();
    ask_watched("gpt2_4l_1", NULL, false, &log);
    for (int phase = 0; phase < PROTO_N_PHASES; phase++)
        ck_assert_msg(has_phase(&log, (enum proto_phase)phase), "%s",
                      proto_phase_name((enum proto_phase)phase));
    ck_assert_uint_eq(log.at[log.n - 1].done, 1);
    ck_assert_uint_eq(log.at[log.n - 1].total, 1);
}
END_TEST

START_TEST(a_budget_tells_its_cuts)
{
    static const char *const options[] = {
        "{\"activation_memory_budget\":0.3}",
        "{\"activation_memory_budget\":0.3,\"compat\":true}"};
    static struct log log;

    proto_start();
    for (int i = 0; i < 2; i++) {
        ask_watched("gpt2_4l_1", options[i], false, &log);
        ck_assert_uint_ge(count_steps(&log, 4), 3);
        ck_assert_uint_eq(log.at[log.n - 1].done, log.at[log.n - 1].total);
    }
}
END_TEST

START_TEST(a_frontier_tells_its_points)
{
    static struct log log;
    const struct event *last;

    proto_start();
    ask_watched("llama_8b_8l", NULL, true, &log);
    last = &log.at[log.n - 1];
    ck_assert_uint_gt(last->total, 57);
    ck_assert_uint_eq(last->done, last->total);
    ck_assert_uint_gt(count_steps(&log, 0), 2);
    ck_assert_uint_gt(count_steps(&log, last->total), 20);
}
END_TEST

START_TEST(a_memory_limit_tells_how_far_it_is)
{
    static struct log log;
    const struct event *last;

    proto_start();
    ask_watched("gpt2_4l_1", "{\"memory_limit_bytes\":1000}", false, &log);
    last = &log.at[log.n - 1];
    ck_assert_uint_eq(last->done, last->total);
    ck_assert_uint_gt(count_steps(&log, last->total), 20);
}
END_TEST

/* However much happens. */
START_TEST(calls_are_few)
{
    static struct log log;
    struct proto_env env = {.progress = note, .context = &log};
    uint64_t phase_ns[PROTO_N_PHASES] = {0};
    struct proto_watch watch;
    uint32_t largest = 0;

    log.n = 0;
    proto_watch_start(&watch, &env, phase_ns);
    for (uint32_t i = 1; i <= UINT32_C(1) << 28; i++)
        proto_watch_advance(&watch, i, 0);
    proto_watch_enter(&watch, PROTO_PHASE_ENCODE);
    for (size_t i = 1; i + 1 < log.n; i++)
        if (log.at[i].done - log.at[i - 1].done > largest)
            largest = log.at[i].done - log.at[i - 1].done;
    ck_assert_uint_gt(log.n, 300);
    ck_assert_uint_eq(log.at[log.n - 1].done, UINT32_C(1) << 28);
    ck_assert_uint_lt(largest, UINT32_C(1) << 27);
}
END_TEST

SUITE("progress", a_plan_tells_its_phases, a_budget_tells_its_cuts,
      a_frontier_tells_its_points, a_memory_limit_tells_how_far_it_is,
      calls_are_few)
