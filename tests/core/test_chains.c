/*
 * The two rules about chains of fusible operators (semantics 5.4, 5.5): what
 * they ban, and that graphs on which PyTorch searches quadratically are quick.
 * Check's time limit is what fails a quadratic search; steps are compared too.
 */
#include "gb.h"
#include "suite.h"

#include <string.h>

static const char *const fusible = "aten.mul.Tensor";
static const char *const unfusible = "aten.mm.default";

static bool is_banned(const struct remat_plan *plan, remat_node v,
                      enum remat_ban_reason reason)
{
    for (uint32_t i = 0; i < plan->cuts[0].n_bans; i++)
        if (plan->cuts[0].bans[i].node == v)
            return plan->cuts[0].bans[i].reason == reason;
    return false;
}

/* p is read near, and far behind something that does not fuse. */
static void far_apart(bool on, bool has_wall)
{
    struct remat_options options;
    struct gb b;
    remat_node x, t, p, near, wall, far, gradient;
    const struct remat_plan *plan;

    remat_options_init(&options);
    options.ban_recompute_used_far_apart = on;
    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    p = gb_call(&b, "p", fusible, 64, x, REMAT_NONE);
    near = gb_call(&b, "near", fusible, 64, p, REMAT_NONE);
    wall = gb_call(&b, "wall", has_wall ? unfusible : fusible, 64, near,
                   REMAT_NONE);
    wall = gb_call(&b, "behind", fusible, 64, wall, REMAT_NONE);
    far = gb_call(&b, "far", fusible, 64, p, wall);
    far = gb_call(&b, "end", unfusible, 64, far, REMAT_NONE);
    gradient = gb_call(&b, "gradient", fusible, 64, t, far);
    gb_output(&b, 1, 2, (remat_node[]){far, gradient});
    plan = gb_solve(&b, &options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert_int_eq(
        is_banned(plan, remat_graph_find(b.job, "far"), REMAT_BAN_FAR_APART),
        on && has_wall);
    ck_assert(!is_banned(plan, near, REMAT_BAN_FAR_APART));
    ck_assert(!is_banned(plan, p, REMAT_BAN_FAR_APART));
    gb_free(&b);
}

START_TEST(values_used_far_apart)
{
    far_apart(true, true);
    far_apart(true, false);
    far_apart(false, true);
}
END_TEST

/* x -> n fusible operators -> an unfusible end. First operator: node 2. */
static const struct remat_plan *chain(struct gb *b, uint32_t n,
                                      const struct remat_options *options)
{
    remat_node x, t, y, gradient;

    gb_init(b, NULL);
    x = gb_primal(b, "x", 64);
    t = gb_tangent(b, "t", 64);
    y = x;
    for (uint32_t i = 0; i < n; i++)
        y = gb_call(b, NULL, fusible, 64, y, REMAT_NONE);
    y = gb_call(b, "end", unfusible, 64, y, REMAT_NONE);
    gradient = gb_call(b, "gradient", fusible, 64, t, y);
    gb_output(b, 1, 2, (remat_node[]){y, gradient});
    return gb_solve(b, options);
}

static uint32_t count_bans(const struct remat_plan *plan,
                           enum remat_ban_reason reason)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->cuts[0].n_bans; i++)
        n += plan->cuts[0].bans[i].reason == reason;
    return n;
}

START_TEST(long_chains_are_banned_every_hundred)
{
    struct remat_options options;
    struct gb b;
    const struct remat_plan *plan = chain(&b, 101, NULL);

    ck_assert_ptr_nonnull(plan);
    ck_assert_uint_eq(count_bans(plan, REMAT_BAN_LONG_CHAIN), 0);
    gb_free(&b);
    plan = chain(&b, 102, NULL);
    /* x has order 0, the first operator 1, so the first beyond 101 is 102 */
    ck_assert_uint_eq(count_bans(plan, REMAT_BAN_LONG_CHAIN), 1);
    ck_assert(is_banned(plan, 2 + 101, REMAT_BAN_LONG_CHAIN));
    gb_free(&b);
    plan = chain(&b, 400, NULL);
    ck_assert_uint_eq(count_bans(plan, REMAT_BAN_LONG_CHAIN), 3);
    ck_assert(is_banned(plan, 2 + 101, REMAT_BAN_LONG_CHAIN));
    ck_assert(is_banned(plan, 2 + 203, REMAT_BAN_LONG_CHAIN));
    ck_assert(is_banned(plan, 2 + 305, REMAT_BAN_LONG_CHAIN));
    gb_free(&b);
    remat_options_init(&options);
    options.ban_recompute_long_fusible_chains = false;
    plan = chain(&b, 400, &options);
    ck_assert_uint_eq(count_bans(plan, REMAT_BAN_LONG_CHAIN), 0);
    gb_free(&b);
}
END_TEST

