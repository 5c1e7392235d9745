/*
 * Memory, steps and stops: whatever fails, fails cleanly, gives everything back
 * and leaves the next job alone.
 */
#include "gb.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

struct account {
    size_t n_bytes;
    size_t n_calls;
    size_t fail_at;     /* refuse the call of this number; 0: none */
    bool fail_for_ever; /* and all after it */
    unsigned n_polls;
    unsigned stop_at; /* say stop at this poll; 0: never */
    unsigned n_phases;
    enum remat_phase last_phase;
};

static void *count_allocate(void *context, size_t n_bytes)
{
    struct account *a = context;
    void *memory;

    a->n_calls++;
    if (a->fail_at != 0 && (a->n_calls == a->fail_at ||
                            (a->fail_for_ever && a->n_calls > a->fail_at)))
        return NULL;
    memory = malloc(n_bytes);
    if (memory != NULL)
        a->n_bytes += n_bytes;
    return memory;
}

static void count_release(void *context, void *chunk, size_t n_bytes)
{
    struct account *a = context;

    a->n_bytes -= n_bytes;
    free(chunk);
}

static int poll_stop(void *context)
{
    struct account *a = context;

    return ++a->n_polls == a->stop_at;
}

static void note_phase(void *context, enum remat_phase phase)
{
    struct account *a = context;

    a->n_phases++;
    a->last_phase = phase;
}

static struct remat_limits limits_of(struct account *a)
{
    struct remat_limits limits;

    memset(&limits, 0, sizeof limits);
    limits.allocate = count_allocate;
    limits.release = count_release;
    limits.stop = poll_stop;
    limits.phase = note_phase;
    limits.context = a;
    return limits;
}

static void long_chain(struct gb *b)
{
    gb_chain(b, 700);
}

static void wide(struct gb *b)
{
    remat_node x = gb_primal(b, "x", 64);
    remat_node t = gb_tangent(b, "t", 64);
    remat_node y = x;

    for (int i = 0; i < 300; i++) {
        remat_node m = gb_call(b, NULL, "aten.mm.default", 100 + i, y, x);

        y = gb_call(b, NULL, "aten.relu.default", 90, m, y);
        t = gb_call(b, NULL, "aten.mul.Tensor", 50, t, y);
    }
    gb_output(b, 1, 2, (remat_node[]){y, t});
}

static void with_symbols(struct gb *b)
{
    static char names[64][16];
    remat_node x = gb_primal(b, "x", 64);
    remat_node t = gb_tangent(b, "t", 64);
    remat_node y = x;

    for (int i = 0; i < 64; i++) {
        snprintf(names[i], sizeof names[i], "s%d", i);
        GB(b, .kind = REMAT_VALUE_SYM_INT, .symbol = names[i],
           .binds = names[i], .target = "primals_s");
    }
    for (int i = 0; i < 64; i++) {
        y = GB(b, .target = "aten.mm.default", .op = REMAT_CALL_FUNCTION,
               .bytes = 64, .n_inputs = 1, .inputs = {y}, .symbol = names[i]);
        t = gb_call(b, NULL, "aten.mul.Tensor", 64, t, y);
    }
    gb_output(b, 1, 2, (remat_node[]){y, t});
}

typedef void build_graph(struct gb *b);
static build_graph *const graphs[] = {long_chain, wide, with_symbols,
                                      gb_conflict, gb_misplaced};
static const enum remat_outcome outcomes[] = {REMAT_PLAN, REMAT_PLAN,
                                              REMAT_PLAN, REMAT_INFINITE_FLOW,
                                              REMAT_INVALID_OUTPUT};
enum {
    N_GRAPHS = sizeof graphs / sizeof graphs[0]
};

/* Builds and solves; the status, and the plan when there is one. */
static enum remat_status run(struct gb *b, const struct remat_limits *limits,
                             build_graph *build, const struct remat_plan **plan)
{
    gb_init(b, limits);
    if (b->status == REMAT_OK)
        build(b);
    *plan = gb_solve(b, NULL);
    return b->status;
}

static bool says(const struct remat_plan *plan, const char *code)
{
    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        if (strcmp(plan->diagnostics[i].code, code) == 0)
            return true;
    return false;
}

