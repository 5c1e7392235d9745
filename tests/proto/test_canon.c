/*
 * Canonical JSON: the number vectors of RFC 8785 (appendix B) and its examples
 * of sorting and escaping, then our own rule for integers.
 */
#include "canon.h"
#include "documents.h"
#include "suite.h"

#include <math.h>

static const struct {
    const char *name; /* what it is meant to be */
    uint64_t bits;
} numbers[] = {
    {"0", 0x0000000000000000},
    {"0", 0x8000000000000000},
    {"5e-324", 0x0000000000000001},
    {"-5e-324", 0x8000000000000001},
    {"1.7976931348623157e+308", 0x7fefffffffffffff},
    {"-1.7976931348623157e+308", 0xffefffffffffffff},
    {"9007199254740992", 0x4340000000000000},
    {"-9007199254740992", 0xc340000000000000},
    {"295147905179352830000", 0x4430000000000000},
    {"9.999999999999997e+22", 0x44b52d02c7e14af5},
    {"1e+23", 0x44b52d02c7e14af6},
    {"1.0000000000000001e+23", 0x44b52d02c7e14af7},
    {"999999999999999700000", 0x444b1ae4d6e2ef4e},
    {"999999999999999900000", 0x444b1ae4d6e2ef4f},
    {"1e+21", 0x444b1ae4d6e2ef50},
    {"9.999999999999997e-7", 0x3eb0c6f7a0b5ed8c},
    {"0.000001", 0x3eb0c6f7a0b5ed8d},
    {"333333333.3333332", 0x41b3de4355555553},
    {"333333333.33333325", 0x41b3de4355555554},
    {"333333333.3333333", 0x41b3de4355555555},
    {"333333333.3333334", 0x41b3de4355555556},
    {"333333333.33333343", 0x41b3de4355555557},
    {"-0.0000033333333333333333", 0xbecbf647612f3696},
    {"1424953923781206.2", 0x43143ff3c1cb0959},
};

static double real_of(uint64_t bits)
{
    double real;

    memcpy(&real, &bits, sizeof(real));
    return real;
}

/* Canonical form of a JSON text. The caller frees it. */
static char *canonical(const char *json)
{
    json_t *tree = json_loads(json, JSON_DECODE_ANY, NULL);
    struct proto_budget budget = {0};
    struct proto_text text;
    struct proto_canon canon = {.text = &text};
    char *out;

    ck_assert_msg(tree != NULL, "%s", json);
    proto_text_init(&text, &budget);
    ck_assert(proto_canon_add(&canon, tree, (struct proto_place){0}));
    out = proto_text_take(&text, NULL);
    ck_assert_ptr_nonnull(out);
    json_decref(tree);
    ck_assert_uint_eq(budget.used_bytes, 0);
    return out;
}

static void check(const char *json, const char *expected)
{
    char *out = canonical(json);

    ck_assert_str_eq(out, expected);
    free(out);
}

START_TEST(numbers_are_written_as_ecmascript_does)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct proto_text text;
        char *out;

        proto_text_init(&text, NULL);
        proto_canon_add_real(&text, real_of(numbers[i].bits));
        out = proto_text_take(&text, NULL);
        ck_assert_str_eq(out, numbers[i].name);
        free(out);
    }
}
END_TEST

/* Shortest: no shorter text reads back, whatever the bits. */
START_TEST(numbers_read_back_and_have_no_digit_to_spare)
{
    uint64_t state = 0x9e3779b97f4a7c15;

    for (int i = 0; i < 20000; i++) {
        struct proto_text text;
        char shorter[40];
        double real;
        char *out;
        int n;

        state = state * 6364136223846793005u + 1442695040888963407u;
        real = real_of(state ^ (state >> 29));
        if (!isfinite(real))
            continue;
        proto_text_init(&text, NULL);
        proto_canon_add_real(&text, real);
        out = proto_text_take(&text, NULL);
        ck_assert_msg(strtod(out, NULL) == real, "%s", out);
        n = 0;
        for (const char *c = out; *c != '\0' && *c != 'e'; c++)
            n += *c >= '0' && *c <= '9' && (n > 0 || *c != '0');
        if (n > 1 && n <= 17 && strchr(out, 'e') != NULL) {
            snprintf(shorter, sizeof(shorter), "%.*e", n - 2, real);
            ck_assert_msg(strtod(shorter, NULL) != real, "%s", out);
        }
        free(out);
    }
}
END_TEST

START_TEST(integers_keep_all_their_digits)
{
    check("9007199254740993", "9007199254740993");
    check("-9223372036854775808", "-9223372036854775808");
    check("9223372036854775807", "9223372036854775807");
    /* 2^60 as a real is the integer 2^60, not its neighbour in decimal */
    check("1152921504606846976", "1152921504606846976");
    check("1152921504606846976.0", "1152921504606846976");
    check("1152921504606847000", "1152921504606847000");
    check("[1,1.0,10e-1,-0.0,-0]", "[1,1,1,0,0]");
}
END_TEST

START_TEST(members_are_sorted_by_utf16_units)
{
    /* the order of RFC 8785, 3.2.3 */
    check("{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,"
          "\"\\u0080\":6,\"\\u00f6\":7}",
          "{\"\\r\":2,\"1\":4,\"\xC2\x80\":6,\"\xC3\xB6\":7,\"\xE2\x82\xAC\":1,"
          "\"\xF0\x9F\x98\x80\":5,\"\xEF\xAC\xB3\":3}");
    check("{\"b\":{\"d\":1,\"c\":2},\"a\":[],\"aa\":{},\"\":null}",
          "{\"\":null,\"a\":[],\"aa\":{},\"b\":{\"c\":2,\"d\":1}}");
}
END_TEST

START_TEST(large_objects_are_sorted_too)
{
    char json[4096] = "{";
    char expected[4096] = "{";
    size_t n = 1;
    size_t m = 1;

    for (int i = 99; i >= 0; i--)
        n += (size_t)snprintf(json + n, sizeof(json) - n, "\"k%02d\":%d%s",
                              (i * 37) % 100, (i * 37) % 100,
                              i == 0 ? "}" : ",");
    for (int i = 0; i < 100; i++)
        m += (size_t)snprintf(expected + m, sizeof(expected) - m,
                              "\"k%02d\":%d%s", i, i, i == 99 ? "}" : ",");
    check(json, expected);
}
END_TEST

START_TEST(strings_have_the_least_escapes)
{
    check("\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"",
          "\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    check("\"\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u001f\\u007f\"",
          "\"\\b\\t\\n\\u000b\\f\\r\\u001f\x7F\"");
    check("[ true , false , null , \"\" ]", "[true,false,null,\"\"]");
}
END_TEST

SUITE("canon", numbers_are_written_as_ecmascript_does,
      numbers_read_back_and_have_no_digit_to_spare,
      integers_keep_all_their_digits, members_are_sorted_by_utf16_units,
      large_objects_are_sorted_too, strings_have_the_least_escapes)
