/*
 * arena.h: a bump allocator. One per job; everything of the job lives in it, so
 * nothing in core frees anything and no error path has to clean up.
 *
 * Exhaustion is sticky: after the first refusal `status` says why, and every
 * further allocation returns NULL, so a caller may check late.
 */
#ifndef REMAT_ARENA_H
#define REMAT_ARENA_H

#include "remat.h"

struct remat_chunk;

struct remat_arena {
    struct remat_chunk *newest;
    size_t n_bytes;     /* held in all chunks */
    size_t limit_bytes; /* 0: none */
    enum remat_status status;
    void *(*allocate)(void *context, size_t n_bytes);
    void (*release)(void *context, void *chunk, size_t n_bytes);
    void *context;
};

/* A place to come back to: what is allocated after it is scratch. */
struct remat_mark {
    struct remat_chunk *chunk;
    size_t used;
};

void remat_arena_init(struct remat_arena *arena,
                      const struct remat_limits *limits);
/* Gives every chunk back. */
void remat_arena_release(struct remat_arena *arena);
/* n * size zeroed bytes aligned for any type, or NULL. O(n * size). */
void *remat_arena_alloc(struct remat_arena *arena, size_t n, size_t size);
struct remat_mark remat_arena_mark(const struct remat_arena *arena);
/* Forgets everything allocated since the mark, giving newer chunks back. */
void remat_arena_rewind(struct remat_arena *arena, struct remat_mark mark);

#define REMAT_NEW(arena, type) \
    ((type *)remat_arena_alloc(arena, 1, sizeof(type)))
#define REMAT_NEW_ARRAY(arena, type, n) \
    ((type *)remat_arena_alloc(arena, (n), sizeof(type)))

#endif
