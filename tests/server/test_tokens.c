/*
 * test_tokens.c: the token file line by line, who a header is, and what a
 * reload keeps.
 */
#include "tokens.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "suite.h"
#include "token_file.h"

#define ALICE "alice-token-0123456789"
#define BOB   "bob-token-0123456789/+~="
/* sha256 of "abc", with leading letters in both cases */
#define ABC "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static const struct srv_quota no_limits;
static char path[64];

static void write_file(const char *text)
{
    FILE *file;

    snprintf(path, sizeof path, "/tmp/test_tokens.%d", (int)getpid());
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
}

static bool load(struct srv_tokens *tokens, const char *text)
{
    char why[256] = "";

    write_file(text);
    const bool ok = srv_tokens_load(tokens, path, why, sizeof why);
    ck_assert_msg(ok == (why[0] == '\0'), "%s", why);
    unlink(path);
    return ok;
}

static void start(struct srv_tokens *tokens, unsigned anonymous_scopes,
                  const char *text)
{
    ck_assert(srv_tokens_init(tokens, anonymous_scopes, &no_limits));
    if (text != NULL)
        ck_assert(load(tokens, text));
}

/* The scopes that a header has; the negated result when it has none. */
static int scopes_of(struct srv_tokens *tokens, const char *header,
                     const char *name)
{
    struct srv_access access;
    const enum srv_access_result result =
        srv_tokens_check(tokens, header, &access);

    ck_assert((access.principal != NULL) == (result == SRV_ACCESS_OK));
    if (result != SRV_ACCESS_OK)
        return -(int)result;
    ck_assert_str_eq(access.principal->name, name);
    srv_principal_unref(access.principal);
    return (int)access.scopes;
}

/* ---- the file ---------------------------------------------------------- */

START_TEST(test_lines)
{
    char text[] = "# a comment\n\n   \t\n"
                  "alice read,submit " ALICE "\n"
                  "\tbob\tADMIN  " BOB " rate=5 queue=0 running=1 # his\r\n"
                  "c.d_e-F read sha256:" ABC "\n"
                  "alice read second-token-of-alice";
    char why[256] = "";
    size_t n = 0;
    struct srv_token_line *lines =
        srv_token_file_parse(text, &n, why, sizeof why);

    ck_assert_msg(lines != NULL, "%s", why);
    ck_assert_uint_eq(n, 4);
    ck_assert_str_eq(lines[0].name, "alice");
    ck_assert_uint_eq(lines[0].scopes, SRV_SCOPE_READ | SRV_SCOPE_SUBMIT);
    ck_assert_uint_eq(lines[0].number, 4);
    ck_assert(!lines[0].says[0] && !lines[0].says[1] && !lines[0].says[2]);
    ck_assert_str_eq(lines[1].name, "bob");
    ck_assert_uint_eq(lines[1].scopes, SRV_SCOPE_ADMIN);
    ck_assert(lines[1].says[0] && lines[1].says[1] && lines[1].says[2]);
    ck_assert_uint_eq(lines[1].quota.rate, 5);
    ck_assert_uint_eq(lines[1].quota.queue, 0);
    ck_assert_uint_eq(lines[1].quota.running, 1);
    struct srv_token_digest abc;
    ck_assert(srv_token_hash("abc", 3, &abc));
    ck_assert_int_eq(memcmp(&lines[2].digest, &abc, sizeof abc), 0);
    ck_assert_str_eq(lines[3].name, "alice");
    free(lines);
}
END_TEST

#define LONG_NAME \
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

