/*
 * Limits of a request: memory, steps, deadline, cancellation; and timings.
 */
#include "documents.h"
#include "suite.h"

struct clock {
    uint64_t now_ns;
    uint64_t tick_ns;
    int calls_until_cancel; /* 0: never */
};

static uint64_t read_clock(void *context)
{
    struct clock *clock = context;

    return clock->now_ns += clock->tick_ns;
}

static int is_cancelled(void *context)
{
    struct clock *clock = context;

    return clock->calls_until_cancel != 0 && --clock->calls_until_cancel == 0;
}

static struct proto_answer plan(const struct proto_env *env, const char *body,
                                const char *options)
{
    struct proto_request request = {
        .body = body, .length = strlen(body), .options = options};
    struct proto_answer answer;

    proto_plan(env, &request, &answer);
    return answer;
}

/* A plan that needs `peak` succeeds with that limit and fails below, cleanly,
 * whatever the limit; what is held never exceeds it. */
START_TEST(memory_stays_under_its_limit)
{
    char *body = read_corpus("dropout", NULL);
    struct proto_answer answer;
    struct proto_env env;
    size_t peak;
    int n_refused = 0;

    proto_start();
    env_init(&env);
    answer = plan(&env, body, NULL);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    peak = answer.memory_bytes;
    ck_assert_uint_gt(peak, strlen(body));
    proto_answer_release(&answer);
    for (size_t limit = 1; limit < peak; limit += peak / 97) {
        env.limits.memory_bytes = limit;
        answer = plan(&env, body, NULL);
        ck_assert_uint_le(answer.memory_bytes, limit);
        if (answer.result == PROTO_PROBLEM) {
            n_refused++;
            ck_assert_int_eq(answer.problem.kind, PROTO_TOO_LARGE);
            ck_assert_ptr_nonnull(
                strstr(answer.problem.detail, "more memory than the limit"));
        }
        proto_answer_release(&answer);
    }
    ck_assert_int_gt(n_refused, 50);
    env.limits.memory_bytes = peak;
    answer = plan(&env, body, NULL);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

/* Lists of empty objects take eighty times their text as a tree. */
START_TEST(unkind_documents_are_refused_in_time)
{
    const size_t n = 1 << 20;
    char *body = malloc(n + 64);
    struct proto_answer answer;
    struct proto_env env;
    size_t length = strlen("{\"schema\":[");

    proto_start();
    memcpy(body, "{\"schema\":[", length);
    while (length < n) {
        memcpy(body + length, "{},", 3);
        length += 3;
    }
    memcpy(body + length - 1, "]}", sizeof "]}");
    env_init(&env);
    env.limits.memory_bytes = 16 << 20;
    answer = plan(&env, body, NULL);
    ck_assert_int_eq(answer.problem.kind, PROTO_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(answer.problem.detail, "16777216 bytes"));
    ck_assert_uint_le(answer.memory_bytes, 16 << 20);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(steps_are_limited)
{
    char *body = read_corpus("unet", NULL);
    struct proto_answer answer;
    struct proto_env env;

    proto_start();
    env_init(&env);
    env.limits.n_steps = 10;
    answer = plan(&env, body, NULL);
    ck_assert_int_eq(answer.problem.kind, PROTO_STEP_LIMIT);
    ck_assert_int_eq(proto_problem_status(answer.problem.kind), 504);
    ck_assert_ptr_nonnull(strstr(answer.problem.detail, "10 steps"));
    proto_answer_release(&answer);
    env.limits.n_steps = 0; /* no limit */
    answer = plan(&env, body, NULL);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(deadlines_count_from_the_start)
{
    char *body = read_corpus("moe", NULL);
    struct clock clock = {.now_ns = 1000000000, .tick_ns = 1000};
    struct proto_answer answer;
    struct proto_env env;

    proto_start();
    env_init(&env);
    env.now_ns = read_clock;
    env.context = &clock;
    answer = plan(&env, body, "{\"deadline_ms\":1000}");
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    proto_answer_release(&answer);
    env.started_ns = 1; /* waited in a queue for a second */
    answer = plan(&env, body, "{\"deadline_ms\":1000}");
    ck_assert_int_eq(answer.problem.kind, PROTO_DEADLINE);
    ck_assert_ptr_nonnull(strstr(answer.problem.detail, "deadline_ms of 1000"));
    proto_answer_release(&answer);
    answer = plan(&env, body, "{\"deadline_ms\":9223372036854775807}");
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    proto_answer_release(&answer);
    env.now_ns = NULL; /* no clock, no deadline */
    answer = plan(&env, body, "{\"deadline_ms\":1}");
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

/* Given up at each of its polls in turn; then left alone. */
START_TEST(requests_can_be_cancelled)
{
    char *body = read_corpus("moe", NULL);
    struct proto_answer answer;
    struct proto_env env;
    int n_cancelled = 0;

    proto_start();
    env_init(&env);
    env.cancelled = is_cancelled;
    for (int i = 1; i < 1000; i++) {
        struct clock clock = {.calls_until_cancel = i};

        env.context = &clock;
        answer = plan(&env, body, NULL);
        if (answer.result == PROTO_PLAN)
            break;
        ck_assert_int_eq(answer.problem.kind, PROTO_DEADLINE);
        ck_assert_ptr_nonnull(strstr(answer.problem.detail, "given up"));
        proto_answer_release(&answer);
        n_cancelled++;
    }
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    ck_assert_int_ge(n_cancelled, 4); /* at least every phase */
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(time_is_accounted_to_phases)
{
    char *body = read_corpus("moe", NULL);
    struct clock clock = {.now_ns = 5, .tick_ns = 1000};
    struct proto_answer answer;
    struct proto_env env;
    uint64_t sum = 0;

    proto_start();
    env_init(&env);
    env.now_ns = read_clock;
    env.context = &clock;
    answer = plan(&env, body, NULL);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    for (int i = 0; i < PROTO_N_PHASES; i++) {
        ck_assert_msg(answer.phase_ns[i] > 0, "%s",
                      proto_phase_name((enum proto_phase)i));
        sum += answer.phase_ns[i];
    }
    /* between the first and the last reading nothing is lost */
    ck_assert_uint_eq(sum, clock.now_ns - 5 - clock.tick_ns);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

SUITE("limits", memory_stays_under_its_limit,
      unkind_documents_are_refused_in_time, steps_are_limited,
      deadlines_count_from_the_start, requests_can_be_cancelled,
      time_is_accounted_to_phases)
