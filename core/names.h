/*
 * names.h: from strings to small numbers, as a crit-bit tree.
 *
 * A hash table would need a secret against names chosen to collide; this needs
 * none: every operation takes time in the length of the key alone (D. J.
 * Bernstein, "Crit-bit trees", 2004).
 */
#ifndef REMAT_NAMES_H
#define REMAT_NAMES_H

#include "arena.h"

struct remat_fork;

struct remat_names {
    const char **keys; /* keys[i] belongs to number i */
    struct remat_fork *forks;
    uint32_t n;
    uint32_t capacity;
    uint32_t root;
};

/* The number of a key, or REMAT_NONE. */
uint32_t remat_names_find(const struct remat_names *names, const char *key);
/* Gives the key the next number, n. The key must be absent and outlive the
 * arena. False when the arena has no room. Amortised O(length of key). */
REMAT_NODISCARD bool remat_names_add(struct remat_arena *arena,
                                     struct remat_names *names,
                                     const char *key);

#endif
