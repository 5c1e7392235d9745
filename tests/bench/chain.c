/*
 * chain.c: graph documents of any length for the benchmark.
 *
 * Real traces end at some thousands of nodes; these go on to millions, in the
 * same nearly serial shape: one residual stream, read at each block and read
 * again, in the opposite order, by the backward.
 */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES_PER_BLOCK 10
#define BYTES_PER_NODE  192 /* more than any line below */
#define ACTIVATION      "{\"dtype\":\"float32\",\"shape\":[512,256]}"
#define WEIGHT          "{\"dtype\":\"float32\",\"shape\":[256,256]}"

struct text {
    char *at;
    size_t length;
    size_t size;
};

static void put(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(text->at + text->length, text->size - text->length,
                            format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= text->size - text->length)
        abort(); /* BYTES_PER_NODE is wrong */
    text->length += (size_t)n;
}

static void put_input(struct text *text, const char *name, const char *val)
{
    put(text,
        "{\"name\":\"%s\",\"op\":\"placeholder\",\"target\":\"%s\","
        "\"val\":%s},\n",
        name, name, val);
}

/* An operator of block k; `first` and `second` are argument names. */
static void put_op(struct text *text, char letter, uint32_t k,
                   const char *target, const char *args, const char *rest)
{
    put(text,
        "{\"name\":\"%c%u\",\"op\":\"call_function\","
        "\"target\":\"aten.%s\",\"args\":[%s],\"val\":%s},\n",
        letter, k, target, args, rest);
}

/* h0 is the input, h1, h2, ... the residual stream after each block. */
static void put_forward(struct text *text, uint32_t k)
{
    char args[64];
    char rest[160];

    snprintf(rest, sizeof rest, "%s%s", ACTIVATION,
             k % 2 == 0 ? "" : ",\"recompute\":\"prefer_recompute\"");
    snprintf(args, sizeof args, "\"%%h%u\",\"%%w%u\"", k, k);
    put_op(text, 'm', k, "mm.default", args, rest);
    snprintf(args, sizeof args, "\"%%m%u\"", k);
    put_op(text, 'g', k, "gelu.default", args, rest);
    snprintf(args, sizeof args, "\"%%h%u\",\"%%g%u\"", k, k);
    put_op(text, 'h', k + 1, "add.Tensor", args, ACTIVATION);
}

/* dN is the tangent, d of block k the gradient that leaves it. */
static void put_backward(struct text *text, uint32_t k)
{
    char args[64];

    snprintf(args, sizeof args, "\"%%d%u\",\"%%m%u\"", k + 1, k);
    put_op(text, 'b', k, "gelu_backward.default", args, ACTIVATION);
    snprintf(args, sizeof args, "\"%%w%u\"", k);
    put_op(text, 't', k, "t.default", args, WEIGHT);
    snprintf(args, sizeof args, "\"%%b%u\",\"%%t%u\"", k, k);
    put_op(text, 'x', k, "mm.default", args, ACTIVATION);
    snprintf(args, sizeof args, "\"%%h%u\"", k);
    put_op(text, 'u', k, "t.default", args, ACTIVATION);
    snprintf(args, sizeof args, "\"%%u%u\",\"%%b%u\"", k, k);
    put_op(text, 'v', k, "mm.default", args, WEIGHT);
    snprintf(args, sizeof args, "\"%%d%u\",\"%%x%u\"", k + 1, k);
    put_op(text, 'd', k, "add.Tensor", args, ACTIVATION);
}

char *bench_chain(uint32_t n_nodes, size_t *length)
{
    const uint32_t n_blocks = n_nodes / NODES_PER_BLOCK;
    struct text text = {.size = ((size_t)n_nodes + 64) * BYTES_PER_NODE};
    char name[16];

    text.at = bench_allocate(text.size, 1);
    put(&text, "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":1,"
               "\"static_lifetime_inputs\":[],\"nodes\":[\n");
    put_input(&text, "h0", ACTIVATION);
    for (uint32_t k = 0; k < n_blocks; k++) {
        snprintf(name, sizeof name, "w%u", k);
        put_input(&text, name, WEIGHT);
    }
    put(&text,
        "{\"name\":\"d%u\",\"op\":\"placeholder\",\"target\":"
        "\"tangents_1\",\"val\":%s},\n",
        n_blocks, ACTIVATION);
    for (uint32_t k = 0; k < n_blocks; k++)
        put_forward(&text, k);
    for (uint32_t k = n_blocks; k-- > 0;)
        put_backward(&text, k);
    put(&text,
        "{\"name\":\"output\",\"op\":\"output\",\"target\":\"output\","
        "\"args\":[\"%%h%u\",\"%%d0\"",
        n_blocks);
    for (uint32_t k = 0; k < n_blocks; k++)
        put(&text, ",\"%%v%u\"", k);
    put(&text, "]}\n]}\n");
    *length = text.length;
    return text.at;
}
