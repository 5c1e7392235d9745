/*
 * arena.c: chunks of growing size, newest first. A request larger than the
 * usual chunk gets a chunk of its own size.
 */
#include "arena.h"

#include "base.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
    FIRST_CHUNK_BYTES = 1 << 14,
    LARGEST_CHUNK_BYTES = 1 << 22
};

struct remat_chunk {
    struct remat_chunk *older;
    size_t capacity; /* bytes behind this header */
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

static void *allocate_default(void *context, size_t n_bytes)
{
    (void)context;
    return malloc(n_bytes);
}

static void release_default(void *context, void *chunk, size_t n_bytes)
{
    (void)context;
    (void)n_bytes;
    free(chunk);
}

void remat_arena_init(struct remat_arena *arena,
                      const struct remat_limits *limits)
{
    *arena = (struct remat_arena){.allocate = allocate_default,
                                  .release = release_default};
    if (limits == NULL)
        return;
    arena->limit_bytes = limits->memory_bytes;
    arena->context = limits->context;
    if (limits->allocate != NULL) {
        arena->allocate = limits->allocate;
        arena->release = limits->release;
    }
}

static void drop_newest(struct remat_arena *arena)
{
    struct remat_chunk *chunk = arena->newest;
    size_t n_bytes = sizeof(*chunk) + chunk->capacity;

    arena->newest = chunk->older;
    arena->n_bytes -= n_bytes;
    UNPOISON(chunk->bytes, chunk->capacity);
    arena->release(arena->context, chunk, n_bytes);
}

void remat_arena_release(struct remat_arena *arena)
{
    while (arena->newest != NULL)
        drop_newest(arena);
}

static size_t next_capacity(const struct remat_arena *arena, size_t wanted)
{
    size_t usual = FIRST_CHUNK_BYTES;

    if (arena->newest != NULL)
        usual = arena->newest->capacity * 2;
    if (usual > LARGEST_CHUNK_BYTES)
        usual = LARGEST_CHUNK_BYTES;
    return wanted > usual ? wanted : usual;
}

/* Adds a chunk with room for `wanted` bytes; near the limit a smaller one than
 * usual, so that the limit can be used to the last byte. */
static bool grow(struct remat_arena *arena, size_t wanted)
{
    size_t capacity = next_capacity(arena, wanted);
    struct remat_chunk *chunk;

    if (arena->limit_bytes != 0) {
        size_t left = arena->limit_bytes - arena->n_bytes;

        if (left < sizeof(*chunk) || left - sizeof(*chunk) < wanted) {
            arena->status = REMAT_E_LIMIT;
            return false;
        }
        if (capacity > left - sizeof(*chunk))
            capacity = left - sizeof(*chunk);
    }
    chunk = arena->allocate(arena->context, sizeof(*chunk) + capacity);
    if (chunk == NULL) {
        arena->status = REMAT_E_NOMEM;
        return false;
    }
    chunk->older = arena->newest;
    chunk->capacity = capacity;
    chunk->used = 0;
    POISON(chunk->bytes, capacity);
    arena->newest = chunk;
    arena->n_bytes += sizeof(*chunk) + capacity;
    return true;
}

void *remat_arena_alloc(struct remat_arena *arena, size_t n, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct remat_chunk *chunk;
    size_t n_bytes;
    void *memory;

    if (arena->status != REMAT_OK)
        return NULL;
    if (!remat_mul_size(n, size, &n_bytes) || n_bytes > SIZE_MAX / 4) {
        arena->status = REMAT_E_LIMIT;
        return NULL;
    }
    n_bytes = (n_bytes + align - 1) / align * align;
    if (n_bytes == 0)
        n_bytes = align;
    chunk = arena->newest;
    if (chunk == NULL || chunk->capacity - chunk->used < n_bytes) {
        if (!grow(arena, n_bytes))
            return NULL;
        chunk = arena->newest;
    }
    memory = chunk->bytes + chunk->used;
    chunk->used += n_bytes;
    UNPOISON(memory, n_bytes);
    return memset(memory, 0, n_bytes);
}

struct remat_mark remat_arena_mark(const struct remat_arena *arena)
{
    struct remat_chunk *chunk = arena->newest;

    return (struct remat_mark){chunk, chunk == NULL ? 0 : chunk->used};
}

void remat_arena_rewind(struct remat_arena *arena, struct remat_mark mark)
{
    while (arena->newest != mark.chunk)
        drop_newest(arena);
    if (mark.chunk == NULL)
        return;
    POISON(mark.chunk->bytes + mark.used, mark.chunk->used - mark.used);
    mark.chunk->used = mark.used;
}
