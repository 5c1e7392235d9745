/*
 * format.c: text for diagnostics.
 */
#include "format.h"

#include <stdarg.h>
#include <stdio.h>

const char *remat_format(struct remat_arena *arena, const char *format, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return NULL;
    text = REMAT_NEW_ARRAY(arena, char, (size_t)n + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}
