/*
 * The text report: the numbers a person looks for, with their reasons, and a
 * graph without a plan told step by step.
 */
#include "documents.h"
#include "suite.h"

static void check_words(const char *report, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(strstr(report, words[i]) != NULL,
                      "\"%s\" is missing in:\n%s", words[i], report);
}
#define CHECK_WORDS(report, ...)                                    \
    do {                                                            \
        static const char *const words[] = {__VA_ARGS__};           \
        check_words(report, words, sizeof(words) / sizeof(*words)); \
    } while (0)

static struct proto_answer report(const char *body, const char *options)
{
    struct proto_answer answer = ask(body, options, PROTO_TEXT);

    ck_assert_msg(answer.body != NULL, "%s: %s", answer.problem.pointer,
                  answer.problem.detail);
    ck_assert_uint_eq(answer.length, strlen(answer.body));
    ck_assert_int_eq(answer.body[answer.length - 1], '\n');
    return answer;
}

START_TEST(a_plan_is_told_with_reasons)
{
    struct proto_answer answer;

    proto_start();
    answer = report(SMALL_GRAPH(Y_ARGS, "\"name\":\"tiny\","), NULL);
    CHECK_WORDS(answer.body, "tiny: a joint graph of 6 nodes\n",
                "The forward saves 1 value, 32 bytes.\n",
                "x            float32[2,4]                    is an input of "
                "the graph\n",
                "Operators: 1 of the forward, 1 of the backward alone, 0 "
                "computed again in it.\n",
                "Minimum cut: value 35, through 1 node of a network of 11 "
                "vertices and 12 edges.\n",
                "engine " PROTO_ENGINE ", digest ");
    ck_assert_ptr_nonnull(strstr(answer.body, answer.digest));
    proto_answer_release(&answer);
}
END_TEST