static void check_right(const struct remat_plan *plan, int graph)
{
    const struct remat_plan *reference;
    struct gb b;

    ck_assert_int_eq(run(&b, NULL, graphs[graph], &reference), REMAT_OK);
    ck_assert_int_eq(plan->outcome, outcomes[graph]);
    ck_assert_int_eq(plan->outcome, reference->outcome);
    ck_assert(gb_is(plan->saved, reference->saved.n, reference->saved.at));
    ck_assert(gb_is(plan->saved_sym, reference->saved_sym.n,
                    reference->saved_sym.at));
    ck_assert(gb_is(plan->recomputed, reference->recomputed.n,
                    reference->recomputed.at));
    /* Without room for a remedy the answer goes without, and says so. */
    ck_assert_uint_eq(plan->n_diagnostics - says(plan, "remedy-not-found"),
                      reference->n_diagnostics);
    ck_assert_int_eq(plan->remedy == NULL, reference->remedy == NULL ||
                                               says(plan, "remedy-not-found"));
    gb_free(&b);
}

/* Fails allocation 1, 2, 3, ... of the graph until it succeeds. Returns how
 * many there were. */
static size_t fail_each(int graph, bool for_ever)
{
    for (size_t n = 1;; n++) {
        struct account account = {.fail_at = n, .fail_for_ever = for_ever};
        struct remat_limits limits = limits_of(&account);
        const struct remat_plan *plan;
        enum remat_status status;
        struct gb b;

        status = run(&b, &limits, graphs[graph], &plan);
        if (status == REMAT_OK)
            check_right(plan, graph);
        else
            ck_assert_int_eq(status, REMAT_E_NOMEM);
        ck_assert(status != REMAT_OK || account.n_calls < n ||
                  says(plan, "remedy-not-found"));
        gb_free(&b);
        ck_assert_uint_eq(account.n_bytes, 0);
        if (account.n_calls < n) {
            ck_assert_int_eq(status, REMAT_OK);
            return n - 1;
        }
        ck_assert_uint_lt(n, 10000);
    }
}

START_TEST(each_allocation_fails_in_turn)
{
    for (int graph = 0; graph < N_GRAPHS; graph++) {
        size_t n = fail_each(graph, false);

        ck_assert_uint_ge(n, 1);
        ck_assert_uint_eq(fail_each(graph, true), n);
    }
    ck_assert_uint_gt(fail_each(0, false), 4);
}
END_TEST

START_TEST(the_memory_limit_grows_until_it_is_enough)
{
    for (int graph = 0; graph < N_GRAPHS; graph++) {
        bool failed = false;

        for (size_t limit = 64;; limit += 1 + limit / 50) {
            struct account account = {0};
            struct remat_limits limits = limits_of(&account);
            const struct remat_plan *plan;
            enum remat_status status;
            struct gb b;

            limits.memory_bytes = limit;
            status = run(&b, &limits, graphs[graph], &plan);
            ck_assert_uint_le(account.n_bytes, limit);
            if (b.job == NULL) /* not even room for the job */
                status = REMAT_E_LIMIT;
            if (status == REMAT_OK)
                check_right(plan, graph);
            else
                ck_assert_int_eq(status, REMAT_E_LIMIT);
            failed = failed || status != REMAT_OK;
            gb_free(&b);
            ck_assert_uint_eq(account.n_bytes, 0);
            if (status == REMAT_OK)
                break;
            ck_assert_uint_lt(limit, 100000000);
        }
        ck_assert(failed);
    }
}
END_TEST

START_TEST(the_memory_limit_says_what_it_was)
{
    struct remat_limits limits;
    const struct remat_plan *plan;
    struct gb b;

    memset(&limits, 0, sizeof limits);
    limits.memory_bytes = 30000;
    ck_assert_int_eq(run(&b, &limits, wide, &plan), REMAT_E_LIMIT);
    ck_assert_int_eq(remat_job_status(b.job), REMAT_E_LIMIT);
    ck_assert_uint_le(remat_job_memory_bytes(b.job), 30000);
    ck_assert_str_eq(remat_status_code(REMAT_E_LIMIT), "too-large");
    gb_free(&b);
}
END_TEST

