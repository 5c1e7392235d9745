/*
 * Building and sealing a graph: what is refused and which node is blamed, and
 * what sealing works out about the nodes.
 */
#include "gb.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void refused(struct gb *b, remat_node node, const char *words)
{
    ck_assert_int_eq(b->status, REMAT_E_GRAPH);
    ck_assert_int_eq(b->err.status, REMAT_E_GRAPH);
    ck_assert_uint_eq(b->err.node, node);
    ck_assert_msg(strstr(b->err.detail, words) != NULL, "%s", b->err.detail);
    gb_free(b);
}

START_TEST(names_are_unique_and_not_empty)
{
    struct gb b;

    gb_init(&b, NULL);
    gb_primal(&b, "x", 1);
    gb_primal(&b, "x", 1);
    refused(&b, 1, "taken");
    gb_init(&b, NULL);
    gb_primal(&b, "", 1);
    refused(&b, 0, "empty");
}
END_TEST

START_TEST(references_name_earlier_nodes)
{
    struct gb b;

    gb_init(&b, NULL);
    gb_primal(&b, "x", 1);
    gb_call(&b, "y", NULL, 1, 0, 1);
    refused(&b, 1, "earlier");
    gb_init(&b, NULL);
    gb_call(&b, "y", NULL, 1, 7, REMAT_NONE);
    refused(&b, 0, "earlier");
}
END_TEST

START_TEST(nothing_follows_the_output)
{
    struct gb b;
    remat_node x;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 1);
    GB(&b, .name = "out", .op = REMAT_OUTPUT, .n_inputs = 1, .inputs = {x});
    gb_primal(&b, "y", 1);
    refused(&b, 2, "output");
}
END_TEST

START_TEST(a_graph_ends_with_an_output)
{
    struct gb b;

    gb_init(&b, NULL);
    gb_primal(&b, "x", 1);
    b.status = remat_graph_seal(b.job, 0, NULL, 0, &b.err);
    refused(&b, 0, "output");
    gb_init(&b, NULL);
    b.status = remat_graph_seal(b.job, 0, NULL, 0, &b.err);
    refused(&b, REMAT_NONE, "no nodes");
}
END_TEST

START_TEST(there_are_as_many_forward_outputs_as_said)
{
    struct gb b;
    remat_node x;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 1);
    gb_output(&b, 2, 1, &x);
    refused(&b, REMAT_NONE, "num_fwd_outputs");
}
END_TEST

START_TEST(outputs_are_references_and_nulls)
{
    struct gb b;
    remat_node x;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 1);
    GB(&b, .name = "out", .op = REMAT_OUTPUT, .n_inputs = 1, .inputs = {x},
       .in_list = true);
    b.status = remat_graph_seal(b.job, 0, NULL, 0, &b.err);
    refused(&b, 1, "reference or null");
}
END_TEST

START_TEST(static_inputs_index_the_primals)
{
    struct gb b;
    uint32_t which = 1;
    remat_node x;

    gb_init(&b, NULL);
    gb_tangent(&b, "t", 1);
    x = gb_primal(&b, "x", 1);
    gb_seal(&b, 1, 1, &x, &which, 1);
    refused(&b, REMAT_NONE, "static_lifetime_inputs");
}
END_TEST

START_TEST(a_sealed_graph_stays_as_it_is)
{
    struct gb b;
    remat_node x;

    gb_init(&b, NULL);
    x = gb_primal(&b, "x", 1);
    gb_output(&b, 1, 1, &x);
    ck_assert_int_eq(b.status, REMAT_OK);
    ck_assert_int_eq(remat_graph_seal(b.job, 1, NULL, 0, NULL), REMAT_E_GRAPH);
    ck_assert_uint_eq(remat_graph_n_nodes(b.job), 2);
    ck_assert_uint_eq(remat_graph_find(b.job, "x"), x);
    ck_assert_uint_eq(remat_graph_find(b.job, "y"), REMAT_NONE);
    ck_assert_str_eq(remat_graph_node(b.job, 1)->name, "output");
    gb_free(&b);
}
END_TEST