/* A chain in which every value is read again `reach` operators later, and the
 * first by all: the search of 5.4 from each value walks far. */
static uint64_t steps_of_braid(uint32_t n, uint32_t reach)
{
    struct gb b;
    remat_node x, t, y, gradient;
    uint64_t n_steps;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    y = gb_call(&b, NULL, fusible, 64, x, REMAT_NONE);
    for (uint32_t i = 0; i < n; i++)
        y = gb_call(&b, NULL, fusible, 64, y, i < reach ? x : y - reach);
    y = gb_call(&b, "end", unfusible, 64, y, REMAT_NONE);
    gradient = gb_call(&b, "gradient", fusible, 64, t, y);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    ck_assert_msg(gb_solve(&b, NULL) != NULL, "%s", b.err.detail);
    n_steps = remat_job_steps(b.job);
    gb_free(&b);
    return n_steps;
}

START_TEST(values_read_far_away_again_and_again)
{
    uint64_t small = steps_of_braid(10000, 3000);
    uint64_t large = steps_of_braid(100000, 30000);

    ck_assert_uint_gt(small, 10000);
    ck_assert_uint_lt(large, 15 * small);
}
END_TEST

/* Every operator is read by the last one: rows of users as long as the graph.
 */
static uint64_t steps_of_fan(uint32_t n)
{
    struct remat_arg *args;
    struct remat_node_spec spec;
    struct gb b;
    remat_node x, t, y, all, gradient;
    uint64_t n_steps;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    y = x;
    for (uint32_t i = 0; i < n; i++)
        y = gb_call(&b, NULL, fusible, 64, y, x);
    args = remat_job_alloc(b.job, n, sizeof *args);
    for (uint32_t i = 0; i < n; i++) {
        args[i].kind = REMAT_ARG_NODE;
        args[i].as.node = 2 + i;
    }
    memset(&spec, 0, sizeof spec);
    spec.name = "all";
    spec.target = "aten.cat.default";
    spec.op = REMAT_CALL_FUNCTION;
    spec.alias_of = REMAT_NONE;
    spec.args = args;
    spec.n_args = n;
    spec.value.kind = REMAT_VALUE_TENSOR;
    spec.value.type_name = "uint8";
    spec.value.n_bytes = 64;
    ck_assert_int_eq(remat_graph_add(b.job, &spec, &all, &b.err), REMAT_OK);
    gradient = gb_call(&b, "gradient", fusible, 64, t, all);
    gb_output(&b, 1, 2, (remat_node[]){all, gradient});
    ck_assert_msg(gb_solve(&b, NULL) != NULL, "%s", b.err.detail);
    n_steps = remat_job_steps(b.job);
    gb_free(&b);
    return n_steps;
}

START_TEST(one_operator_that_reads_everything)
{
    uint64_t small = steps_of_fan(10000);
    uint64_t large = steps_of_fan(100000);

    ck_assert_uint_gt(small, 10000);
    ck_assert_uint_lt(large, 15 * small);
}
END_TEST

START_TEST(a_chain_of_a_hundred_thousand)
{
    struct gb b;
    const struct remat_plan *plan = chain(&b, 100000, NULL);

    ck_assert_ptr_nonnull(plan);
    ck_assert_uint_eq(count_bans(plan, REMAT_BAN_LONG_CHAIN), 980);
    ck_assert_uint_lt(remat_job_steps(b.job), 10000000);
    gb_free(&b);
}
END_TEST

START_TEST(a_backward_as_long_as_its_forward)
{
    uint64_t n_steps[2];

    for (int i = 0; i < 2; i++) {
        struct gb b;

        gb_init(&b, NULL);
        gb_chain(&b, i == 0 ? 10000 : 100000);
        ck_assert_msg(gb_solve(&b, NULL) != NULL, "%s", b.err.detail);
        n_steps[i] = remat_job_steps(b.job);
        gb_free(&b);
    }
    ck_assert_uint_lt(n_steps[1], 15 * n_steps[0]);
}
END_TEST

SUITE("chains", values_used_far_apart, long_chains_are_banned_every_hundred,
      values_read_far_away_again_and_again, one_operator_that_reads_everything,
      a_chain_of_a_hundred_thousand, a_backward_as_long_as_its_forward)
