/*
 * key.c: libcrypto's SHA-256; the first failure is kept to the end.
 */
#include "key.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct srv_hash {
    EVP_MD_CTX *state;
    bool failed;
};

void srv_hex(const unsigned char *bytes, size_t n_bytes, char *hex)
{
    for (size_t i = 0; i < n_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

struct srv_hash *srv_hash_new(void)
{
    struct srv_hash *hash = calloc(1, sizeof *hash);

    if (hash == NULL)
        return NULL;
    hash->state = EVP_MD_CTX_new();
    hash->failed = hash->state == NULL ||
                   EVP_DigestInit_ex(hash->state, EVP_sha256(), NULL) != 1;
    return hash;
}

void srv_hash_free(struct srv_hash *hash)
{
    if (hash == NULL)
        return;
    EVP_MD_CTX_free(hash->state);
    free(hash);
}

void srv_hash_bytes(struct srv_hash *hash, const void *bytes, size_t n_bytes)
{
    if (!hash->failed)
        hash->failed = EVP_DigestUpdate(hash->state, bytes, n_bytes) != 1;
}

void srv_hash_text(struct srv_hash *hash, const char *text)
{
    srv_hash_bytes(hash, text, strlen(text) + 1);
}

bool srv_hash_end(struct srv_hash *hash, struct srv_key *key)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];

    if (hash->failed || EVP_DigestFinal_ex(hash->state, bytes, NULL) != 1)
        return false;
    memcpy(key->bytes, bytes, sizeof key->bytes);
    return true;
}

bool srv_key_of(const char *const *texts, size_t n, struct srv_key *key)
{
    struct srv_hash *hash = srv_hash_new();

    if (hash == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        srv_hash_text(hash, texts[i]);
    const bool done = srv_hash_end(hash, key);
    srv_hash_free(hash);
    return done;
}

bool srv_answer_key(const char *owner, const char *etag, struct srv_key *key)
{
    const char *const texts[] = {"etag", owner, etag};

    return srv_key_of(texts, sizeof texts / sizeof texts[0], key);
}
