/*
 * Names: the crit-bit tree against a plain search, with keys that share long
 * prefixes or differ in one bit only.
 */
#include "names.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static const char *copy(struct remat_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;

    return memcpy(remat_arena_alloc(arena, n, 1), text, n);
}

START_TEST(an_empty_tree_finds_nothing)
{
    struct remat_names names;

    memset(&names, 0, sizeof names);
    ck_assert_uint_eq(remat_names_find(&names, ""), REMAT_NONE);
    ck_assert_uint_eq(remat_names_find(&names, "x"), REMAT_NONE);
}
END_TEST

START_TEST(prefixes_and_single_bits_are_told_apart)
{
    static const char *const keys[] = {
        "a",     "aa",     "aaa",      "ab",
        "b",     "",       "A",        "add",
        "add_1", "add_10", "add_2",    "\x7f",
        "\x80",  "\xff",   "\xff\xfe", "aaaaaaaaaaaaaaaaaaaab"};
    const uint32_t n = sizeof keys / sizeof keys[0];
    struct remat_arena arena;
    struct remat_names names;

    memset(&names, 0, sizeof names);
    remat_arena_init(&arena, NULL);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_uint_eq(remat_names_find(&names, keys[i]), REMAT_NONE);
        ck_assert(remat_names_add(&arena, &names, keys[i]));
        for (uint32_t j = 0; j <= i; j++)
            ck_assert_uint_eq(remat_names_find(&names, keys[j]), j);
    }
    ck_assert_uint_eq(remat_names_find(&names, "add_"), REMAT_NONE);
    ck_assert_uint_eq(remat_names_find(&names, "aaaaaaaaaaaaaaaaaaaac"),
                      REMAT_NONE);
    remat_arena_release(&arena);
}
END_TEST

START_TEST(many_keys_keep_their_numbers)
{
    struct remat_arena arena;
    struct remat_names names;
    char text[32];

    memset(&names, 0, sizeof names);
    remat_arena_init(&arena, NULL);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "node_%u", i * 2654435761u);
        if (remat_names_find(&names, text) != REMAT_NONE)
            continue;
        ck_assert(remat_names_add(&arena, &names, copy(&arena, text)));
    }
    ck_assert_uint_eq(names.n, 20000);
    for (uint32_t i = 0; i < names.n; i++)
        ck_assert_uint_eq(remat_names_find(&names, names.keys[i]), i);
    ck_assert_uint_eq(remat_names_find(&names, "node_x"), REMAT_NONE);
    remat_arena_release(&arena);
}
END_TEST

START_TEST(no_room_is_reported)
{
    struct remat_limits limits;
    struct remat_arena arena;
    struct remat_names names;
    unsigned i = 0;

    memset(&limits, 0, sizeof limits);
    memset(&names, 0, sizeof names);
    limits.memory_bytes = 20000;
    remat_arena_init(&arena, &limits);
    for (; i < 10000; i++) {
        char *key = remat_arena_alloc(&arena, 32, 1);

        if (key == NULL)
            break;
        snprintf(key, 32, "%u", i);
        if (!remat_names_add(&arena, &names, key))
            break;
    }
    ck_assert_uint_lt(i, 10000);
    ck_assert_int_eq(arena.status, REMAT_E_LIMIT);
    remat_arena_release(&arena);
}
END_TEST

SUITE("names", an_empty_tree_finds_nothing,
      prefixes_and_single_bits_are_told_apart, many_keys_keep_their_numbers,
      no_room_is_reported)
