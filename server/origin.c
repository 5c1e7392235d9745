/*
 * origin.c: Host and Origin.
 */
#include "origin.h"

#include <string.h>

#include "word.h"

static bool all_digits(const char *at, const char *end)
{
    for (const char *c = at; c < end; c++) {
        if (*c < '0' || *c > '9')
            return false;
    }
    return true;
}

/* Characters of a registered name or IPv4 address; no user info, no path. */
static bool is_host_char(char c, bool bracketed)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
           (bracketed && c == ':');
}

bool srv_split_authority(const char *authority, const char **host,
                         size_t *n_host)
{
    const bool bracketed = *authority == '[';
    const char *start = bracketed ? authority + 1 : authority;
    const char *at = start;

    while (is_host_char(*at, bracketed))
        at++;
    *host = start;
    *n_host = (size_t)(at - start);
    if (at == start)
        return false;
    if (bracketed && *at++ != ']')
        return false;
    return *at == '\0' ||
           (*at == ':' && all_digits(at + 1, at + 1 + strlen(at + 1)));
}

bool srv_host_is_loopback(const char *host, size_t n_host)
{
    static const char suffix[] = ".localhost";
    const size_t n_suffix = sizeof suffix - 1;

    if (srv_token_is(host, n_host, "localhost") ||
        srv_token_is(host, n_host, "::1"))
        return true;
    if (n_host > n_suffix &&
        srv_token_is(host + n_host - n_suffix, n_suffix, suffix))
        return true;
    /* 127.0.0.0/8: four numbers, so that 127.evil.example is a name. */
    int n_dots = 0;
    for (size_t i = 0; i < n_host; i++) {
        if (host[i] == '.')
            n_dots++;
        else if (host[i] < '0' || host[i] > '9')
            return false;
    }
    return n_dots == 3 && strncmp(host, "127.", 4) == 0;
}

bool srv_origin_matches(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t n = strlen(schemes[i]);

        if (strlen(origin) > n && srv_token_is(origin, n, schemes[i]))
            return srv_text_is(origin + n, host);
    }
    return false; /* also "null": a sandboxed page, a file */
}
