/*
 * All conflicts of a graph without a plan, and the tag changes that give it
 * one: which, at what cost, and that the job keeps its own tags.
 */
#include "gb.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

/* An operator with several results and a part of it, both tagged. */
struct pair {
    remat_node whole;
    remat_node part;
};

static struct pair add_pair(struct gb *b, remat_node from,
                            enum remat_policy whole, enum remat_policy part)
{
    struct pair pair;

    pair.whole = GB(b, .target = "mylib.pair.default",
                    .op = REMAT_CALL_FUNCTION, .n_inputs = 1, .inputs = {from},
                    .bytes = 64, .kind = REMAT_VALUE_TUPLE, .policy = whole);
    pair.part =
        GB(b, .target = "getitem", .op = REMAT_CALL_FUNCTION, .n_inputs = 1,
           .inputs = {pair.whole}, .bytes = 64, .policy = part);
    return pair;
}

/* An input `x`, a tangent `t` and a pair that reads `x`. */
static struct pair begin(struct gb *b, remat_node *t, enum remat_policy whole,
                         enum remat_policy part)
{
    remat_node x;

    gb_init(b, NULL);
    x = gb_primal(b, "x", 64);
    *t = gb_tangent(b, "t", 64);
    return add_pair(b, x, whole, part);
}

static void end(struct gb *b, remat_node y, remat_node t)
{
    gb_output(b, 1, 2, (remat_node[]){y, t});
}

static const struct remat_plan *solve(struct gb *b)
{
    const struct remat_plan *plan = gb_solve(b, NULL);

    ck_assert_msg(plan != NULL, "%s", b->err.detail);
    ck_assert_int_eq(plan->outcome, REMAT_INFINITE_FLOW);
    return plan;
}

static uint32_t count(const struct remat_plan *plan, const char *code)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        n += strcmp(plan->diagnostics[i].code, code) == 0;
    return n;
}

static void change_is(const struct remat_remedy *remedy, uint32_t i,
                      remat_node node, enum remat_policy before,
                      enum remat_policy after)
{
    ck_assert_uint_lt(i, remedy->n_changes);
    ck_assert_uint_eq(remedy->changes[i].node, node);
    ck_assert_int_eq(remedy->changes[i].before.policy, before);
    ck_assert_int_eq(remedy->changes[i].after.policy, after);
}

static enum remat_policy tag_of(const struct gb *b, remat_node v)
{
    bool has_region;
    int64_t region;

    return remat_graph_tag(b->job, v, &has_region, &region);
}

START_TEST(a_part_goes_before_its_source)
{
    const struct remat_plan *plan;
    struct pair pair;
    remat_node t;
    struct gb b;

    pair = begin(&b, &t, REMAT_MUST_SAVE, REMAT_PREFER_RECOMPUTE);
    end(&b, pair.part, gb_call(&b, NULL, NULL, 64, t, pair.part));
    plan = solve(&b);
    ck_assert_uint_eq(count(plan, "infinite-flow"), 1);
    ck_assert_ptr_nonnull(plan->remedy);
    ck_assert_uint_eq(plan->remedy->n_changes, 1);
    ck_assert_int_eq(plan->remedy->cost, REMAT_COST_PREFER);
    change_is(plan->remedy, 0, pair.part, REMAT_PREFER_RECOMPUTE,
              REMAT_UNTAGGED);
    ck_assert_int_eq(plan->remedy->plan->outcome, REMAT_PLAN);
    ck_assert(gb_is(plan->remedy->plan->saved, 1, &pair.part));
    ck_assert_int_eq(tag_of(&b, pair.part), REMAT_PREFER_RECOMPUTE);
    gb_free(&b);
}
END_TEST

