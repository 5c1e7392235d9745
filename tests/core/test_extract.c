/*
 * From the cut to the plan (semantics 3.4, 3.5, 9): what is passed on, in which
 * list and order, and what is computed again.
 */
#include "gb.h"
#include "suite.h"

static remat_node product(struct gb *b, const char *name, remat_node a,
                          remat_node c)
{
    return gb_call(b, name, "aten.mm.default", 64, a, c);
}

START_TEST(values_between_are_recomputed)
{
    struct gb b;
    remat_node x, t, a, m, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    m = product(&b, "m", x, x);
    a = gb_call(&b, "a", "aten.relu.default", 4096, m, REMAT_NONE);
    y = product(&b, "y", a, x);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, a);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(GB_IS(plan->cuts[0].nodes, m));
    ck_assert(GB_IS(plan->saved, m));
    ck_assert(GB_IS(plan->recomputed, a));
    ck_assert_int_eq(plan->saved_bytes, 64);
    gb_free(&b);
}
END_TEST

START_TEST(what_the_backward_does_not_read_is_dropped)
{
    /* `wanted` must be recomputed, so its input is in the cut; but the backward
     * does not use it */
    struct gb b;
    remat_node x, t, m, wanted, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    m = product(&b, "m", x, x);
    wanted = GB(&b, .name = "wanted", .op = REMAT_CALL_FUNCTION, .bytes = 64,
                .n_inputs = 1, .inputs = {m}, .policy = REMAT_MUST_RECOMPUTE);
    y = product(&b, "y", wanted, x);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, x);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(GB_IS(plan->cuts[0].nodes, x, m));
    ck_assert(GB_IS(plan->saved, x));
    ck_assert_uint_eq(plan->recomputed.n, 0);
    gb_free(&b);
}
END_TEST

START_TEST(unchecked_values_come_last)
{
    struct gb b;
    remat_node x, t, a, c, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    a = GB(&b, .name = "a", .target = "aten.mm.default", .bytes = 64,
           .op = REMAT_CALL_FUNCTION, .n_inputs = 1, .inputs = {x},
           .no_vc_check = true);
    c = product(&b, "c", a, x);
    y = product(&b, "y", c, x);
    gradient = GB(&b, .name = "gradient", .op = REMAT_CALL_FUNCTION,
                  .bytes = 64, .n_inputs = 3, .inputs = {t, a, c});
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(GB_IS(plan->cuts[0].nodes, a, c));
    ck_assert(GB_IS(plan->saved, c, a));
    gb_free(&b);
}
END_TEST

START_TEST(symbols_and_objects_have_lists_of_their_own)
{
    struct gb b;
    remat_node x, s, o, script, state, t, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    s = GB(&b, .name = "s", .kind = REMAT_VALUE_SYM_INT, .symbol = "s0",
           .binds = "s0", .target = "primals_2");
    o = GB(&b, .name = "o", .kind = REMAT_VALUE_OPAQUE, .opaque = true,
           .opaque_type = "Thing", .target = "primals_3");
    script = GB(&b, .name = "script", .kind = REMAT_VALUE_OPAQUE,
                .opaque_type = "FakeScriptObject", .target = "primals_4");
    state = GB(&b, .name = "state", .kind = REMAT_VALUE_OPAQUE,
               .opaque_type = "BackwardState", .target = "primals_5");
    t = gb_tangent(&b, "t", 64);
    y = product(&b, "y", x, x);
    gradient =
        GB(&b, .name = "gradient", .op = REMAT_CALL_FUNCTION, .bytes = 64,
           .n_inputs = 6, .inputs = {t, x, s, o, script, state});
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(GB_IS(plan->cuts[0].nodes, x, s, o, script, state));
    ck_assert(GB_IS(plan->saved, x));
    ck_assert(GB_IS(plan->saved_sym, s));
    ck_assert(GB_IS(plan->saved_opaque, o));
    gb_free(&b);
}
END_TEST

START_TEST(sizes_of_saved_values_are_bound)
{
    /* nothing reads s in the backward, but m's shape mentions it */
    struct gb b;
    remat_node x, s, t, m, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    s = GB(&b, .name = "s", .kind = REMAT_VALUE_SYM_INT, .symbol = "s7",
           .binds = "s7", .target = "primals_2");
    t = gb_tangent(&b, "t", 64);
    m = GB(&b, .name = "m", .target = "aten.mm.default", .bytes = 64,
           .op = REMAT_CALL_FUNCTION, .n_inputs = 2, .inputs = {x, s},
           .symbol = "s7");
    y = product(&b, "y", m, x);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, m);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(GB_IS(plan->cuts[0].nodes, m));
    ck_assert(GB_IS(plan->saved, m));
    ck_assert(GB_IS(plan->saved_sym, s));
    gb_free(&b);
}
END_TEST

