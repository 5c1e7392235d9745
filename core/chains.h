/*
 * chains.h: the rules that look along chains of fusible operators (semantics
 * 5.4, 5.5). Private to core.
 */
#ifndef REMAT_CHAINS_H
#define REMAT_CHAINS_H

#include "ban.h"

/* 5.4. O(nodes + edges). */
REMAT_NODISCARD enum remat_status
remat_ban_used_far_apart(struct remat_work *w, struct remat_bans *bans,
                         struct remat_error *err);
/* 5.5. O((nodes + edges) log nodes). */
REMAT_NODISCARD enum remat_status
remat_ban_long_chains(struct remat_work *w, struct remat_bans *bans,
                      struct remat_error *err);

#endif
