/*
 * key.h: SHA-256 over texts and bytes, for the keys of cache and store.
 */
#ifndef SRV_KEY_H
#define SRV_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "answer.h"

/* Lower-case hex of the bytes, 2 n_bytes digits and a NUL. */
void srv_hex(const unsigned char *bytes, size_t n_bytes, char *hex);

/* A hash in the making. */
struct srv_hash;

/* NULL without memory. */
struct srv_hash *srv_hash_new(void);
void srv_hash_free(struct srv_hash *hash); /* NULL is fine */
/* A text with its NUL, so that neighbours cannot be mistaken for each other. */
void srv_hash_text(struct srv_hash *hash, const char *text);
void srv_hash_bytes(struct srv_hash *hash, const void *bytes, size_t n_bytes);
/* The key; the hash is used up. False when the library failed anywhere. */
bool srv_hash_end(struct srv_hash *hash, struct srv_key *key);

/* The key of n texts. False without memory. */
bool srv_key_of(const char *const *texts, size_t n, struct srv_key *key);

/* Under which an answer is found by its ETag, by whoever may see it. */
bool srv_answer_key(const char *owner, const char *etag, struct srv_key *key);

#endif
