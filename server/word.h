/*
 * word.h: single words of headers and of the token file.
 */
#ifndef SRV_WORD_H
#define SRV_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a is b up to ASCII case; srv_token_is compares the first n bytes. */
bool srv_text_is(const char *a, const char *b);
bool srv_token_is(const char *at, size_t n, const char *word);

/* Whether the bytes are a token of RFC 9110: a legal header name or method. */
bool srv_is_token(const char *text);

#endif
