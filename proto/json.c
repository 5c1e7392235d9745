/*
 * json.c: jansson with a budget, a depth limit and JSON Pointers in its errors.
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

#include "locate.h"

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
        longjmp(session->refused, 1); /* allow: see load */
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

/* Whether lists and objects nest deeper than `depth`. Counts brackets outside
 * of strings; whether they match is jansson's business. */
static bool is_too_deep(const char *text, size_t length, unsigned depth)
{
    bool in_string = false;
    size_t open = 0;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++open > depth)
                return true;
        } else if ((c == ']' || c == '}') && open > 0) {
            open--;
        }
    }
    return false;
}

/* json_loadb, which a refusal of memory ends with NULL. */
static json_t *load(struct proto_json *json, const char *text, size_t length,
                    size_t flags, json_error_t *error)
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
    json_t *key = load(json, text, length, JSON_ALLOW_NUL, &error);

    return json_is_string(key) ? json_string_value(key) : "";
}

static bool was_refused(const struct proto_json *json)
{
    return json->budget->over_limit || json->budget->no_memory ||
           json->budget->stopped;
}

static enum proto_problem_kind kind_at(const char *pointer)
{
    if (strncmp(pointer, "/options", 8) == 0)
        return PROTO_UNKNOWN_OPTION;
    if (strncmp(pointer, "/passes", 7) == 0)
        return PROTO_UNKNOWN_PASS;
    return PROTO_INVALID_GRAPH;
}

/* What is wrong with a text that is no JSON from its first byte on, or what
 * jansson says. */
static const char *describe_start(struct proto_source source,
                                  const char *otherwise)
{
    static const struct {
        const char *bytes;
        const char *words;
    } starts[] = {
        {"\xEF\xBB\xBF", "a byte order mark, send UTF-8 without one"},
        {"\xFF\xFE", "this is UTF-16, send UTF-8"},
        {"\xFE\xFF", "this is UTF-16, send UTF-8"},
        {"\x1F\x8B", "this is compressed (gzip), send plain JSON"},
        {"(\xB5/\xFD", "this is compressed (zstd), send plain JSON"},
    };
    size_t i = 0;

    while (i < source.length && strchr(" \t\r\n", source.text[i]) != NULL &&
           source.text[i] != '\0')
        i++;
    if (i == source.length)
        return "the document is empty";
    for (i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        size_t n = strlen(starts[i].bytes);

        if (source.length >= n && memcmp(source.text, starts[i].bytes, n) == 0)
            return starts[i].words;
    }
    return otherwise;
}

/* What jansson's code means to us; values it cannot hold are no syntax error,
 * they get a pointer. */
static void report(struct proto_json *json, const json_error_t *error,
                   struct proto_source source, struct proto_problem *problem)
{
    enum json_error_code code = json_error_code(error);
    const char *words = NULL;
    char pointer[sizeof(problem->pointer)];

    if (code == json_error_duplicate_key)
        words = "this key stands in its object twice, keep one of them";
    else if (code == json_error_numeric_overflow)
        words = "this number does not fit, expected an integer of 64 bits or "
                "a real number of double precision";
    else if (code == json_error_null_character ||
             code == json_error_null_byte_in_key)
        words = "this text holds the character U+0000, which no name may hold";
    if (words == NULL) {
        proto_problem_set(problem, PROTO_MALFORMED_JSON, NULL,
                          "%s%sline %d, column %d: %s",
                          source.what == NULL ? "" : source.what,
                          source.what == NULL ? "" : ": ", error->line,
                          error->column, describe_start(source, error->text));
        return;
    }
    proto_locate(json, source, (size_t)error->position, pointer,
                 sizeof(pointer));
    if (was_refused(json))
        return;
    proto_problem_set(problem, kind_at(pointer), pointer,
                      "line %d, column %d: %s", error->line, error->column,
                      words);
}

json_t *proto_json_parse(struct proto_json *json, struct proto_source source,
                         unsigned depth, struct proto_problem *problem)
{
    json_error_t error = {0};
    json_t *tree;

    if (is_too_deep(source.text, source.length, depth)) {
        proto_problem_set(problem, PROTO_TOO_LARGE, NULL,
                          "lists and objects nest deeper than the limit of %u",
                          depth);
        return NULL;
    }
    tree =
        load(json, source.text, source.length, JSON_REJECT_DUPLICATES, &error);
    if (tree == NULL && !was_refused(json))
        report(json, &error, source, problem);
    return tree;
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
