/*
 * The structure of a request and templates: one for all names, another for
 * everything else; an answer from a template has the bytes of one that was
 * solved; bytes that are no template do no harm.
 */
#include "documents.h"
#include "suite.h"

/* What look_up saw and what it says. */
struct desk {
    enum proto_found says;
    struct proto_known known;
    struct proto_identity seen;
    char digest[65];
    unsigned n_asked;
};

static enum proto_found look_up(void *context,
                                const struct proto_identity *identity,
                                struct proto_known *known)
{
    struct desk *desk = context;

    desk->seen = *identity;
    memcpy(desk->digest, identity->digest, sizeof(desk->digest));
    desk->n_asked++;
    *known = desk->known;
    return desk->says;
}

struct question {
    const char *body;
    const char *options;
    const char *passes;
    enum proto_call call;
    enum proto_format format;
};

static struct proto_answer ask_desk(const struct question *q, struct desk *desk)
{
    struct proto_request request = {.body = q->body,
                                    .length = strlen(q->body),
                                    .options = q->options,
                                    .passes = q->passes,
                                    .format = q->format};
    struct proto_answer answer;
    struct proto_env env;

    env_init(&env);
    env.look_up = desk == NULL ? NULL : look_up;
    env.context = desk;
    if (q->call == PROTO_CALL_FRONTIER)
        proto_frontier(&env, &request, &answer);
    else if (q->call == PROTO_CALL_TAGS)
        proto_tags(&env, &request, &answer);
    else
        proto_plan(&env, &request, &answer);
    return answer;
}

static void find_structure(const struct question *q,
                           unsigned char structure[PROTO_STRUCTURE_BYTES])
{
    struct desk desk = {.says = PROTO_DEFER};
    struct proto_answer answer = ask_desk(q, &desk);

    ck_assert_msg(answer.result == PROTO_DEFERRED, "%s: %s", q->body,
                  answer.problem.detail);
    ck_assert_uint_eq(desk.n_asked, 1);
    ck_assert_mem_eq(answer.structure, desk.seen.structure,
                     PROTO_STRUCTURE_BYTES);
    memcpy(structure, answer.structure, PROTO_STRUCTURE_BYTES);
    proto_answer_release(&answer);
}

static bool is_same(const struct question *a, const struct question *b)
{
    unsigned char x[PROTO_STRUCTURE_BYTES];
    unsigned char y[PROTO_STRUCTURE_BYTES];

    find_structure(a, x);
    find_structure(b, y);
    return memcmp(x, y, PROTO_STRUCTURE_BYTES) == 0;
}

/* The answer to b from the template of a: the bytes of b solved. */
static void check_mapped(const struct question *a, const struct question *b)
{
    struct desk desk = {.says = PROTO_SOLVE};
    struct proto_answer first = ask_desk(a, &desk);
    struct proto_answer fresh = ask_desk(b, NULL);
    struct proto_answer mapped;

    ck_assert_ptr_nonnull(first.template_bytes);
    ck_assert_ptr_null(fresh.template_bytes);
    desk.says = PROTO_KNOWN_TEMPLATE;
    desk.known =
        (struct proto_known){first.template_bytes, first.template_length};
    mapped = ask_desk(b, &desk);
    ck_assert_ptr_nonnull(mapped.body);
    ck_assert(mapped.is_filled && !first.is_filled && !fresh.is_filled);
    ck_assert_str_eq(mapped.body, fresh.body);
    ck_assert_uint_eq(mapped.length, fresh.length);
    ck_assert_int_eq(mapped.result, fresh.result);
    ck_assert_str_eq(mapped.outcome, fresh.outcome);
    ck_assert_str_eq(mapped.digest, fresh.digest);
    ck_assert_uint_eq(mapped.n_nodes, fresh.n_nodes);
    ck_assert_ptr_null(mapped.template_bytes);
    proto_answer_release(&first);
    proto_answer_release(&fresh);
    proto_answer_release(&mapped);
}

/* A graph in which every place that holds a name is filled with one of six. The
 * labels of placeholders, and more members of the node y, are given. */
