/*
 * Which values may not be computed again and why (semantics 5.1 to 5.3, 12), on
 * a graph with one interesting node in it.
 */
#include "gb.h"
#include "suite.h"

/*
 * x -> node -> user -> y; the backward reads what `user` computed. What a test
 * wants to be different it says in `node` (inputs are added).
 */
struct trial {
    struct gb b;
    remat_node x, node, user;
    const struct remat_plan *plan;
};

static enum remat_ban_reason ban_of(const struct remat_plan *plan, remat_node v)
{
    const struct remat_cut *cut = &plan->cuts[plan->n_cuts - 1];

    for (uint32_t i = 0; i < cut->n_bans; i++)
        if (cut->bans[i].node == v)
            return cut->bans[i].reason;
    return REMAT_BAN_NONE;
}

static void try_node(struct trial *trial, const struct gb_node *node,
                     int64_t x_bytes, const struct remat_options *options)
{
    struct gb_node described = *node;
    remat_node t, y, gradient;

    gb_init(&trial->b, NULL);
    trial->x = gb_primal(&trial->b, "x", x_bytes);
    t = gb_tangent(&trial->b, "t", 64);
    described.op = REMAT_CALL_FUNCTION;
    if (described.n_inputs == 0) {
        described.n_inputs = 1;
        described.inputs[0] = trial->x;
    }
    if (described.bytes == 0)
        described.bytes = 64;
    trial->node = gb_add(&trial->b, &described);
    trial->user = gb_call(&trial->b, "user", "aten.relu.default", 64,
                          trial->node, REMAT_NONE);
    y = gb_call(&trial->b, "y", "aten.mm.default", 64, trial->user, REMAT_NONE);
    gradient =
        gb_call(&trial->b, "gradient", "aten.mul.Tensor", 64, t, trial->user);
    gb_output(&trial->b, 1, 2, (remat_node[]){y, gradient});
    trial->plan = gb_solve(&trial->b, options);
    ck_assert_msg(trial->plan != NULL, "%s", trial->b.err.detail);
}

static enum remat_ban_reason reason(const struct gb_node *node,
                                    const struct remat_options *options)
{
    struct trial trial;
    enum remat_ban_reason found;

    try_node(&trial, node, 64, options);
    ck_assert_int_eq(ban_of(trial.plan, trial.x), REMAT_BAN_PRIMAL);
    found = ban_of(trial.plan, trial.node);
    gb_free(&trial.b);
    return found;
}
#define REASON(options, ...) reason(&(struct gb_node){__VA_ARGS__}, options)

static struct remat_options without_allow_list(void)
{
    struct remat_options options;

    remat_options_init(&options);
    options.ban_recompute_not_in_allowlist = false;
    return options;
}

START_TEST(pointwise_operators_are_free)
{
    ck_assert_int_eq(REASON(NULL, .target = "aten.relu.default"),
                     REMAT_BAN_NONE);
}
END_TEST

START_TEST(must_save_and_no_recompute)
{
    ck_assert_int_eq(
        REASON(NULL, .target = "aten.relu.default", .policy = REMAT_MUST_SAVE),
        REMAT_BAN_MUST_SAVE);
    ck_assert_int_eq(REASON(NULL, .target = "aten.relu.default",
                            .policy = REMAT_PREFER_SAVE),
                     REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(NULL, .target = "aten.relu.default",
                            .policy = REMAT_MUST_CPU_OFFLOAD),
                     REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(NULL, .target = "aten.relu.default",
                            .traits = REMAT_NO_RECOMPUTE),
                     REMAT_BAN_NO_RECOMPUTE);
}
END_TEST

START_TEST(views_floats_and_wanted_values_cannot_be_banned)
{
    ck_assert_int_eq(
        REASON(NULL, .target = "aten.view.default", .policy = REMAT_MUST_SAVE),
        REMAT_BAN_NONE);
    ck_assert_int_eq(
        REASON(NULL, .target = "mylib.f", .kind = REMAT_VALUE_SYM_FLOAT),
        REMAT_BAN_NONE);
    ck_assert_int_eq(
        REASON(NULL, .target = "mylib.f", .kind = REMAT_VALUE_SYM_INT),
        REMAT_BAN_NOT_ALLOWED);
    ck_assert_int_eq(REASON(NULL, .target = "aten.mm.default",
                            .policy = REMAT_PREFER_RECOMPUTE),
                     REMAT_BAN_NONE);
    ck_assert_int_eq(
        REASON(NULL, .target = "getitem", .policy = REMAT_MUST_SAVE),
        REMAT_BAN_NONE);
}
END_TEST