/* Its operator is not on the list, so without the tag nothing is gained. */
START_TEST(one_source_goes_before_many_strict_parts)
{
    const struct remat_plan *plan;
    remat_node t, part;
    struct pair pair;
    struct gb b;

    pair = begin(&b, &t, REMAT_MUST_SAVE, REMAT_MUST_RECOMPUTE);
    part =
        GB(&b, .target = "getitem", .op = REMAT_CALL_FUNCTION, .n_inputs = 1,
           .inputs = {pair.whole}, .bytes = 64, .policy = REMAT_MUST_RECOMPUTE);
    t = gb_call(&b, NULL, NULL, 64, t, pair.part);
    end(&b, part, gb_call(&b, NULL, NULL, 64, t, part));
    plan = solve(&b);
    ck_assert_uint_eq(count(plan, "infinite-flow"), 1);
    ck_assert_ptr_nonnull(plan->remedy);
    ck_assert_uint_eq(plan->remedy->n_changes, 1);
    ck_assert_int_eq(plan->remedy->cost, REMAT_COST_MUST);
    change_is(plan->remedy, 0, pair.whole, REMAT_MUST_SAVE,
              REMAT_PREFER_RECOMPUTE);
    gb_free(&b);
}
END_TEST

START_TEST(tags_of_passes_go_first)
{
    struct remat_pass pass = {.kind = REMAT_PASS_SET_TAGS};
    struct remat_pass_report report;
    const struct remat_plan *plan;
    struct remat_set_tag tag = {.tag.policy = REMAT_MUST_SAVE};
    struct pair pair;
    remat_node t;
    struct gb b;

    pair = begin(&b, &t, REMAT_UNTAGGED, REMAT_MUST_RECOMPUTE);
    end(&b, pair.part, gb_call(&b, NULL, NULL, 64, t, pair.part));
    tag.node = pair.whole;
    pass.tags = &tag;
    pass.n_tags = 1;
    ck_assert_int_eq(remat_pass_apply(b.job, &pass, &report, &b.err), REMAT_OK);
    plan = solve(&b);
    ck_assert_ptr_nonnull(plan->remedy);
    ck_assert_int_eq(plan->remedy->cost, REMAT_COST_PASS_MUST);
    change_is(plan->remedy, 0, pair.whole, REMAT_MUST_SAVE,
              REMAT_PREFER_RECOMPUTE);
    gb_free(&b);
}
END_TEST

/* The backward reads the tuple itself, of an operator that no rule lets run
 * again. */
START_TEST(a_new_tag_is_the_last_resort)
{
    const struct remat_plan *plan;
    struct pair pair;
    remat_node t;
    struct gb b;

    pair = begin(&b, &t, REMAT_UNTAGGED, REMAT_PREFER_RECOMPUTE);
    end(&b, pair.part, gb_call(&b, NULL, NULL, 64, t, pair.whole));
    plan = solve(&b);
    ck_assert_ptr_nonnull(plan->remedy);
    ck_assert_uint_eq(plan->remedy->n_changes, 1);
    ck_assert_int_eq(plan->remedy->cost, REMAT_COST_NEW_TAG);
    change_is(plan->remedy, 0, pair.whole, REMAT_UNTAGGED,
              REMAT_PREFER_RECOMPUTE);
    gb_free(&b);
}
END_TEST

START_TEST(where_no_tag_helps_facts_are_named)
{
    static const uint32_t traits[] = {0, REMAT_NO_RECOMPUTE, REMAT_SEEDED};

    for (size_t i = 0; i < 3; i++) {
        const struct remat_remedy *remedy;
        remat_node x, t, whole;
        struct gb b;

        gb_init(&b, NULL);
        x = GB(&b, .name = "x", .target = "primals_1", .bytes = 64,
               .kind = i == 0 ? REMAT_VALUE_TUPLE : REMAT_VALUE_TENSOR);
        t = gb_tangent(&b, "t", 64);
        whole = i == 0 ? x
                       : GB(&b, .target = "mylib.pair.default",
                            .op = REMAT_CALL_FUNCTION, .n_inputs = 1,
                            .inputs = {x}, .bytes = 64, .traits = traits[i],
                            .kind = REMAT_VALUE_TUPLE);
        if (i > 0)
            gb_call(&b, "part", "getitem", 64, whole, REMAT_NONE);
        end(&b, i == 0 ? REMAT_NONE : remat_graph_find(b.job, "part"),
            gb_call(&b, NULL, NULL, 64, t, whole));
        remedy = solve(&b)->remedy;
        ck_assert_ptr_nonnull(remedy);
        ck_assert_uint_eq(remedy->n_changes, 0);
        ck_assert_ptr_null(remedy->plan);
        ck_assert_uint_eq(remedy->n_facts, 3);
        ck_assert_uint_eq(remedy->facts[0].node, whole);
        ck_assert_str_eq(remedy->facts[0].reason,
                         i == 0   ? "is an input of the graph"
                         : i == 1 ? "may not be computed twice"
                                  : "gives another result when it is computed "
                                    "again");
        ck_assert_ptr_nonnull(strstr(remedy->facts[1].reason, "a tuple"));
        ck_assert_ptr_nonnull(strstr(remedy->facts[2].reason, "a tangent"));
        gb_free(&b);
    }
}
END_TEST

