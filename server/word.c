/*
 * word.c: ASCII alone, whatever the locale.
 */
#include "word.h"

#include <string.h>

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

bool srv_token_is(const char *at, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (word[i] == '\0' || lower(at[i]) != lower(word[i]))
            return false;
    }
    return word[n] == '\0';
}

bool srv_text_is(const char *a, const char *b)
{
    return srv_token_is(a, strlen(a), b);
}

bool srv_is_token(const char *text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    const char *at = text;

    for (; *at != '\0'; at++) {
        const char c = lower(*at);

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
            strchr(others, c) == NULL)
            return false;
    }
    return at != text;
}
