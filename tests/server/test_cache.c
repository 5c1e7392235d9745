/*
 * The cache of answers: what it keeps, in what order it forgets, and against a
 * simple model.
 */
#include "cache.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct srv_answer *make(size_t length, char fill)
{
    char *bytes = malloc(length + 1);

    memset(bytes, fill, length);
    bytes[length] = '\0';
    return srv_answer_new_take(bytes, length);
}

static struct srv_key key_of(unsigned number)
{
    struct srv_key key;

    memset(&key, 7, sizeof key);
    memcpy(key.bytes, &number, sizeof number);
    return key;
}

static void put(struct srv_cache *cache, unsigned number, size_t length)
{
    struct srv_answer *answer = make(length, (char)('a' + number % 26));
    const struct srv_key key = key_of(number);

    srv_cache_put(cache, &key, answer);
    srv_answer_unref(answer);
}

/* The length of what is kept under the number, 0 for nothing. */
static size_t get(struct srv_cache *cache, unsigned number)
{
    const struct srv_key key = key_of(number);
    struct srv_answer *answer = srv_cache_get(cache, &key);
    const size_t length = answer != NULL ? answer->length : 0;

    if (answer != NULL)
        ck_assert_int_eq(answer->bytes[0], 'a' + (int)(number % 26));
    srv_answer_unref(answer);
    return length;
}

START_TEST(keeps_and_replaces)
{
    struct srv_cache cache;

    ck_assert_int_eq(srv_cache_init(&cache, 1 << 20), 0);
    ck_assert_uint_eq(get(&cache, 1), 0);
    put(&cache, 1, 100);
    ck_assert_uint_eq(get(&cache, 1), 100);
    ck_assert_uint_eq(get(&cache, 2), 0);
    const size_t before = srv_cache_bytes(&cache);
    put(&cache, 1, 150);
    ck_assert_uint_eq(get(&cache, 1), 150);
    ck_assert_uint_eq(srv_cache_entries(&cache), 1);
    ck_assert_uint_eq(srv_cache_bytes(&cache), before + 50);
    srv_cache_release(&cache);
}
END_TEST

/* The one that was used last stays. */
START_TEST(forgets_the_least_recently_used)
{
    struct srv_cache cache;

    ck_assert_int_eq(srv_cache_init(&cache, 100000), 0);
    for (unsigned i = 0; i < 4; i++)
        put(&cache, i, 20000);
    ck_assert_uint_eq(srv_cache_entries(&cache), 4);
    ck_assert_uint_eq(get(&cache, 0), 20000); /* now 1 is the oldest */
    put(&cache, 4, 20000);
    ck_assert_uint_eq(get(&cache, 1), 0);
    ck_assert_uint_eq(get(&cache, 0), 20000);
    ck_assert_uint_eq(get(&cache, 4), 20000);
    ck_assert_uint_le(srv_cache_bytes(&cache), 100000);
    srv_cache_release(&cache);
}
END_TEST

START_TEST(a_quarter_is_the_most)
{
    const size_t overhead = 4096;
    struct srv_cache cache;

    ck_assert_int_eq(srv_cache_init(&cache, 1 << 20), 0);
    put(&cache, 1, (1 << 18) + 1);
    ck_assert_uint_eq(srv_cache_entries(&cache), 0);
    put(&cache, 2, (1 << 18) - overhead);
    ck_assert_uint_eq(srv_cache_entries(&cache), 1);
    srv_cache_release(&cache);
    ck_assert_int_eq(srv_cache_init(&cache, 0), 0);
    put(&cache, 1, 1);
    ck_assert_uint_eq(srv_cache_entries(&cache), 0);
    ck_assert_uint_eq(get(&cache, 1), 0);
    srv_cache_release(&cache);
}
END_TEST

/* Whoever holds an answer keeps it. */
START_TEST(held_answers_live_on)
{
    struct srv_cache cache;
    const struct srv_key key = key_of(1);

    ck_assert_int_eq(srv_cache_init(&cache, 40000), 0);
    put(&cache, 1, 9000);
    struct srv_answer *held = srv_cache_get(&cache, &key);
    for (unsigned i = 2; i < 50; i++)
        put(&cache, i, 9000);
    ck_assert_uint_eq(get(&cache, 1), 0);
    srv_cache_release(&cache);
    ck_assert_uint_eq(held->length, 9000);
    ck_assert_int_eq(held->bytes[8999], 'b');
    srv_answer_unref(held);
}
END_TEST

/* Random puts and gets against a list that is searched from end to end. Sizes
 * are equal, so that the model knows how many fit. */
START_TEST(as_a_model)
{
    enum {
        N = 300,
        FIT = 90,
        LENGTH = 1000
    };
    unsigned order[N]; /* newest first */
    size_t n = 0;
    unsigned x = 12345;
    struct srv_cache cache;

    ck_assert_int_eq(srv_cache_init(&cache, 1 << 20), 0);
    put(&cache, 0, LENGTH);
    const size_t each = srv_cache_bytes(&cache);
    srv_cache_release(&cache);
    ck_assert_int_eq(srv_cache_init(&cache, FIT * each), 0);
    for (unsigned turn = 0; turn < 30000; turn++) {
        x = x * 1664525 + 1013904223;
        const unsigned number = (x >> 12) % N;
        const int is_put = ((x >> 8) & 3) == 0;
        size_t at = 0;

        while (at < n && order[at] != number)
            at++;
        const int known = at < n;
        if (is_put)
            put(&cache, number, LENGTH);
        else
            ck_assert_uint_eq(get(&cache, number), known ? LENGTH : 0);
        if (!known && !is_put)
            continue;
        if (!known && n < FIT)
            n++;
        if (!known)
            at = n - 1;
        memmove(&order[1], &order[0], at * sizeof order[0]);
        order[0] = number;
        ck_assert_uint_eq(srv_cache_entries(&cache), n);
        ck_assert_uint_eq(srv_cache_bytes(&cache), n * each);
    }
    srv_cache_release(&cache);
}
END_TEST

START_TEST(many_entries)
{
    struct srv_cache cache;

    ck_assert_int_eq(srv_cache_init(&cache, (size_t)64 << 20), 0);
    for (unsigned i = 0; i < 50000; i++)
        put(&cache, i, 10);
    ck_assert_uint_eq(srv_cache_entries(&cache), 50000);
    ck_assert_uint_ge(cache.n_buckets, 50000);
    for (unsigned i = 0; i < 50000; i++)
        ck_assert_uint_eq(get(&cache, i), 10);
    srv_cache_release(&cache);
}
END_TEST

static void *crowd(void *context)
{
    struct srv_cache *cache = context;
    unsigned x = (unsigned)(uintptr_t)&x;

    for (unsigned turn = 0; turn < 5000; turn++) {
        x = x * 1664525 + 1013904223;
        if (((x >> 8) & 3) == 0)
            put(cache, (x >> 12) % 100, 500);
        else
            (void)get(cache, (x >> 12) % 100);
    }
    return NULL;
}

START_TEST(many_threads)
{
    pthread_t threads[4];
    struct srv_cache cache;

    ck_assert_int_eq(srv_cache_init(&cache, 50000), 0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd, &cache), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_le(srv_cache_bytes(&cache), 50000);
    srv_cache_release(&cache);
}
END_TEST

SUITE("cache", keeps_and_replaces, forgets_the_least_recently_used,
      a_quarter_is_the_most, held_answers_live_on, as_a_model, many_entries,
      many_threads)
