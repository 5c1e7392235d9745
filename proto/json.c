/*
 * json.c: jansson's memory, taken from a request's budget. What a text means is
 * parse.c's business.
 *
 * jansson's tree needs ten times the bytes of a graph document and up to eighty
 * times those of an unkind one, so the allocation hook is what keeps a request
 * inside its memory. It hands out memory from chunks and takes nothing back
 * but all of it: what a parse throws away on the way (grown tables and
 * buffers) is at most as much again as it keeps.
 *
 * Note on refusals. jansson 2.14's lexer does not look at the result when its
 * buffer for the current token cannot grow: it drops bytes, misses the closing
 * quote and then reads and writes past the end (akheron/jansson, issue 362). So
 * the hook never returns NULL into a parse: it leaves the parse altogether,
 * with longjmp. That is sound because everything the parse has made lies in the
 * session's chunks.
 */
#include "json.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CHUNK_BYTES = 1 << 14,
    LARGEST_CHUNK_BYTES = 1 << 20
};

struct proto_json_chunk {
    struct proto_json_chunk *older;
    size_t capacity;
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

static _Thread_local struct proto_json *session;

static struct proto_json_chunk *grow(struct proto_json *json, size_t n_bytes)
{
    struct proto_json_chunk *chunk;
    size_t capacity = FIRST_CHUNK_BYTES;

    if (json->newest != NULL)
        capacity = json->newest->capacity * 2;
    if (capacity > LARGEST_CHUNK_BYTES)
        capacity = LARGEST_CHUNK_BYTES;
    if (capacity < n_bytes)
        capacity = n_bytes;
    if (capacity > SIZE_MAX - sizeof(*chunk))
        return NULL;
    chunk = proto_budget_allocate(json->budget, sizeof(*chunk) + capacity);
    if (chunk == NULL)
        return NULL;
    chunk->older = json->newest;
    chunk->capacity = capacity;
    chunk->used = 0;
    json->newest = chunk;
    return chunk;
}

/* A block of the session, or NULL. */
static void *allocate_block(size_t n_bytes)
{
    const size_t align = alignof(max_align_t);
    struct proto_json_chunk *chunk;
    void *block;

    if (n_bytes > SIZE_MAX / 2 || !proto_budget_may_allocate(session->budget))
        return NULL;
    n_bytes = (n_bytes + align - 1) / align * align;
    chunk = session->newest;
    if (chunk == NULL || chunk->capacity - chunk->used < n_bytes)
        chunk = grow(session, n_bytes);
    if (chunk == NULL)
        return NULL;
    block = chunk->bytes + chunk->used;
    chunk->used += n_bytes;
    return block;
}

/* jansson's malloc. See the note on refusals above. */
static void *allocate(size_t n_bytes)
{
    void *block;

    if (session == NULL)
        return malloc(n_bytes);
    block = allocate_block(n_bytes);
    if (block == NULL && session->parsing)
        longjmp(session->refused, 1); /* allow: see proto_json_load */
    return block;
}

static void release(void *block)
{
    if (session == NULL)
        free(block);
}

void proto_json_start(void)
{
    json_set_alloc_funcs(allocate, release);
    json_object_seed(0);
}

void proto_json_begin(struct proto_json *json, struct proto_budget *budget)
{
    json->budget = budget;
    json->newest = NULL;
    json->parsing = false;
    session = json;
}

void proto_json_end(struct proto_json *json)
{
    session = NULL;
    while (json->newest != NULL) {
        struct proto_json_chunk *chunk = json->newest;

        json->newest = chunk->older;
        proto_budget_release(json->budget, chunk,
                             sizeof(*chunk) + chunk->capacity);
    }
}

json_t *proto_json_load(struct proto_json *json, const char *text,
                        size_t length, size_t flags, json_error_t *error)
{
    json_t *tree;

    if (setjmp(json->refused) != 0) { /* allow: jansson has no way out */
        json->parsing = false;
        return NULL;
    }
    json->parsing = true;
    tree = json_loadb(text, length, flags | JSON_DECODE_ANY, error);
    json->parsing = false;
    return tree;
}

const char *proto_json_key(struct proto_json *json, const char *text,
                           size_t length)
{
    json_error_t error;
    json_t *key = proto_json_load(json, text, length, JSON_ALLOW_NUL, &error);

    return json_is_string(key) ? json_string_value(key) : "";
}

const char *proto_json_kind(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        break;
    }
    return "null";
}
