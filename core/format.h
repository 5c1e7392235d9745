/*
 * format.h: text for diagnostics, in the arena. Private to core.
 */
#ifndef REMAT_FORMAT_H
#define REMAT_FORMAT_H

#include "arena.h"

/* printf into the arena; NULL when there is no room. */
const char *remat_format(struct remat_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
