/*
 * Distance, weights, network and canonical cut (semantics 3, 4, 6, 7), through
 * whole plans.
 */
#include "gb.h"
#include "suite.h"

/* x -> node -> y with a backward that reads node; node is not recomputable, so
 * the cut is its weight. */
static int64_t weight_of(const struct gb_node *node,
                         const struct remat_options *options)
{
    struct gb_node described = *node;
    struct gb b;
    remat_node x, t, at, y, gradient;
    const struct remat_plan *plan;
    int64_t weight;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 1000000);
    t = gb_tangent(&b, "t", 64);
    described.op = REMAT_CALL_FUNCTION;
    described.n_inputs = 1;
    described.inputs[0] = x;
    at = gb_add(&b, &described);
    y = gb_call(&b, "y", "aten.relu.default", 64, at, REMAT_NONE);
    gradient = gb_call(&b, "gradient", "aten.mm.default", 64, t, at);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    weight = plan->facts.weight[at];
    gb_free(&b);
    return weight;
}
#define WEIGHT(options, ...) weight_of(&(struct gb_node){__VA_ARGS__}, options)

START_TEST(symbols_and_objects)
{
    ck_assert_int_eq(WEIGHT(NULL, .kind = REMAT_VALUE_SYM_INT), 1);
    ck_assert_int_eq(WEIGHT(NULL, .kind = REMAT_VALUE_SYM_BOOL), 1);
    ck_assert_int_eq(WEIGHT(NULL, .kind = REMAT_VALUE_SYM_FLOAT), 4);
    ck_assert_int_eq(WEIGHT(NULL, .kind = REMAT_VALUE_OPAQUE,
                            .target = "aten.mm.default",
                            .opaque_type = "FakeScriptObject"),
                     0);
    ck_assert_int_eq(WEIGHT(NULL, .kind = REMAT_VALUE_OPAQUE, .opaque = true,
                            .target = "aten.mm.default",
                            .opaque_type = "Thing"),
                     0);
    ck_assert_int_eq(WEIGHT(NULL, .kind = REMAT_VALUE_TUPLE, .bytes = 8), -1);
    ck_assert_int_eq(WEIGHT(NULL, .policy = REMAT_MUST_RECOMPUTE, .bytes = 8),
                     -2);
}
END_TEST

START_TEST(tensors_weigh_by_distance)
{
    /* its nearest user is backward: distance 1; truncated before doubling */
    ck_assert_int_eq(WEIGHT(NULL, .target = "aten.mm.default", .bytes = 100),
                     110);
    ck_assert_int_eq(WEIGHT(NULL, .target = "aten.mm.default", .bytes = 7), 7);
    ck_assert_int_eq(WEIGHT(NULL, .target = "aten.mm.default", .bytes = 0), 0);
    ck_assert_int_eq(WEIGHT(NULL, .target = "aten.mm.default", .bytes = 10),
                     11);
}
END_TEST

START_TEST(views_cannot_be_saved_when_they_are_recomputed)
{
    struct remat_options options;

    remat_options_init(&options);
    ck_assert_int_eq(
        WEIGHT(&options, .target = "aten.view.default", .bytes = 100), 110);
    options.recompute_views = true;
    ck_assert_int_eq(
        WEIGHT(&options, .target = "aten.view.default", .bytes = 100), -1);
}
END_TEST

START_TEST(plain_weighs_bytes)
{
    struct remat_options options;

    remat_options_init(&options);
    options.profile = REMAT_PROFILE_PLAIN;
    ck_assert_int_eq(WEIGHT(&options, .bytes = 123), 123);
    ck_assert_int_eq(WEIGHT(&options, .kind = REMAT_VALUE_SYM_FLOAT), 4);
    ck_assert_int_eq(WEIGHT(&options, .kind = REMAT_VALUE_TUPLE, .bytes = 1),
                     -1);
}
END_TEST

START_TEST(fused_values_weigh_twice)
{
    struct gb b;
    remat_node x, t, a, c, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    a = gb_call(&b, "a", "aten.relu.default", 7, x, REMAT_NONE);
    c = gb_call(&b, "c", "aten.relu.default", 7, a, REMAT_NONE);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, c);
    gb_output(&b, 0, 1, &gradient);
    plan = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(plan);
    /* nothing of it is in the forward: distance 0 counts as 1 */
    ck_assert_int_eq(plan->facts.dist[a], 0);
    ck_assert_int_eq(plan->facts.weight[a], 14);
    ck_assert_int_eq(plan->facts.weight[x], 70);
    gb_free(&b);
}
END_TEST

