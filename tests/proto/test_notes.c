/*
 * What is told although the decision stands: fields nobody knows, versions
 * nobody tested, and strings that look like forgotten references.
 */
#include "documents.h"
#include "suite.h"

/* The only diagnostic of that code, or NULL. */
static json_t *find(json_t *plan, const char *code)
{
    json_t *found = NULL;
    json_t *diagnostic;
    size_t i;

    json_array_foreach (json_object_get(plan, "diagnostics"), i, diagnostic) {
        if (strcmp(json_string_value(json_object_get(diagnostic, "code")),
                   code) != 0)
            continue;
        ck_assert_msg(found == NULL, "%s twice", code);
        found = diagnostic;
    }
    return found;
}

/* The message of the diagnostic must hold the words; NULL: there is none. */
static void check(const char *body, const char *code, const char *words)
{
    json_t *plan = ask_plan(body, NULL);
    json_t *diagnostic = find(plan, code);
    const char *message;

    if (words == NULL) {
        ck_assert_msg(diagnostic == NULL, "%s is there", code);
    } else {
        ck_assert_msg(diagnostic != NULL, "%s is missing", code);
        message = json_string_value(json_object_get(diagnostic, "message"));
        ck_assert_msg(strstr(message, words) != NULL, "%s", message);
        ck_assert_str_eq(
            json_string_value(json_object_get(diagnostic, "severity")),
            "warning");
    }
    json_decref(plan);
}

START_TEST(unknown_fields_are_listed_once)
{
    static const char body[] = SMALL_GRAPH(
        Y_ARGS "\"recompote\":\"must_save\",\"weird\":1,",
        "\"optoins\":{},\"producer\":{\"name\":\"torch\",\"build\":7},");

    proto_start();
    check(body, "unknown-field",
          "graph.optoins (did you mean options?), "
          "node.recompote (did you mean recompute?), node.weird, "
          "producer.build");
    check(SMALL_GRAPH(Y_ARGS, ""), "unknown-field", NULL);
}
END_TEST

START_TEST(unknown_fields_of_values_are_listed)
{
    proto_start();
    check("{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,\"nodes\":["
          "{\"name\":\"a\",\"op\":\"get_attr\",\"target\":\"f\",\"val\":"
          "{\"tuple\":[{\"dtype\":\"int8\",\"shape\":[],\"stride\":[]},"
          "{\"sym\":\"int\",\"hints\":1},{\"dtype\":\"int8\",\"shape\":[],"
          "\"stride\":[]}],\"names\":[]}},"
          "{\"name\":\"output\",\"op\":\"output\"}]}",
          "unknown-field",
          "val.hints (did you mean hint?), val.names, val.stride");
}
END_TEST

START_TEST(many_unknown_fields_are_cut_short)
{
    char fields[1024] = "";
    char body[8192];
    size_t n = 0;

    proto_start();
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(fields + n, sizeof(fields) - n,
                              "\"field_number_%02d\":null,", i);
    snprintf(body, sizeof(body),
             "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,%s"
             "\"nodes\":[{\"name\":\"output\",\"op\":\"output\"}]}",
             fields);
    check(body, "unknown-field", "graph.field_number_11 and more");
}
END_TEST