START_TEST(the_allow_list)
{
    struct remat_options options = without_allow_list();

    ck_assert_int_eq(REASON(NULL, .target = "aten.mm.default"),
                     REMAT_BAN_NOT_ALLOWED);
    ck_assert_int_eq(REASON(NULL, .target = "mylib.f"), REMAT_BAN_NOT_ALLOWED);
    ck_assert_int_eq(
        REASON(NULL, .target = "mylib.f", .traits = REMAT_RECOMPUTABLE),
        REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(&options, .target = "aten.mm.default"),
                     REMAT_BAN_COMPUTE);
    ck_assert_int_eq(REASON(&options, .target = "aten.rand_like.default"),
                     REMAT_BAN_RANDOM);
    ck_assert_int_eq(
        REASON(&options, .target = "mylib.f", .traits = REMAT_CUSTOM),
        REMAT_BAN_NONE);
    options.is_non_builtin_to_include = true;
    ck_assert_int_eq(
        REASON(&options, .target = "mylib.f", .traits = REMAT_CUSTOM),
        REMAT_BAN_NON_BUILTIN);
}
END_TEST

START_TEST(lift_fresh_is_always_allowed)
{
    ck_assert_int_eq(REASON(NULL, .target = "aten.lift_fresh.default"),
                     REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(NULL, .target = "aten.lift_fresh_copy.default"),
                     REMAT_BAN_NONE);
}
END_TEST

START_TEST(reductions_read_four_times_what_they_give)
{
    struct trial trial;

    try_node(&trial,
             &(struct gb_node){.target = "aten.sum.dim_IntList", .bytes = 25},
             100, NULL);
    ck_assert_int_eq(ban_of(trial.plan, trial.node), REMAT_BAN_NONE);
    gb_free(&trial.b);
    try_node(&trial,
             &(struct gb_node){.target = "aten.sum.dim_IntList", .bytes = 25},
             101, NULL);
    ck_assert_int_eq(ban_of(trial.plan, trial.node), REMAT_BAN_REDUCTION);
    gb_free(&trial.b);
    /* repeated arguments count twice, those in lists not at all */
    try_node(&trial,
             &(struct gb_node){.target = "aten.sum.dim_IntList",
                               .bytes = 25,
                               .n_inputs = 2,
                               .inputs = {0, 0}},
             51, NULL);
    ck_assert_int_eq(ban_of(trial.plan, trial.node), REMAT_BAN_REDUCTION);
    gb_free(&trial.b);
    try_node(&trial,
             &(struct gb_node){.target = "aten.sum.dim_IntList",
                               .bytes = 1,
                               .n_inputs = 1,
                               .inputs = {0},
                               .in_list = true},
             1000, NULL);
    ck_assert_int_eq(ban_of(trial.plan, trial.node), REMAT_BAN_NONE);
    gb_free(&trial.b);
}
END_TEST

START_TEST(the_reduction_rule_can_be_turned_off)
{
    struct remat_options options;
    struct trial trial;

    remat_options_init(&options);
    options.ban_recompute_reductions = false;
    try_node(&trial,
             &(struct gb_node){.target = "aten.sum.dim_IntList", .bytes = 1},
             1000, &options);
    ck_assert_int_eq(ban_of(trial.plan, trial.node), REMAT_BAN_NONE);
    gb_free(&trial.b);
}
END_TEST

START_TEST(the_distance_to_the_backward)
{
    struct remat_options options;

    remat_options_init(&options);
    options.max_dist_from_bw = 1;
    ck_assert_int_eq(REASON(&options, .target = "aten.relu.default"),
                     REMAT_BAN_TOO_FAR);
    options.max_dist_from_bw = 2;
    ck_assert_int_eq(REASON(&options, .target = "aten.relu.default"),
                     REMAT_BAN_NONE);
}
END_TEST

