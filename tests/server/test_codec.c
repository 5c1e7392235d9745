/*
 * test_codec.c: what is encoded decodes to the same; every limit at one less,
 * the limit and one more; damage of every kind has its name; nothing leaks.
 */
#include "codec.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "body.h"
#include "suite.h"

#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

static const enum srv_coding codings[] = {SRV_GZIP, SRV_ZSTD};

/* What came out, in a buffer that grows. */
struct sunk {
    char *data;
    size_t length;
    size_t capacity;
    size_t most; /* the sink stops beyond that; 0: never */
    size_t most_piece;
};

static bool sink(void *context, const char *data, size_t n_bytes)
{
    struct sunk *sunk = context;

    if (sunk->most > 0 && sunk->length + n_bytes > sunk->most)
        return false;
    if (n_bytes > sunk->most_piece)
        sunk->most_piece = n_bytes;
    if (sunk->length + n_bytes > sunk->capacity) {
        sunk->capacity = (sunk->length + n_bytes) * 2;
        sunk->data = realloc(sunk->data, sunk->capacity);
        ck_assert_ptr_nonnull(sunk->data);
    }
    memcpy(sunk->data + sunk->length, data, n_bytes);
    sunk->length += n_bytes;
    return true;
}

/* A stream, decoded in pieces of `piece` bytes. */
struct decoded {
    enum srv_decode_result result;
    char why[128];
    struct sunk sunk;
    size_t most_memory; /* of the decoder, by the budget */
};

static struct decoded decode_within(enum srv_coding coding, const char *data,
                                    size_t n_bytes, size_t piece, uint64_t max,
                                    size_t budget_bytes)
{
    struct srv_budget budget = {.limit_bytes = budget_bytes};
    struct decoded d = {.result = SRV_DECODE_OK};
    struct srv_decoder *decoder = srv_decoder_new(coding, max, &budget);

    ck_assert_ptr_nonnull(decoder);
    for (size_t at = 0; at < n_bytes && d.result == SRV_DECODE_OK;
         at += piece) {
        const size_t n = n_bytes - at < piece ? n_bytes - at : piece;

        d.result = srv_decoder_feed(decoder, data + at, n, sink, &d.sunk);
        if (atomic_load(&budget.used_bytes) > d.most_memory)
            d.most_memory = atomic_load(&budget.used_bytes);
    }
    if (d.result == SRV_DECODE_OK)
        d.result = srv_decoder_end(decoder);
    snprintf(d.why, sizeof d.why, "%s", srv_decoder_why(decoder));
    ck_assert((d.result == SRV_DECODE_CORRUPT) == (d.why[0] != '\0'));
    ck_assert_uint_eq(srv_decoder_out_bytes(decoder) >= d.sunk.length, 1);
    srv_decoder_free(decoder);
    ck_assert_uint_eq(atomic_load(&budget.used_bytes), 0);
    ck_assert_uint_le(d.sunk.most_piece, 64 * KIB);
    return d;
}

static struct decoded decode(enum srv_coding coding, const char *data,
                             size_t n_bytes, uint64_t max)
{
    return decode_within(coding, data, n_bytes, 4096, max, 64 * MIB);
}

/* Bytes that compress a little: six random bits each. */
static char *noise(size_t n_bytes)
{
    char *text = malloc(n_bytes + 1);
    uint64_t state = 12345;

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < n_bytes; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        text[i] = (char)(' ' + (state >> 58));
    }
    text[n_bytes] = '\0';
    return text;
}

static char *zeros(size_t n_bytes)
{
    char *text = calloc(1, n_bytes + 1);

    ck_assert_ptr_nonnull(text);
    return text;
}

/* ---- whole streams ----------------------------------------------------- */

static void round_trip(enum srv_coding coding, size_t n_bytes, size_t piece)
{
    char *text = noise(n_bytes);
    size_t n_encoded = 0;
    char *encoded = srv_encode(coding, text, n_bytes, &n_encoded);

    ck_assert_ptr_nonnull(encoded);
    struct decoded d =
        decode_within(coding, encoded, n_encoded, piece, n_bytes, 64 * MIB);
    ck_assert_msg(d.result == SRV_DECODE_OK, "%s %zu by %zu: %d %s",
                  srv_coding_name(coding), n_bytes, piece, (int)d.result,
                  d.why);
    ck_assert_uint_eq(d.sunk.length, n_bytes);
    ck_assert_int_eq(
        memcmp(d.sunk.data == NULL ? "" : d.sunk.data, text, n_bytes), 0);
    free(d.sunk.data);
    free(encoded);
    free(text);
}

