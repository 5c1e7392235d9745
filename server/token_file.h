/*
 * token_file.h: the lines of a token file (tokens.h), checked. Pure: no I/O.
 */
#ifndef SRV_TOKEN_FILE_H
#define SRV_TOKEN_FILE_H

#include "tokens.h"

#define SRV_TOKEN_DIGEST_BYTES 32

/* What SHA-256 makes of a token: all that is kept of it. */
struct srv_token_digest {
    unsigned char bytes[SRV_TOKEN_DIGEST_BYTES];
};
/* False without memory. */
bool srv_token_hash(const char *token, size_t n_token,
                    struct srv_token_digest *digest);
/* How many of the bytes can be part of a token (RFC 6750, b64token). */
size_t srv_token_span(const char *text);

struct srv_token_line {
    struct srv_token_digest digest;
    char name[SRV_NAME_SIZE];
    unsigned scopes;
    unsigned number;        /* of the line */
    struct srv_quota quota; /* what it says; the rest is 0 */
    bool says[3];           /* rate, queue, running */
};

/* Parses a NUL-terminated text and writes into it. The lines, which the caller
 * frees, and their number; NULL after a fault, which `why` then names. O(n^2).
 */
struct srv_token_line *srv_token_file_parse(char *text, size_t *n_lines,
                                            char *why, size_t n_why);

#endif