START_TEST(test_faults)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"", "no token"},
        {"# nothing\n", "no token"},
        {"alice", "line 1: must be NAME SCOPES TOKEN"},
        {"\n\nalice read", "line 3: must be NAME SCOPES TOKEN"},
        {"al!ce read " ALICE, "line 1: the name"},
        {LONG_NAME "n read " ALICE, "line 1: the name"},
        {"anonymous read " ALICE, "without a token"},
        {"Anonymous read " ALICE, "without a token"},
        {"alice write " ALICE, "read,submit,admin"},
        {"alice read,, " ALICE, "read,submit,admin"},
        {"alice , " ALICE, "read,submit,admin"},
        {"alice reads " ALICE, "read,submit,admin"},
        {"alice " ALICE " read", "read,submit,admin"},
        {"alice read short", "16 to 512"},
        {"alice read fifteen-letters", "16 to 512"},
        {"alice read spaces(are)not-allowed", "letters, digits"},
        {"alice read =================", "letters, digits"},
        {"alice read aaaaaaaaaaaaaaaaa=a", "letters, digits"},
        {"alice read sha256:abc", "64 hexadecimal"},
        {"alice read sha256:" ABC "0", "64 hexadecimal"},
        {"alice read sha256:g" ABC, "64 hexadecimal"},
        {"alice read " ALICE " rate", "rate=N"},
        {"alice read " ALICE " speed=1", "rate=N"},
        {"alice read " ALICE " rate=-1", "rate= takes"},
        {"alice read " ALICE " rate=", "rate= takes"},
        {"alice read " ALICE " queue=1000001", "queue= takes"},
        {"alice read " ALICE " rate=1 rate=1", "twice"},
        {"a read " ALICE "\nb read " ALICE, "line 2: the same token as in "
                                            "line 1"},
        {"a read " ALICE " rate=1\na read " BOB " rate=2",
         "line 2: rate= differs"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[256] = "";
        char text[600];
        size_t n = 0;

        snprintf(text, sizeof text, "%s", cases[i].text);
        ck_assert_ptr_null(srv_token_file_parse(text, &n, why, sizeof why));
        ck_assert_msg(strstr(why, cases[i].why) != NULL, "%s: %s, not %s",
                      cases[i].text, why, cases[i].why);
        /* Never a secret, wherever it stands. */
        ck_assert_ptr_null(strstr(why, "alice-token"));
        ck_assert_ptr_null(strstr(why, "letters-"));
    }
}
END_TEST

START_TEST(test_lengths)
{
    char token[SRV_TOKEN_MOST + 2];
    char text[SRV_TOKEN_MOST + 100];
    char why[256];

    memset(token, 't', sizeof token);
    for (size_t n = SRV_TOKEN_LEAST - 1; n <= SRV_TOKEN_MOST + 1;
         n +=
         n == SRV_TOKEN_LEAST + 1 ? SRV_TOKEN_MOST - SRV_TOKEN_LEAST - 2 : 1) {
        size_t n_lines = 0;

        snprintf(text, sizeof text, "%s read %.*s", LONG_NAME, (int)n, token);
        struct srv_token_line *lines =
            srv_token_file_parse(text, &n_lines, why, sizeof why);
        ck_assert_int_eq(lines != NULL,
                         n >= SRV_TOKEN_LEAST && n <= SRV_TOKEN_MOST);
        free(lines);
    }
}
END_TEST

START_TEST(test_most_tokens)
{
    for (size_t n = SRV_MOST_TOKENS - 1; n <= SRV_MOST_TOKENS + 1; n++) {
        char *text = malloc(n * 40 + 1);
        size_t at = 0;
        size_t n_lines = 0;
        char why[256] = "";

        for (size_t i = 0; i < n; i++)
            at += (size_t)snprintf(text + at, 40, "n%zu read token-%016zu\n", i,
                                   i);
        struct srv_token_line *lines =
            srv_token_file_parse(text, &n_lines, why, sizeof why);
        ck_assert_int_eq(lines != NULL, n <= SRV_MOST_TOKENS);
        if (lines == NULL)
            ck_assert_ptr_nonnull(strstr(why, "line 4097: more than 4096"));
        free(lines);
        free(text);
    }
}
END_TEST

