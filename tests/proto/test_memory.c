/*
 * Every allocation of a request fails once: jansson's, the arena's chunks and
 * the answer's buffer. Each failure must be a clean "out of memory", leave
 * nothing behind and not disturb the next request.
 *
 * The quick level takes every allocation of small documents and a spread of
 * them for large ones; REMAT_LEVEL=torture takes all. Under a leak checker the
 * process end tells what was left.
 */
#include "budget.h"
#include "documents.h"
#include "suite.h"

enum {
    MOST_SAMPLES = 400
};

static bool is_torture(void)
{
    const char *level = getenv("REMAT_LEVEL");

    return level != NULL && strcmp(level, "torture") == 0;
}

struct request {
    const char *body;
    const char *options;
    const char *passes;
    enum proto_format format;
    const char *export_as; /* with this; NULL: no export */
    bool only_explained;
    bool only_tags;
    bool frontier;
    const char *node;  /* explained */
    const char *other; /* compared with */
    bool is_what_if;
    bool looks_up;                    /* so the template is kept ... */
    const struct proto_answer *known; /* ... or the answer made from this one */
};

static enum proto_found look_up(void *context,
                                const struct proto_identity *identity,
                                struct proto_known *known)
{
    const struct request *r = context;

    (void)identity;
    if (r->known == NULL)
        return PROTO_SOLVE;
    *known = (struct proto_known){r->known->template_bytes,
                                  r->known->template_length};
    return PROTO_KNOWN_TEMPLATE;
}

static struct proto_answer plan(const struct request *r)
{
    struct proto_request request = {.body = r->body,
                                    .length = strlen(r->body),
                                    .options = r->options,
                                    .passes = r->passes,
                                    .format = r->format};
    struct request copy = *r;
    struct proto_answer answer;
    struct proto_env env;

    env_init(&env);
    env.look_up = r->looks_up ? look_up : NULL;
    env.context = &copy;
    if (r->node != NULL)
        proto_node(&env, &request, r->node, &answer);
    else if (r->is_what_if)
        proto_what_if(&env, &request, &answer);
    else if (r->other != NULL)
        proto_diff(&env, &request,
                   &(struct proto_request){.body = r->other,
                                           .length = strlen(r->other),
                                           .format = r->format},
                   &answer);
    else if (r->export_as != NULL)
        proto_export(&env, &request,
                     &(struct proto_export_params){.as = r->export_as},
                     &answer);
    else if (r->only_explained)
        proto_explain(&env, &request, &answer);
    else if (r->frontier)
        proto_frontier(&env, &request, &answer);
    else if (r->only_tags)
        proto_tags(&env, &request, &answer);
    else
        proto_plan(&env, &request, &answer);
    return answer;
}

static void check_equal(const struct proto_answer *a,
                        const struct proto_answer *b)
{
    ck_assert_int_eq(a->result, b->result);
    ck_assert_int_eq(a->problem.kind, b->problem.kind);
    ck_assert_str_eq(a->problem.detail, b->problem.detail);
    ck_assert_int_eq(a->body == NULL, b->body == NULL);
    if (a->body != NULL)
        ck_assert_str_eq(a->body, b->body);
}

/* How many allocations the request makes. */
static uint64_t count_allocations(const struct request *r)
{
    struct proto_answer answer;
    uint64_t n;

    proto_fail_at = UINT64_MAX;
    answer = plan(r);
    n = UINT64_MAX - proto_fail_at;
    proto_fail_at = 0;
    proto_answer_release(&answer);
    return n;
}

/* Fails allocation k; every 50th time the same request is then asked again. */
static void fail_one(const struct request *r, const struct proto_answer *good,
                     uint64_t k)
{
    struct proto_answer answer;

    proto_fail_at = k;
    answer = plan(r);
    ck_assert_msg(proto_fail_at == 0, "allocation %llu was never made",
                  (unsigned long long)k);
    ck_assert_msg(answer.result == PROTO_PROBLEM && answer.body == NULL,
                  "allocation %llu", (unsigned long long)k);
    ck_assert_msg(answer.problem.kind == PROTO_OUT_OF_MEMORY,
                  "allocation %llu: %s: %s", (unsigned long long)k,
                  proto_problem_code(answer.problem.kind),
                  answer.problem.detail);
    proto_answer_release(&answer);
    if (k % 50 != 1)
        return;
    answer = plan(r);
    check_equal(good, &answer);
    proto_answer_release(&answer);
}