static char *write_graph(const char *const n[6], const char *label,
                         const char *of_y)
{
    json_t *w = json_pack("{ss}", "w", n[0]); /* to escape the names */
    char *quoted[6];
    char *body = malloc(1 << 20);

    json_decref(w);
    for (int i = 0; i < 6; i++) {
        json_t *s = json_string(n[i]);

        ck_assert_ptr_nonnull(s);
        quoted[i] = json_dumps(s, JSON_ENCODE_ANY);
        quoted[i][strlen(quoted[i]) - 1] = '\0'; /* without its quotes */
        json_decref(s);
    }
#define N(i) (quoted[i] + 1)
    snprintf(
        body, 1 << 20,
        "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":1,"
        "\"nodes\":["
        "{\"name\":\"%s\",\"op\":\"placeholder\",\"target\":\"%s_1\","
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"%s\",\"op\":\"placeholder\",\"target\":\"%s_2\","
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"%s\",\"op\":\"call_function\","
        "\"target\":\"aten.mul.Tensor\",\"args\":[\"%%%s\",[\"%%%s\"]],%s"
        "\"kwargs\":{\"device\":\"%%%s\",\"b\":{\"dict\":{\"repr\":\"%%%s\","
        "\"slice\":{\"slice\":[null,\"%%%s\",3]}}},\"a\":{\"repr\":\"%%x\"}},"
        "\"alias_of\":\"%s\",\"val\":" SMALL_VALUE "},"
        "{\"name\":\"%s\",\"op\":\"placeholder\",\"target\":\"tangents_1\","
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"%s\",\"op\":\"call_function\","
        "\"target\":\"aten.mul.Tensor\",\"args\":[\"%%%s\",\"%%%s\"],"
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"%s\",\"op\":\"output\",\"target\":\"output\","
        "\"args\":[\"%%%s\",\"%%%s\",null]}]}",
        N(0), label, N(1), label, N(2), N(1), N(0), of_y, N(1), N(0), N(1),
        N(0), N(3), N(4), N(3), N(1), N(5), N(2), N(4));
#undef N
    for (int i = 0; i < 6; i++)
        free(quoted[i]);
    return body;
}

#define LONG_64 \
    "a_name_of_sixty_four_bytes______________________________________"
#define LONG_512 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64

static const char *const plain[6] = {"w", "x", "y", "t", "g", "output"};
static const char *const others[][6] = {
    {"x", "w", "g", "y", "t", "o"},
    {"\"", "\\", "\n\t\x01\x7F", "a%p", "é\xF0\x9F\x98\x80", "\\u0000"},
    /* marks begin with bytes that no document holds; these begin with the
     * characters of those numbers, and with what replaces such bytes */
    {"\xC3\xBF\xC2\x80\xC2\x80\xC2\x80\xC2\x80\xC2\x80",
     "\xC3\xBE"
     "d",
     "\xEF\xBF\xBD",
     "\xC3\xBE"
     "b0000000000000000aa",
     "template 1", "{}"},
    {LONG_512 "1", LONG_512 "2", LONG_512 LONG_512 "3", LONG_64 "4", "5",
     LONG_512 "6"},
    {"null", "]", "primals_1", "tangents_1", "bwd_seed", "getitem"},
};

enum {
    N_OTHERS = sizeof(others) / sizeof(*others)
};

START_TEST(names_do_not_matter)
{
    static const char *const options[] = {
        "{}", "{\"explain\":\"none\"}", "{\"explain\":\"full\"}",
        "{\"activation_memory_budget\":0.5}",
        "{\"memory_limit_bytes\":1000,\"explain\":\"full\"}"};
    char *a = write_graph(plain, "primals", "");

    proto_start();
    for (int i = 0; i < N_OTHERS; i++) {
        char *b = write_graph(others[i], "primals", "");

        for (size_t j = 0; j < sizeof(options) / sizeof(*options); j++)
            for (int call = PROTO_CALL_PLAN; call <= PROTO_CALL_FRONTIER;
                 call++) {
                struct question x = {.body = a,
                                     .options = options[j],
                                     .call = (enum proto_call)call};
                struct question y = {.body = b,
                                     .options = options[j],
                                     .call = (enum proto_call)call};

                ck_assert_msg(is_same(&x, &y), "%s\n%s", a, b);
                check_mapped(&x, &y);
                check_mapped(&y, &x);
            }
        free(b);
    }
    free(a);
}
END_TEST