START_TEST(test_files_that_are_none)
{
    struct srv_tokens tokens;
    char why[256] = "";

    start(&tokens, 0, NULL);
    ck_assert(!srv_tokens_load(&tokens, "/nonexistent", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
    ck_assert(!srv_tokens_load(&tokens, "/tmp", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "regular file"));
    ck_assert(!srv_tokens_load(&tokens, "/dev/zero", why, sizeof why));
    write_file("");
    FILE *file = fopen(path, "w");
    ck_assert_uint_eq(fwrite("a read \0" ALICE, 1, 20, file), 20);
    fclose(file);
    ck_assert(!srv_tokens_load(&tokens, path, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "NUL"));
    unlink(path);
    srv_tokens_release(&tokens);
}
END_TEST

/* ---- requests ---------------------------------------------------------- */

START_TEST(test_headers)
{
    static const struct {
        const char *header;
        int scopes;
    } cases[] = {
        {"Bearer " ALICE, SRV_SCOPE_READ | SRV_SCOPE_SUBMIT},
        {"bearer " ALICE, SRV_SCOPE_READ | SRV_SCOPE_SUBMIT},
        {"BEARER    " ALICE, SRV_SCOPE_READ | SRV_SCOPE_SUBMIT},
        {NULL, -SRV_ACCESS_NO_TOKEN},
        {"", -SRV_ACCESS_MALFORMED},
        {"Bearer", -SRV_ACCESS_MALFORMED},
        {"Bearer ", -SRV_ACCESS_MALFORMED},
        {"Bearer\t" ALICE, -SRV_ACCESS_MALFORMED},
        {"Bearer" ALICE, -SRV_ACCESS_MALFORMED},
        {"Basic YWxpY2U6c2VjcmV0", -SRV_ACCESS_MALFORMED},
        {"Bearer " ALICE " " ALICE, -SRV_ACCESS_MALFORMED},
        {"Bearer " ALICE ", Bearer " ALICE, -SRV_ACCESS_MALFORMED},
        {"Bearer \"" ALICE "\"", -SRV_ACCESS_MALFORMED},
        {"Bearer token=" ALICE, -SRV_ACCESS_MALFORMED},
        {ALICE, -SRV_ACCESS_MALFORMED},
        {"Bearer " ALICE "x", -SRV_ACCESS_WRONG},
        {"Bearer alice-token-012345678", -SRV_ACCESS_WRONG},
        {"Bearer x", -SRV_ACCESS_WRONG},
        {"Bearer " ABC, -SRV_ACCESS_WRONG}, /* the digest is no token */
    };
    struct srv_tokens tokens;

    start(&tokens, 0, "alice read,submit " ALICE "\nx admin sha256:" ABC "\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(scopes_of(&tokens, cases[i].header, "alice") ==
                          cases[i].scopes,
                      "%s", cases[i].header);
    ck_assert_int_eq(scopes_of(&tokens, "Bearer abc", "x"), SRV_SCOPE_ADMIN);
    srv_tokens_release(&tokens);
}
END_TEST

START_TEST(test_anonymous)
{
    struct srv_tokens tokens;

    start(&tokens, SRV_SCOPES_ALL, NULL);
    ck_assert_int_eq(scopes_of(&tokens, NULL, SRV_ANONYMOUS), SRV_SCOPES_ALL);
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " ALICE, ""),
                     -SRV_ACCESS_WRONG);
    ck_assert(load(&tokens, "alice read " ALICE));
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " ALICE, "alice"),
                     SRV_SCOPE_READ);
    ck_assert_int_eq(scopes_of(&tokens, NULL, SRV_ANONYMOUS), SRV_SCOPES_ALL);
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " BOB, ""), -SRV_ACCESS_WRONG);
    srv_tokens_release(&tokens);
}
END_TEST

START_TEST(test_rotation)
{
    struct srv_tokens tokens;

    start(&tokens, 0, "a read " ALICE);
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " BOB, "a"), -SRV_ACCESS_WRONG);
    ck_assert(load(&tokens, "a read " ALICE "\na read,admin " BOB));
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " ALICE, "a"), SRV_SCOPE_READ);
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " BOB, "a"),
                     SRV_SCOPE_READ | SRV_SCOPE_ADMIN);
    ck_assert(load(&tokens, "a read " BOB));
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " ALICE, "a"),
                     -SRV_ACCESS_WRONG);
    srv_tokens_release(&tokens);
}
END_TEST

START_TEST(test_a_bad_file_changes_nothing)
{
    struct srv_tokens tokens;

    start(&tokens, 0, "a read " ALICE " rate=3");
    ck_assert(!load(&tokens, "a read " BOB " rate=9\nb nonsense " ALICE));
    ck_assert(!load(&tokens, ""));
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " ALICE, "a"), SRV_SCOPE_READ);
    ck_assert_int_eq(scopes_of(&tokens, "Bearer " BOB, "a"), -SRV_ACCESS_WRONG);
    struct srv_principal *a = srv_tokens_principal(&tokens, "a");
    ck_assert_uint_eq(atomic_load(&a->rate), 3);
    srv_principal_unref(a);
    srv_tokens_release(&tokens);
}
END_TEST

