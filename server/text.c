/*
 * text.c: a growing buffer and the JSON in it.
 */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_BYTES ((size_t)512)

/* Room for that much more and a NUL. */
static bool reserve(struct srv_text *text, size_t n_bytes)
{
    size_t capacity =
        text->capacity < FIRST_BYTES ? FIRST_BYTES : text->capacity;

    if (text->failed)
        return false;
    while (capacity - text->length <= n_bytes)
        capacity *= 2;
    if (capacity == text->capacity)
        return true;
    char *bytes = realloc(text->bytes, capacity);
    if (bytes == NULL) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void srv_text_bytes(struct srv_text *text, const char *bytes, size_t n_bytes)
{
    if (!reserve(text, n_bytes))
        return;
    memcpy(text->bytes + text->length, bytes, n_bytes);
    text->length += n_bytes;
    text->bytes[text->length] = '\0';
}

void srv_text_printf(struct srv_text *text, const char *format, ...)
{
    char line[512]; /* numbers and words of ours */
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line)
        text->failed = true;
    else
        srv_text_bytes(text, line, (size_t)n);
}

static void put_escaped(struct srv_text *text, const char *value)
{
    srv_text_bytes(text, "\"", 1);
    for (const char *at = value; *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;

        if (c == '"' || c == '\\')
            srv_text_printf(text, "\\%c", c);
        else if (c < 0x20)
            srv_text_printf(text, "\\u%04x", c);
        else
            srv_text_bytes(text, at, 1);
    }
    srv_text_bytes(text, "\"", 1);
}

void srv_text_html(struct srv_text *text, const char *words)
{
    for (const char *at = words; *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;

        if (strchr("<>&\"'", *at) != NULL)
            srv_text_printf(text, "&#%u;", c);
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            srv_text_printf(text, "&#65533;");
        else
            srv_text_bytes(text, at, 1);
    }
}

/* The comma before a member, and its key. */
static void begin(struct srv_text *text, const char *key)
{
    if (text->length > 0 &&
        strchr("{[\n", text->bytes[text->length - 1]) == NULL)
        srv_text_bytes(text, ",", 1);
    if (key == NULL)
        return;
    put_escaped(text, key);
    srv_text_bytes(text, ":", 1);
}

void srv_text_open(struct srv_text *text, const char *key, char bracket)
{
    begin(text, key);
    srv_text_bytes(text, &bracket, 1);
}

void srv_text_close(struct srv_text *text, char bracket)
{
    srv_text_bytes(text, &bracket, 1);
}

void srv_text_string(struct srv_text *text, const char *key, const char *value)
{
    begin(text, key);
    put_escaped(text, value);
}

void srv_text_number(struct srv_text *text, const char *key, uint64_t value)
{
    begin(text, key);
    srv_text_printf(text, "%" PRIu64, value);
}

void srv_text_bool(struct srv_text *text, const char *key, bool value)
{
    begin(text, key);
    srv_text_printf(text, "%s", value ? "true" : "false");
}

void srv_text_ms(struct srv_text *text, const char *key, uint64_t duration_ns)
{
    begin(text, key);
    srv_text_printf(text, "%.3f", (double)duration_ns / 1e6);
}

void srv_text_time(struct srv_text *text, const char *key, int64_t ms)
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char date[32];

    if (ms == 0 || gmtime_r(&seconds, &parts) == NULL)
        return;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    begin(text, key);
    srv_text_printf(text, "\"%s.%03dZ\"", date, (int)(ms % 1000));
}

void srv_text_json(struct srv_text *text, const char *key, const char *json)
{
    size_t length = strlen(json);

    while (length > 0 && json[length - 1] == '\n')
        length--;
    begin(text, key);
    srv_text_bytes(text, json, length);
}

struct srv_answer *srv_text_answer(struct srv_text *text, const char *type)
{
    struct srv_answer *answer = NULL;

    if (!text->failed && reserve(text, 0))
        answer = srv_answer_new_take(text->bytes, text->length);
    if (answer == NULL) {
        srv_text_release(text);
        return NULL;
    }
    snprintf(answer->type, sizeof answer->type, "%s", type);
    *text = (struct srv_text){0};
    return answer;
}

void srv_text_release(struct srv_text *text)
{
    free(text->bytes);
    *text = (struct srv_text){0};
}