START_TEST(an_unsealed_graph_is_not_solved)
{
    struct gb b;

    gb_init(&b, NULL);
    gb_primal(&b, "x", 1);
    ck_assert_ptr_null(gb_solve(&b, NULL));
    ck_assert_int_eq(b.status, REMAT_E_GRAPH);
    gb_free(&b);
}
END_TEST

START_TEST(the_node_limit_holds)
{
    struct remat_limits limits;
    struct gb b;

    memset(&limits, 0, sizeof limits);
    limits.n_nodes = 3;
    gb_init(&b, &limits);
    for (int i = 0; i < 3; i++)
        gb_primal(&b, NULL, 1);
    ck_assert_int_eq(b.status, REMAT_OK);
    gb_primal(&b, NULL, 1);
    ck_assert_int_eq(b.status, REMAT_E_NODES);
    ck_assert_str_eq(remat_status_code(b.status), "too-large");
    ck_assert_ptr_nonnull(strstr(b.err.detail, "3"));
    gb_free(&b);
}
END_TEST

START_TEST(roles_come_from_the_label)
{
    static const struct {
        const char *label;
        bool is_primal;
    } cases[] = {{"primals_1", true},   {"anything", true},
                 {"tangents_1", false}, {"my_tangents", false},
                 {"fwd_seed_0", false}, {"fwd_base_offset_0", false},
                 {"bwd_seed_0", false}, {"bwd_base_offset_0", false},
                 {"tangent_1", true}};
    uint32_t n_primals = 0;
    struct gb b;

    gb_init(&b, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        GB(&b, .target = cases[i].label, .bytes = 1);
        n_primals += cases[i].is_primal;
    }
    gb_output(&b, 0, 0, NULL);
    ck_assert_int_eq(b.status, REMAT_OK);
    ck_assert_uint_eq(remat_graph_n_primals(b.job), n_primals);
    gb_free(&b);
}
END_TEST

START_TEST(bytes_of_values)
{
    struct gb b;
    remat_node at[9];

    gb_init(&b, NULL);
    at[0] = GB(&b, .bytes = 12);
    at[1] = GB(&b, .kind = REMAT_VALUE_SYM_FLOAT);
    at[2] = GB(&b, .kind = REMAT_VALUE_TUPLE, .bytes = 5);
    at[3] = GB(&b, .kind = REMAT_VALUE_TUPLE);
    at[4] = GB(&b, .op = REMAT_GET_ATTR, .no_value = true);
    at[5] = GB(&b, .op = REMAT_CALL_FUNCTION, .no_value = true);
    at[6] = GB(&b, .op = REMAT_CALL_FUNCTION, .no_value = true,
               .target = "aten._assert_scalar.default");
    at[7] = GB(&b, .kind = REMAT_VALUE_OPAQUE, .opaque_type = "Thing");
    at[8] = GB(&b, .op = REMAT_CALL_FUNCTION, .no_value = true,
               .traits = REMAT_NO_RETURNS);
    gb_output(&b, 0, 0, NULL);
    ck_assert_int_eq(b.status, REMAT_OK);
    ck_assert_int_eq(remat_node_bytes(b.job, at[0]), 12);
    ck_assert_int_eq(remat_node_bytes(b.job, at[1]), 1);
    ck_assert_int_eq(remat_node_bytes(b.job, at[2]), 5);
    ck_assert_int_eq(remat_node_bytes(b.job, at[3]), 0);
    ck_assert_int_eq(remat_node_bytes(b.job, at[4]), 0);
    ck_assert_int_eq(remat_node_bytes(b.job, at[5]), -1);
    ck_assert_int_eq(remat_node_bytes(b.job, at[6]), 0);
    ck_assert_int_eq(remat_node_bytes(b.job, at[7]), -1);
    ck_assert_int_eq(remat_node_bytes(b.job, at[8]), 0);
    gb_free(&b);
}
END_TEST

