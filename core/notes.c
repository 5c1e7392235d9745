/*
 * notes.c: a growing list of diagnostics.
 */
#include "notes.h"

#include <string.h>

bool remat_note(struct remat_arena *arena, struct remat_notes *notes,
                struct remat_diagnostic diagnostic)
{
    if (diagnostic.message == NULL)
        return false;
    if (notes->n == notes->capacity) {
        uint32_t capacity = notes->capacity == 0 ? 4 : notes->capacity * 2;
        struct remat_diagnostic *at =
            REMAT_NEW_ARRAY(arena, struct remat_diagnostic, capacity);

        if (at == NULL)
            return false;
        if (notes->n > 0)
            memcpy(at, notes->at, notes->n * sizeof(*at));
        notes->at = at;
        notes->capacity = capacity;
    }
    notes->at[notes->n++] = diagnostic;
    return true;
}