/* Labels of placeholders count by what they mean. */
START_TEST(labels_count_by_role)
{
    static const char *const primals[] = {"arg", "primals_7", "getitems", "%x"};
    static const char *const meaning[] = {"tangents",
                                          "bwd_seed",
                                          "fwd_seed",
                                          "bwd_base_offset",
                                          "a.b",
                                          "aten.view.default",
                                          "higher_order.with_effects"};
    char *a = write_graph(plain, "primals", "");
    struct question x = {.body = a};

    proto_start();
    for (size_t i = 0; i < sizeof(primals) / sizeof(*primals); i++) {
        char *b = write_graph(plain, primals[i], "");
        struct question y = {.body = b};

        ck_assert_msg(is_same(&x, &y), "%s", primals[i]);
        check_mapped(&x, &y);
        free(b);
    }
    for (size_t i = 0; i < sizeof(meaning) / sizeof(*meaning); i++) {
        char *b = write_graph(plain, meaning[i], "");
        struct question y = {.body = b,
                             .options = "{\"treat_parameters_as_free_to_save\":"
                                        "true}"};

        ck_assert_msg(!is_same(&x, &y), "%s", meaning[i]);
        free(b);
    }
    free(a);
}
END_TEST

/* An operator to save may be any target of the graph, even a label. */
START_TEST(labels_that_a_pass_names_count)
{
    static const char passes[] =
        "[{\"pass\":\"sac_policy\",\"save\":[\"primals_1\"]}]";
    char *a = write_graph(plain, "primals", "");
    char *b = write_graph(others[0], "primals", "");
    char *c = write_graph(plain, "arg", "");
    struct question x = {.body = a, .passes = passes};
    struct question y = {.body = b, .passes = passes};
    struct question z = {.body = c, .passes = passes};

    proto_start();
    ck_assert(is_same(&x, &y));
    check_mapped(&x, &y);
    ck_assert(!is_same(&x, &z));
    free(a);
    free(b);
    free(c);
}
END_TEST

/* A literal is a likely reference when a node has that name. */
START_TEST(names_that_a_literal_has_count)
{
    static const char body[] = SMALL_GRAPH("\"args\":[\"x\",\"s\"],", "");
    char other[sizeof(body)];
    char third[sizeof(body)];
    struct question x = {.body = body};
    struct question y = {.body = other};
    struct question z = {.body = third};

    proto_start();
    memcpy(other, body, sizeof(body));
    memcpy(strstr(other, "{\"name\":\"x\""), "{\"name\":\"s\"", 11);
    memcpy(strstr(other, "\"%t\",\"%x\""), "\"%t\",\"%s\"", 9);
    memcpy(third, body, sizeof(body));
    memcpy(strstr(third, "{\"name\":\"x\""), "{\"name\":\"z\"", 11);
    memcpy(strstr(third, "\"%t\",\"%x\""), "\"%t\",\"%z\"", 9);
    ck_assert(!is_same(&x, &y));
    ck_assert(!is_same(&x, &z));
    ck_assert(!is_same(&y, &z));
}
END_TEST

