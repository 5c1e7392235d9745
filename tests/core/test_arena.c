/*
 * Arena: alignment, zeroing, marks, limits, and that every chunk goes back.
 */
#include "arena.h"
#include "suite.h"

#include <stdint.h>
#include <string.h>

struct account {
    size_t n_bytes; /* handed out and not yet back */
    size_t n_chunks;
    size_t n_calls;
    size_t fail_at; /* refuse the call of this number; 0: none */
};

static void *count_allocate(void *context, size_t n_bytes)
{
    struct account *account = context;
    void *memory;

    if (++account->n_calls == account->fail_at)
        return NULL;
    memory = malloc(n_bytes);
    if (memory != NULL) {
        memset(memory, 0xa5, n_bytes);
        account->n_bytes += n_bytes;
        account->n_chunks++;
    }
    return memory;
}

static void count_release(void *context, void *chunk, size_t n_bytes)
{
    struct account *account = context;

    account->n_bytes -= n_bytes;
    account->n_chunks--;
    free(chunk);
}

static void counted(struct remat_arena *arena, struct account *account,
                    size_t limit_bytes)
{
    struct remat_limits limits;

    memset(&limits, 0, sizeof limits);
    limits.memory_bytes = limit_bytes;
    limits.context = account;
    limits.allocate = count_allocate;
    limits.release = count_release;
    remat_arena_init(arena, &limits);
}

START_TEST(memory_is_zeroed_and_aligned)
{
    struct account account = {0};
    struct remat_arena arena;

    counted(&arena, &account, 0);
    for (size_t n = 0; n < 200; n++) {
        unsigned char *memory = remat_arena_alloc(&arena, n, 3);

        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < 3 * n; i++)
            ck_assert_uint_eq(memory[i], 0);
        if (n > 0)
            memset(memory, 0xff, 3 * n);
    }
    ck_assert_uint_eq(arena.n_bytes, account.n_bytes);
    remat_arena_release(&arena);
    ck_assert_uint_eq(account.n_bytes, 0);
    ck_assert_uint_eq(account.n_chunks, 0);
}
END_TEST

START_TEST(memory_reused_after_a_rewind_is_zeroed_again)
{
    struct remat_arena arena;
    struct remat_mark mark;
    char *first;
    char *again;

    remat_arena_init(&arena, NULL);
    ck_assert_ptr_nonnull(remat_arena_alloc(&arena, 1, 16));
    mark = remat_arena_mark(&arena);
    first = remat_arena_alloc(&arena, 64, 1);
    memset(first, 'x', 64);
    remat_arena_rewind(&arena, mark);
    again = remat_arena_alloc(&arena, 64, 1);
    ck_assert_ptr_eq(first, again);
    for (size_t i = 0; i < 64; i++)
        ck_assert_int_eq(again[i], 0);
    remat_arena_release(&arena);
}
END_TEST

START_TEST(rewinding_gives_newer_chunks_back)
{
    struct account account = {0};
    struct remat_arena arena;
    struct remat_mark mark;
    size_t n_bytes;

    counted(&arena, &account, 0);
    ck_assert_ptr_nonnull(remat_arena_alloc(&arena, 10, 1));
    mark = remat_arena_mark(&arena);
    n_bytes = account.n_bytes;
    for (size_t i = 0; i < 50; i++)
        ck_assert_ptr_nonnull(remat_arena_alloc(&arena, 10000, 1));
    ck_assert_uint_gt(account.n_chunks, 1);
    remat_arena_rewind(&arena, mark);
    ck_assert_uint_eq(account.n_bytes, n_bytes);
    ck_assert_uint_eq(arena.n_bytes, n_bytes);
    remat_arena_release(&arena);
    ck_assert_uint_eq(account.n_bytes, 0);
}
END_TEST

START_TEST(an_empty_arena_rewinds_to_nothing)
{
    struct account account = {0};
    struct remat_arena arena;
    struct remat_mark mark;

    counted(&arena, &account, 0);
    mark = remat_arena_mark(&arena);
    ck_assert_ptr_nonnull(remat_arena_alloc(&arena, 1, 1));
    remat_arena_rewind(&arena, mark);
    ck_assert_uint_eq(account.n_chunks, 0);
    ck_assert_ptr_nonnull(remat_arena_alloc(&arena, 1, 1));
    remat_arena_release(&arena);
    ck_assert_uint_eq(account.n_chunks, 0);
}
END_TEST

START_TEST(the_limit_is_never_passed_and_sticks)
{
    for (size_t limit = 1; limit < 200000; limit += 997) {
        struct account account = {0};
        struct remat_arena arena;

        counted(&arena, &account, limit);
        while (remat_arena_alloc(&arena, 100, 8) != NULL)
            ck_assert_uint_le(account.n_bytes, limit);
        ck_assert_int_eq(arena.status, REMAT_E_LIMIT);
        ck_assert_ptr_null(remat_arena_alloc(&arena, 1, 1));
        ck_assert_uint_le(account.n_bytes, limit);
        remat_arena_release(&arena);
        ck_assert_uint_eq(account.n_bytes, 0);
    }
}
END_TEST

START_TEST(the_limit_can_be_used_almost_to_the_end)
{
    struct account account = {0};
    struct remat_arena arena;
    size_t n = 0;

    counted(&arena, &account, 100000);
    while (remat_arena_alloc(&arena, 16, 1) != NULL)
        n++;
    ck_assert_uint_gt(n * 16, 98000);
    remat_arena_release(&arena);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
    struct remat_arena arena;

    remat_arena_init(&arena, NULL);
    ck_assert_ptr_null(remat_arena_alloc(&arena, SIZE_MAX / 2, 3));
    ck_assert_int_eq(arena.status, REMAT_E_LIMIT);
    remat_arena_release(&arena);
    remat_arena_init(&arena, NULL);
    ck_assert_ptr_null(remat_arena_alloc(&arena, SIZE_MAX, 1));
    ck_assert_int_eq(arena.status, REMAT_E_LIMIT);
    remat_arena_release(&arena);
}
END_TEST

START_TEST(a_refusing_allocator_is_reported)
{
    struct account account = {.fail_at = 2};
    struct remat_arena arena;

    counted(&arena, &account, 0);
    ck_assert_ptr_nonnull(remat_arena_alloc(&arena, 1, 1));
    ck_assert_ptr_null(remat_arena_alloc(&arena, 1 << 20, 1));
    ck_assert_int_eq(arena.status, REMAT_E_NOMEM);
    ck_assert_ptr_null(remat_arena_alloc(&arena, 1, 1));
    remat_arena_release(&arena);
    ck_assert_uint_eq(account.n_bytes, 0);
}
END_TEST

SUITE("arena", memory_is_zeroed_and_aligned,
      memory_reused_after_a_rewind_is_zeroed_again,
      rewinding_gives_newer_chunks_back, an_empty_arena_rewinds_to_nothing,
      the_limit_is_never_passed_and_sticks,
      the_limit_can_be_used_almost_to_the_end, sizes_that_overflow_are_refused,
      a_refusing_allocator_is_reported)