START_TEST(test_round_trips)
{
    static const size_t sizes[] = {0, 1, 1000, 65535, 65536, 65537, 300000};
    static const size_t pieces[] = {1, 7, 4096, 10000000};

    for (size_t c = 0; c < 2; c++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++)
                round_trip(codings[c], sizes[s], pieces[p]);
        }
    }
}
END_TEST

START_TEST(test_same_bytes_every_time)
{
    char *text = noise(100000);

    for (size_t c = 0; c < 2; c++) {
        size_t n[2] = {0, 0};
        char *encoded[2];

        for (size_t i = 0; i < 2; i++)
            encoded[i] = srv_encode(codings[c], text, 100000, &n[i]);
        ck_assert_uint_eq(n[0], n[1]);
        ck_assert_uint_lt(n[0], 100000);
        ck_assert_int_eq(memcmp(encoded[0], encoded[1], n[0]), 0);
        free(encoded[0]);
        free(encoded[1]);
    }
    free(text);
}
END_TEST

/* Two copies of a stream, one behind the other, in one buffer. */
static char *twice(const char *data, size_t n_bytes)
{
    char *both = malloc(2 * n_bytes + 16);

    ck_assert_ptr_nonnull(both);
    memcpy(both, data, n_bytes);
    memcpy(both + n_bytes, data, n_bytes);
    return both;
}

START_TEST(test_several_members)
{
    char *text = noise(1000);

    for (size_t c = 0; c < 2; c++) {
        size_t n = 0;
        char *one = srv_encode(codings[c], text, 1000, &n);
        char *both = twice(one, n);

        for (size_t piece = 1; piece <= 2 * n; piece += 13) {
            struct decoded d =
                decode_within(codings[c], both, 2 * n, piece, 2000, 64 * MIB);

            ck_assert_int_eq(d.result, SRV_DECODE_OK);
            ck_assert_uint_eq(d.sunk.length, 2000);
            ck_assert_int_eq(memcmp(d.sunk.data + 1000, text, 1000), 0);
            free(d.sunk.data);
        }
        free(both);
        free(one);
    }
    free(text);
}
END_TEST

START_TEST(test_zstd_skips_what_is_to_be_skipped)
{
    static const char skip[] = "\x53\x2a\x4d\x18\x03\x00\x00\x00xyz";
    char stream[256];
    size_t n = 0;
    char *frame = srv_encode(SRV_ZSTD, "hello", 5, &n);

    memcpy(stream, skip, 11);
    memcpy(stream + 11, frame, n);
    memcpy(stream + 11 + n, skip, 11);
    struct decoded d = decode(SRV_ZSTD, stream, n + 22, 5);
    ck_assert_int_eq(d.result, SRV_DECODE_OK);
    ck_assert_uint_eq(d.sunk.length, 5);
    free(d.sunk.data);
    free(frame);
}
END_TEST

/* ---- limits ------------------------------------------------------------ */

START_TEST(test_limit_of_bytes)
{
    const size_t limit = 200000;

    for (size_t c = 0; c < 2; c++) {
        for (size_t size = limit - 1; size <= limit + 1; size++) {
            char *text = noise(size);
            size_t n = 0;
            char *encoded = srv_encode(codings[c], text, size, &n);
            struct decoded d = decode(codings[c], encoded, n, limit);

            ck_assert_int_eq(d.result, size <= limit ? SRV_DECODE_OK
                                                     : SRV_DECODE_TOO_LARGE);
            ck_assert_uint_le(d.sunk.length, limit);
            free(d.sunk.data);
            free(encoded);
            free(text);
        }
    }
}
END_TEST

/* The first MiB may compress however well; one more byte of zeros is far
 * beyond 100:1. */
