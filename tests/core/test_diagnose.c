/*
 * Graphs without a plan (semantics 11): the path, its reasons, the node to
 * blame, and that nothing else is claimed.
 */
#include "gb.h"
#include "suite.h"

#include <string.h>

static const struct remat_diagnostic *first(const struct remat_plan *plan,
                                            enum remat_outcome outcome,
                                            const char *code)
{
    ck_assert_int_eq(plan->outcome, outcome);
    ck_assert_uint_eq(plan->saved.n, 0);
    ck_assert_uint_eq(plan->saved_sym.n, 0);
    ck_assert_uint_eq(plan->saved_opaque.n, 0);
    ck_assert_uint_eq(plan->recomputed.n, 0);
    ck_assert_uint_ge(plan->n_diagnostics, 1); /* warnings may follow */
    ck_assert_str_eq(plan->diagnostics->code, code);
    ck_assert_int_eq(plan->diagnostics->severity, REMAT_ERROR);
    ck_assert_ptr_nonnull(plan->diagnostics->message);
    return plan->diagnostics;
}

static void step_is(const struct remat_step *step, remat_node node,
                    enum remat_side side, enum remat_origin origin,
                    const char *words)
{
    ck_assert_uint_eq(step->node, node);
    ck_assert_int_eq(step->side, side);
    ck_assert_int_eq(step->origin, origin);
    ck_assert_msg(strstr(step->reason, words) != NULL, "%s", step->reason);
}

START_TEST(a_tag_apart_from_its_getitem)
{
    const struct remat_diagnostic *d;
    const struct remat_plan *plan;
    remat_node pair, item;
    struct gb b;

    gb_init(&b, NULL);
    gb_conflict(&b);
    pair = remat_graph_find(b.job, "pair");
    item = remat_graph_find(b.job, "item");
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    d = first(plan, REMAT_INFINITE_FLOW, "infinite-flow");
    ck_assert(plan->cuts[0].unbounded);
    ck_assert_uint_eq(d->n_path, 4);
    step_is(&d->path[0], pair, REMAT_SIDE_IN, REMAT_ORIGIN_ANNOTATION,
            "must_save");
    step_is(&d->path[1], pair, REMAT_SIDE_OUT, REMAT_ORIGIN_INTRINSIC,
            "returns a tuple");
    step_is(&d->path[2], item, REMAT_SIDE_IN, REMAT_ORIGIN_DATAFLOW, "pair");
    step_is(&d->path[3], REMAT_NONE, REMAT_SIDE_NONE, REMAT_ORIGIN_ANNOTATION,
            "prefer_recompute");
    ck_assert_ptr_nonnull(strstr(d->message, "pair"));
    ck_assert_ptr_nonnull(strstr(d->message, "item"));
    gb_free(&b);
}
END_TEST

START_TEST(a_forward_output_that_depends_on_a_tangent)
{
    const struct remat_diagnostic *d;
    const struct remat_plan *plan;
    struct gb b;

    gb_init(&b, NULL);
    gb_misplaced(&b);
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    d = first(plan, REMAT_INVALID_OUTPUT, "invalid-output");
    ck_assert_uint_eq(plan->n_cuts, 0);
    ck_assert_uint_eq(d->node, remat_graph_find(b.job, "g"));
    ck_assert(d->has_counts);
    ck_assert_uint_eq(d->n_fwd_outputs, 1);
    ck_assert_uint_eq(d->n_bwd_outputs, 1);
    ck_assert_uint_eq(d->n_path, 2);
    ck_assert_uint_eq(d->path[0].node, remat_graph_find(b.job, "g"));
    ck_assert_uint_eq(d->path[1].node, remat_graph_find(b.job, "t"));
    gb_free(&b);
}
END_TEST

