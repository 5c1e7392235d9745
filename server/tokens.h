/*
 * tokens.h: who asks, by bearer token (RFC 6750), and what they may.
 *
 * A principal is a name under which jobs are made and seen; several tokens may
 * have one name, so that one can replace another. Tokens come from a file
 * (token_file.h).
 *
 * Threads: everything but init and release may be called from any thread. Only
 * digests of tokens are kept, and nothing here ever prints one.
 */
#ifndef SRV_TOKENS_H
#define SRV_TOKENS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rate.h"
#include "token_file.h"

/* Lives while a reference is held or its name is in the file. The counters
 * outlive a reload. */
struct srv_principal {
    atomic_size_t n_users;
    struct srv_principal *next; /* of the tokens' list, under their lock */
    char name[SRV_NAME_SIZE];
    atomic_uint_fast64_t rate; /* its quota now: a reload changes it */
    atomic_uint_fast64_t queue;
    atomic_uint_fast64_t running;
    struct srv_bucket bucket;
    atomic_uint_fast64_t n_queued; /* for srv_place_take */
    atomic_uint_fast64_t n_running;
};
struct srv_principal *srv_principal_ref(struct srv_principal *principal);
void srv_principal_unref(struct srv_principal *principal); /* NULL is fine */

struct srv_token;
struct srv_tokens {
    pthread_mutex_t lock;
    struct srv_principal *principals;
    struct srv_principal *anonymous; /* always there */
    struct srv_token *tokens;
    size_t n_tokens;
    unsigned anonymous_scopes; /* 0: a token is needed */
    struct srv_quota defaults; /* what a line does not say */
};

/* Without tokens; who has none gets `anonymous_scopes`. False without memory.
 */
bool srv_tokens_init(struct srv_tokens *tokens, unsigned anonymous_scopes,
                     const struct srv_quota *defaults);
void srv_tokens_release(struct srv_tokens *tokens);

/* Reads the file, and replaces all tokens when it has no fault; else they stay,
 * and `why` says what to do in which line. Logs how many there are, and a
 * warning when everybody may read the file. Also the reload. O(tokens^2). */
bool srv_tokens_load(struct srv_tokens *tokens, const char *path, char *why,
                     size_t n_why);

/* Who asks. */
struct srv_access {
    struct srv_principal *principal; /* a reference of the caller's */
    unsigned scopes;                 /* of the token, bits of srv_scope */
};
enum srv_access_result {
    SRV_ACCESS_OK,
    SRV_ACCESS_NO_TOKEN,  /* none was given, and one is needed */
    SRV_ACCESS_MALFORMED, /* not "Bearer TOKEN" */
    SRV_ACCESS_WRONG      /* nobody has that token */
};
/* By the value of an Authorization header, NULL for none. The time it takes
 * does not depend on how much of a token is right: O(tokens). */
enum srv_access_result srv_tokens_check(struct srv_tokens *tokens,
                                        const char *authorization,
                                        struct srv_access *access);
/* Who has a token, and anonymous, for an operator to look at. */
struct srv_principal_view {
    char name[SRV_NAME_SIZE];
    struct srv_quota quota;
    uint64_t n_queued;
    uint64_t n_running;
};
/* The first `most` of them; how many those are. O(most). */
size_t srv_tokens_list(struct srv_tokens *tokens,
                       struct srv_principal_view *views, size_t most);
/* By name, for jobs of an earlier run; made when there is none. A reference of
 * the caller's, or NULL without memory. The name is cut at SRV_NAME_SIZE. */
struct srv_principal *srv_tokens_principal(struct srv_tokens *tokens,
                                           const char *name);

#endif
