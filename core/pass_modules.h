/*
 * pass_modules.h: modules that match a pattern, as regions. Private to core.
 */
#ifndef REMAT_PASS_MODULES_H
#define REMAT_PASS_MODULES_H

#include "pass_work.h"

struct remat_modules {
    const char *pattern;      /* without the root */
    uint32_t n_components;    /* of the pattern */
    struct remat_names paths; /* module paths met, as they stand */
    uint32_t *region;         /* by number in paths, or REMAT_NONE */
    uint32_t region_capacity;
    struct remat_names regions; /* the matching beginnings of paths */
};

/* Reads the pattern of the pass; NULL is fine. REMAT_E_OPTION when it cannot
 * match. */
REMAT_NODISCARD enum remat_status
remat_modules_init(struct remat_pass_work *w, struct remat_modules *modules);
/* The region of a module path, REMAT_NONE when the pattern does not match it.
 * Regions are numbered in the order they are first met. O(length of path), and
 * that times the pattern for a path not met before. */
REMAT_NODISCARD enum remat_status
remat_modules_find(struct remat_pass_work *w, struct remat_modules *modules,
                   const char *module, uint32_t *region);
/* Notes that no module matched. */
REMAT_NODISCARD enum remat_status
remat_modules_note_unmatched(struct remat_pass_work *w,
                             const struct remat_modules *modules);

#endif
