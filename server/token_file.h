/*
 * token_file.h: the lines of a token file, checked. Pure: no I/O. A line each:
 *
 *     NAME SCOPES SECRET [rate=N] [queue=N] [running=N]    # comment
 *
 * NAME of letters, digits, dots, underlines and hyphens, at most 64; SCOPES
 * some of read,submit,admin; SECRET the token, of at least 16 characters, or
 * sha256:HEX, its digest. The limits are those of the name.
 */
#ifndef SRV_TOKEN_FILE_H
#define SRV_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum srv_scope {
    SRV_SCOPE_READ = 1,   /* look at plans, jobs, events */
    SRV_SCOPE_SUBMIT = 2, /* make jobs, cancel and remove them */
    SRV_SCOPE_ADMIN = 4   /* the operator's calls */
};
#define SRV_SCOPES_ALL (SRV_SCOPE_READ | SRV_SCOPE_SUBMIT | SRV_SCOPE_ADMIN)
/* "read", "submit" or "admin". */
const char *srv_scope_name(enum srv_scope scope);

#define SRV_NAME_SIZE   65
#define SRV_ANONYMOUS   "anonymous" /* who gave no token; no line has that */
#define SRV_MOST_TOKENS 4096
#define SRV_TOKEN_LEAST 16  /* characters of a token in the file */
#define SRV_TOKEN_MOST  512 /* and of any */

struct srv_quota {
    uint64_t rate;    /* requests in a second; 0: no limit, as below */
    uint64_t queue;   /* jobs that wait */
    uint64_t running; /* jobs that run */
};

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
