/*
 * text.h: JSON documents of the server itself, written member by member, and
 * text in its pages.
 *
 * The first failed allocation is kept: what follows writes nothing, and
 * srv_text_answer gives NULL.
 */
#ifndef SRV_TEXT_H
#define SRV_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"

/* All zero is an empty one. */
struct srv_text {
    char *bytes;
    size_t length;
    size_t capacity;
    bool failed;
};

/* Bytes as they are; printf-style. */
void srv_text_bytes(struct srv_text *text, const char *bytes, size_t n_bytes);
void srv_text_printf(struct srv_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Text inside HTML, also inside a quoted attribute; control bytes as U+FFFD. */
void srv_text_html(struct srv_text *text, const char *words);

/* Members of an object or elements of a list (key NULL); commas come by
 * themselves. */
void srv_text_open(struct srv_text *text, const char *key, char bracket);
void srv_text_close(struct srv_text *text, char bracket);
void srv_text_string(struct srv_text *text, const char *key, const char *value);
void srv_text_number(struct srv_text *text, const char *key, uint64_t value);
void srv_text_bool(struct srv_text *text, const char *key, bool value);
/* Nanoseconds as milliseconds with three digits. */
void srv_text_ms(struct srv_text *text, const char *key, uint64_t duration_ns);
/* Wall-clock milliseconds as RFC 3339 in UTC; 0 leaves the member out. */
void srv_text_time(struct srv_text *text, const char *key, int64_t ms);
/* A JSON text of somebody else's, without its line end. */
void srv_text_json(struct srv_text *text, const char *key, const char *json);

/* The document as an answer of that type; the text is empty again. NULL without
 * memory. */
struct srv_answer *srv_text_answer(struct srv_text *text, const char *type);
void srv_text_release(struct srv_text *text);

#endif
