/*
 * bans.h: which values may not be computed again in one cut
 * (semantics 5.2, 5.3, 5.4, 5.5, 12.2). Private to core.
 */
#ifndef REMAT_BANS_H
#define REMAT_BANS_H

#include "work.h"

struct remat_bans {
    struct remat_rules rules;
    const bool *dont_ban;   /* by node; NULL: none */
    uint8_t *reason;        /* enum remat_ban_reason by node */
    struct remat_ban *list; /* in the order of the first ban of a node */
    uint32_t n;
    uint32_t n_static; /* the first of them, made by bans.c */
};

/* Whether 5.2 lets a node be banned. O(1). */
bool remat_ban_is_allowed(const struct remat_work *w,
                          const struct remat_bans *bans, remat_node v);
/* Whether the option that looks at operators from outside applies to v. O(1).
 */
bool remat_is_non_builtin(const struct remat_work *w, remat_node v);
/* Bans a node where 5.2 lets it. A later reason does not replace an earlier. */
void remat_ban(const struct remat_work *w, struct remat_bans *bans,
               remat_node v, enum remat_ban_reason reason);
/* Fills `bans` for one cut: inputs and the static rules, then the rules about
 * chains where they are on. REMAT_E_SIZE names a node whose size is needed and
 * not known. O((nodes + edges) log nodes). */
REMAT_NODISCARD enum remat_status
remat_find_bans(struct remat_work *w, const struct remat_rules *rules,
                const bool *dont_ban, struct remat_bans *bans,
                struct remat_error *err);

/* chains.c: 5.4 and 5.5. */
REMAT_NODISCARD enum remat_status
remat_ban_used_far_apart(struct remat_work *w, struct remat_bans *bans,
                         struct remat_error *err);
REMAT_NODISCARD enum remat_status
remat_ban_long_chains(struct remat_work *w, struct remat_bans *bans,
                      struct remat_error *err);

#endif
