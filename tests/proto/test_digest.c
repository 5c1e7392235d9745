/*
 * The digest: one name for all spellings of a question, different names for
 * different questions.
 */
#include "documents.h"
#include "suite.h"

#include <openssl/evp.h>

/* The digest of a request, in a buffer of the caller. */
static void digest_parts(const char *body, const char *options, char out[65])
{
    struct proto_answer answer = ask(body, options, PROTO_JSON);

    ck_assert_msg(answer.result != PROTO_PROBLEM, "%s: %s",
                  answer.problem.pointer, answer.problem.detail);
    ck_assert_uint_eq(strlen(answer.digest), 64);
    ck_assert_ptr_nonnull(strstr(answer.body, answer.digest));
    memcpy(out, answer.digest, 65);
    proto_answer_release(&answer);
}

static void check_same(const char *a, const char *b, const char *options)
{
    char x[65];
    char y[65];

    digest_parts(a, NULL, x);
    digest_parts(b, options, y);
    ck_assert_msg(strcmp(x, y) == 0, "different digests:\n%s\n%s", a, b);
}

static void check_different(const char *a, const char *b, const char *options)
{
    char x[65];
    char y[65];

    digest_parts(a, NULL, x);
    digest_parts(b, options, y);
    ck_assert_msg(strcmp(x, y) != 0, "one digest:\n%s\n%s", a, b);
}

static const char plain[] = SMALL_GRAPH(Y_ARGS, "");

START_TEST(spelling_does_not_matter)
{
    char *pretty;
    char *sorted;
    json_t *tree = json_loads(plain, 0, NULL);

    proto_start();
    pretty = json_dumps(tree, JSON_INDENT(3));
    sorted = json_dumps(tree, JSON_SORT_KEYS | JSON_ENSURE_ASCII);
    ck_assert_str_ne(plain, sorted);
    check_same(plain, pretty, NULL);
    check_same(plain, sorted, NULL);
    check_same(plain, SMALL_GRAPH("\"\\u0061rgs\":[\"%\\u0078\",\"%w\"],", ""),
               NULL);
    free(pretty);
    free(sorted);
    json_decref(tree);
}
END_TEST

START_TEST(names_stacks_and_modules_do_not_matter)
{
    proto_start();
    check_same(plain,
               SMALL_GRAPH(Y_ARGS "\"module\":\"layers.0\","
                                  "\"stack\":\"x.py:3\",",
                           "\"name\":\"llama\","),
               NULL);
    check_same(SMALL_GRAPH(Y_ARGS, "\"producer\":{\"version\":\"2.13.0\"},"),
               SMALL_GRAPH(Y_ARGS, "\"producer\":{\"name\":\"torch\","
                                   "\"version\":\"2.13.0\"},"),
               NULL);
}
END_TEST

START_TEST(envelope_and_flags_do_not_matter)
{
    char enveloped[4096];

    proto_start();
    snprintf(enveloped, sizeof(enveloped), "{\"passes\":[],\"graph\":%s}",
             plain);
    check_same(plain, enveloped, NULL);
    check_same(SMALL_GRAPH(Y_ARGS, "\"options\":{\"profile\":\"plain\"},"),
               plain, "{\"profile\":\"plain\"}");
    check_same(SMALL_GRAPH(Y_ARGS, "\"options\":{\"profile\":\"plain\"},"
                                   "\"passes\":[],"),
               enveloped, "{\"profile\":\"plain\"}");
}
END_TEST

START_TEST(defaults_may_be_written_out)
{
    static const char all[] =
        "{\"profile\":\"pytorch\",\"aggressive_recomputation\":false,"
        "\"recompute_views\":false,\"treat_parameters_as_free_to_save\":true,"
        "\"max_dist_from_bw\":1000,\"ban_recompute_used_far_apart\":true,"
        "\"ban_recompute_long_fusible_chains\":true,"
        "\"ban_recompute_materialized_backward\":true,"
        "\"ban_recompute_not_in_allowlist\":true,"
        "\"ban_recompute_reductions\":true,\"is_non_builtin_to_include\":false,"
        "\"unsafe_allow_optimization_of_collectives\":false,"
        "\"activation_memory_budget\":1.0,"
        "\"activation_memory_budget_solver\":\"dp\","
        "\"activation_memory_budget_runtime_estimator\":\"flops\","
        "\"impure_random\":false,\"compat\":false,\"memory_limit_bytes\":null}";

    proto_start();
    check_same(plain, plain, all);
    check_same(plain, plain, "{\"profile\":\"pytorch-2.13\"}");
    check_same(plain, plain, "{\"activation_memory_budget\":1}");
    check_same(plain, plain, "{\"deadline_ms\":60000,\"explain\":\"full\"}");
}
END_TEST

START_TEST(what_matters_makes_a_difference)
{
    static const char *const options[] = {
        "{\"profile\":\"plain\"}",
        "{\"recompute_views\":true}",
        "{\"max_dist_from_bw\":999}",
        "{\"activation_memory_budget_solver\":\"greedy\"}",
        "{\"activation_memory_budget_runtime_estimator\":\"given\"}",
        "{\"impure_random\":true}"};

    proto_start();
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        check_different(plain, plain, options[i]);
    check_different(plain, SMALL_GRAPH("\"args\":[\"%w\",\"%x\"],", ""), NULL);
    check_different(plain, SMALL_GRAPH(Y_ARGS "\"traits\":[\"custom\"],", ""),
                    NULL);
    check_different(plain, SMALL_GRAPH(Y_ARGS "\"fuss\":1,", ""), NULL);
    check_different(
        plain, SMALL_GRAPH(Y_ARGS, "\"producer\":{\"version\":\"2.13.0\"},"),
        NULL);
}
END_TEST

