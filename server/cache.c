/*
 * cache.c: chained buckets and a list by last use.
 *
 * Keys are SHA-256, so their first bytes serve as hash: whoever could make them
 * collide could as well break the digest. References that end under the lock
 * are collected and dropped after it, since freeing a large document is slow.
 */
#include "cache.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

struct srv_cache_entry {
    struct srv_key key;
    struct srv_answer *answer;
    size_t n_bytes;
    struct srv_cache_entry *next; /* of the bucket */
    struct srv_cache_entry *newer;
    struct srv_cache_entry *older;
};

int srv_cache_init(struct srv_cache *cache, size_t limit_bytes)
{
    memset(cache, 0, sizeof *cache);
    cache->limit_bytes = limit_bytes;
    cache->n_buckets = FIRST_BUCKETS;
    cache->buckets = calloc(FIRST_BUCKETS, sizeof *cache->buckets);
    if (cache->buckets == NULL)
        return ENOMEM;
    const int error = pthread_mutex_init(&cache->lock, NULL);
    if (error != 0) {
        free(cache->buckets);
        cache->buckets = NULL;
    }
    return error;
}

static void free_entries(struct srv_cache_entry *list)
{
    while (list != NULL) {
        struct srv_cache_entry *entry = list;

        list = entry->older;
        srv_answer_unref(entry->answer);
        free(entry);
    }
}

void srv_cache_release(struct srv_cache *cache)
{
    free_entries(cache->newest);
    free(cache->buckets);
    pthread_mutex_destroy(&cache->lock);
    memset(cache, 0, sizeof *cache);
}

static struct srv_cache_entry **bucket_of(const struct srv_cache *cache,
                                          const struct srv_key *key)
{
    uint64_t hash;

    memcpy(&hash, key->bytes, sizeof hash);
    return &cache->buckets[hash & (cache->n_buckets - 1)];
}

/* Where the entry is linked in its bucket; points to NULL when there is none.
 */
static struct srv_cache_entry **find(const struct srv_cache *cache,
                                     const struct srv_key *key)
{
    struct srv_cache_entry **at = bucket_of(cache, key);

    while (*at != NULL && memcmp(&(*at)->key, key, sizeof *key) != 0)
        at = &(*at)->next;
    return at;
}

static void list_remove(struct srv_cache *cache, struct srv_cache_entry *entry)
{
    if (entry->newer != NULL)
        entry->newer->older = entry->older;
    else
        cache->newest = entry->older;
    if (entry->older != NULL)
        entry->older->newer = entry->newer;
    else
        cache->oldest = entry->newer;
}

static void list_add_newest(struct srv_cache *cache,
                            struct srv_cache_entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    if (cache->newest != NULL)
        cache->newest->newer = entry;
    else
        cache->oldest = entry;
    cache->newest = entry;
}

struct srv_answer *srv_cache_get(struct srv_cache *cache,
                                 const struct srv_key *key)
{
    struct srv_answer *answer = NULL;

    pthread_mutex_lock(&cache->lock);
    struct srv_cache_entry *entry = *find(cache, key);
    if (entry != NULL) {
        list_remove(cache, entry);
        list_add_newest(cache, entry);
        answer = srv_answer_ref(entry->answer);
    }
    pthread_mutex_unlock(&cache->lock);
    return answer;
}

/* Without memory the buckets stay as they are: longer chains, no failure. */
static void grow(struct srv_cache *cache)
{
    const size_t n_old = cache->n_buckets;
    struct srv_cache_entry **old = cache->buckets;
    struct srv_cache_entry **buckets = calloc(2 * n_old, sizeof *buckets);

    if (buckets == NULL)
        return;
    cache->buckets = buckets;
    cache->n_buckets = 2 * n_old;
    for (size_t i = 0; i < n_old; i++) {
        struct srv_cache_entry *entry = old[i];

        while (entry != NULL) {
            struct srv_cache_entry *next = entry->next;
            struct srv_cache_entry **at = bucket_of(cache, &entry->key);

            entry->next = *at;
            *at = entry;
            entry = next;
        }
    }
    free(old);
}

/* Takes the entry out and puts it before `gone`. */
static struct srv_cache_entry *take_out(struct srv_cache *cache,
                                        struct srv_cache_entry *entry,
                                        struct srv_cache_entry *gone)
{
    struct srv_cache_entry **at = bucket_of(cache, &entry->key);

    while (*at != NULL && *at != entry)
        at = &(*at)->next;
    *at = entry->next;
    list_remove(cache, entry);
    cache->n_entries--;
    cache->n_bytes -= entry->n_bytes;
    entry->older = gone;
    return entry;
}

/* Links a new entry in; returns the entries that had to leave for it. */
static struct srv_cache_entry *insert(struct srv_cache *cache,
                                      struct srv_cache_entry *entry)
{
    struct srv_cache_entry *gone = NULL;
    struct srv_cache_entry *same = *find(cache, &entry->key);
    struct srv_cache_entry **at;

    if (same != NULL)
        gone = take_out(cache, same, gone);
    while (cache->oldest != NULL &&
           cache->n_bytes + entry->n_bytes > cache->limit_bytes)
        gone = take_out(cache, cache->oldest, gone);
    if (cache->n_entries >= cache->n_buckets)
        grow(cache);
    at = bucket_of(cache, &entry->key);
    entry->next = *at;
    *at = entry;
    list_add_newest(cache, entry);
    cache->n_entries++;
    cache->n_bytes += entry->n_bytes;
    return gone;
}

void srv_cache_put(struct srv_cache *cache, const struct srv_key *key,
                   struct srv_answer *answer)
{
    const size_t overhead = sizeof(struct srv_cache_entry) + sizeof *answer + 1;
    struct srv_cache_entry *entry;

    if (answer->length > cache->limit_bytes / 4 ||
        overhead > cache->limit_bytes / 4 - answer->length)
        return;
    entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return;
    entry->key = *key;
    entry->answer = srv_answer_ref(answer);
    entry->n_bytes = answer->length + overhead;
    pthread_mutex_lock(&cache->lock);
    struct srv_cache_entry *gone = insert(cache, entry);
    pthread_mutex_unlock(&cache->lock);
    free_entries(gone);
}

size_t srv_cache_bytes(struct srv_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const size_t n_bytes = cache->n_bytes;
    pthread_mutex_unlock(&cache->lock);
    return n_bytes;
}

size_t srv_cache_entries(struct srv_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const size_t n_entries = cache->n_entries;
    pthread_mutex_unlock(&cache->lock);
    return n_entries;
}
