/*
 * notes.h: the diagnostics of a decision, as they come up. Private to core.
 */
#ifndef REMAT_NOTES_H
#define REMAT_NOTES_H

#include "arena.h"

struct remat_notes {
    struct remat_diagnostic *at;
    uint32_t n;
    uint32_t capacity;
};

/* Appends a diagnostic; false without room. Amortised O(1). */
REMAT_NODISCARD bool remat_note(struct remat_arena *arena,
                                struct remat_notes *notes,
                                struct remat_diagnostic diagnostic);

#endif