/* The report against the document: same members, same totals. */
START_TEST(a_report_agrees_with_the_plan)
{
    char *body = read_corpus("dropout_ac", NULL);
    struct proto_answer answer;
    char words[128];
    json_t *plan;
    json_t *name;
    size_t i;

    proto_start();
    plan = ask_plan(body, NULL);
    answer = report(body, NULL);
    json_array_foreach (json_object_get(plan, "saved"), i, name) {
        snprintf(words, sizeof(words), "  %s ", json_string_value(name));
        ck_assert_msg(strstr(answer.body, words) != NULL, "%s is missing",
                      words);
    }
    snprintf(words, sizeof(words), "The forward saves %zu values, ", i);
    ck_assert_ptr_nonnull(strstr(answer.body, words));
    snprintf(words, sizeof(words), " (%lld bytes).",
             (long long)json_integer_value(json_object_get(
                 json_object_get(plan, "memory"), "saved_bytes")));
    ck_assert_ptr_nonnull(strstr(answer.body, words));
    snprintf(words, sizeof(words), ", %zu computed again in it",
             json_array_size(json_object_get(plan, "recomputed")));
    ck_assert_ptr_nonnull(strstr(answer.body, words));
    json_decref(plan);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

/* Bytes of saved values and counts of operators, largest first. */
START_TEST(tables_are_sorted)
{
    char *body = read_corpus("unet", NULL);
    struct proto_answer answer;
    long long before = INT64_MAX;
    int n_rows = 0;
    char *line;
    char *rest;

    proto_start();
    answer = report(body, NULL);
    line = strstr(answer.body, "why it is saved\n") + 16;
    for (; *line == ' '; line = strchr(line, '\n') + 1) {
        long long n_bytes = strtoll(line, &rest, 10);

        ck_assert_msg(n_bytes <= before, "%.80s", line);
        before = n_bytes;
        n_rows++;
    }
    ck_assert_int_gt(n_rows, 5);
    line = strstr(answer.body, "operator computed again\n");
    ck_assert_ptr_nonnull(line);
    before = INT64_MAX;
    for (line = strchr(line, '\n') + 1; *line == ' ';
         line = strchr(line, '\n') + 1) {
        long long n = strtoll(line, &rest, 10);

        ck_assert_msg(n > 0 && n <= before, "%.80s", line);
        before = n;
    }
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(symbols_and_results_of_calls_are_told)
{
    char *body = read_corpus("llama_2l_dynamic", NULL);
    struct proto_answer answer;

    proto_start();
    answer = report(body, NULL);
    CHECK_WORDS(answer.body, "\nSaved symbols (2): primals_2, mul_20\n",
                "is a result of _scaled_dot_product_",
                "is a static input, free to save",
                " of it is in static inputs, which live through the step");
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(a_conflict_is_told_step_by_step)
{
    char *body = read_case("G01", NULL);
    struct proto_answer answer;

    proto_start();
    answer = report(body, "{\"profile\":\"plain\"}");
    ck_assert_int_eq(answer.result, PROTO_NO_PLAN);
    ck_assert_str_eq(answer.outcome, "infinite_flow");
    CHECK_WORDS(answer.body, "There is no plan: ",
                "   1. attn is tagged must_save  [annotation]\n",
                "   2. attn returns a tuple, so it cannot be saved "
                "itself  [intrinsic]\n",
                "   3. g0 reads `attn`\n",
                "   4. g0 is tagged prefer_recompute, so it may not be saved  "
                "[annotation]\n",
                "What to change (tried",
                "  - g0: leave its tag prefer_recompute out\n"
                "  - g1: leave its tag prefer_recompute out\n"
                "Then the forward saves 5 values, 260 bytes",
                "\n  {\"pass\": \"set_tags\", \"tags\": {\"g0\": null, "
                "\"g1\": null}}\n");
    ck_assert_ptr_null(strstr(answer.body, "The forward saves"));
    proto_answer_release(&answer);
    free(body);
}
END_TEST

/* What the report proposes must work: both changes, one at a time. */
START_TEST(the_proposed_changes_break_the_conflict)
{
    static const char *const tags[][2] = {
        {"attn", NULL}, {"g0", NULL}, {"g0", "must_save"}};

    proto_start();
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
        char *body = read_case("G01", NULL);
        json_t *graph = json_loads(body, 0, NULL);
        struct proto_answer answer;
        json_t *node;
        char *changed;
        size_t j;

        json_array_foreach (json_object_get(graph, "nodes"), j, node) {
            const char *name = json_string_value(json_object_get(node, "name"));

            if (strcmp(name, tags[i][0]) == 0 && tags[i][1] == NULL)
                json_object_del(node, "recompute");
            else if (strcmp(name, tags[i][0]) == 0)
                json_object_set_new(node, "recompute", json_string(tags[i][1]));
        }
        changed = json_dumps(graph, 0);
        answer = report(changed, "{\"profile\":\"plain\"}");
        ck_assert_ptr_null(strstr(answer.body, ". g0 is tagged"));
        proto_answer_release(&answer);
        json_decref(graph);
        free(changed);
        free(body);
    }
}
END_TEST

START_TEST(an_invalid_output_names_the_number_to_write)
{
    char body[4096] = SMALL_GRAPH(Y_ARGS, "");
    struct proto_answer answer;

    proto_start();
    memcpy(strstr(body, "outputs\":1"), "outputs\":2", 10);
    answer = report(body, NULL);
    ck_assert_int_eq(answer.result, PROTO_NO_PLAN);
    CHECK_WORDS(answer.body, "There is no plan: ", "t is read by `g`",
                "2 forward and 1 backward outputs",
                "If g is a gradient, num_fwd_outputs is too large: it is the "
                "number 2 among the outputs, so write 1 or less.");
    proto_answer_release(&answer);
}
END_TEST

/* Names come from strangers and go to a terminal. */
START_TEST(control_characters_do_not_reach_the_terminal)
{
    static const char body[] =
        "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,"
        "\"name\":\"a\\u001b[2Jb\\u009bc\\u007f\",\"\\u001b]0;\":1,"
        "\"nodes\":[{\"name\":\"p\\nq\",\"op\":\"placeholder\","
        "\"target\":\"primals_1\",\"val\":" SMALL_VALUE "},"
        "{\"name\":\"t\",\"op\":\"placeholder\",\"target\":\"tangents_1\","
        "\"val\":" SMALL_VALUE "},{\"name\":\"g\",\"op\":\"call_function\","
        "\"target\":\"aten.mul.Tensor\",\"args\":[\"%t\",\"%p\\nq\"],"
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"output\",\"op\":\"output\",\"args\":[\"%g\"]}]}";
    struct proto_answer answer;

    proto_start();
    answer = report(body, NULL);
    CHECK_WORDS(answer.body, "a?[2Jb?c?: a joint graph", "  p?q ",
                "unknown-field: ", "graph.?]0;");
    for (size_t i = 0; i < answer.length; i++)
        ck_assert_msg((unsigned char)answer.body[i] >= 0x20 ||
                          answer.body[i] == '\n',
                      "byte %zu is %d", i, answer.body[i]);
    proto_answer_release(&answer);
}
END_TEST

/* A graph whose name and operator have the characters `odd` in them. */
static struct proto_answer report_odd(const char *odd)
{
    static const char form[] =
        "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,"
        "\"name\":\"graph<%s>\",\"nodes\":["
        "{\"name\":\"p<%s>\",\"op\":\"placeholder\","
        "\"target\":\"primals_1\",\"val\":" SMALL_VALUE "},"
        "{\"name\":\"t\",\"op\":\"placeholder\",\"target\":\"tangents_1\","
        "\"val\":" SMALL_VALUE "},{\"name\":\"g\",\"op\":\"call_function\","
        "\"target\":\"aten.mul.Tensor\",\"args\":[\"%%t\",\"%%p<%s>\"],"
        "\"val\":" SMALL_VALUE "},"
        "{\"name\":\"output\",\"op\":\"output\",\"args\":[\"%%g\"]}]}";
    char body[2048];

    snprintf(body, sizeof(body), form, odd, odd, odd);
    return report(body, NULL);
}

/* What turns a text or breaks its line would show another name than the one
 * that was written, or the numbers behind it in another order. */
START_TEST(names_do_not_turn_the_text)
{
    static const char *const turning[] = {
        "\xD8\x9C",     "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xA8",
        "\xE2\x80\xA9", "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC",
        "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA7",
        "\xE2\x81\xA8", "\xE2\x81\xA9"};
    /* Beside these in their ranges, and letters that are written to the left.
     */
    static const char *const kept[] = {
        "\xD8\x9B",     "\xE2\x80\x8D", "\xE2\x80\x90", "\xE2\x80\xA7",
        "\xE2\x80\xAF", "\xE2\x81\xA5", "\xE2\x81\xAA", "\xD7\x90\xD7\x91"};

    proto_start();
    for (size_t i = 0; i < sizeof turning / sizeof turning[0]; i++) {
        struct proto_answer answer = report_odd(turning[i]);

        CHECK_WORDS(answer.body, "graph<?>: a joint graph", " p<?> ");
        ck_assert_ptr_null(strstr(answer.body, turning[i]));
        proto_answer_release(&answer);
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        struct proto_answer answer = report_odd(kept[i]);
        char name[16];

        snprintf(name, sizeof(name), "p<%s>", kept[i]);
        ck_assert_ptr_nonnull(strstr(answer.body, name));
        proto_answer_release(&answer);
    }
}
END_TEST

START_TEST(remarks_stand_in_the_report)
{
    struct proto_answer answer;

    proto_start();
    answer = report(SMALL_GRAPH(Y_ARGS "\"weird\":1,",
                                "\"producer\":{\"version\":\"9.9\"},"),
                    NULL);
    CHECK_WORDS(answer.body, "\nunknown-field: ", "node.weird",
                "\nproducer-version-untested: ", "9.9");
    proto_answer_release(&answer);
}
END_TEST

SUITE("report", a_plan_is_told_with_reasons, a_report_agrees_with_the_plan,
      tables_are_sorted, symbols_and_results_of_calls_are_told,
      a_conflict_is_told_step_by_step, the_proposed_changes_break_the_conflict,
      an_invalid_output_names_the_number_to_write, remarks_stand_in_the_report,
      control_characters_do_not_reach_the_terminal, names_do_not_turn_the_text)
