/*
 * test_answer.c: the compressed forms of an answer, from many threads.
 */
#include "answer.h"

#include <pthread.h>
#include <string.h>

#include "body.h"
#include "suite.h"

#define N_BYTES ((size_t)200000)

static struct srv_answer *make_answer(void)
{
    char *text = malloc(N_BYTES + 1);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < N_BYTES; i++)
        text[i] = (char)('a' + i * i % 17);
    text[N_BYTES] = '\0';
    return srv_answer_new_take(text, N_BYTES);
}

static bool compare(void *context, const char *data, size_t n_bytes)
{
    const char **rest = context;
    const bool same = memcmp(*rest, data, n_bytes) == 0;

    *rest += n_bytes;
    return same;
}

static void check_coded(const struct srv_answer *answer, enum srv_coding coding,
                        const struct srv_coded *coded)
{
    struct srv_budget budget = {.limit_bytes = 1 << 24};
    struct srv_decoder *decoder = srv_decoder_new(coding, N_BYTES, &budget);
    const char *rest = answer->bytes;

    ck_assert_uint_lt(coded->length, N_BYTES);
    ck_assert_int_eq(
        srv_decoder_feed(decoder, coded->bytes, coded->length, compare, &rest),
        SRV_DECODE_OK);
    ck_assert_int_eq(srv_decoder_end(decoder), SRV_DECODE_OK);
    ck_assert_ptr_eq(rest, answer->bytes + N_BYTES);
    srv_decoder_free(decoder);
}

struct asked {
    struct srv_answer *answer;
    const char *bytes;
};

static void *ask(void *context)
{
    struct asked *asked = context;

    asked->bytes = srv_answer_coded(asked->answer, SRV_GZIP)->bytes;
    return NULL;
}

START_TEST(test_coded_forms_are_made_once)
{
    struct srv_answer *answer = make_answer();
    struct asked asked[8];
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++) {
        asked[i] = (struct asked){answer, NULL};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &asked[i]), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_ptr_nonnull(asked[i].bytes);
        ck_assert_ptr_eq(asked[i].bytes, asked[0].bytes);
    }
    check_coded(answer, SRV_GZIP, srv_answer_coded(answer, SRV_GZIP));
    check_coded(answer, SRV_ZSTD, srv_answer_coded(answer, SRV_ZSTD));
    ck_assert_ptr_eq(srv_answer_coded(answer, SRV_GZIP)->bytes, asked[0].bytes);
    srv_answer_unref(answer);
}
END_TEST

SUITE("answer", test_coded_forms_are_made_once)
