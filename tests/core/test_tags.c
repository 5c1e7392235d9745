/*
 * Clean-up of checkpoint tags (semantics 2), dead code (1.4, 1.5).
 */
#include "gb.h"
#include "suite.h"

/* x -> a -> b -> y, with a backward that reads b. */
struct line {
    struct gb b;
    remat_node x, t, first, second, gradient;
    const struct remat_plan *plan;
};

static void line_init(struct line *l)
{
    gb_init(&l->b, NULL);
    l->x = gb_primal(&l->b, "x", 64);
    l->t = gb_tangent(&l->b, "t", 64);
}

static void line_end(struct line *l, const struct remat_options *options)
{
    l->gradient =
        gb_call(&l->b, "gradient", "aten.mul.Tensor", 64, l->t, l->second);
    gb_output(&l->b, 1, 2, (remat_node[]){l->second, l->gradient});
    l->plan = gb_solve(&l->b, options);
    ck_assert_msg(l->plan != NULL, "%s", l->b.err.detail);
}

static void regions(struct line *l, int64_t of_first, int64_t of_second,
                    bool hook)
{
    line_init(l);
    l->first =
        GB(&l->b, .name = "first", .op = REMAT_CALL_FUNCTION, .bytes = 64,
           .n_inputs = 1, .inputs = {l->x}, .policy = REMAT_PREFER_RECOMPUTE,
           .has_ac_graph_id = of_first >= 0, .ac_graph_id = of_first);
    l->second = GB(&l->b, .name = "second", .op = REMAT_CALL_FUNCTION,
                   .bytes = 64, .n_inputs = 1, .inputs = {l->first},
                   .policy = REMAT_MUST_RECOMPUTE, .has_backward_hook = hook,
                   .has_ac_graph_id = of_second >= 0, .ac_graph_id = of_second);
    line_end(l, NULL);
}

START_TEST(the_end_of_a_region_is_saved)
{
    struct line l;

    regions(&l, 1, 2, false);
    ck_assert_int_eq(l.plan->facts.tag[l.first], REMAT_MUST_SAVE);
    ck_assert_int_eq(l.plan->facts.tag[l.second], REMAT_MUST_RECOMPUTE);
    gb_free(&l.b);
    regions(&l, 2, 2, false);
    ck_assert_int_eq(l.plan->facts.tag[l.first], REMAT_PREFER_RECOMPUTE);
    gb_free(&l.b);
    regions(&l, 3, 2, false);
    ck_assert_int_eq(l.plan->facts.tag[l.first], REMAT_PREFER_RECOMPUTE);
    gb_free(&l.b);
    regions(&l, -1, 2, false);
    ck_assert_int_eq(l.plan->facts.tag[l.first], REMAT_PREFER_RECOMPUTE);
    gb_free(&l.b);
    regions(&l, 1, -1, false);
    ck_assert_int_eq(l.plan->facts.tag[l.first], REMAT_PREFER_RECOMPUTE);
    gb_free(&l.b);
}
END_TEST

START_TEST(a_hook_without_recomputed_users_is_saved)
{
    struct line l;

    regions(&l, 1, 1, true);
    ck_assert_int_eq(l.plan->facts.tag[l.second], REMAT_MUST_SAVE);
    gb_free(&l.b);
}
END_TEST

static enum remat_policy collective(const char *target, enum remat_policy tag,
                                    bool unsafe)
{
    struct remat_options options;
    struct line l;
    enum remat_policy after;

    remat_options_init(&options);
    options.unsafe_allow_optimization_of_collectives = unsafe;
    line_init(&l);
    l.first =
        GB(&l.b, .name = "gather", .op = REMAT_CALL_FUNCTION, .target = target,
           .bytes = 64, .n_inputs = 1, .inputs = {l.x}, .policy = tag);
    l.second = gb_call(&l.b, "second", NULL, 64, l.first, REMAT_NONE);
    line_end(&l, &options);
    after = (enum remat_policy)l.plan->facts.tag[l.first];
    gb_free(&l.b);
    return after;
}

START_TEST(communication_is_saved)
{
    const char *gather = "_c10d_functional.all_gather_into_tensor.default";

    ck_assert_int_eq(collective(gather, REMAT_UNTAGGED, false),
                     REMAT_MUST_SAVE);
    ck_assert_int_eq(collective(gather, REMAT_PREFER_SAVE, false),
                     REMAT_MUST_SAVE);
    ck_assert_int_eq(collective(gather, REMAT_PREFER_RECOMPUTE, false),
                     REMAT_PREFER_RECOMPUTE);
    ck_assert_int_eq(collective(gather, REMAT_UNTAGGED, true), REMAT_UNTAGGED);
    ck_assert_int_eq(collective("_c10d_functional_autograd.all_reduce.default",
                                REMAT_UNTAGGED, false),
                     REMAT_UNTAGGED);
}
END_TEST