/* Pairs in a row, each in conflict with itself; some nested one deeper. */
static const struct remat_plan *solve_many(struct gb *b, int n_pairs)
{
    remat_node x = gb_primal(b, "x", 64);
    remat_node t = gb_tangent(b, "t", 64);
    remat_node y = x;

    for (int i = 0; i < n_pairs; i++) {
        struct pair pair = add_pair(b, y, REMAT_MUST_SAVE,
                                    i % 2 == 0 ? REMAT_PREFER_RECOMPUTE
                                               : REMAT_MUST_RECOMPUTE);

        y = gb_call(b, NULL, "aten.mm.default", 64, pair.part, x);
        t = gb_call(b, NULL, NULL, 64, t, pair.part);
    }
    end(b, y, t);
    return solve(b);
}

START_TEST(many_conflicts_are_all_told)
{
    const struct remat_plan *plan;
    remat_node before = 0;
    struct gb b;

    gb_init(&b, NULL);
    plan = solve_many(&b, 500);
    ck_assert_uint_eq(count(plan, "infinite-flow"), 500);
    ck_assert_uint_eq(count(plan, "pytorch-path"), 0);
    for (uint32_t i = 0; i < 500; i++) {
        ck_assert_uint_eq(plan->diagnostics[i].n_path, 4);
        ck_assert_uint_gt(plan->diagnostics[i].node, before);
        before = plan->diagnostics[i].node;
    }
    ck_assert_ptr_nonnull(plan->remedy);
    ck_assert_uint_eq(plan->remedy->n_changes, 500);
    ck_assert_int_eq(plan->remedy->cost,
                     250 * (REMAT_COST_PREFER + REMAT_COST_MUST));
    gb_free(&b);
}
END_TEST

static remat_node add_whole(struct gb *b, remat_node from,
                            enum remat_policy policy)
{
    return GB(b, .target = "mylib.pair.default", .op = REMAT_CALL_FUNCTION,
              .n_inputs = 1, .inputs = {from}, .bytes = 64,
              .kind = REMAT_VALUE_TUPLE, .policy = policy);
}

/* The shortest path, from `first` to `both`, uses up what two longer ones need
 * that have nothing in common. */
