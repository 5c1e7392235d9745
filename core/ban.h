/*
 * ban.h: one value that may not be computed again (semantics 5.2). Private to
 * core.
 */
#ifndef REMAT_BAN_H
#define REMAT_BAN_H

#include "work.h"

/* The bans of one cut. */
struct remat_bans {
    struct remat_rules rules;
    const bool *dont_ban;   /* by node; NULL: none */
    uint8_t *reason;        /* enum remat_ban_reason by node */
    struct remat_ban *list; /* in the order of the first ban of a node */
    uint32_t n;
    uint32_t n_static; /* the first of them: inputs and static rules */
};

/* Whether 5.2 lets a node be banned. O(1). */
bool remat_ban_is_allowed(const struct remat_work *w,
                          const struct remat_bans *bans, remat_node v);
/* Bans a node where 5.2 lets it. A later reason does not replace an earlier. */
void remat_ban(const struct remat_work *w, struct remat_bans *bans,
               remat_node v, enum remat_ban_reason reason);

#endif
