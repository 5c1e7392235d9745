/*
 * query.c: names and values of a query.
 */
#include "query.h"

#include <stdint.h>
#include <string.h>

void srv_query_hide(const char *uri)
{
    char *query = uri == NULL ? NULL : strchr(uri, '?');

    if (query != NULL && query[1] != '\0')
        query[1] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char l = (char)(c | 0x20);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

/* The next byte of a value; -1 when it is not well formed. */
static int decoded(const char **at)
{
    const char c = *(*at)++;

    if (c == '+')
        return ' ';
    if (c != '%')
        return (unsigned char)c;
    const int high = hex_digit(**at);
    const int low = high < 0 ? -1 : hex_digit((*at)[1]);
    if (low < 0)
        return -1;
    *at += 2;
    return high * 16 + low;
}

static bool decode_value(const char *at, const char *end, char *value,
                         size_t n_value)
{
    size_t n = 0;

    while (at < end) {
        const int byte = decoded(&at);

        if (byte <= 0 || at > end || n + 1 >= n_value)
            return false;
        value[n++] = (char)byte;
    }
    value[n] = '\0';
    return true;
}

/* Where the value of that name begins, or NULL. */
static const char *find_value(const char *query, const char *name)
{
    const size_t n_name = strlen(name);

    for (const char *at = query; *at != '\0';) {
        const size_t n = strcspn(at, "&");

        if (strncmp(at, name, n_name) == 0 && at[n_name] == '=')
            return at + n_name + 1;
        at += n + (at[n] == '&');
    }
    return NULL;
}

bool srv_query_has(const char *query, const char *name)
{
    return find_value(query, name) != NULL;
}

bool srv_query_value(const char *query, const char *name, char *value,
                     size_t n_value)
{
    const char *at = find_value(query, name);

    return at != NULL &&
           decode_value(at, at + strcspn(at, "&"), value, n_value);
}

/* Bytes of the character that begins there, 0 when it is none. */
static size_t character_length(const unsigned char *at)
{
    static const struct {
        unsigned char first; /* with `mask` applied */
        unsigned char mask;
        size_t n;
        uint32_t least; /* that needs so many bytes */
    } forms[] = {{0x00, 0x80, 1, 0},
                 {0xc0, 0xe0, 2, 0x80},
                 {0xe0, 0xf0, 3, 0x800},
                 {0xf0, 0xf8, 4, 0x10000}};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        uint32_t code = at[0] & (unsigned char)~forms[i].mask;
        size_t n = 1;

        if ((at[0] & forms[i].mask) != forms[i].first)
            continue;
        for (; n < forms[i].n && (at[n] & 0xc0) == 0x80; n++)
            code = code << 6 | (at[n] & 0x3f);
        return n == forms[i].n && code >= forms[i].least && code <= 0x10ffff &&
                       (code < 0xd800 || code > 0xdfff)
                   ? n
                   : 0;
    }
    return 0;
}

bool srv_query_is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at != '\0') {
        const size_t n = character_length(at);

        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

/* Whether a name stood in the query before `at`. */
static bool came_before(const char *query, const char *at, size_t n_name)
{
    while (query < at) {
        const size_t n = strcspn(query, "&");

        if (strcspn(query, "=&") == n_name && memcmp(query, at, n_name) == 0)
            return true;
        query += n + (query[n] == '&');
    }
    return false;
}

/* What is wrong with one NAME=VALUE of a query, or NULL. */
static const char *fault_of(const struct srv_route *route, const char *query,
                            const char *at, size_t n_name)
{
    if (!srv_route_takes(route, at, n_name))
        return srv_route_makes_job(route)
                   ? "is none of its names; options go into the document"
                   : "is none of its names";
    if (strcmp(route->query, "*") == 0)
        return NULL;
    if (at[n_name] != '=')
        return "needs a value: NAME=VALUE";
    return came_before(query, at, n_name) ? "comes twice" : NULL;
}

bool srv_query_find_fault(const struct srv_route *route, const char *query,
                          struct srv_query_fault *fault)
{
    const char *at = query;

    while (*at != '\0') {
        const size_t n = strcspn(at, "&");
        const size_t n_name = strcspn(at, "=&");
        const char *what = n == 0 ? NULL : fault_of(route, query, at, n_name);

        if (what != NULL) {
            *fault = (struct srv_query_fault){at, n_name, what};
            return true;
        }
        at += n + (at[n] == '&');
    }
    return false;
}