static void check_quota(struct srv_tokens *tokens, const char *name,
                        const struct srv_quota *quota)
{
    struct srv_principal *p = srv_tokens_principal(tokens, name);

    ck_assert_uint_eq(atomic_load(&p->rate), quota->rate);
    ck_assert_uint_eq(atomic_load(&p->queue), quota->queue);
    ck_assert_uint_eq(atomic_load(&p->running), quota->running);
    srv_principal_unref(p);
}

START_TEST(test_quotas)
{
    const struct srv_quota defaults = {10, 20, 30};
    struct srv_tokens tokens;

    ck_assert(srv_tokens_init(&tokens, 0, &defaults));
    check_quota(&tokens, SRV_ANONYMOUS, &defaults);
    /* Both lines of a name count, whichever says it. */
    ck_assert(load(&tokens, "a read " ALICE " rate=0\n"
                            "a read " BOB " queue=7\n"
                            "b read sha256:" ABC " running=1"));
    check_quota(&tokens, "a", &(struct srv_quota){0, 7, 30});
    check_quota(&tokens, "b", &(struct srv_quota){10, 20, 1});
    check_quota(&tokens, "restored", &defaults);
    ck_assert(load(&tokens, "a read " ALICE));
    check_quota(&tokens, "a", &defaults);
    check_quota(&tokens, SRV_ANONYMOUS, &defaults);
    srv_tokens_release(&tokens);
}
END_TEST

/* Counters outlive reloads, also those that leave the name out. */
START_TEST(test_principals_persist)
{
    struct srv_tokens tokens;
    struct srv_access access;

    start(&tokens, 0, "a read " ALICE);
    ck_assert_int_eq(srv_tokens_check(&tokens, "Bearer " ALICE, &access),
                     SRV_ACCESS_OK);
    ck_assert(srv_place_take(&access.principal->n_queued, 0));
    ck_assert(load(&tokens, "b read " BOB));
    ck_assert(load(&tokens, "b read " BOB "\na read " ALICE));
    struct srv_principal *again = srv_tokens_principal(&tokens, "a");
    ck_assert_ptr_eq(again, access.principal);
    ck_assert_uint_eq(atomic_load(&again->n_queued), 1);
    srv_principal_unref(again);
    srv_place_give(&access.principal->n_queued);
    /* Without references it goes, and comes back new. */
    srv_principal_unref(access.principal);
    ck_assert(load(&tokens, "b read " BOB));
    struct srv_principal *b = srv_tokens_principal(&tokens, "b");
    ck_assert_ptr_null(b->next == NULL ? NULL : b->next->next);
    /* A reference may outlive everything. */
    srv_tokens_release(&tokens);
    ck_assert_str_eq(b->name, "b");
    srv_principal_unref(b);
}
END_TEST

/* ---- threads ----------------------------------------------------------- */

struct shared {
    struct srv_tokens tokens;
    atomic_bool done;
    atomic_uint n_checked;
    atomic_uint n_wrong;
};

static void *check_many(void *context)
{
    struct shared *shared = context;

    while (!atomic_load(&shared->done)) {
        struct srv_access access;

        if (srv_tokens_check(&shared->tokens, "Bearer " ALICE, &access) !=
                SRV_ACCESS_OK ||
            strcmp(access.principal->name, "a") != 0)
            atomic_fetch_add(&shared->n_wrong, 1);
        srv_principal_unref(access.principal);
        atomic_fetch_add(&shared->n_checked, 1);
    }
    return NULL;
}

START_TEST(test_reload_while_checking)
{
    static struct shared shared;
    pthread_t threads[2];

    start(&shared.tokens, 0, "a read " ALICE);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, check_many, &shared),
                         0);
    for (int i = 0; i < 50 || atomic_load(&shared.n_checked) < 100; i++)
        ck_assert(load(&shared.tokens, i % 2 == 0
                                           ? "b read " BOB "\na read " ALICE
                                           : "a admin " ALICE " rate=4"));
    atomic_store(&shared.done, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&shared.n_wrong), 0);
    srv_tokens_release(&shared.tokens);
}
END_TEST

SUITE("tokens", test_lines, test_faults, test_lengths, test_most_tokens,
      test_files_that_are_none, test_headers, test_anonymous, test_rotation,
      test_a_bad_file_changes_nothing, test_quotas, test_principals_persist,
      test_reload_while_checking)