START_TEST(test_ratio_begins_at_a_mebibyte)
{
    for (size_t c = 0; c < 2; c++) {
        for (size_t size = MIB - 1; size <= MIB + 1; size++) {
            char *text = zeros(size);
            size_t n = 0;
            char *encoded = srv_encode(codings[c], text, size, &n);
            struct decoded d = decode(codings[c], encoded, n, 64 * MIB);

            ck_assert_int_eq(d.result, size <= MIB ? SRV_DECODE_OK
                                                   : SRV_DECODE_RATIO_TOO_HIGH);
            ck_assert_uint_le(d.sunk.length, MIB);
            free(d.sunk.data);
            free(encoded);
            free(text);
        }
    }
}
END_TEST

/* A frame of raw and run-length blocks, whose ratio can be set to the byte:
 * n_raw bytes as they are, then blocks of 4 bytes that stand for more. */
static size_t put_block(char *at, unsigned type, size_t size, bool last)
{
    const size_t header = size << 3 | type << 1 | (last ? 1 : 0);

    at[0] = (char)(header & 255);
    at[1] = (char)(header >> 8 & 255);
    at[2] = (char)(header >> 16 & 255);
    return 3;
}

static size_t make_frame(char *at, size_t n_raw, size_t n_run)
{
    static const char head[] = "\x28\xb5\x2f\xfd\x00\x58"; /* window 2 MiB */
    size_t n = sizeof head - 1;

    memcpy(at, head, n);
    n += put_block(at + n, 0, n_raw, false);
    memset(at + n, 'x', n_raw);
    n += n_raw;
    while (n_run > 0) {
        const size_t part = n_run < 100000 ? n_run : 100000;

        n += put_block(at + n, 1, part, n_run == part);
        at[n++] = 'y';
        n_run -= part;
    }
    return n;
}

START_TEST(test_ratio_to_the_byte)
{
    static char frame[70000];
    const size_t n_run = 2000000;
    /* 6 bytes head, 3 of the raw block's, 4 for each of 20 runs. */
    const size_t n_raw = 20000;
    const size_t n_in = 6 + 3 + n_raw + 80;
    const size_t n_most = n_in * 100 - n_raw; /* run bytes at 100:1 */

    ck_assert_uint_lt(n_most, n_run);
    for (size_t extra = 0; extra < 3; extra++) {
        const size_t n_out = n_most - 1 + extra;
        const size_t n = make_frame(frame, n_raw, n_out);

        ck_assert_uint_eq(n, n_in);
        struct decoded d =
            decode_within(SRV_ZSTD, frame, n, n, 64 * MIB, 64 * MIB);
        ck_assert_msg(
            d.result == (extra < 2 ? SRV_DECODE_OK : SRV_DECODE_RATIO_TOO_HIGH),
            "%zu: %d %s", extra, (int)d.result, d.why);
        free(d.sunk.data);
    }
}
END_TEST

START_TEST(test_bombs_stay_small)
{
    char *text = zeros(8 * MIB);

    for (size_t c = 0; c < 2; c++) {
        size_t n = 0;
        char *bomb = srv_encode(codings[c], text, 8 * MIB, &n);
        struct decoded d = decode(codings[c], bomb, n, 1024 * MIB);

        ck_assert_int_eq(d.result, SRV_DECODE_RATIO_TOO_HIGH);
        ck_assert_uint_le(d.sunk.length, 100 * n + MIB);
        ck_assert_uint_le(d.most_memory, 9 * MIB);
        free(d.sunk.data);
        free(bomb);
    }
    free(text);
}
END_TEST

/* A frame header that asks for a window of 2^log bytes, and nothing in it. */
static size_t window_frame(char *at, int log)
{
    static const char head[] = "\x28\xb5\x2f\xfd\x00";

    memcpy(at, head, 5);
    at[5] = (char)((log - 10) << 3);
    return 6 + put_block(at + 6, 0, 0, true);
}

START_TEST(test_window)
{
    char frame[16];

    for (int log = SRV_ZSTD_WINDOW_LOG - 1; log <= 31; log++) {
        const size_t n = window_frame(frame, log);
        struct decoded d = decode(SRV_ZSTD, frame, n, MIB);

        if (log <= SRV_ZSTD_WINDOW_LOG) {
            ck_assert_int_eq(d.result, SRV_DECODE_OK);
        } else {
            ck_assert_int_eq(d.result, SRV_DECODE_CORRUPT);
            ck_assert_ptr_nonnull(strstr(d.why, "8 MiB"));
        }
        ck_assert_uint_le(d.most_memory, 9 * MIB);
    }
}
END_TEST