/* Where decimals of a double would fall together. */
START_TEST(large_integers_do_not_fall_together)
{
    proto_start();
    check_different(
        SMALL_GRAPH("\"args\":[\"%x\",\"%w\",9007199254740992],", ""),
        SMALL_GRAPH("\"args\":[\"%x\",\"%w\",9007199254740993],", ""), NULL);
    check_different(
        SMALL_GRAPH("\"args\":[\"%x\",\"%w\",1152921504606846976.0],", ""),
        SMALL_GRAPH("\"args\":[\"%x\",\"%w\",1152921504606847000],", ""), NULL);
    check_same(SMALL_GRAPH("\"args\":[\"%x\",\"%w\",2.0],", ""),
               SMALL_GRAPH("\"args\":[\"%x\",\"%w\",2],", ""), NULL);
}
END_TEST

/* A long name in `stack` or `name` of other objects is no way around: only the
 * graph's, the producer's and the nodes' are left out. */
START_TEST(same_words_elsewhere_count)
{
    proto_start();
    check_different(
        SMALL_GRAPH(Y_ARGS "\"kwargs\":{\"name\":1,\"stack\":2},", ""),
        SMALL_GRAPH(Y_ARGS "\"kwargs\":{\"name\":3,\"stack\":2},", ""), NULL);
    check_different(
        SMALL_GRAPH(Y_ARGS "\"kwargs\":{\"name\":1,\"stack\":2},", ""),
        SMALL_GRAPH(Y_ARGS "\"kwargs\":{\"name\":1,\"stack\":4},", ""), NULL);
    check_different(
        SMALL_GRAPH("\"args\":[\"%x\",\"%w\",{\"dict\":{\"module\":1}}],", ""),
        SMALL_GRAPH("\"args\":[\"%x\",\"%w\",{\"dict\":{\"module\":2}}],", ""),
        NULL);
    check_different(SMALL_GRAPH(Y_ARGS, "\"extra\":[[{\"stack\":1}]],"),
                    SMALL_GRAPH(Y_ARGS, "\"extra\":[[{\"stack\":2}]],"), NULL);
}
END_TEST

/* Against a canonical text written by hand. */
START_TEST(digest_is_sha256_of_the_canonical_request)
{
    static const char canonical[] =
        "{\"engine\":\"" PROTO_ENGINE "\",\"graph\":{\"nodes\":[{\"args\":[],"
        "\"name\":\"output\",\"op\":\"output\"}],\"num_fwd_outputs\":0,"
        "\"schema\":\"remat/graph/v1\"},\"options\":{"
        "\"activation_memory_budget\":1,"
        "\"activation_memory_budget_runtime_estimator\":\"flops\","
        "\"activation_memory_budget_solver\":\"dp\","
        "\"aggressive_recomputation\":false,"
        "\"ban_recompute_long_fusible_chains\":true,"
        "\"ban_recompute_materialized_backward\":true,"
        "\"ban_recompute_not_in_allowlist\":true,"
        "\"ban_recompute_reductions\":true,"
        "\"ban_recompute_used_far_apart\":true,\"compat\":false,"
        "\"impure_random\":false,\"is_non_builtin_to_include\":false,"
        "\"max_dist_from_bw\":1000,\"memory_limit_bytes\":null,"
        "\"profile\":\"pytorch\",\"recompute_views\":false,"
        "\"treat_parameters_as_free_to_save\":true,"
        "\"unsafe_allow_optimization_of_collectives\":false},\"passes\":[]}";
    unsigned char hash[EVP_MAX_MD_SIZE];
    char expected[65];
    char got[65];

    proto_start();
    ck_assert_int_eq(EVP_Digest(canonical, strlen(canonical), hash, NULL,
                                EVP_sha256(), NULL),
                     1);
    for (size_t i = 0; i < 32; i++)
        snprintf(expected + 2 * i, 3, "%02x", hash[i]);
    digest_parts("{\"schema\":\"remat/graph/v1\",\"name\":\"n\","
                 "\"num_fwd_outputs\":0,\"nodes\":[{\"op\":\"output\","
                 "\"args\":[],\"name\":\"output\",\"stack\":\"s\"}]}",
                 NULL, got);
    ck_assert_str_eq(got, expected);
}
END_TEST

/* A document of several pieces of the hash, twice. */
START_TEST(real_graphs_have_one_digest_each)
{
    static const char *const names[] = {"unet", "unet", "moe"};
    char digests[3][65];

    proto_start();
    for (size_t i = 0; i < 3; i++) {
        char *body = read_corpus(names[i], NULL);

        digest_parts(body, NULL, digests[i]);
        free(body);
    }
    ck_assert_str_eq(digests[0], digests[1]);
    ck_assert_str_ne(digests[0], digests[2]);
}
END_TEST

SUITE("digest", spelling_does_not_matter,
      names_stacks_and_modules_do_not_matter, envelope_and_flags_do_not_matter,
      defaults_may_be_written_out, what_matters_makes_a_difference,
      large_integers_do_not_fall_together, same_words_elsewhere_count,
      digest_is_sha256_of_the_canonical_request,
      real_graphs_have_one_digest_each)
