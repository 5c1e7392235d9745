/*
 * html.h: words from a document inside HTML. Private to proto.
 *
 * Whatever the words are, they stay words: what means something to HTML is
 * escaped, controls become their pictures, what is not UTF-8 U+FFFD, and
 * characters that turn the direction of writing around are written as numbers.
 */
#ifndef PROTO_HTML_H
#define PROTO_HTML_H

#include "text.h"

enum {
    PROTO_HTML_SHOWN = 160 /* characters of a name that a page shows */
};

/* All of the words: for an element's text or a quoted attribute. */
void proto_html_words(struct proto_text *text, const char *words);
/* The first `length` bytes of them. */
void proto_html_part(struct proto_text *text, const char *words, size_t length);
/* All of them as they are, for a quoted attribute that a script reads. */
void proto_html_attribute(struct proto_text *text, const char *words);
/* At most PROTO_HTML_SHOWN characters of them, then dots; inside <bdi>. */
void proto_html_name(struct proto_text *text, const char *words);
/* A JSON string literal that is safe inside <script type="application/json">:
 * "<", ">", "&", U+2028 and U+2029 as \u.... */
void proto_html_quote(struct proto_text *text, const char *words);
/* "1.23 GiB", three digits. */
void proto_html_size(struct proto_text *text, int64_t n_bytes);
/* "12,345". */
void proto_html_count(struct proto_text *text, int64_t count);
/* "1.23 TFLOP". */
void proto_html_flops(struct proto_text *text, int64_t flops);

#endif