START_TEST(views_under_recompute_views)
{
    const struct remat_diagnostic *d;
    const struct remat_plan *plan;
    struct remat_options options;
    remat_node x, t, m, view, y, gradient;
    struct gb b;

    remat_options_init(&options);
    options.recompute_views = true;
    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    m = GB(&b, .name = "m", .target = "aten.mm.default", .n_inputs = 1,
           .op = REMAT_CALL_FUNCTION, .kind = REMAT_VALUE_TUPLE, .bytes = 64,
           .inputs = {x});
    view = gb_call(&b, "view", "aten.view.default", 64, m, REMAT_NONE);
    y = gb_call(&b, "y", NULL, 64, view, REMAT_NONE);
    gradient = gb_call(&b, "gradient", NULL, 64, t, view);
    gb_output(&b, 1, 2, (remat_node[]){y, gradient});
    plan = gb_solve(&b, &options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    d = first(plan, REMAT_INFINITE_FLOW, "infinite-flow");
    ck_assert_uint_eq(d->n_path, 6);
    step_is(&d->path[0], m, REMAT_SIDE_IN, REMAT_ORIGIN_HEURISTIC, "list");
    step_is(&d->path[3], view, REMAT_SIDE_OUT, REMAT_ORIGIN_HEURISTIC, "view");
    step_is(&d->path[5], REMAT_NONE, REMAT_SIDE_NONE, REMAT_ORIGIN_INTRINSIC,
            "tangent");
    gb_free(&b);
}
END_TEST

START_TEST(an_input_that_cannot_be_saved)
{
    const struct remat_diagnostic *d;
    const struct remat_plan *plan;
    remat_node x, t, gradient;
    struct gb b;

    gb_init(&b, NULL);
    x = GB(&b, .name = "x", .target = "primals_1", .kind = REMAT_VALUE_TUPLE);
    t = gb_tangent(&b, "t", 64);
    gradient = gb_call(&b, "gradient", NULL, 64, t, x);
    gb_output(&b, 0, 1, &gradient);
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    d = first(plan, REMAT_INFINITE_FLOW, "infinite-flow");
    step_is(&d->path[0], x, REMAT_SIDE_IN, REMAT_ORIGIN_INTRINSIC, "input");
    gb_free(&b);
}
END_TEST

START_TEST(an_operator_pinned_to_the_forward_as_a_gradient)
{
    const struct remat_diagnostic *d;
    const struct remat_plan *plan;
    remat_node x, t, pinned, gradient;
    struct gb b;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    pinned = GB(&b, .name = "pinned", .op = REMAT_CALL_FUNCTION, .bytes = 64,
                .n_inputs = 2, .inputs = {x, t},
                .placement = REMAT_MUST_BE_IN_FORWARD);
    gradient = gb_call(&b, "gradient", NULL, 64, t, pinned);
    gb_output(&b, 0, 1, &gradient);
    plan = gb_solve(&b, NULL);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    d = first(plan, REMAT_INVALID_OUTPUT, "invalid-output");
    ck_assert_uint_eq(d->node, gradient);
    ck_assert_uint_eq(d->path[d->n_path - 1].node, pinned);
    gb_free(&b);
}
END_TEST

START_TEST(every_origin_and_status_has_words)
{
    ck_assert_str_eq(remat_origin_text(REMAT_ORIGIN_ANNOTATION), "annotation");
    ck_assert_str_eq(remat_origin_text(REMAT_ORIGIN_HEURISTIC), "heuristic");
    ck_assert_str_eq(remat_origin_text(REMAT_ORIGIN_INTRINSIC), "intrinsic");
    ck_assert_str_eq(remat_origin_text(REMAT_ORIGIN_DATAFLOW), "dataflow");
    for (int s = REMAT_OK; s <= REMAT_E_BUG; s++)
        ck_assert_str_ne(remat_status_code((enum remat_status)s), "");
    for (int r = REMAT_BAN_PRIMAL; r <= REMAT_BAN_LONG_CHAIN; r++)
        ck_assert_str_ne(remat_ban_text((enum remat_ban_reason)r), "");
}
END_TEST

SUITE("diagnose", a_tag_apart_from_its_getitem,
      a_forward_output_that_depends_on_a_tangent, views_under_recompute_views,
      an_input_that_cannot_be_saved,
      an_operator_pinned_to_the_forward_as_a_gradient,
      every_origin_and_status_has_words)