START_TEST(everything_else_matters)
{
    static const char *const of_y[] = {
        "\"args\":[\"%w\",\"%x\"],",
        "\"args\":[\"%x\",\"%x\"],",
        "\"args\":[\"%x\",\"%w\",1],",
        "\"args\":[\"%x\",\"%w\",\"w\"],",
        "\"args\":[\"%x\",\"%%w\"],",
        "\"args\":[\"%x\",[\"%w\"]],",
        "\"args\":[\"%x\",\"%w\",{\"repr\":\"%w\"}],",
        "\"args\":[\"%x\",\"%w\",{\"repr\":\"%x\"}],",
        "\"args\":[\"%x\",\"%w\",{\"dict\":{\"repr\":\"%x\"}}],",
        "\"args\":[\"%x\",\"%w\",{\"dict\":{\"repr\":\"%w\"}}],",
        "\"args\":[\"%x\",\"%w\",{\"dict\":{\"repr\":\"w\"}}],",
        Y_ARGS "\"alias_of\":\"x\",",
        Y_ARGS "\"alias_of\":\"w\",",
        Y_ARGS "\"kwargs\":{\"a\":\"%x\"},",
        Y_ARGS "\"kwargs\":{\"a\":\"%w\"},",
        Y_ARGS "\"kwargs\":{\"b\":\"%w\"},",
        Y_ARGS "\"traits\":[\"custom\"],",
        Y_ARGS "\"recompute\":\"must_save\",",
        Y_ARGS "\"mutated_args\":[\"x\"],",
        Y_ARGS "\"mutated_args\":[\"w\"],",
        Y_ARGS "\"fuss\":\"x\",",
        Y_ARGS "\"fuss\":\"w\",",
    };
    enum {
        N = sizeof(of_y) / sizeof(*of_y)
    };
    static unsigned char found[N + 1][PROTO_STRUCTURE_BYTES];
    char body[8192];

    proto_start();
    find_structure(&(struct question){.body = SMALL_GRAPH(Y_ARGS, "")},
                   found[N]);
    for (int i = 0; i < N; i++) {
        const char *graph = SMALL_GRAPH("@", "");
        const char *at = strchr(graph, '@');

        snprintf(body, sizeof(body), "%.*s%s%s", (int)(at - graph), graph,
                 of_y[i], at + 1);
        find_structure(&(struct question){.body = body}, found[i]);
    }
    for (int i = 0; i <= N; i++)
        for (int j = 0; j < i; j++)
            ck_assert_msg(memcmp(found[i], found[j], sizeof(found[i])) != 0,
                          "%d and %d", i, j);
}
END_TEST

#define SET_TAGS(tags) "[{\"pass\":\"set_tags\",\"tags\":{" tags "}}]"

START_TEST(request_matters)
{
    static const char body[] = SMALL_GRAPH(Y_ARGS, "");
    static const struct question q[] = {
        {.body = body},
        {.body = body, .call = PROTO_CALL_FRONTIER},
        {.body = body, .format = PROTO_TEXT},
        {.body = body, .call = PROTO_CALL_FRONTIER, .format = PROTO_TEXT},
        {.body = body, .options = "{\"explain\":\"none\"}"},
        {.body = body, .options = "{\"explain\":\"full\"}"},
        {.body = body, .options = "{\"profile\":\"plain\"}"},
        {.body = body, .options = "{\"max_dist_from_bw\":3}"},
        {.body = body, .options = "{\"memory_limit_bytes\":3}"},
        {.body = body, .passes = "[{\"pass\":\"repair_tags\"}]"},
        {.body = body, .passes = "[{\"pass\":\"sac_policy\"}]"},
        {.body = body, .passes = SET_TAGS("")},
        {.body = body, .passes = SET_TAGS("\"x\":null")},
        {.body = body, .passes = SET_TAGS("\"y\":null")},
        {.body = body, .passes = SET_TAGS("\"x\":\"must_save\"")},
        {.body = body, .passes = SET_TAGS("\"x\":[\"must_save\",null]")},
        {.body = body, .passes = SET_TAGS("\"x\":[\"must_save\",0]")},
        {.body = body, .passes = SET_TAGS("\"x\":[\"must_save\",1]")},
        {.body = SMALL_GRAPH(Y_ARGS, "\"extra\":1,")},
        {.body = SMALL_GRAPH(Y_ARGS, "\"producer\":{\"version\":\"1\"},")},
    };
    static const struct question same[] = {
        {.body = body, .options = "{\"explain\":\"summary\"}"},
        {.body = body, .options = "{\"deadline_ms\":100000}", .passes = "[]"},
        {.body = SMALL_GRAPH(Y_ARGS "\"stack\":\"s\",", "\"name\":\"n\",")},
    };
    enum {
        N = sizeof(q) / sizeof(*q)
    };
    static unsigned char found[N][PROTO_STRUCTURE_BYTES];

    proto_start();
    for (int i = 0; i < N; i++) {
        find_structure(&q[i], found[i]);
        for (int j = 0; j < i; j++)
            ck_assert_msg(memcmp(found[i], found[j], sizeof(found[i])) != 0,
                          "%d and %d", i, j);
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        ck_assert_msg(is_same(&q[0], &same[i]), "%zu", i);
        check_mapped(&q[0], &same[i]);
    }
}
END_TEST

