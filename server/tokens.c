/*
 * tokens.c: principals, the set of tokens, and the check of a request.
 *
 * The list holds one reference to each principal. One whose name has gone from
 * the file stays in it while others hold references, so that it is found again
 * with its counters when the name comes back.
 */
#include "tokens.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "log.h"
#include "word.h"

#define MOST_FILE_BYTES ((size_t)4 << 20)

struct srv_token {
    struct srv_token_digest digest;
    unsigned scopes;
    struct srv_principal *owner; /* kept by the list */
};

/* ---- principals -------------------------------------------------------- */

struct srv_principal *srv_principal_ref(struct srv_principal *principal)
{
    atomic_fetch_add_explicit(&principal->n_users, 1, memory_order_relaxed);
    return principal;
}

void srv_principal_unref(struct srv_principal *principal)
{
    if (principal != NULL &&
        atomic_fetch_sub_explicit(&principal->n_users, 1,
                                  memory_order_acq_rel) == 1)
        free(principal);
}

static void set_quota(struct srv_principal *principal,
                      const struct srv_quota *quota)
{
    atomic_store(&principal->rate, quota->rate);
    atomic_store(&principal->queue, quota->queue);
    atomic_store(&principal->running, quota->running);
}

/* With the lock held: of the list, made when it is not there; NULL without
 * memory. */
static struct srv_principal *find_principal(struct srv_tokens *tokens,
                                            const char *name)
{
    struct srv_principal *principal = tokens->principals;

    while (principal != NULL &&
           strncmp(principal->name, name, SRV_NAME_SIZE - 1) != 0)
        principal = principal->next;
    if (principal != NULL)
        return principal;
    principal = calloc(1, sizeof *principal);
    if (principal == NULL)
        return NULL;
    atomic_init(&principal->n_users, 1);
    snprintf(principal->name, sizeof principal->name, "%s", name);
    set_quota(principal, &tokens->defaults);
    principal->next = tokens->principals;
    tokens->principals = principal;
    return principal;
}

struct srv_principal *srv_tokens_principal(struct srv_tokens *tokens,
                                           const char *name)
{
    pthread_mutex_lock(&tokens->lock);
    struct srv_principal *principal = find_principal(tokens, name);
    if (principal != NULL)
        srv_principal_ref(principal);
    pthread_mutex_unlock(&tokens->lock);
    return principal;
}

size_t srv_tokens_list(struct srv_tokens *tokens,
                       struct srv_principal_view *views, size_t most)
{
    size_t n = 0;

    pthread_mutex_lock(&tokens->lock);
    for (struct srv_principal *at = tokens->principals; at != NULL && n < most;
         at = at->next) {
        views[n] = (struct srv_principal_view){
            .quota = {.rate = atomic_load(&at->rate),
                      .queue = atomic_load(&at->queue),
                      .running = atomic_load(&at->running)},
            .n_queued = atomic_load(&at->n_queued),
            .n_running = atomic_load(&at->n_running),
        };
        memcpy(views[n].name, at->name, sizeof views[n].name);
        n++;
    }
    pthread_mutex_unlock(&tokens->lock);
    return n;
}

static bool owns_token(const struct srv_tokens *tokens,
                       const struct srv_principal *principal)
{
    for (size_t i = 0; i < tokens->n_tokens; i++) {
        if (tokens->tokens[i].owner == principal)
            return true;
    }
    return principal == tokens->anonymous;
}

/* With the lock held: forgets who has no token and is not used elsewhere. */
static void drop_unused(struct srv_tokens *tokens)
{
    struct srv_principal **at = &tokens->principals;

    while (*at != NULL) {
        struct srv_principal *principal = *at;

        if (atomic_load(&principal->n_users) == 1 &&
            !owns_token(tokens, principal)) {
            *at = principal->next;
            srv_principal_unref(principal);
        } else {
            at = &principal->next;
        }
    }
}

bool srv_tokens_init(struct srv_tokens *tokens, unsigned anonymous_scopes,
                     const struct srv_quota *defaults)
{
    *tokens = (struct srv_tokens){.anonymous_scopes = anonymous_scopes,
                                  .defaults = *defaults};
    if (pthread_mutex_init(&tokens->lock, NULL) != 0)
        return false;
    tokens->anonymous = find_principal(tokens, SRV_ANONYMOUS);
    if (tokens->anonymous != NULL)
        return true;
    pthread_mutex_destroy(&tokens->lock);
    return false;
}

void srv_tokens_release(struct srv_tokens *tokens)
{
    while (tokens->principals != NULL) {
        struct srv_principal *principal = tokens->principals;

        tokens->principals = principal->next;
        srv_principal_unref(principal);
    }
    free(tokens->tokens);
    pthread_mutex_destroy(&tokens->lock);
}

/* ---- the set ----------------------------------------------------------- */

/* Lays what a line says of its name over the principal's quota. */
static void lay_quota(const struct srv_token_line *line,
                      struct srv_principal *principal)
{
    if (line->says[0])
        atomic_store(&principal->rate, line->quota.rate);
    if (line->says[1])
        atomic_store(&principal->queue, line->quota.queue);
    if (line->says[2])
        atomic_store(&principal->running, line->quota.running);
}

