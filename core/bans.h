/*
 * bans.h: which values may not be computed again in one cut
 * (semantics 5.2, 5.3, 5.4, 5.5, 12.2). Private to core.
 */
#ifndef REMAT_BANS_H
#define REMAT_BANS_H

#include "ban.h"

/* Whether the option that looks at operators from outside applies to v. O(1).
 */
bool remat_is_non_builtin(const struct remat_work *w, remat_node v);
/* Fills `bans` for one cut: inputs and the static rules, then the rules about
 * chains where they are on. REMAT_E_SIZE names a node whose size is needed and
 * not known. O((nodes + edges) log nodes). */
REMAT_NODISCARD enum remat_status
remat_find_bans(struct remat_work *w, const struct remat_rules *rules,
                const bool *dont_ban, struct remat_bans *bans,
                struct remat_error *err);

#endif