START_TEST(test_budget)
{
    struct srv_budget none = {.limit_bytes = 1000};
    char frame[16];
    const size_t n = window_frame(frame, SRV_ZSTD_WINDOW_LOG);

    ck_assert_ptr_null(srv_decoder_new(SRV_GZIP, MIB, &none));
    ck_assert_ptr_null(srv_decoder_new(SRV_ZSTD, MIB, &none));
    ck_assert_uint_eq(atomic_load(&none.used_bytes), 0);
    struct decoded d = decode_within(SRV_ZSTD, frame, n, n, MIB, MIB);
    ck_assert_int_eq(d.result, SRV_DECODE_NO_ROOM);
}
END_TEST

START_TEST(test_sink_stops)
{
    char *text = noise(300000);

    for (size_t c = 0; c < 2; c++) {
        struct srv_budget budget = {.limit_bytes = 64 * MIB};
        struct srv_decoder *decoder = srv_decoder_new(codings[c], MIB, &budget);
        struct sunk sunk = {.most = 100000};
        size_t n = 0;
        char *encoded = srv_encode(codings[c], text, 300000, &n);

        ck_assert_int_eq(srv_decoder_feed(decoder, encoded, n, sink, &sunk),
                         SRV_DECODE_STOPPED);
        ck_assert_uint_le(sunk.length, 100000);
        srv_decoder_free(decoder);
        free(sunk.data);
        free(encoded);
    }
    free(text);
}
END_TEST

START_TEST(test_most_in_covers_stored_bytes)
{
    static const size_t sizes[] = {0, 1, 100000, 5000000};
    uint64_t state = 99;

    for (size_t s = 0; s < 4; s++) {
        char *text = malloc(sizes[s] + 1);

        for (size_t i = 0; i < sizes[s]; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            text[i] = (char)(state >> 56);
        }
        for (size_t c = 0; c < 2; c++) {
            size_t n = 0;
            char *encoded = srv_encode(codings[c], text, sizes[s], &n);

            ck_assert_uint_le(n, srv_decode_most_in(sizes[s]));
            free(encoded);
        }
        free(text);
    }
    ck_assert_uint_eq(srv_decode_most_in(UINT64_MAX), UINT64_MAX);
}
END_TEST

/* ---- damage ------------------------------------------------------------ */

static void expect_corrupt(enum srv_coding coding, const char *data,
                           size_t n_bytes, const char *why)
{
    for (size_t piece = 1; piece <= 64; piece += 63) {
        struct decoded d =
            decode_within(coding, data, n_bytes, piece, MIB, 64 * MIB);

        ck_assert_msg(d.result == SRV_DECODE_CORRUPT, "%s %s: %d",
                      srv_coding_name(coding), why, (int)d.result);
        ck_assert_msg(strstr(d.why, why) != NULL, "%s: %s, not %s",
                      srv_coding_name(coding), d.why, why);
        free(d.sunk.data);
    }
}

START_TEST(test_every_cut_is_noticed)
{
    char *text = noise(500);

    for (size_t c = 0; c < 2; c++) {
        size_t n = 0;
        char *encoded = srv_encode(codings[c], text, 500, &n);

        expect_corrupt(codings[c], encoded, 0, "empty");
        for (size_t cut = 1; cut < n; cut++)
            expect_corrupt(codings[c], encoded, cut, "too early");
        free(encoded);
    }
    free(text);
}
END_TEST

