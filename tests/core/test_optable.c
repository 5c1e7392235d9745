/*
 * The operator table: lookups by overload, packet and Python name, and the
 * rules for targets it does not list.
 */
#include "optable.h"
#include "suite.h"

static uint32_t traits(const char *target)
{
    return remat_operator_lookup(target).traits;
}

START_TEST(classes_come_from_the_packet)
{
    ck_assert_uint_ne(traits("aten.add.Tensor") & REMAT_FUSIBLE, 0);
    ck_assert_uint_ne(traits("aten.add.Tensor") & REMAT_RECOMPUTABLE, 0);
    ck_assert_uint_ne(traits("aten.add.some_new_overload") & REMAT_FUSIBLE, 0);
    ck_assert_uint_ne(traits("aten.view.default") & REMAT_VIEW, 0);
    ck_assert_uint_ne(traits("aten.mm.default") & REMAT_COMPUTE_INTENSIVE, 0);
    ck_assert_uint_eq(traits("aten.mm.default") & REMAT_RECOMPUTABLE, 0);
    ck_assert_uint_ne(traits("aten.rand_like.default") & REMAT_RANDOM, 0);
    ck_assert_uint_ne(traits("getitem") & REMAT_FUSIBLE, 0);
}
END_TEST

START_TEST(facts_come_from_the_overload)
{
    ck_assert_uint_ne(traits("aten.copy_.default") & REMAT_MUTABLE, 0);
    ck_assert_uint_ne(traits("aten.rand.default") & REMAT_SEEDED, 0);
    ck_assert_uint_ne(
        traits("_c10d_functional.wait_tensor.default") & REMAT_IMPURE, 0);
    ck_assert_uint_ne(traits("aten._assert_scalar.default") & REMAT_NO_RETURNS,
                      0);
    ck_assert_uint_ne(traits("aten.lift_fresh.default") & REMAT_IS_VIEW_SCHEMA,
                      0);
    /* a schema fact is not the class */
    ck_assert_uint_eq(traits("aten.lift_fresh.default") & REMAT_VIEW, 0);
}
END_TEST

START_TEST(overloads_that_write_to_out_are_mutable)
{
    ck_assert_uint_ne(traits("aten.sum.out") & REMAT_MUTABLE, 0);
    ck_assert_uint_ne(traits("mylib.fill.out") & REMAT_MUTABLE, 0);
    ck_assert_uint_ne(traits("mylib.fill.out_x") & REMAT_MUTABLE, 0);
    ck_assert_uint_ne(traits("mylib.fill.Tensor_out") & REMAT_MUTABLE, 0);
    ck_assert_uint_eq(traits("mylib.fill.outer") & REMAT_MUTABLE, 0);
    ck_assert_uint_eq(traits("mylib.fill.about") & REMAT_MUTABLE, 0);
    /* one dot only: no overload */
    ck_assert_uint_eq(traits("mylib.out") & REMAT_MUTABLE, 0);
}
END_TEST

START_TEST(unknown_targets_have_nothing)
{
    ck_assert_uint_eq(traits("mylib.attention.default"), 0);
    ck_assert_uint_eq(traits(""), 0);
    ck_assert_uint_eq(traits("."), 0);
    ck_assert_uint_eq(traits("..."), 0);
    ck_assert_uint_eq(traits("aten"), 0);
    ck_assert_uint_eq(traits("zzzzzzzz.zzzzzzz.zzzzzz"), 0);
}
END_TEST

START_TEST(named_operators_are_recognised)
{
    ck_assert_int_eq(remat_special_lookup("getitem"), REMAT_GETITEM);
    ck_assert_int_eq(remat_special_lookup("aten.copy_.default"), REMAT_COPY);
    ck_assert_int_eq(remat_special_lookup("aten.lift_fresh_copy.default"),
                     REMAT_LIFT_FRESH);
    ck_assert_int_eq(remat_special_lookup("aten.lift_fresh.default"),
                     REMAT_LIFT_FRESH);
    ck_assert_int_eq(remat_special_lookup("aten.view.default"),
                     REMAT_VIEW_OR_RESHAPE);
    ck_assert_int_eq(remat_special_lookup("aten.view.dtype"), REMAT_ORDINARY);
    ck_assert_int_eq(remat_special_lookup("higher_order.with_effects"),
                     REMAT_WITH_EFFECTS);
    ck_assert_int_eq(remat_special_lookup("aten._assert_scalar.default"),
                     REMAT_ASSERT_SCALAR);
    ck_assert_int_eq(remat_special_lookup("getitems"), REMAT_ORDINARY);
}
END_TEST

START_TEST(only_one_namespace_holds_collectives)
{
    ck_assert(remat_operator_lookup("_c10d_functional.all_reduce.default")
                  .is_collective);
    ck_assert(
        !remat_operator_lookup("_c10d_functional_autograd.all_reduce.default")
             .is_collective);
    ck_assert(!remat_operator_lookup("_c10d_functional").is_collective);
    ck_assert(remat_operator_lookup("aten.cat.default").is_cat);
    ck_assert(!remat_operator_lookup("aten.concat.default").is_cat);
}
END_TEST

START_TEST(element_sizes)
{
    ck_assert_int_eq(remat_dtype_bytes("float32"), 4);
    ck_assert_int_eq(remat_dtype_bytes("bfloat16"), 2);
    ck_assert_int_eq(remat_dtype_bytes("complex128"), 16);
    ck_assert_int_eq(remat_dtype_bytes("float4_e2m1fn_x2"), 1);
    ck_assert_int_eq(remat_dtype_bytes("bool"), 1);
    ck_assert_int_eq(remat_dtype_bytes("float33"), 0);
    ck_assert_int_eq(remat_dtype_bytes(""), 0);
    ck_assert_str_eq(remat_table_version(), "2.13.0");
}
END_TEST

SUITE("optable", classes_come_from_the_packet, facts_come_from_the_overload,
      overloads_that_write_to_out_are_mutable, unknown_targets_have_nothing,
      named_operators_are_recognised, only_one_namespace_holds_collectives,
      element_sizes)
