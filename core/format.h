/*
 * format.h: text for diagnostics, in the arena. Private to core.
 */
#ifndef REMAT_FORMAT_H
#define REMAT_FORMAT_H

#include "arena.h"

#include <stdarg.h>

/* printf into the arena; NULL when there is no room. */
const char *remat_format(struct remat_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with a list of arguments, which is used up. */
const char *remat_format_list(struct remat_arena *arena, const char *format,
                              va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