START_TEST(test_bytes_behind_the_end)
{
    static const char *const tails[] = {"{", "\n", "xyzzy xyzzy", "PK\3\4"};
    char *text = noise(500);
    char stream[2000];

    for (size_t c = 0; c < 2; c++) {
        size_t n = 0;
        char *encoded = srv_encode(codings[c], text, 500, &n);

        memcpy(stream, encoded, n);
        for (size_t i = 0; i < 4; i++) {
            memcpy(stream + n, tails[i], strlen(tails[i]) + 1);
            /* One byte may be the beginning of another member of gzip. */
            if (codings[c] == SRV_ZSTD || strlen(tails[i]) > 1)
                expect_corrupt(codings[c], stream, n + strlen(tails[i]),
                               "follow its end");
            else
                expect_corrupt(codings[c], stream, n + 1, "too early");
        }
        memset(stream + n, 0, 512); /* as tar pads */
        expect_corrupt(codings[c], stream, n + 512, "follow its end");
        free(encoded);
    }
    free(text);
}
END_TEST

START_TEST(test_other_formats)
{
    static const char zlib_stream[] = "\x78\x9c\x03\x00\x00\x00\x00\x01";
    static const char old_zstd[] = "\x27\xb5\x2f\xfd\x00\x58\x01\x00\x00";

    expect_corrupt(SRV_GZIP, "{\"schema\":1}", 12, "does not begin");
    expect_corrupt(SRV_ZSTD, "{\"schema\":1}", 12, "does not begin");
    expect_corrupt(SRV_GZIP, zlib_stream, 8, "does not begin");
    expect_corrupt(SRV_ZSTD, zlib_stream, 8, "does not begin");
    expect_corrupt(SRV_ZSTD, old_zstd, 9, "does not begin");
    expect_corrupt(SRV_ZSTD, "\x28\xb5\x2f\xfc\x00\x58\x01\x00\x00", 9,
                   "does not begin");
}
END_TEST

START_TEST(test_gzip_checksum)
{
    char *text = noise(500);
    size_t n = 0;
    char *encoded = srv_encode(SRV_GZIP, text, 500, &n);

    encoded[n - 8] = (char)(encoded[n - 8] ^ 1);
    expect_corrupt(SRV_GZIP, encoded, n, "checksum");
    encoded[n - 8] = (char)(encoded[n - 8] ^ 1);
    encoded[n - 1] = (char)(encoded[n - 1] ^ 1);
    expect_corrupt(SRV_GZIP, encoded, n, "checksum");
    free(encoded);
    free(text);
}
END_TEST

START_TEST(test_zstd_checksum)
{
    char *text = noise(500);
    char encoded[1000];
    ZSTD_CCtx *c = ZSTD_createCCtx();

    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    const size_t n = ZSTD_compress2(c, encoded, sizeof encoded, text, 500);
    ck_assert(!ZSTD_isError(n));
    encoded[n - 1] = (char)(encoded[n - 1] ^ 1);
    expect_corrupt(SRV_ZSTD, encoded, n, "checksum");
    ZSTD_freeCCtx(c);
    free(text);
}
END_TEST

/* Whatever a flipped bit does, it ends, within the limits. */
START_TEST(test_every_flipped_bit)
{
    char *text = noise(300);

    for (size_t c = 0; c < 2; c++) {
        size_t n = 0;
        char *encoded = srv_encode(codings[c], text, 300, &n);
        unsigned n_corrupt = 0;

        for (size_t bit = 0; bit < 8 * n; bit++) {
            encoded[bit / 8] = (char)(encoded[bit / 8] ^ 1 << bit % 8);
            struct decoded d = decode(codings[c], encoded, n, 4096);

            n_corrupt += d.result == SRV_DECODE_CORRUPT;
            ck_assert_uint_le(d.sunk.length, 4096);
            free(d.sunk.data);
            encoded[bit / 8] = (char)(encoded[bit / 8] ^ 1 << bit % 8);
        }
        if (codings[c] == SRV_GZIP) /* all but harmless bits of its head */
            ck_assert_uint_gt(n_corrupt, 8 * (n - 10));
        free(encoded);
    }
    free(text);
}
END_TEST

SUITE("codec", test_round_trips, test_same_bytes_every_time,
      test_several_members, test_zstd_skips_what_is_to_be_skipped,
      test_limit_of_bytes, test_ratio_begins_at_a_mebibyte,
      test_ratio_to_the_byte, test_bombs_stay_small, test_window, test_budget,
      test_sink_stops, test_most_in_covers_stored_bytes,
      test_every_cut_is_noticed, test_bytes_behind_the_end, test_other_formats,
      test_gzip_checksum, test_zstd_checksum, test_every_flipped_bit)
