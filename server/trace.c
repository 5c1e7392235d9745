/*
 * trace.c: parses "00-<32 hex>-<16 hex>-<2 hex>".
 */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ID_AT = 3,
    ID_LENGTH = 32,
    PARENT_AT = 36,
    PARENT_LENGTH = 16,
    FLAGS_AT = 53,
    LENGTH = 55
};

static int hex(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}

/* n lower-case hex digits that are not all zero. */
static bool is_id(const char *text, int n)
{
    bool is_zero = true;

    for (int i = 0; i < n; i++) {
        if (hex(text[i]) < 0)
            return false;
        is_zero = is_zero && text[i] == '0';
    }
    return !is_zero;
}

static bool is_byte(const char *text)
{
    return hex(text[0]) >= 0 && hex(text[1]) >= 0;
}

static bool is_valid(const char *header)
{
    const size_t length = strnlen(header, LENGTH + 1);

    if (length < LENGTH || header[2] != '-' || header[PARENT_AT - 1] != '-' ||
        header[FLAGS_AT - 1] != '-' || !is_byte(header) ||
        !is_byte(header + FLAGS_AT) || strncmp(header, "ff", 2) == 0)
        return false;
    /* Later versions may go on behind another dash; this one may not. */
    if (length > LENGTH &&
        (strncmp(header, "00", 2) == 0 || header[LENGTH] != '-'))
        return false;
    return is_id(header + ID_AT, ID_LENGTH) &&
           is_id(header + PARENT_AT, PARENT_LENGTH);
}

void srv_trace_add(struct srv_trace *trace, const char *header)
{
    const bool is_first = !trace->was_given;

    *trace = (struct srv_trace){.was_given = true};
    if (!is_first || !is_valid(header))
        return;
    memcpy(trace->id, header + ID_AT, ID_LENGTH);
    memcpy(trace->parent, header + PARENT_AT, PARENT_LENGTH);
    trace->is_sampled = (hex(header[FLAGS_AT + 1]) & 1) != 0;
}

/* The finaliser of splitmix64: neighbours become far apart. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void srv_trace_begin_span(struct srv_trace *trace, uint64_t seed)
{
    const uint64_t span = mix(seed);

    if (trace->id[0] != '\0')
        snprintf(trace->span, sizeof trace->span, "%016" PRIx64,
                 span == 0 ? 1 : span);
}

void srv_trace_write(const struct srv_trace *trace, char text[SRV_TRACE_SIZE])
{
    snprintf(text, SRV_TRACE_SIZE, "00-%s-%s-%s", trace->id, trace->span,
             trace->is_sampled ? "01" : "00");
}