START_TEST(a_path_that_is_in_the_way_of_two_is_told_apart)
{
    remat_node x, t, first, second, longer, other, one, both;
    const struct remat_plan *plan;
    const struct remat_step *path;
    struct remat_options options;
    struct gb b;

    remat_options_init(&options);
    options.profile = REMAT_PROFILE_PLAIN;
    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    first = add_whole(&b, x, REMAT_MUST_SAVE);
    second = add_whole(&b, x, REMAT_MUST_SAVE);
    longer = add_whole(&b, first, REMAT_UNTAGGED);
    other = add_whole(&b, second, REMAT_UNTAGGED);
    one = GB(&b, .op = REMAT_CALL_FUNCTION, .bytes = 64, .n_inputs = 1,
             .inputs = {longer}, .policy = REMAT_PREFER_RECOMPUTE);
    both = GB(&b, .op = REMAT_CALL_FUNCTION, .bytes = 64, .n_inputs = 2,
              .inputs = {first, other}, .policy = REMAT_PREFER_RECOMPUTE);
    t = gb_call(&b, NULL, NULL, 64, t, one);
    end(&b, both, gb_call(&b, NULL, NULL, 64, t, both));
    plan = gb_solve(&b, &options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert_uint_eq(count(plan, "infinite-flow"), 2);
    ck_assert_uint_eq(count(plan, "pytorch-path"), 1);
    ck_assert_uint_eq(plan->diagnostics[0].node, first);
    ck_assert_uint_eq(plan->diagnostics[0].n_path, 6);
    ck_assert_uint_eq(plan->diagnostics[1].node, second);
    ck_assert_uint_eq(plan->diagnostics[1].n_path, 6);
    path = plan->diagnostics[2].path;
    ck_assert_str_eq(plan->diagnostics[2].code, "pytorch-path");
    ck_assert_uint_eq(plan->diagnostics[2].n_path, 4);
    ck_assert_uint_eq(path[0].node, first);
    ck_assert_uint_eq(path[2].node, both);
    ck_assert_uint_eq(plan->remedy->n_changes, 2);
    ck_assert_int_eq(plan->remedy->cost, 2 * REMAT_COST_PREFER);
    gb_free(&b);
}
END_TEST

/* A cost of exactly 10^6 is followed by PyTorch; it is no conflict. */
START_TEST(a_cost_of_a_million_is_no_conflict)
{
    const struct remat_plan *plan;
    struct remat_options options;
    remat_node x, t, million;
    struct pair pair;
    struct gb b;

    remat_options_init(&options);
    options.profile = REMAT_PROFILE_PLAIN;
    gb_init(&b, NULL);
    million = gb_primal(&b, "million", 1000000);
    x = gb_primal(&b, "x", 64);
    t = gb_tangent(&b, "t", 64);
    pair = add_pair(&b, x, REMAT_MUST_SAVE, REMAT_PREFER_RECOMPUTE);
    t = gb_call(&b, NULL, NULL, 64, t, million);
    end(&b, pair.part, gb_call(&b, NULL, NULL, 64, t, pair.part));
    plan = gb_solve(&b, &options);
    ck_assert_msg(plan != NULL, "%s", b.err.detail);
    ck_assert_uint_eq(count(plan, "infinite-flow"), 1);
    ck_assert_uint_eq(count(plan, "pytorch-path"), 1);
    ck_assert_uint_eq(plan->diagnostics[0].node, pair.whole);
    ck_assert_uint_eq(plan->diagnostics[1].node, million);
    ck_assert_ptr_nonnull(
        strstr(plan->diagnostics[1].path[1].reason, "1000000"));
    gb_free(&b);
}
END_TEST

/* The conflicts are there with the steps of a decision; the remedy takes more.
 */
START_TEST(without_steps_for_it_there_is_no_remedy_and_no_failure)
{
    struct remat_limits limits = {.n_steps = 0};
    const struct remat_plan *plan;
    uint64_t n_steps;
    struct gb b;

    gb_init(&b, NULL);
    ck_assert_ptr_nonnull(solve_many(&b, 20)->remedy);
    n_steps = remat_job_steps(b.job);
    gb_free(&b);
    for (limits.n_steps = n_steps; limits.n_steps > n_steps / 8;
         limits.n_steps -= n_steps / 8) {
        gb_init(&b, &limits);
        plan = solve_many(&b, 20);
        ck_assert_uint_eq(count(plan, "infinite-flow"), 20);
        ck_assert_int_eq(plan->remedy != NULL,
                         count(plan, "remedy-not-found") == 0);
        ck_assert_int_eq(plan->remedy != NULL, limits.n_steps == n_steps);
        ck_assert_uint_le(remat_job_steps(b.job), limits.n_steps);
        gb_free(&b);
    }
}
END_TEST

SUITE("remedy", a_part_goes_before_its_source,
      one_source_goes_before_many_strict_parts, tags_of_passes_go_first,
      a_new_tag_is_the_last_resort, where_no_tag_helps_facts_are_named,
      many_conflicts_are_all_told,
      a_path_that_is_in_the_way_of_two_is_told_apart,
      a_cost_of_a_million_is_no_conflict,
      without_steps_for_it_there_is_no_remedy_and_no_failure)