START_TEST(results_of_effects_are_saved)
{
    struct line l;
    remat_node effect;
    remat_node inner;

    line_init(&l);
    effect = GB(&l.b, .name = "effect", .op = REMAT_CALL_FUNCTION,
                .target = "higher_order.with_effects", .n_inputs = 1,
                .inputs = {l.x}, .kind = REMAT_VALUE_TUPLE, .bytes = 8);
    inner = GB(&l.b, .name = "inner", .op = REMAT_CALL_FUNCTION,
               .target = "getitem", .n_inputs = 1, .inputs = {effect},
               .kind = REMAT_VALUE_TUPLE, .bytes = 64);
    l.first = GB(&l.b, .name = "item", .op = REMAT_CALL_FUNCTION,
                 .target = "getitem", .n_inputs = 1, .inputs = {inner},
                 .bytes = 64, .policy = REMAT_PREFER_RECOMPUTE);
    l.second = gb_call(&l.b, "second", NULL, 64, l.first, REMAT_NONE);
    line_end(&l, NULL);
    ck_assert_int_eq(l.plan->facts.tag[l.first], REMAT_MUST_SAVE);
    ck_assert_int_eq(l.plan->facts.tag[inner], REMAT_UNTAGGED);
    ck_assert_int_eq(l.plan->facts.tag[l.second], REMAT_UNTAGGED);
    gb_free(&l.b);
}
END_TEST

static remat_node copy(struct gb *b, const char *name, remat_node to,
                       remat_node from, enum remat_placement placement)
{
    return GB(b, .name = name, .target = "aten.copy_.default",
              .op = REMAT_CALL_FUNCTION, .bytes = 64, .n_inputs = 2,
              .inputs = {to, from}, .placement = placement);
}

static enum remat_policy mutated(bool barrier, bool also_backward)
{
    struct gb b;
    remat_node x, t, value, gradient;
    enum remat_policy after;
    const struct remat_plan *plan;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    value = gb_call(&b, "value", "aten.relu.default", 64, x, REMAT_NONE);
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, x);
    copy(&b, "forward_copy", x, value, REMAT_MUST_BE_IN_FORWARD);
    if (barrier)
        GB(&b, .name = "barrier", .target = "mylib.barrier",
           .op = REMAT_CALL_FUNCTION, .traits = REMAT_IMPURE, .bytes = 1);
    if (also_backward)
        copy(&b, "backward_copy", x, gradient, REMAT_MUST_BE_IN_BACKWARD);
    gb_output(&b, 0, 1, &gradient);
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    after = (enum remat_policy)plan->facts.tag[value];
    gb_free(&b);
    return after;
}

START_TEST(sources_of_copies_in_both_halves_are_saved)
{
    ck_assert_int_eq(mutated(false, true), REMAT_MUST_SAVE);
    ck_assert_int_eq(mutated(false, false), REMAT_UNTAGGED);
    ck_assert_int_eq(mutated(true, true), REMAT_UNTAGGED);
}
END_TEST

static bool survives(uint32_t traits, const char *target, bool impure_random)
{
    struct remat_options options;
    struct gb b;
    remat_node x, t, dead, reader, gradient;
    const struct remat_plan *plan;
    bool live;

    remat_options_init(&options);
    options.impure_random = impure_random;
    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    dead = gb_call(&b, "dead", "aten.relu.default", 64, x, REMAT_NONE);
    reader = GB(&b, .name = "reader", .target = target, .traits = traits,
                .op = REMAT_CALL_FUNCTION, .bytes = 64, .n_inputs = 1,
                .inputs = {dead});
    gradient = gb_call(&b, "gradient", "aten.mul.Tensor", 64, t, x);
    gb_output(&b, 0, 1, &gradient);
    plan = gb_solve(&b, &options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert_int_eq(plan->facts.live[dead], plan->facts.live[reader]);
    live = plan->facts.live[reader];
    gb_free(&b);
    return live;
}

START_TEST(dead_code_goes_except_what_is_kept)
{
    ck_assert(!survives(0, "aten.relu.default", false));
    ck_assert(survives(REMAT_IMPURE, "mylib.f", false));
    ck_assert(survives(REMAT_MUTABLE, "mylib.f", false));
    ck_assert(!survives(0, "aten.rand_like.default", false));
    ck_assert(!survives(REMAT_SEEDED, "mylib.f", false));
    ck_assert(survives(REMAT_SEEDED, "mylib.f", true));
    ck_assert(survives(0, "_c10d_functional.wait_tensor.default", false));
}
END_TEST

SUITE("tags", the_end_of_a_region_is_saved,
      a_hook_without_recomputed_users_is_saved, communication_is_saved,
      results_of_effects_are_saved, sources_of_copies_in_both_halves_are_saved,
      dead_code_goes_except_what_is_kept)
