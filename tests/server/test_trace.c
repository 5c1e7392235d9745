/*
 * traceparent: what the specification allows, and nothing else.
 */
#include "suite.h"
#include "trace.h"

#include <string.h>

#define ID     "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

START_TEST(a_valid_header_is_taken)
{
    static const struct {
        const char *header;
        bool is_sampled;
    } cases[] = {
        {"00-" ID "-" PARENT "-01", true},
        {"00-" ID "-" PARENT "-00", false},
        {"00-" ID "-" PARENT "-03", true},
        {"00-" ID "-" PARENT "-fe", false},
        {"01-" ID "-" PARENT "-01", true},
        {"01-" ID "-" PARENT "-01-", true},
        {"cc-" ID "-" PARENT "-01-what=comes later", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct srv_trace trace = {0};

        srv_trace_add(&trace, cases[i].header);
        ck_assert_str_eq(trace.id, ID);
        ck_assert_str_eq(trace.parent, PARENT);
        ck_assert_msg(trace.is_sampled == cases[i].is_sampled, "%s",
                      cases[i].header);
    }
}
END_TEST

START_TEST(anything_else_leaves_no_trace)
{
    static const char *const headers[] = {
        "",
        "00",
        "00-" ID "-" PARENT,
        "00-" ID "-" PARENT "-",
        "00-" ID "-" PARENT "-0",
        "00-" ID "-" PARENT "-011",
        "00-" ID "-" PARENT "-01-",
        "00-" ID "-" PARENT "-01 ",
        " 00-" ID "-" PARENT "-01",
        "ff-" ID "-" PARENT "-01",
        "0-" ID "-" PARENT "-01",
        "0g-" ID "-" PARENT "-01",
        "01-" ID "-" PARENT "-01.",
        "01-" ID "-" PARENT "-01f",
        "00-" ID "-" PARENT "-0g",
        "00_" ID "-" PARENT "-01",
        "00-" ID "_" PARENT "-01",
        "00-" ID "-" PARENT "_01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" ID "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "00-" ID "-00F067AA0BA902B7-01",
        "00-" ID "-" PARENT "-0A",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-" PARENT "-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47-" PARENT "-01-01",
        "00-" PARENT "-" ID "-01",
    };

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct srv_trace trace = {0};

        srv_trace_add(&trace, headers[i]);
        ck_assert_msg(trace.id[0] == '\0', "%s", headers[i]);
        ck_assert_msg(trace.parent[0] == '\0', "%s", headers[i]);
        ck_assert(trace.was_given);
    }
}
END_TEST

START_TEST(of_two_headers_neither_counts)
{
    struct srv_trace trace = {0};

    for (int i = 0; i < 3; i++) {
        srv_trace_add(&trace, "00-" ID "-" PARENT "-01");
        ck_assert_int_eq(trace.id[0] != '\0', i == 0);
    }
}
END_TEST

/* Every shorter text, and every text with one byte changed to one that is no
 * hex digit, is refused without reading past its end (run with sanitizers). */
START_TEST(cut_and_damaged_headers)
{
    static const char good[] = "00-" ID "-" PARENT "-01";

    for (size_t n = 0; n < strlen(good); n++) {
        struct srv_trace trace = {0};
        char *cut = calloc(1, n + 1);

        memcpy(cut, good, n);
        srv_trace_add(&trace, cut);
        ck_assert_uint_eq(strlen(trace.id), 0);
        free(cut);

        struct srv_trace other = {0};
        char damaged[sizeof good];

        memcpy(damaged, good, sizeof good);
        damaged[n] = 'x';
        srv_trace_add(&other, damaged);
        ck_assert_uint_eq(strlen(other.id), 0);
    }
}
END_TEST

START_TEST(our_span)
{
    struct srv_trace trace = {0};
    char text[SRV_TRACE_SIZE];
    char last[17] = "";

    srv_trace_begin_span(&trace, 1);
    ck_assert_str_eq(trace.span, "");
    srv_trace_add(&trace, "01-" ID "-" PARENT "-ff-more");
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct srv_trace again = {0};

        srv_trace_begin_span(&trace, seed);
        ck_assert_uint_eq(strlen(trace.span), 16);
        ck_assert_str_ne(trace.span, last);
        memcpy(last, trace.span, sizeof last);
        srv_trace_write(&trace, text);
        srv_trace_add(&again, text); /* it is one itself */
        ck_assert_str_eq(again.id, ID);
        ck_assert_str_eq(again.parent, trace.span);
        ck_assert(again.is_sampled);
    }
}
END_TEST

SUITE("trace", a_valid_header_is_taken, anything_else_leaves_no_trace,
      of_two_headers_neither_counts, cut_and_damaged_headers, our_span)