/* A report holds the graph's name and is laid out by the names of nodes. */
START_TEST(reports_are_shared_by_equal_requests_alone)
{
    static const struct question q[] = {
        {.body = SMALL_GRAPH(Y_ARGS, ""), .format = PROTO_TEXT},
        {.body = SMALL_GRAPH(Y_ARGS, "\"name\":\"n\","), .format = PROTO_TEXT},
        {.body = SMALL_GRAPH(Y_ARGS "\"recompute\":\"must_save\",", ""),
         .format = PROTO_TEXT}};
    struct desk desk = {.says = PROTO_KNOWN_TEMPLATE, .known = {"junk", 4}};
    char *renamed = write_graph(plain, "primals", "");
    char *again = write_graph(others[0], "primals", "");
    struct question x = {.body = renamed, .format = PROTO_TEXT};
    struct question y = {.body = again, .format = PROTO_TEXT};
    struct proto_answer solved;
    struct proto_answer answer;

    proto_start();
    ck_assert(is_same(&q[0], &q[0]));
    ck_assert(!is_same(&q[0], &q[1]));
    ck_assert(!is_same(&q[0], &q[2]));
    ck_assert(!is_same(&x, &y));
    solved = ask_desk(&q[0], NULL);
    answer = ask_desk(&q[0], &desk);
    ck_assert_ptr_null(answer.template_bytes);
    ck_assert(!answer.is_filled);
    ck_assert_str_eq(answer.body, solved.body);
    proto_answer_release(&answer);
    proto_answer_release(&solved);
    free(renamed);
    free(again);
}
END_TEST

START_TEST(look_up_sees_the_request_and_ends_it)
{
    static const enum proto_result results[] = {[PROTO_SOLVE] = PROTO_PLAN,
                                                [PROTO_KNOWN_ANSWER] =
                                                    PROTO_KNOWN,
                                                [PROTO_DEFER] = PROTO_DEFERRED};
    static const enum proto_found says[] = {PROTO_SOLVE, PROTO_KNOWN_ANSWER,
                                            PROTO_DEFER};
    struct question q = {.body = SMALL_GRAPH(Y_ARGS, ""),
                         .options = "{\"explain\":\"full\"}"};

    proto_start();
    for (size_t i = 0; i < 3; i++) {
        struct desk desk = {.says = says[i]};
        struct proto_answer answer = ask_desk(&q, &desk);

        ck_assert_int_eq(answer.result, results[says[i]]);
        ck_assert_uint_eq(desk.n_asked, 1);
        ck_assert_str_eq(desk.digest, answer.digest);
        ck_assert_str_eq(desk.seen.explain, "full");
        ck_assert_str_eq(answer.explain, "full");
        ck_assert_int_eq(desk.seen.call, PROTO_CALL_PLAN);
        ck_assert_int_eq(desk.seen.format, PROTO_JSON);
        ck_assert_int_eq(answer.body != NULL, says[i] == PROTO_SOLVE);
        ck_assert_int_eq(answer.template_bytes != NULL, says[i] == PROTO_SOLVE);
        ck_assert_uint_eq(answer.n_nodes, 6);
        ck_assert_int_eq(answer.n_steps != 0, says[i] == PROTO_SOLVE);
        proto_answer_release(&answer);
    }
}
END_TEST

START_TEST(look_up_is_not_asked_of_problems_and_tags)
{
    static const struct question q[] = {
        {.body = "{"},
        {.body = SMALL_GRAPH("\"args\":[\"%nowhere\"],", "")},
        {.body = SMALL_GRAPH(Y_ARGS, ""), .options = "{\"x\":1}"},
        {.body = SMALL_GRAPH(Y_ARGS, ""), .passes = "[1]"},
        {.body = SMALL_GRAPH(Y_ARGS, ""), .call = PROTO_CALL_TAGS}};

    proto_start();
    for (size_t i = 0; i < sizeof(q) / sizeof(*q); i++) {
        struct desk desk = {.says = PROTO_DEFER};
        struct proto_answer answer = ask_desk(&q[i], &desk);

        ck_assert_uint_eq(desk.n_asked, 0);
        ck_assert_int_eq(answer.result, q[i].call == PROTO_CALL_TAGS
                                            ? PROTO_PLAN
                                            : PROTO_PROBLEM);
        proto_answer_release(&answer);
    }
}
END_TEST

