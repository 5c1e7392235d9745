/*
 * The report as a page: words escaped for where they stand, equal bytes for
 * equal requests, the fragment a part of the file, limits, and every allocation
 * failing once.
 */
#include "budget.h"
#include "documents.h"
#include "html.h"
#include "page_blocks.h"
#include "suite.h"

static struct proto_answer page_of(const char *body, const char *options,
                                   enum proto_report_style style)
{
    struct proto_request request = {
        .body = body, .length = strlen(body), .options = options};
    struct proto_answer answer;
    struct proto_env env;

    env_init(&env);
    proto_report(&env, &request, style, &answer);
    return answer;
}

/* ---- words ---- */

typedef void write_words(struct proto_text *text, const char *words);

static void check_words(write_words *write, const char *words,
                        const char *wanted)
{
    struct proto_text text;
    char *written;

    proto_text_init(&text, NULL);
    write(&text, words);
    written = proto_text_take(&text, NULL);
    ck_assert_str_eq(written, wanted);
    proto_free(written);
}

START_TEST(words_stay_words)
{
    static const struct {
        write_words *write;
        const char *words;
        const char *wanted;
    } cases[] = {
        {proto_html_words, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {proto_html_words, "\x01\n\x7F", "&#x2401;&#x240A;\xE2\x90\xA1"},
        {proto_html_words, "\xC2\x85\xFF\xEF\xBF\xBE",
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {proto_html_words, "\xE2\x80\xAE\xE2\x81\xA6", /* U+202E, U+2066 */
         "&lt;U+202E&gt;&lt;U+2066&gt;"},
        {proto_html_words, "\xC3\xA9\xF0\x9F\x98\x80",
         "\xC3\xA9\xF0\x9F\x98\x80"},
        {proto_html_name, "", "<bdi></bdi>"},
        {proto_html_attribute, "a\r\"'<&>\x01z",
         "a&#13;&#34;&#39;&#60;&#38;&#62;\x01z"},
        {proto_html_quote, "</script>&\"\\\xE2\x80\xA8x\xE2\x80\xA9\n",
         "\"\\u003c/script\\u003e\\u0026\\\"\\\\\\u2028x\\u2029\\n\""},
        {proto_html_quote, "", "\"\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_words(cases[i].write, cases[i].words, cases[i].wanted);
}
END_TEST

START_TEST(long_names_are_cut_between_characters)
{
    char words[2 * PROTO_HTML_SHOWN + 3] = "";
    char wanted[2 * PROTO_HTML_SHOWN + 32];

    for (int i = 0; i < PROTO_HTML_SHOWN; i++)
        memcpy(words + 2 * i, "\xC3\xA9", 3);
    snprintf(wanted, sizeof(wanted), "<bdi>%s</bdi>", words);
    check_words(proto_html_name, words, wanted);
    memcpy(words + 2 * PROTO_HTML_SHOWN, "a", 2);
    memcpy(strstr(wanted, "</bdi>"), "\xE2\x80\xA6</bdi>", 10);
    check_words(proto_html_name, words, wanted);
}
END_TEST

typedef void write_amount(struct proto_text *text, int64_t amount);

static void check_amount(write_amount *write, int64_t amount,
                         const char *wanted)
{
    struct proto_text text;
    char *written;

    proto_text_init(&text, NULL);
    write(&text, amount);
    written = proto_text_take(&text, NULL);
    ck_assert_str_eq(written, wanted);
    proto_free(written);
}

START_TEST(amounts_are_read_easily)
{
    check_amount(proto_html_count, 0, "0");
    check_amount(proto_html_count, 999, "999");
    check_amount(proto_html_count, 1000, "1,000");
    check_amount(proto_html_count, -123456, "-123,456");
    check_amount(proto_html_count, INT64_MIN, "-9,223,372,036,854,775,808");
    check_amount(proto_html_size, 0, "0 B");
    check_amount(proto_html_size, 1023, "1023 B");
    check_amount(proto_html_size, 1024, "1.00 KiB");
    check_amount(proto_html_size, 10 * 1024, "10.0 KiB");
    check_amount(proto_html_size, 1050673152, "1002 MiB");
    check_amount(proto_html_size, INT64_MAX, "8.00 EiB");
    check_amount(proto_html_size, INT64_MIN,
                 "\xE2\x88\x92"
                 "8.00 EiB");
    check_amount(proto_html_flops, 1500, "1.50 KFLOP");
    check_amount(proto_html_flops, INT64_C(9300000000000), "9.30 TFLOP");
}
END_TEST

/* ---- repetitions ---- */

static void check_parts(const uint32_t *kinds, uint32_t n, uint32_t n_parts,
                        const uint32_t *wanted)
{
    struct remat_job *job = remat_job_new(NULL);
    uint32_t part[64];

    ck_assert_uint_eq(proto_repeats_find(job, kinds, n, part), n_parts);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(part[i], wanted[i]);
    remat_job_free(job);
}

START_TEST(repetitions_are_found)
{
    uint32_t kinds[40];
    uint32_t wanted[40];

    for (uint32_t i = 0; i < 40; i++) {
        kinds[i] = i < 3 ? 100 + i : i < 33 ? (i - 3) % 10 : 200 + i;
        wanted[i] = i < 3 ? 0 : i < 33 ? 1 + (i - 3) / 10 : 4;
    }
    check_parts(kinds, 40, 5, wanted);
    for (uint32_t i = 0; i < 24; i++) {
        kinds[i] = i;
        wanted[i] = i / 2;
    }
    check_parts(kinds, 24, 12, wanted);
    wanted[0] = 0;
    check_parts(kinds, 1, 1, wanted);
}
END_TEST

/* ---- pages ---- */

static const char *const names[] = {"gpt2_4l_1", "dropout_ac", "moe", "unet"};

START_TEST(the_fragment_is_a_part_of_the_file)
{
    proto_start();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *body = read_corpus(names[i], NULL);
        struct proto_answer file = page_of(body, NULL, PROTO_REPORT_FILE);
        struct proto_answer again = page_of(body, NULL, PROTO_REPORT_FILE);
        struct proto_answer part = page_of(body, NULL, PROTO_REPORT_FRAGMENT);

        ck_assert_msg(file.body != NULL, "%s", file.problem.detail);
        ck_assert_int_eq(file.result, PROTO_PLAN);
        ck_assert_str_eq(file.outcome, "plan");
        ck_assert_str_eq(file.body, again.body);
        ck_assert_uint_eq(file.length, strlen(file.body));
        ck_assert_ptr_nonnull(strstr(file.body, part.body));
        ck_assert_int_eq(strncmp(part.body, "<main id=\"report\">", 18), 0);
        ck_assert_ptr_null(strstr(part.body, "<script>"));
        ck_assert_ptr_null(strstr(part.body, "<style"));
        ck_assert_ptr_nonnull(strstr(part.body, part.digest));
        proto_answer_release(&file);
        proto_answer_release(&again);
        proto_answer_release(&part);
        free(body);
    }
}
END_TEST

START_TEST(a_graph_without_a_plan_has_a_page)
{
    char *body = read_case("G01", NULL);
    struct proto_answer answer;

    proto_start();
    answer = page_of(body, NULL, PROTO_REPORT_FRAGMENT);
    ck_assert_int_eq(answer.result, PROTO_NO_PLAN);
    ck_assert_str_eq(answer.outcome, "infinite_flow");
    ck_assert_ptr_nonnull(strstr(answer.body, "id=\"conflicts\""));
    ck_assert_ptr_null(strstr(answer.body, "id=\"saved\""));
    proto_answer_release(&answer);
    free(body);
}
END_TEST

START_TEST(memory_has_a_limit)
{
    char *body = read_corpus("gpt2_4l_1", NULL);
    struct proto_request request = {.body = body, .length = strlen(body)};
    struct proto_answer answer;
    struct proto_env env;

    proto_start();
    env_init(&env);
    proto_report(&env, &request, PROTO_REPORT_FILE, &answer);
    ck_assert_int_eq(answer.result, PROTO_PLAN);
    env.limits.memory_bytes = answer.memory_bytes - 1;
    proto_answer_release(&answer);
    proto_report(&env, &request, PROTO_REPORT_FILE, &answer);
    ck_assert_int_eq(answer.problem.kind, PROTO_TOO_LARGE);
    ck_assert_ptr_null(answer.body);
    proto_answer_release(&answer);
    free(body);
}
END_TEST

/* Fails allocation k of a request, for a spread of them. */
static void fail_each(const char *body, const char *options)
{
    struct proto_answer answer;
    uint64_t n;

    proto_fail_at = UINT64_MAX;
    answer = page_of(body, options, PROTO_REPORT_FRAGMENT);
    n = UINT64_MAX - proto_fail_at;
    proto_fail_at = 0;
    ck_assert_ptr_nonnull(answer.body);
    proto_answer_release(&answer);
    ck_assert_uint_gt(n, 10);
    for (uint64_t k = 1; k <= n; k += n / 200 + 1) {
        proto_fail_at = k;
        answer = page_of(body, options, PROTO_REPORT_FRAGMENT);
        ck_assert_uint_eq(proto_fail_at, 0);
        ck_assert_msg(answer.problem.kind == PROTO_OUT_OF_MEMORY,
                      "allocation %llu: %s", (unsigned long long)k,
                      answer.problem.detail);
        ck_assert_ptr_null(answer.body);
        proto_answer_release(&answer);
    }
}

START_TEST(pages_survive_every_failure)
{
    char *real = read_corpus("dropout_ac", NULL);
    char *conflict = read_case("G01", NULL);

    proto_start();
    fail_each(SMALL_GRAPH(Y_ARGS, "\"name\":\"tiny\","), NULL);
    fail_each(real, NULL);
    fail_each(conflict, NULL);
    fail_each("{\"base\":" SMALL_GRAPH(
                  Y_ARGS, "") ",\"what_if\":{\"tags\":{\"x\":\"must_save\"}}}",
              NULL);
    fail_each("{\"Memory Budget\":0.5,\"Joint Graph Edges\":{\"Edges\":"
              "[[\"a\",\"b\"]]}}",
              NULL);
    free(real);
    free(conflict);
}
END_TEST

START_TEST(assets_are_there)
{
    size_t n;
    const struct proto_asset *assets;

    proto_start();
    assets = proto_assets(&n);
    ck_assert_uint_ge(n, 4);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_gt(assets[i].length, 0);
        ck_assert_int_eq(assets[i].bytes[assets[i].length], '\0');
        ck_assert_uint_eq(strlen(assets[i].bytes), assets[i].length);
        ck_assert(strstr(assets[i].name, ".css") != NULL
                      ? strncmp(assets[i].type, "text/css", 8) == 0
                      : strncmp(assets[i].type, "text/javascript", 15) == 0);
    }
}
END_TEST

SUITE("page", words_stay_words, long_names_are_cut_between_characters,
      amounts_are_read_easily, repetitions_are_found,
      the_fragment_is_a_part_of_the_file, a_graph_without_a_plan_has_a_page,
      memory_has_a_limit, pages_survive_every_failure, assets_are_there)