START_TEST(bools_that_are_only_asserted_stay_in_the_forward)
{
    for (int only = 0; only < 2; only++) {
        struct gb b;
        remat_node x, s, t, y, gradient;
        const struct remat_plan *plan;

        gb_init(&b, NULL);
        x = gb_primal(&b, "x", 64);
        s = GB(&b, .name = "s", .kind = REMAT_VALUE_SYM_BOOL,
               .target = "primals_2");
        t = gb_tangent(&b, "t", 64);
        GB(&b, .name = "check", .target = "aten._assert_scalar.default",
           .op = REMAT_CALL_FUNCTION, .no_value = true, .n_inputs = 1,
           .inputs = {s}, .policy = REMAT_MUST_RECOMPUTE);
        y = product(&b, "y", x, x);
        gradient =
            GB(&b, .name = "gradient", .op = REMAT_CALL_FUNCTION, .bytes = 64,
               .n_inputs = only ? 2 : 3, .inputs = {t, x, s});
        gb_output(&b, 1, 2, (remat_node[]){y, gradient});
        plan = gb_solve(&b, NULL);
        ck_assert_msg(plan != NULL, "%s", b.err.detail);
        ck_assert(GB_IS(plan->cuts[0].nodes, x, s));
        ck_assert_uint_eq(plan->saved_sym.n, only ? 0 : 1);
        gb_free(&b);
    }
}
END_TEST

START_TEST(waits_nobody_waits_for_do_not_keep_a_value)
{
    struct gb b;
    remat_node x, t, gather, y, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    gather =
        gb_call(&b, "gather", "_c10d_functional.all_gather_into_tensor.default",
                64, x, REMAT_NONE);
    GB(&b, .name = "wait", .target = "_c10d_functional.wait_tensor.default",
       .op = REMAT_CALL_FUNCTION, .bytes = 64, .n_inputs = 1,
       .inputs = {gather}, .policy = REMAT_PREFER_RECOMPUTE);
    y = product(&b, "y", x, x);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, y);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(GB_IS(plan->cuts[0].nodes, gather, y));
    ck_assert(GB_IS(plan->saved, y));
    gb_free(&b);
}
END_TEST

START_TEST(a_copy_into_an_input_is_replaced_by_the_input)
{
    /* a copy_ pinned to the backward stands among the forward outputs */
    struct gb b;
    remat_node x, t, gradient, update;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, x);
    update =
        GB(&b, .name = "update", .target = "aten.copy_.default",
           .op = REMAT_CALL_FUNCTION, .bytes = 64, .n_inputs = 2,
           .inputs = {x, gradient}, .placement = REMAT_MUST_BE_IN_BACKWARD);
    gb_output(&b, 1, 2, (remat_node[]){update, gradient});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert_int_eq(plan->outcome, REMAT_PLAN);
    ck_assert(GB_IS(plan->saved, x));
    gb_free(&b);
}
END_TEST

START_TEST(classes_of_nodes)
{
    struct gb b;
    remat_node x, unused, t, a, both, back, gradient;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    unused = gb_primal(&b, "unused", 64);
    t = gb_tangent(&b, "t", 64);
    a = product(&b, "a", x, x);
    both = product(&b, "both", a, x); /* a forward value that is a gradient */
    back = gb_call(&b, "back", "aten.relu.default", 64, a, REMAT_NONE);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, back);
    gb_output(&b, 1, 3, (remat_node[]){both, gradient, both});
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert(plan->facts.required_fw[unused]);
    ck_assert(!plan->facts.required_fw[t]);
    ck_assert(plan->facts.tangents_closure[t]);
    ck_assert(plan->facts.required_fw[both] && plan->facts.required_bw[both]);
    ck_assert(!plan->facts.tangents_closure[both]);
    ck_assert(!plan->facts.required_fw[back] && !plan->facts.required_bw[back]);
    ck_assert(plan->facts.required_bw[gradient]);
    gb_free(&b);
}
END_TEST

SUITE("extract", values_between_are_recomputed,
      what_the_backward_does_not_read_is_dropped, unchecked_values_come_last,
      symbols_and_objects_have_lists_of_their_own,
      sizes_of_saved_values_are_bound,
      bools_that_are_only_asserted_stay_in_the_forward,
      waits_nobody_waits_for_do_not_keep_a_value,
      a_copy_into_an_input_is_replaced_by_the_input, classes_of_nodes)
