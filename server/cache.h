/*
 * cache.h: answers in memory by key, the least recently used leave first.
 *
 * Threads: every function but init and release from any thread; one lock, held
 * for O(1) steps. An answer that leaves the cache lives on as long as somebody
 * holds a reference.
 */
#ifndef SRV_CACHE_H
#define SRV_CACHE_H

#include <pthread.h>
#include <stddef.h>

#include "answer.h"

struct srv_cache_entry;

struct srv_cache {
    pthread_mutex_t lock;
    struct srv_cache_entry **buckets;
    size_t n_buckets; /* a power of two; doubles with the entries */
    size_t n_entries;
    size_t n_bytes;     /* of documents and what belongs to each */
    size_t limit_bytes; /* 0: keeps nothing */
    struct srv_cache_entry *newest;
    struct srv_cache_entry *oldest;
};

/* 0, or an errno. */
int srv_cache_init(struct srv_cache *cache, size_t limit_bytes);
void srv_cache_release(struct srv_cache *cache);

/* A reference for the caller, or NULL. O(1). */
struct srv_answer *srv_cache_get(struct srv_cache *cache,
                                 const struct srv_key *key);
/* Keeps the answer, with a reference of its own, in place of an older one of
 * that key. Not kept: an answer above a quarter of the limit, and any when
 * memory is short. O(1) amortized over all calls. */
void srv_cache_put(struct srv_cache *cache, const struct srv_key *key,
                   struct srv_answer *answer);
size_t srv_cache_bytes(struct srv_cache *cache);
size_t srv_cache_entries(struct srv_cache *cache);

#endif