START_TEST(the_step_limit_grows_until_it_is_enough)
{
    for (int graph = 0; graph < N_GRAPHS; graph++) {
        bool failed = false;

        for (uint64_t limit = 1;; limit += 1 + limit / 20) {
            struct account account = {0};
            struct remat_limits limits = limits_of(&account);
            const struct remat_plan *plan;
            enum remat_status status;
            struct gb b;

            limits.n_steps = limit;
            status = run(&b, &limits, graphs[graph], &plan);
            if (status == REMAT_OK) {
                ck_assert_uint_le(remat_job_steps(b.job), limit);
                check_right(plan, graph);
            } else {
                ck_assert_int_eq(status, REMAT_E_STEPS);
                ck_assert_int_eq(b.err.status, REMAT_E_STEPS);
            }
            failed = failed || status != REMAT_OK;
            gb_free(&b);
            ck_assert_uint_eq(account.n_bytes, 0);
            if (status == REMAT_OK)
                break;
            ck_assert_uint_lt(limit, 100000000);
        }
        ck_assert(failed || graph == N_GRAPHS - 1);
    }
}
END_TEST

START_TEST(a_stop_is_heeded_at_every_poll)
{
    for (int graph = 0; graph < N_GRAPHS; graph++)
        for (unsigned at = 1;; at++) {
            struct account account = {.stop_at = at};
            struct remat_limits limits = limits_of(&account);
            const struct remat_plan *plan;
            enum remat_status status;
            struct gb b;

            status = run(&b, &limits, graphs[graph], &plan);
            if (status == REMAT_OK)
                check_right(plan, graph);
            else
                ck_assert_int_eq(status, REMAT_E_STOPPED);
            ck_assert(status != REMAT_OK || account.n_polls < at);
            gb_free(&b);
            ck_assert_uint_eq(account.n_bytes, 0);
            if (status == REMAT_OK) {
                ck_assert_uint_gt(at, 2);
                break;
            }
        }
}
END_TEST

START_TEST(long_jobs_are_polled_while_they_run)
{
    struct account account = {0};
    struct remat_limits limits = limits_of(&account);
    struct gb b;

    gb_init(&b, &limits);
    gb_chain(&b, 50000);
    ck_assert_ptr_nonnull(gb_solve(&b, NULL));
    /* at every phase, and between them; a linear pass counts as one step */
    ck_assert_uint_ge(account.n_polls, account.n_phases + 5);
    gb_free(&b);
    ck_assert_uint_eq(account.n_bytes, 0);
}
END_TEST

START_TEST(phases_are_told_in_order)
{
    struct account account = {0};
    struct remat_limits limits = limits_of(&account);
    const struct remat_plan *plan;
    struct gb b;

    ck_assert_int_eq(run(&b, &limits, wide, &plan), REMAT_OK);
    ck_assert_int_eq(account.last_phase, REMAT_PHASE_DONE);
    ck_assert_uint_eq(account.n_phases, 6); /* all but BUILD */
    gb_free(&b);
}
END_TEST

START_TEST(a_failed_solve_leaves_the_job_usable)
{
    /* a stop is no fault of the graph: the same job answers when asked again */
    struct account account = {.stop_at = 3};
    struct remat_limits limits = limits_of(&account);
    const struct remat_plan *plan;
    struct gb b;

    ck_assert_int_eq(run(&b, &limits, wide, &plan), REMAT_E_STOPPED);
    b.status = REMAT_OK;
    plan = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(plan);
    check_right(plan, 1);
    gb_free(&b);
    ck_assert_uint_eq(account.n_bytes, 0);
}
END_TEST

START_TEST(freeing_nothing_is_fine)
{
    remat_job_free(NULL);
}
END_TEST

START_TEST(memory_is_linear_in_the_graph)
{
    size_t n_bytes[2];

    for (int i = 0; i < 2; i++) {
        struct gb b;

        gb_init(&b, NULL);
        gb_chain(&b, i == 0 ? 4000 : 40000);
        ck_assert_ptr_nonnull(gb_solve(&b, NULL));
        n_bytes[i] = remat_job_memory_bytes(b.job);
        gb_free(&b);
    }
    ck_assert_uint_lt(n_bytes[1], 14 * n_bytes[0]);
    ck_assert_uint_lt(n_bytes[1], 80000 * 2000u);
}
END_TEST

SUITE("limits", each_allocation_fails_in_turn,
      the_memory_limit_grows_until_it_is_enough,
      the_memory_limit_says_what_it_was,
      the_step_limit_grows_until_it_is_enough, a_stop_is_heeded_at_every_poll,
      long_jobs_are_polled_while_they_run, phases_are_told_in_order,
      a_failed_solve_leaves_the_job_usable, freeing_nothing_is_fine,
      memory_is_linear_in_the_graph)