static void fail_each(const struct request *r)
{
    uint64_t n = count_allocations(r);
    uint64_t step = is_torture() ? 1 : n / MOST_SAMPLES + 1;
    struct proto_answer good = plan(r);
    struct proto_answer again;

    ck_assert_uint_gt(n, 10);
    for (uint64_t k = 1; k <= n; k += step)
        fail_one(r, &good, k);
    fail_one(r, &good, n); /* the last one is the answer's buffer */
    again = plan(r);
    check_equal(&good, &again);
    proto_answer_release(&again);
    proto_answer_release(&good);
}

START_TEST(real_graphs_survive_every_failure)
{
    static const char *const names[] = {"gpt2_4l_1",  "batchnorm", "dropout",
                                        "dropout_ac", "moe",       "unet"};

    proto_start();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *body = read_corpus(names[i], NULL);

        fail_each(&(struct request){.body = body,
                                    .options = "{\"explain\":\"full\"}"});
        fail_each(&(struct request){.body = body, .format = PROTO_TEXT});
        free(body);
    }
}
END_TEST

/* Several cuts, a knapsack, and the decision without compat beside it. */
START_TEST(budgets_survive_every_failure)
{
    static const char *const options[] = {
        "{\"activation_memory_budget\":0,\"compat\":true}",
        "{\"activation_memory_budget\":0.5,\"compat\":true}",
        "{\"activation_memory_budget\":0.5}",
    };
    char *body = read_corpus("dropout", NULL);

    proto_start();
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        fail_each(&(struct request){.body = body, .options = options[i]});
    fail_each(&(struct request){.body = SMALL_GRAPH(Y_ARGS, ""),
                                .options = "{\"memory_limit_bytes\":1}"});
    free(body);
}
END_TEST

START_TEST(conflicts_survive_every_failure)
{
    char *body = read_case("G01", NULL);

    proto_start();
    fail_each(
        &(struct request){.body = body, .options = "{\"profile\":\"plain\"}"});
    fail_each(&(struct request){.body = body,
                                .options = "{\"profile\":\"plain\"}",
                                .format = PROTO_TEXT});
    free(body);
}
END_TEST

START_TEST(questions_survive_every_failure)
{
    static const char after[] = SMALL_GRAPH(
        Y_ARGS, "\"passes\":[{\"pass\":\"set_tags\",\"tags\":{\"y\":"
                "\"must_save\"}}],");
    static const char small[] = SMALL_GRAPH(Y_ARGS, "");
    static const char what_if[] = "{\"base\":" SMALL_GRAPH(
        Y_ARGS, "\"passes\":[{\"pass\":"
                "\"repair_tags\"}],") ",\"what_if\":{\"tags\":{\"y\":\"must_"
                                      "save\"},\"options\":{"
                                      "\"explain\":\"full\"}}}";
    char *corpus = read_corpus("batchnorm", NULL);
    char *conflict = read_case("G01", NULL);

    proto_start();
    for (int i = 0; i < 2; i++) {
        enum proto_format format = i == 0 ? PROTO_JSON : PROTO_TEXT;

        fail_each(&(struct request){
            .body = corpus, .node = "convolution", .format = format});
        fail_each(&(struct request){.body = conflict,
                                    .node = "attn",
                                    .format = format,
                                    .looks_up = true});
        fail_each(&(struct request){.body = what_if,
                                    .is_what_if = true,
                                    .format = format,
                                    .looks_up = true});
        fail_each(
            &(struct request){.body = small, .other = after, .format = format});
    }
    free(corpus);
    free(conflict);
}
END_TEST

START_TEST(invalid_outputs_survive_every_failure)
{
    char body[4096] =
        SMALL_GRAPH(Y_ARGS "\"weird\":1,", "\"producer\":{\"version\":\"9\"},");

    proto_start();
    memcpy(strstr(body, "outputs\":1"), "outputs\":2", 10);
    fail_each(&(struct request){.body = body});
    fail_each(&(struct request){.body = body, .format = PROTO_TEXT});
}
END_TEST

