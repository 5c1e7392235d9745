/*
 * test_negotiate.c: which coding a body is in, which one an answer gets, and
 * which documents a client has already.
 */
#include "negotiate.h"

#include "suite.h"

START_TEST(test_content_encodings)
{
    static const struct {
        const char *header;
        int coding; /* -1: none */
    } cases[] = {
        {"gzip", SRV_GZIP}, {"GZip", SRV_GZIP}, {"x-gzip", SRV_GZIP},
        {"zstd", SRV_ZSTD}, {"ZSTD", SRV_ZSTD}, {"identity", SRV_IDENTITY},
        {"", -1},           {"deflate", -1},    {"br", -1},
        {"gzip, gzip", -1}, {"gzip,zstd", -1},  {"gzip;q=1", -1},
        {"gzipp", -1},      {"gzi", -1},        {"identity, gzip", -1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum srv_coding coding = SRV_N_CODINGS;
        const bool ok = srv_coding_parse(cases[i].header, &coding);

        ck_assert_msg(ok == (cases[i].coding >= 0) &&
                          (!ok || (int)coding == cases[i].coding),
                      "%s", cases[i].header);
    }
}
END_TEST

START_TEST(test_accept_encoding)
{
    static const struct {
        const char *header; /* NULL: none */
        size_t n_bytes;
        enum srv_coding coding;
    } cases[] = {
        {NULL, 5000, SRV_IDENTITY},
        {"", 5000, SRV_IDENTITY},
        {"gzip", 5000, SRV_GZIP},
        {"gzip", 1024, SRV_GZIP},
        {"gzip", 1023, SRV_IDENTITY},
        {"GZIP", 5000, SRV_GZIP},
        {"x-gzip", 5000, SRV_GZIP},
        {"zstd", 5000, SRV_ZSTD},
        {"gzip, zstd", 5000, SRV_ZSTD},
        {"gzip, deflate, br, zstd", 5000, SRV_ZSTD},
        {"gzip;q=1, zstd;q=0.9", 5000, SRV_GZIP},
        {"gzip;q=0.001", 5000, SRV_GZIP},
        {"gzip;q=0.5, identity", 5000, SRV_IDENTITY},
        {"gzip;q=0.5, identity;q=0.5", 5000, SRV_GZIP},
        {"gzip;q=0, zstd;q=0", 5000, SRV_IDENTITY},
        {"br, deflate", 5000, SRV_IDENTITY},
        {"*", 5000, SRV_ZSTD},
        {"*;q=0.5, gzip", 5000, SRV_GZIP},
        {"zstd;q=0, *", 5000, SRV_GZIP},
        {"*;q=0", 5000, SRV_N_CODINGS},
        {"*;q=0, gzip", 5000, SRV_GZIP},
        {"*;q=0, gzip", 10, SRV_GZIP},
        {"*;q=0, identity", 5000, SRV_IDENTITY},
        {"identity;q=0", 5000, SRV_N_CODINGS},
        {"identity;q=0, gzip", 10, SRV_GZIP},
        {"identity;q=0, br", 10, SRV_N_CODINGS},
        {"identity", 5000, SRV_IDENTITY},
        {"gzip ; q = 0.2 , zstd ; q = 0.1", 5000, SRV_GZIP},
        {",,gzip,,", 5000, SRV_GZIP},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct srv_codings wanted;

        srv_codings_init(&wanted);
        if (cases[i].header != NULL)
            srv_codings_add(&wanted, cases[i].header);
        const enum srv_coding got = srv_codings_best(&wanted, cases[i].n_bytes);
        ck_assert_msg(got == cases[i].coding, "%s, %zu: %d", cases[i].header,
                      cases[i].n_bytes, (int)got);
    }
}
END_TEST

START_TEST(test_if_none_match)
{
    static const struct {
        const char *header;
        bool matches;
    } cases[] = {{"\"abc\"", true},
                 {"\"abc-gzip\"", true},
                 {"\"abc-zstd\"", true},
                 {"W/\"abc\"", true},
                 {"W/\"abc-gzip\"", true},
                 {"*", true},
                 {"\"x\", \"abc\"", true},
                 {"\"x,\",W/\"abc-zstd\" ", true},
                 {"\"abc-br\"", false},
                 {"\"ab\"", false},
                 {"\"abcd\"", false},
                 {"abc", false},
                 {"\"abc", false},
                 {"", false},
                 {"\"abc-gzip-gzip\"", false},
                 {"\"*\"", false},
                 {"w/\"abc\"", false},
                 {"\"x, abc\"", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(srv_etag_matches(cases[i].header, "abc") ==
                          cases[i].matches,
                      "%s", cases[i].header);
    ck_assert(!srv_etag_matches("*", "")); /* there is no such document */
}
END_TEST

SUITE("negotiate", test_content_encodings, test_accept_encoding,
      test_if_none_match)