START_TEST(distance_counts_to_the_nearest_backward_user)
{
    struct gb b;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    gb_chain(&b, 5);
    plan = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(plan);
    for (remat_node v = 2; v < 7; v++)
        ck_assert_uint_eq(plan->facts.dist[v], 1);
    ck_assert_uint_eq(plan->facts.dist[0], 2);
    gb_free(&b);
}
END_TEST

START_TEST(what_only_reaches_outputs_is_infinitely_far)
{
    struct gb b;
    remat_node x, t, a, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    a = gb_call(&b, "a", NULL, 64, x, REMAT_NONE);
    y = gb_call(&b, "y", NULL, 64, a, REMAT_NONE);
    gradient = gb_call(&b, "gradient", NULL, 64, t, x);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(plan);
    ck_assert_uint_eq(plan->facts.dist[a], 1000000000);
    ck_assert_uint_eq(plan->facts.dist[y], 1000000000);
    ck_assert_uint_eq(plan->facts.dist[x], 1);
    ck_assert(GB_IS(plan->saved, x));
    gb_free(&b);
}
END_TEST

static void solve_params(bool free_to_save, struct remat_options *options,
                         bool *saves_parameter)
{
    const uint32_t parameter = 0;
    struct gb b;
    remat_node w, x, t, y, gradient;
    const struct remat_plan *plan;

    options->treat_parameters_as_free_to_save = free_to_save;
    gb_init(&b, NULL);
    w = gb_primal(&b, "w", 1000);
    x = gb_primal(&b, "x", 10);
    t = gb_tangent(&b, "t", 10);
    y = gb_call(&b, "y", "aten.mm.default", 100, x, w);
    gradient = GB(&b, .name = "gradient", .target = "aten.mm.default",
                  .op = REMAT_CALL_FUNCTION, .bytes = 10, .n_inputs = 3,
                  .inputs = {t, w, y});
    gb_seal(&b, 1, 2, (remat_node[]){y, gradient}, &parameter, 1);
    plan = gb_solve(&b, options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    *saves_parameter = plan->facts.weight[w] == 0;
    ck_assert(GB_IS(plan->saved, w, y));
    ck_assert_int_eq(plan->saved_bytes, 1100);
    ck_assert_int_eq(plan->static_bytes, 1000);
    gb_free(&b);
}

START_TEST(parameters_are_free_if_so_wished)
{
    struct remat_options options;
    bool is_free;

    remat_options_init(&options);
    solve_params(true, &options, &is_free);
    ck_assert(is_free);
    solve_params(false, &options, &is_free);
    ck_assert(!is_free);
}
END_TEST

START_TEST(without_a_backward_nothing_is_saved)
{
    struct gb b;
    remat_node x, y;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    y = gb_call(&b, "y", NULL, 64, x, REMAT_NONE);
    gb_output(&b, 1, 1, &y);
    plan = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(plan);
    ck_assert(plan->no_backward);
    ck_assert_uint_eq(plan->n_cuts, 0);
    ck_assert_uint_eq(plan->saved.n, 0);
    gb_free(&b);
}
END_TEST

START_TEST(a_cut_without_terminals_is_empty)
{
    struct gb b;
    remat_node t, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    t = gb_tangent(&b, "t", 64);
    gradient = gb_call(&b, "gradient", NULL, 64, t, REMAT_NONE);
    gb_output(&b, 0, 1, &gradient);
    plan = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(plan);
    ck_assert_uint_eq(plan->n_cuts, 1);
    ck_assert_int_eq(plan->cuts[0].value, 0);
    ck_assert_uint_eq(plan->cuts[0].nodes.n, 0);
    gb_free(&b);
}
END_TEST

START_TEST(sizes_near_the_limit)
{
    struct remat_options options;
    struct gb b;
    remat_node x, t, y, gradient;
    const struct remat_plan *plan;

    remat_options_init(&options);
    for (int plain = 0; plain < 2; plain++) {
        options.profile = plain ? REMAT_PROFILE_PLAIN : REMAT_PROFILE_PYTORCH;
        for (int huge = 0; huge < 2; huge++) {
            int64_t bytes = huge ? INT64_MAX : INT64_C(1) << 61;

            gb_init(&b, NULL);
            x = gb_primal(&b, "x", bytes);
            t = gb_tangent(&b, "t", bytes);
            y = gb_call(&b, "y", "aten.mm.default", bytes, x, x);
            gradient = gb_call(&b, "gradient", NULL, bytes, t, y);
            gb_output(&b, 1, 2, (remat_node[]){y, gradient});
            plan = gb_solve(&b, &options);
            if (huge) {
                ck_assert_ptr_null(plan);
                ck_assert_int_eq(b.status, REMAT_E_WEIGHT);
            } else {
                ck_assert_msg(plan != NULL, "%s", b.err.detail);
                ck_assert_int_ge(plan->cuts[0].value, bytes);
                ck_assert_int_eq(plan->saved_bytes, bytes);
            }
            gb_free(&b);
        }
    }
}
END_TEST

START_TEST(solving_twice_gives_the_same)
{
    struct gb b;
    const struct remat_plan *first;
    const struct remat_plan *second;

    gb_init(&b, NULL);
    gb_chain(&b, 50);
    first = gb_solve(&b, NULL);
    second = gb_solve(&b, NULL);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_ne(first, second);
    ck_assert_int_eq(first->cuts[0].value, second->cuts[0].value);
    ck_assert(gb_is(first->saved, second->saved.n, second->saved.at));
    ck_assert(
        gb_is(first->recomputed, second->recomputed.n, second->recomputed.at));
    gb_free(&b);
}
END_TEST

static enum remat_status solve_small(const struct remat_options *options)
{
    enum remat_status status;
    struct gb b;

    gb_init(&b, NULL);
    gb_chain(&b, 2);
    (void)gb_solve(&b, options);
    status = b.status;
    gb_free(&b);
    return status;
}

START_TEST(options_out_of_range_say_so)
{
    struct remat_options options;

    remat_options_init(&options);
    ck_assert_int_eq(solve_small(&options), REMAT_OK);
    options.activation_memory_budget = 1.5;
    ck_assert_int_eq(solve_small(&options), REMAT_E_OPTION);
    options.activation_memory_budget = -0.1;
    ck_assert_int_eq(solve_small(&options), REMAT_E_OPTION);
}
END_TEST

START_TEST(the_first_budget_of_a_node_counts)
{
    struct gb b;
    remat_node x, t, y, gradient;

    for (int bad_first = 0; bad_first < 2; bad_first++) {
        gb_init(&b, NULL);
        x = gb_primal(&b, "x", 64);
        t = gb_tangent(&b, "t", 64);
        y = GB(&b, .name = "y", .op = REMAT_CALL_FUNCTION, .bytes = 64,
               .n_inputs = 1, .inputs = {x}, .has_memory_budget = true,
               .memory_budget = bad_first ? 1.5 : 1.0);
        gradient =
            GB(&b, .name = "gradient", .op = REMAT_CALL_FUNCTION, .bytes = 64,
               .n_inputs = 2, .inputs = {t, y}, .has_memory_budget = true,
               .memory_budget = bad_first ? 1.0 : 1.5);
        gb_output(&b, 1, 2, (remat_node[]){y, gradient});
        ck_assert_int_eq(gb_solve(&b, NULL) == NULL, bad_first);
        ck_assert_int_eq(b.status, bad_first ? REMAT_E_OPTION : REMAT_OK);
        if (bad_first)
            ck_assert_uint_eq(b.err.node, y);
        gb_free(&b);
    }
}
END_TEST

SUITE("weights", symbols_and_objects, tensors_weigh_by_distance,
      views_cannot_be_saved_when_they_are_recomputed, plain_weighs_bytes,
      fused_values_weigh_twice, distance_counts_to_the_nearest_backward_user,
      what_only_reaches_outputs_is_infinitely_far,
      parameters_are_free_if_so_wished, without_a_backward_nothing_is_saved,
      a_cut_without_terminals_is_empty, sizes_near_the_limit,
      solving_twice_gives_the_same, options_out_of_range_say_so,
      the_first_budget_of_a_node_counts)