START_TEST(traits_are_given_and_denied)
{
    struct gb b;
    remat_node add;
    remat_node wait;
    remat_node both;

    gb_init(&b, NULL);
    add = GB(&b, .op = REMAT_CALL_FUNCTION, .target = "aten.add.Tensor",
             .traits = REMAT_NO_RECOMPUTE, .denied = REMAT_FUSIBLE);
    wait = GB(&b, .op = REMAT_CALL_FUNCTION, .denied = REMAT_IMPURE,
              .target = "_c10d_functional.wait_tensor.default");
    both = GB(&b, .op = REMAT_CALL_FUNCTION, .target = "mylib.f",
              .traits = REMAT_VIEW | REMAT_RANDOM, .denied = REMAT_RANDOM);
    gb_output(&b, 0, 0, NULL);
    ck_assert_int_eq(b.status, REMAT_OK);
    ck_assert_uint_eq(
        remat_node_traits(b.job, add) &
            (REMAT_FUSIBLE | REMAT_RECOMPUTABLE | REMAT_NO_RECOMPUTE),
        REMAT_RECOMPUTABLE | REMAT_NO_RECOMPUTE);
    ck_assert_uint_eq(remat_node_traits(b.job, wait) & REMAT_IMPURE, 0);
    ck_assert_uint_eq(remat_node_traits(b.job, both), REMAT_VIEW);
    gb_free(&b);
}
END_TEST

START_TEST(tensor_bytes_are_checked)
{
    const int64_t big[] = {INT64_C(1) << 40, INT64_C(1) << 30};
    const int64_t empty[] = {INT64_C(1) << 62, INT64_C(1) << 62, 0};
    const int64_t negative[] = {3, -1};
    struct remat_error err = {.node = REMAT_NONE};
    int64_t n_bytes = -7;

    ck_assert_int_eq(remat_tensor_bytes(NULL, 0, 4, &n_bytes, &err), REMAT_OK);
    ck_assert_int_eq(n_bytes, 4);
    ck_assert_int_eq(remat_tensor_bytes(big, 1, 4, &n_bytes, &err), REMAT_OK);
    ck_assert_int_eq(n_bytes, INT64_C(1) << 42);
    ck_assert_int_eq(remat_tensor_bytes(empty, 3, 4, &n_bytes, &err), REMAT_OK);
    ck_assert_int_eq(n_bytes, 0);
    ck_assert_int_eq(remat_tensor_bytes(big, 2, 4, &n_bytes, &err),
                     REMAT_E_GRAPH);
    err = (struct remat_error){.node = REMAT_NONE};
    ck_assert_int_eq(remat_tensor_bytes(negative, 2, 4, &n_bytes, &err),
                     REMAT_E_GRAPH);
    ck_assert_ptr_nonnull(strstr(err.detail, "-1"));
    ck_assert_int_eq(remat_tensor_bytes(negative, 2, 4, &n_bytes, NULL),
                     REMAT_E_GRAPH);
}
END_TEST

START_TEST(many_nodes_and_names)
{
    struct gb b;
    char text[16];
    remat_node x;

    gb_init(&b, NULL);
    x = gb_primal(&b, NULL, 1);
    for (uint32_t i = 1; i < 5000; i++)
        x = gb_call(&b, NULL, NULL, 1, x, i / 2);
    gb_output(&b, 1, 1, &x);
    ck_assert_int_eq(b.status, REMAT_OK);
    for (uint32_t i = 0; i < 5000; i += 17) {
        snprintf(text, sizeof text, "n%u", i);
        ck_assert_uint_eq(remat_graph_find(b.job, text), i);
    }
    gb_free(&b);
}
END_TEST

SUITE("graph", names_are_unique_and_not_empty, references_name_earlier_nodes,
      nothing_follows_the_output, a_graph_ends_with_an_output,
      there_are_as_many_forward_outputs_as_said,
      outputs_are_references_and_nulls, static_inputs_index_the_primals,
      a_sealed_graph_stays_as_it_is, an_unsealed_graph_is_not_solved,
      the_node_limit_holds, roles_come_from_the_label, bytes_of_values,
      traits_are_given_and_denied, tensor_bytes_are_checked,
      many_nodes_and_names)
