/*
 * text.h: a growing buffer for answers. Failure is sticky and asked about once,
 * at the end.
 */
#ifndef PROTO_TEXT_H
#define PROTO_TEXT_H

#include "budget.h"

struct proto_text {
    char *bytes;
    size_t length;
    size_t capacity;
    struct proto_budget *budget; /* NULL: plain malloc */
    bool failed;
    bool keeps_marks; /* marks (marks.h) pass through quotes as they are */
};

void proto_text_init(struct proto_text *text, struct proto_budget *budget);
void proto_text_release(struct proto_text *text);
/* The NUL-terminated bytes, which the caller then owns (proto_free); NULL when
 * anything failed. Leaves `text` empty. */
char *proto_text_take(struct proto_text *text, size_t *length);

void proto_text_add(struct proto_text *text, const char *bytes, size_t n);
void proto_text_puts(struct proto_text *text, const char *words);
void proto_text_int(struct proto_text *text, int64_t value);
/* printf-style, at most 1023 bytes a call. */
void proto_text_format(struct proto_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Words from a document, for a terminal: control characters and what turns the
 * direction of a text become '?', what is not UTF-8 becomes U+FFFD. */
void proto_text_show(struct proto_text *text, const char *words);
/* What was gathered in `words`, shown the same way; releases it, and takes over
 * its failure. */
void proto_text_show_gathered(struct proto_text *text,
                              struct proto_text *words);
/* A JSON string literal, escaped as RFC 8785 asks; what is not UTF-8 becomes
 * U+FFFD. */
void proto_text_quote(struct proto_text *text, const char *bytes, size_t n);
/* The same without the quotes around it. */
void proto_text_escape(struct proto_text *text, const char *bytes, size_t n);
void proto_text_quote_words(struct proto_text *text, const char *words);
/* Length of the well-formed UTF-8 character at `at`, 0 when it is none
 * (overlong, surrogate, beyond U+10FFFF or cut off). */
size_t proto_text_character(const unsigned char *at, size_t left);

#endif