/* With the lock held: the tokens of the lines; NULL without memory. */
static struct srv_token *make_tokens(struct srv_tokens *tokens,
                                     const struct srv_token_line *lines,
                                     size_t n_lines)
{
    struct srv_token *made = calloc(n_lines, sizeof *made);

    for (size_t i = 0; made != NULL && i < n_lines; i++) {
        made[i].digest = lines[i].digest;
        made[i].scopes = lines[i].scopes;
        made[i].owner = find_principal(tokens, lines[i].name);
        if (made[i].owner == NULL) {
            free(made);
            made = NULL;
        }
    }
    return made;
}

/* Replaces the tokens; false, and they stay, without memory. */
static bool replace(struct srv_tokens *tokens,
                    const struct srv_token_line *lines, size_t n_lines)
{
    pthread_mutex_lock(&tokens->lock);
    struct srv_token *made = make_tokens(tokens, lines, n_lines);
    if (made != NULL) {
        free(tokens->tokens);
        tokens->tokens = made;
        tokens->n_tokens = n_lines;
        for (struct srv_principal *p = tokens->principals; p != NULL;
             p = p->next)
            set_quota(p, &tokens->defaults);
        for (size_t i = 0; i < n_lines; i++)
            lay_quota(&lines[i], made[i].owner);
    }
    drop_unused(tokens);
    pthread_mutex_unlock(&tokens->lock);
    return made != NULL;
}

static void log_loaded(const char *path, size_t n_tokens, bool is_exposed)
{
    struct srv_log log;

    if (is_exposed)
        srv_log_event("warn", "tokens", "message",
                      "everybody on this machine may read the token file; "
                      "chmod 600 or 640 it");
    srv_log_begin(&log, "info", "tokens");
    srv_log_text(&log, "file", path);
    srv_log_number(&log, "tokens", n_tokens);
    srv_log_end(&log);
}

/* The lines of a file; NULL after a failure. */
static struct srv_token_line *read_lines(const char *path, size_t *n_lines,
                                         bool *is_exposed, char *why,
                                         size_t n_why)
{
    struct srv_token_line *lines = NULL;
    size_t n_text = 0;
    char *text =
        srv_file_read(path, MOST_FILE_BYTES, &n_text, is_exposed, why, n_why);

    if (text == NULL)
        return NULL;
    if (strlen(text) != n_text)
        snprintf(why, n_why, "holds a NUL byte");
    else
        lines = srv_token_file_parse(text, n_lines, why, n_why);
    srv_file_free(text, n_text);
    return lines;
}

bool srv_tokens_load(struct srv_tokens *tokens, const char *path, char *why,
                     size_t n_why)
{
    bool is_exposed = false;
    size_t n_lines = 0;
    struct srv_token_line *lines =
        read_lines(path, &n_lines, &is_exposed, why, n_why);

    if (lines == NULL)
        return false;
    const bool ok = replace(tokens, lines, n_lines);
    free(lines);
    if (ok)
        log_loaded(path, n_lines, is_exposed);
    else
        snprintf(why, n_why, "no memory");
    return ok;
}

/* ---- a request --------------------------------------------------------- */

/* The token of "Bearer TOKEN" and its length, NULL when the header is not
 * that. */
static const char *token_of(const char *authorization, size_t *n_token)
{
    static const char scheme[] = "Bearer";
    const size_t n = sizeof scheme - 1;
    const char *at = authorization;

    if (strlen(at) <= n || !srv_token_is(at, n, scheme) || at[n] != ' ')
        return NULL;
    at += n;
    at += strspn(at, " ");
    *n_token = srv_token_span(at);
    const char *end = at + *n_token;
    end += strspn(end, " \t");
    return *n_token > 0 && *n_token <= SRV_TOKEN_MOST && *end == '\0' ? at
                                                                      : NULL;
}

/* With the lock held. Looks at all, whichever is right. */
static const struct srv_token *find_token(const struct srv_tokens *tokens,
                                          const struct srv_token_digest *digest)
{
    const struct srv_token *found = NULL;

    for (size_t i = 0; i < tokens->n_tokens; i++) {
        if (CRYPTO_memcmp(tokens->tokens[i].digest.bytes, digest->bytes,
                          sizeof digest->bytes) == 0)
            found = &tokens->tokens[i];
    }
    return found;
}

static enum srv_access_result check_anonymous(struct srv_tokens *tokens,
                                              struct srv_access *access)
{
    if (tokens->anonymous_scopes == 0)
        return SRV_ACCESS_NO_TOKEN;
    access->principal = srv_principal_ref(tokens->anonymous);
    access->scopes = tokens->anonymous_scopes;
    return SRV_ACCESS_OK;
}

enum srv_access_result srv_tokens_check(struct srv_tokens *tokens,
                                        const char *authorization,
                                        struct srv_access *access)
{
    struct srv_token_digest digest;
    enum srv_access_result result = SRV_ACCESS_WRONG;

    *access = (struct srv_access){0};
    if (authorization == NULL)
        return check_anonymous(tokens, access);
    size_t n_token = 0;
    const char *token = token_of(authorization, &n_token);
    if (token == NULL)
        return SRV_ACCESS_MALFORMED;
    if (!srv_token_hash(token, n_token, &digest))
        return SRV_ACCESS_WRONG;
    pthread_mutex_lock(&tokens->lock);
    const struct srv_token *found = find_token(tokens, &digest);
    if (found != NULL) {
        access->principal = srv_principal_ref(found->owner);
        access->scopes = found->scopes;
        result = SRV_ACCESS_OK;
    }
    pthread_mutex_unlock(&tokens->lock);
    return result;
}