/* What is found out only while solving says the document's names. */
START_TEST(late_problems_say_names)
{
    static const char body[] =
        "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":1,\"nodes\":["
        "{\"name\":\"x\",\"op\":\"placeholder\",\"target\":\"primals_1\","
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"t\",\"op\":\"placeholder\",\"target\":\"tangents_1\","
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"in\\u00fft\",\"op\":\"call_function\",\"target\":"
        "\"aten.cos.default\",\"args\":[\"%x\"]},"
        "{\"name\":\"y\",\"op\":\"call_function\",\"target\":"
        "\"aten.sin.default\",\"args\":[\"%in\\u00fft\"],\"val\":" SMALL_VALUE
        "},{\"name\":\"g\",\"op\":\"call_function\",\"target\":"
        "\"aten.mul.Tensor\",\"args\":[\"%t\",\"%in\\u00fft\"],"
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"output\",\"op\":\"output\",\"args\":[\"%y\",\"%g\"]}]}";
    struct question q = {.body = body};
    struct proto_answer answer;

    proto_start();
    answer = ask_desk(&q, NULL);
    ck_assert_int_eq(answer.problem.kind, PROTO_SIZE_UNKNOWN);
    ck_assert_msg(strstr(answer.problem.detail, "\"in\xC3\xBFt\"") != NULL,
                  "%s", answer.problem.detail);
    proto_answer_release(&answer);
}
END_TEST

/* Whatever stands where a template should, the request gets its answer. */
static void check_rejected(const struct question *q, const char *bytes,
                           size_t length, const char *good)
{
    struct desk desk = {.says = PROTO_KNOWN_TEMPLATE, .known = {bytes, length}};
    struct proto_answer answer = ask_desk(q, &desk);

    ck_assert_int_eq(answer.result, PROTO_PLAN);
    ck_assert_ptr_nonnull(answer.body);
    if (!answer.is_filled)
        ck_assert_str_eq(answer.body, good);
    proto_answer_release(&answer);
}

START_TEST(what_is_no_template_is_passed_over)
{
    struct question q = {.body = SMALL_GRAPH(Y_ARGS, "")};
    struct question smaller = {
        .body = "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,"
                "\"nodes\":[{\"name\":\"output\",\"op\":\"output\"}]}"};
    struct desk desk = {.says = PROTO_SOLVE};
    struct proto_answer good;
    struct proto_answer small;
    char *copy;

    proto_start();
    good = ask_desk(&q, &desk);
    small = ask_desk(&smaller, NULL);
    copy = malloc(good.template_length);
    check_rejected(&q, "", 0, good.body);
    check_rejected(&q, good.body, good.length, good.body);
    check_rejected(&smaller, good.template_bytes, good.template_length,
                   small.body);
    for (size_t i = 0; i < good.template_length; i++) {
        static const unsigned char bytes[] = {0xFF, 0xFE, 0x80, 'b', 'd', 0};

        memcpy(copy, good.template_bytes, i); /* for the sanitizer */
        check_rejected(&q, copy, i, good.body);
        memcpy(copy, good.template_bytes, good.template_length);
        for (size_t j = 0; j < sizeof(bytes); j++) {
            copy[i] = (char)bytes[j];
            check_rejected(&q, copy, good.template_length, good.body);
        }
    }
    free(copy);
    proto_answer_release(&good);
    proto_answer_release(&small);
}
END_TEST

SUITE("structure", names_do_not_matter, labels_count_by_role,
      labels_that_a_pass_names_count, names_that_a_literal_has_count,
      everything_else_matters, request_matters,
      reports_are_shared_by_equal_requests_alone,
      look_up_sees_the_request_and_ends_it,
      look_up_is_not_asked_of_problems_and_tags, late_problems_say_names,
      what_is_no_template_is_passed_over)
