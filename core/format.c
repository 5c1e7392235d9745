/*
 * format.c: text for diagnostics.
 */
#include "format.h"

#include <stdio.h>

const char *remat_format_list(struct remat_arena *arena, const char *format,
                              va_list args)
{
    va_list again;
    char *text;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = n < 0 ? NULL : REMAT_NEW_ARRAY(arena, char, (size_t)n + 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

const char *remat_format(struct remat_arena *arena, const char *format, ...)
{
    va_list args;
    const char *text;

    va_start(args, format);
    text = remat_format_list(arena, format, args);
    va_end(args);
    return text;
}
