/*
 * answer.h: a finished document, shared by the requests that send it, the job
 * that made it, the cache and the store.
 *
 * Never changed once it is shared, so that it may be read from any thread by
 * whoever holds a reference; only its coded forms come up later.
 */
#ifndef SRV_ANSWER_H
#define SRV_ANSWER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "codec.h"

/* What names an answer: SHA-256 over everything it depends on, and over who may
 * see it. */
#define SRV_KEY_BYTES 32
struct srv_key {
    unsigned char bytes[SRV_KEY_BYTES];
};

#define SRV_DIGEST_SIZE  65 /* hex SHA-256 and its NUL */
#define SRV_ETAG_SIZE    96
#define SRV_OUTCOME_SIZE 16
#define SRV_TYPE_SIZE    48

/* An answer in a coding. */
struct srv_coded {
    char *bytes; /* NULL: not made yet */
    size_t length;
};

struct srv_answer {
    atomic_size_t n_users;
    char *bytes;              /* NUL-terminated; malloc'ed */
    size_t length;            /* without the NUL */
    char type[SRV_TYPE_SIZE]; /* Content-Type */
    char etag[SRV_ETAG_SIZE]; /* without quotes; "" for none */
    char digest[SRV_DIGEST_SIZE];
    char outcome[SRV_OUTCOME_SIZE]; /* plan, infinite_flow, invalid_output */

    pthread_mutex_t lock; /* of what follows, which is made when asked for */
    struct srv_coded coded[SRV_N_CODINGS];
};

/* With one reference, the caller's; takes `bytes`, which malloc made. NULL
 * without memory (`bytes` then stays with the caller). The other fields are
 * empty: fill them before sharing. */
struct srv_answer *srv_answer_new_take(char *bytes, size_t length);
struct srv_answer *srv_answer_ref(struct srv_answer *answer);
void srv_answer_unref(struct srv_answer *answer); /* NULL is fine */

/* The answer in gzip or zstd, made at the first call and kept as long as the
 * answer. NULL without memory: send it as it is. Any thread that holds a
 * reference; O(length) the first time. */
const struct srv_coded *srv_answer_coded(struct srv_answer *answer,
                                         enum srv_coding coding);

#endif