START_TEST(passes_survive_every_failure)
{
    static const char passes[] =
        "[{\"pass\":\"sac_policy\",\"modules\":\"blocks.*\",\"save\":["
        "\"aten.mm.default\",{\"op\":\"mylib.none.default\",\"every\":2}]},"
        "{\"pass\":\"fsdp_all_gather\",\"reshard_after_forward\":true},"
        "{\"pass\":\"fsdp_all_gather\",\"reshard_after_forward\":false},"
        "{\"pass\":\"autoparallel\",\"stage_size_gib\":\"auto\"},"
        "{\"pass\":\"set_tags\",\"tags\":{\"primals_1\":\"must_save\","
        "\"tangents_1\":null}},"
        "{\"pass\":\"repair_tags\"}]";
    char *body = read_corpus("gpt2_4l_1", NULL);

    proto_start();
    fail_each(&(struct request){.body = body, .passes = passes});
    fail_each(&(struct request){
        .body = body, .passes = passes, .format = PROTO_TEXT});
    fail_each(
        &(struct request){.body = body, .passes = passes, .only_tags = true});
    fail_each(&(struct request){
        .body = SMALL_GRAPH(Y_ARGS, ""), .passes = passes, .only_tags = true});
    free(body);
}
END_TEST

START_TEST(templates_survive_every_failure)
{
    char *body = read_corpus("batchnorm", NULL);
    struct request r = {.body = body,
                        .options = "{\"explain\":\"full\"}",
                        .passes = "[{\"pass\":\"repair_tags\"}]",
                        .looks_up = true};
    struct proto_answer known;

    proto_start();
    for (int i = 0; i < 2; i++) {
        r.frontier = i == 1;
        r.known = NULL;
        fail_each(&r);
        known = plan(&r);
        ck_assert_ptr_nonnull(known.template_bytes);
        r.known = &known;
        fail_each(&r);
        proto_answer_release(&known);
    }
    free(body);
}
END_TEST

START_TEST(exports_survive_every_failure)
{
    static const char *const formats[] = {"min-cut-information", "dot",
                                          "dimacs"};
    char *body = read_corpus("dropout", NULL);

    proto_start();
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        fail_each(
            &(struct request){.body = body,
                              .options = "{\"activation_memory_budget\":0.5}",
                              .export_as = formats[i]});
    free(body);
}
END_TEST

START_TEST(traces_survive_every_failure)
{
    char *body = read_trace("log", NULL);

    proto_start();
    fail_each(&(struct request){.body = body, .only_explained = true});
    fail_each(&(struct request){
        .body = "{\"Joint Graph Node Information\":{\"a\":{},\"b\":"
                "{\"input_arguments\":[\"a\"]}}}",
        .only_explained = true});
    free(body);
}
END_TEST

/* A refusal found late stays that refusal until memory fails before it. */
START_TEST(refusals_survive_every_failure)
{
    static const struct request requests[] = {
        {.body = SMALL_GRAPH("\"args\":[\"%nowhere\"],", "")},
        {.body = SMALL_GRAPH(Y_ARGS, "\"static_lifetime_inputs\":[7],"),
         .options = "{}"},
        {.body = SMALL_GRAPH(Y_ARGS, ""), .options = "{\"profile\":3}"},
        {.body = SMALL_GRAPH(Y_ARGS, ""),
         .passes = "[{\"pass\":\"repair_tags\",\"x\":1}]"},
        {.body = SMALL_GRAPH(Y_ARGS, "\"a\":1,\"a\":2,")},
        {.body = "{\"schema\":"},
    };

    proto_start();
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        struct proto_answer good = plan(&requests[i]);
        uint64_t n = count_allocations(&requests[i]);

        ck_assert_int_eq(good.result, PROTO_PROBLEM);
        ck_assert_int_ne(good.problem.kind, PROTO_OUT_OF_MEMORY);
        for (uint64_t k = 1; k <= n; k++) {
            struct proto_answer answer;

            proto_fail_at = k;
            answer = plan(&requests[i]);
            ck_assert_int_eq(answer.result, PROTO_PROBLEM);
            if (answer.problem.kind != PROTO_OUT_OF_MEMORY)
                check_equal(&good, &answer);
            proto_answer_release(&answer);
        }
        proto_fail_at = 0;
    }
}
END_TEST

SUITE("memory", real_graphs_survive_every_failure,
      budgets_survive_every_failure, conflicts_survive_every_failure,
      questions_survive_every_failure, invalid_outputs_survive_every_failure,
      passes_survive_every_failure, templates_survive_every_failure,
      exports_survive_every_failure, traces_survive_every_failure,
      refusals_survive_every_failure)