/* Members have no order: equal requests get equal bytes. */
START_TEST(notes_do_not_follow_the_order_of_members)
{
    char forward[1024] = "";
    char backward[1024] = "";
    char body[2][8192];
    struct proto_answer answers[2];
    size_t n = 0;
    size_t m = 0;

    proto_start();
    for (int i = 0; i < 20; i++) {
        n += (size_t)snprintf(forward + n, sizeof(forward) - n,
                              "\"field_number_%02d\":null,", i);
        m += (size_t)snprintf(backward + m, sizeof(backward) - m,
                              "\"field_number_%02d\":null,", 19 - i);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(body[i], sizeof(body[i]),
                 "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":0,%s"
                 "\"nodes\":[{\"name\":\"a\",\"op\":\"get_attr\",\"target\":"
                 "\"f\"},{\"name\":\"b\",\"op\":\"get_attr\",\"target\":"
                 "\"f\"},{\"name\":\"c\",\"op\":\"call_function\","
                 "\"target\":\"f\",\"kwargs\":%s},{\"name\":\"output\","
                 "\"op\":\"output\"}]}",
                 i == 0 ? forward : backward,
                 i == 0 ? "{\"x\":\"a\",\"y\":\"b\"}"
                        : "{\"y\":\"b\",\"x\":\"a\"}");
        answers[i] = ask(body[i], NULL, PROTO_JSON);
        ck_assert_ptr_nonnull(answers[i].body);
    }
    ck_assert_str_eq(answers[0].digest, answers[1].digest);
    ck_assert_str_eq(answers[0].body, answers[1].body);
    ck_assert_ptr_nonnull(strstr(answers[0].body, "field_number_00"));
    ck_assert_ptr_null(strstr(answers[0].body, "field_number_12"));
    ck_assert_ptr_nonnull(strstr(answers[0].body, "literal string \\\"a\\\""));
    proto_answer_release(&answers[0]);
    proto_answer_release(&answers[1]);
}
END_TEST

/* The graph's own options inside of an envelope are no options. */
START_TEST(options_inside_of_an_enveloped_graph_are_unknown)
{
    proto_start();
    check("{\"graph\":" SMALL_GRAPH(Y_ARGS, "\"options\":{},") "}",
          "unknown-field", "graph.options");
}
END_TEST

START_TEST(other_versions_are_untested)
{
    proto_start();
#define PRODUCER(version)                                                 \
    SMALL_GRAPH(Y_ARGS,                                                   \
                "\"producer\":{\"name\":\"torch\",\"version\":\"" version \
                "\"},")
    check(PRODUCER("2.13.0"), "producer-version-untested", NULL);
    check(PRODUCER("2.13.1+cu126"), "producer-version-untested", NULL);
    check(PRODUCER("2.13"), "producer-version-untested", NULL);
    check(PRODUCER("2.12.1"), "producer-version-untested", "2.12.1");
    check(PRODUCER("2.130"), "producer-version-untested", "2.130");
    check(PRODUCER("3.0"), "producer-version-untested", "PyTorch 2.13");
    check(SMALL_GRAPH(Y_ARGS, "\"producer\":{\"name\":\"mine\"},"),
          "producer-version-untested", NULL);
}
END_TEST

START_TEST(a_forgotten_percent_is_noticed)
{
    static const char body[] = SMALL_GRAPH("\"args\":[\"x\",[\"w\"]],", "");
    json_t *plan;

    proto_start();
    check(body, "reference-without-percent", "write \"%w\"");
    plan = ask_plan(body, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(
                         find(plan, "reference-without-percent"), "node")),
                     "y");
    json_decref(plan);
    /* one reference is enough to know the rule; other strings are strings */
    check(SMALL_GRAPH("\"args\":[\"%x\",\"w\"],", ""),
          "reference-without-percent", NULL);
    check(SMALL_GRAPH("\"args\":[\"mean\"],", ""), "reference-without-percent",
          NULL);
    check(SMALL_GRAPH("\"args\":[\"%%x\"],", ""), "reference-without-percent",
          NULL);
}
END_TEST

START_TEST(explain_none_keeps_notes_out)
{
    json_t *plan;

    proto_start();
    plan = ask_plan(SMALL_GRAPH(Y_ARGS "\"weird\":1,", ""),
                    "{\"explain\":\"none\"}");
    ck_assert_uint_eq(json_array_size(json_object_get(plan, "diagnostics")), 0);
    json_decref(plan);
}
END_TEST

SUITE("notes", unknown_fields_are_listed_once,
      unknown_fields_of_values_are_listed, many_unknown_fields_are_cut_short,
      notes_do_not_follow_the_order_of_members,
      options_inside_of_an_enveloped_graph_are_unknown,
      other_versions_are_untested, a_forgotten_percent_is_noticed,
      explain_none_keeps_notes_out)