START_TEST(values_read_outside_the_forward_unfused)
{
    struct remat_options options;
    struct gb b;
    remat_node x, t, near, seen, view, y, gradient;
    const struct remat_plan *plan;

    remat_options_init(&options);
    for (int on = 0; on < 2; on++) {
        options.ban_recompute_materialized_backward = on != 0;
        gb_init(&b, NULL);
        x = gb_primal(&b, "x", 64);
        t = gb_tangent(&b, "t", 64);
        near = gb_call(&b, "near", "aten.relu.default", 64, x, REMAT_NONE);
        seen = gb_call(&b, "seen", "aten.relu.default", 64, near, REMAT_NONE);
        view = gb_call(&b, "view", "aten.view.default", 64, seen, REMAT_NONE);
        y = gb_call(&b, "y", "aten.relu.default", 64, view, near);
        gradient = gb_call(&b, "gradient", "aten.mm.default", 64, t, view);
        gb_output(&b, 1, 2, (remat_node[]){y, gradient});
        plan = gb_solve(&b, &options);
        ck_assert_msg(plan != NULL, "%s", b.err.detail);
        ck_assert_int_eq(ban_of(plan, seen),
                         on ? REMAT_BAN_MATERIALISED : REMAT_BAN_NONE);
        ck_assert_int_eq(ban_of(plan, near), REMAT_BAN_NONE);
        ck_assert_int_eq(ban_of(plan, view), REMAT_BAN_NONE);
        /* y is an output of the forward, and so materialised */
        ck_assert_int_eq(ban_of(plan, y),
                         on ? REMAT_BAN_MATERIALISED : REMAT_BAN_NONE);
        gb_free(&b);
    }
}
END_TEST

START_TEST(sizes_are_asked_for_where_they_decide)
{
    struct remat_options options;
    struct gb b;
    remat_node x, t, odd, gradient;

    for (int reductions = 0; reductions < 2; reductions++) {
        remat_options_init(&options);
        options.ban_recompute_reductions = reductions != 0;
        gb_init(&b, NULL);
        x = gb_primal(&b, "x", 64);
        t = gb_tangent(&b, "t", 64);
        odd = GB(&b, .name = "odd", .target = "aten.relu.default",
                 .op = REMAT_CALL_FUNCTION, .no_value = true, .n_inputs = 1,
                 .inputs = {x});
        gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, odd);
        gb_output(&b, 0, 1, &gradient);
        ck_assert_int_eq(gb_solve(&b, &options) == NULL, reductions != 0);
        ck_assert_int_eq(b.status, reductions ? REMAT_E_SIZE : REMAT_OK);
        if (reductions)
            ck_assert_uint_eq(b.err.node, odd);
        gb_free(&b);
    }
}
END_TEST

START_TEST(plain_knows_no_operators)
{
    struct remat_options options;

    remat_options_init(&options);
    options.profile = REMAT_PROFILE_PLAIN;
    ck_assert_int_eq(REASON(&options, .target = "aten.mm.default"),
                     REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(&options, .target = "mylib.f"), REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(&options, .target = "aten.view.default",
                            .policy = REMAT_MUST_SAVE),
                     REMAT_BAN_MUST_SAVE);
    ck_assert_int_eq(
        REASON(&options, .target = "getitem", .policy = REMAT_MUST_SAVE),
        REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(&options, .target = "aten.relu.default",
                            .traits = REMAT_NO_RECOMPUTE),
                     REMAT_BAN_NO_RECOMPUTE);
}
END_TEST

START_TEST(aggressive_turns_four_rules_off)
{
    struct remat_options options;

    remat_options_init(&options);
    options.aggressive_recomputation = true;
    ck_assert_int_eq(REASON(&options, .target = "mylib.f"), REMAT_BAN_NONE);
    ck_assert_int_eq(REASON(&options, .target = "aten.mm.default"),
                     REMAT_BAN_COMPUTE);
    ck_assert_int_eq(
        REASON(&options, .target = "aten.sum.dim_IntList", .bytes = 1),
        REMAT_BAN_REDUCTION);
}
END_TEST

SUITE("bans", pointwise_operators_are_free, must_save_and_no_recompute,
      views_floats_and_wanted_values_cannot_be_banned, the_allow_list,
      lift_fresh_is_always_allowed, reductions_read_four_times_what_they_give,
      the_reduction_rule_can_be_turned_off, the_distance_to_the_backward,
      values_read_outside_the_forward_unfused,
      sizes_are_asked_for_where_they_decide, plain_knows_no_operators,
      aggressive_turns_four_rules_off)
