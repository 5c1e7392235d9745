/*
 * token_file.c: parses token files.
 *
 * No message repeats a field: it might be a token that stands in the wrong
 * place.
 */
#include "token_file.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "word.h"

#define BLANKS     " \t"
#define MOST_LIMIT UINT64_C(1000000)

static const char *const limit_names[] = {"rate", "queue", "running"};
#define N_LIMITS (sizeof limit_names / sizeof limit_names[0])

/* Where the parser is and where its message goes. */
struct parser {
    struct srv_token_line *lines;
    size_t n_lines;
    unsigned number;
    char *why;
    size_t n_why;
};

static bool fail(const struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(const struct parser *parser, const char *format, ...)
{
    va_list args;
    const int n =
        snprintf(parser->why, parser->n_why, "line %u: ", parser->number);

    va_start(args, format);
    if (n > 0 && (size_t)n < parser->n_why)
        vsnprintf(parser->why + n, parser->n_why - (size_t)n, format, args);
    va_end(args);
    return false;
}

const char *srv_scope_name(enum srv_scope scope)
{
    switch (scope) {
    case SRV_SCOPE_READ:
        return "read";
    case SRV_SCOPE_SUBMIT:
        return "submit";
    case SRV_SCOPE_ADMIN:
        return "admin";
    }
    return "";
}

/* ---- tokens ------------------------------------------------------------ */

bool srv_token_hash(const char *token, size_t n_token,
                    struct srv_token_digest *digest)
{
    return EVP_Digest(token, n_token, digest->bytes, NULL, EVP_sha256(),
                      NULL) == 1;
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

size_t srv_token_span(const char *text)
{
    const char *at = text;

    while (is_alphanumeric(*at) ||
           (*at != '\0' && strchr("-._~+/", *at) != NULL))
        at++;
    if (at == text)
        return 0;
    while (*at == '=')
        at++;
    return (size_t)(at - text);
}

/* The value of a hex digit, -1 when it is none. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool parse_hex(const char *text, struct srv_token_digest *digest)
{
    if (strlen(text) != 2 * (size_t)SRV_TOKEN_DIGEST_BYTES)
        return false;
    for (size_t i = 0; i < SRV_TOKEN_DIGEST_BYTES; i++) {
        const int high = hex_value(text[2 * i]);
        const int low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        digest->bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

/* ---- fields ------------------------------------------------------------ */

static bool parse_name(const struct parser *parser, const char *text,
                       struct srv_token_line *line)
{
    const char *at = text;

    while (is_alphanumeric(*at) || *at == '.' || *at == '_' || *at == '-')
        at++;
    if (*at != '\0' || at == text || (size_t)(at - text) >= sizeof line->name)
        return fail(parser, "the name must be 1 to 64 letters, digits, dots, "
                            "underlines and hyphens");
    if (srv_text_is(text, SRV_ANONYMOUS))
        return fail(parser, "the name " SRV_ANONYMOUS
                            " is that of requests without a token");
    memcpy(line->name, text, (size_t)(at - text) + 1);
    return true;
}

static bool parse_scopes(const struct parser *parser, const char *text,
                         struct srv_token_line *line)
{
    static const enum srv_scope scopes[] = {SRV_SCOPE_READ, SRV_SCOPE_SUBMIT,
                                            SRV_SCOPE_ADMIN};
    const char *at = text;

    while (at != NULL) {
        const size_t n = strcspn(at, ",");
        unsigned found = 0;

        for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
            if (srv_token_is(at, n, srv_scope_name(scopes[i])))
                found = scopes[i];
        }
        if (found == 0)
            return fail(parser, "the second field must be scopes: some of "
                                "read,submit,admin");
        line->scopes |= found;
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return true;
}

static bool parse_secret(const struct parser *parser, const char *text,
                         struct srv_token_line *line)
{
    static const char prefix[] = "sha256:";
    const size_t n = strlen(text);

    if (strncmp(text, prefix, sizeof prefix - 1) == 0) {
        if (parse_hex(text + sizeof prefix - 1, &line->digest))
            return true;
        return fail(parser, "sha256: takes 64 hexadecimal digits");
    }
    if (srv_token_span(text) != n)
        return fail(parser,
                    "a token is letters, digits and -._~+/ with = at its "
                    "end; or give sha256:HEX");
    if (n < SRV_TOKEN_LEAST || n > SRV_TOKEN_MOST)
        return fail(parser,
                    "a token has %d to %d characters; openssl rand -hex 32 "
                    "makes one",
                    SRV_TOKEN_LEAST, SRV_TOKEN_MOST);
    if (!srv_token_hash(text, n, &line->digest))
        return fail(parser, "no memory");
    return true;
}

/* The limit of that name's place in limit_names. */
static uint64_t *limit_at(struct srv_quota *quota, size_t i)
{
    if (i == 0)
        return &quota->rate;
    return i == 1 ? &quota->queue : &quota->running;
}

static bool parse_limit(const struct parser *parser, const char *text,
                        struct srv_token_line *line)
{
    const size_t n = strcspn(text, "=");

    for (size_t i = 0; i < N_LIMITS; i++) {
        uint64_t value = 0;

        if (text[n] != '=' || !srv_token_is(text, n, limit_names[i]))
            continue;
        if (line->says[i])
            return fail(parser, "%s= stands twice", limit_names[i]);
        if (!srv_number_parse(text + n + 1, false, &value) ||
            value > MOST_LIMIT)
            return fail(parser, "%s= takes a number from 0 (no limit) to %d",
                        limit_names[i], (int)MOST_LIMIT);
        line->says[i] = true;
        *limit_at(&line->quota, i) = value;
        return true;
    }
    return fail(parser, "behind the token there may be rate=N, queue=N and "
                        "running=N only");
}

/* ---- lines ------------------------------------------------------------- */

/* Against the lines before it. */
static bool check_line(const struct parser *parser, struct srv_token_line *line)
{
    for (size_t i = 0; i < parser->n_lines; i++) {
        struct srv_token_line *other = &parser->lines[i];

        if (memcmp(&other->digest, &line->digest, sizeof line->digest) == 0)
            return fail(parser, "the same token as in line %u", other->number);
        for (size_t l = 0; l < N_LIMITS; l++) {
            if (line->says[l] && other->says[l] &&
                *limit_at(&line->quota, l) != *limit_at(&other->quota, l) &&
                strcmp(line->name, other->name) == 0)
                return fail(parser,
                            "%s= differs from that of the same name in line %u",
                            limit_names[l], other->number);
        }
    }
    return true;
}

/* The next field, NUL-terminated, or NULL. */
static char *next_field(char **rest)
{
    char *field = *rest + strspn(*rest, BLANKS);
    const size_t n = strcspn(field, BLANKS);

    if (n == 0)
        return NULL;
    *rest = field + n;
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return field;
}

static bool parse_line(struct parser *parser, char *text)
{
    typedef bool parse(const struct parser *, const char *,
                       struct srv_token_line *);
    static parse *const parse_field[] = {parse_name, parse_scopes,
                                         parse_secret};
    struct srv_token_line line = {.number = parser->number};
    char *field = NULL;

    text[strcspn(text, "#\r")] = '\0';
    if (text[strspn(text, BLANKS)] == '\0')
        return true;
    for (size_t i = 0; i < sizeof parse_field / sizeof parse_field[0]; i++) {
        field = next_field(&text);
        if (field == NULL)
            return fail(parser, "must be NAME SCOPES TOKEN");
        if (!parse_field[i](parser, field, &line))
            return false;
    }
    while ((field = next_field(&text)) != NULL) {
        if (!parse_limit(parser, field, &line))
            return false;
    }
    if (!check_line(parser, &line))
        return false;
    if (parser->n_lines == SRV_MOST_TOKENS)
        return fail(parser, "more than %d tokens", SRV_MOST_TOKENS);
    parser->lines[parser->n_lines++] = line;
    return true;
}

struct srv_token_line *srv_token_file_parse(char *text, size_t *n_lines,
                                            char *why, size_t n_why)
{
    struct parser parser = {.why = why, .n_why = n_why};
    bool ok = true;

    parser.lines = calloc(SRV_MOST_TOKENS, sizeof *parser.lines);
    if (parser.lines == NULL) {
        snprintf(why, n_why, "no memory");
        return NULL;
    }
    while (ok && text != NULL) {
        char *end = strchr(text, '\n');

        if (end != NULL)
            *end = '\0';
        parser.number++;
        ok = parse_line(&parser, text);
        text = end == NULL ? NULL : end + 1;
    }
    if (ok && parser.n_lines == 0) {
        snprintf(why, n_why, "no token in it: a line is NAME SCOPES TOKEN");
        ok = false;
    }
    *n_lines = parser.n_lines;
    if (ok)
        return parser.lines;
    free(parser.lines);
    return NULL;
}
