/*
 * remedy.h: which tags to change so that an infinite flow becomes a plan.
 * Private to core.
 */
#ifndef REMAT_REMEDY_H
#define REMAT_REMEDY_H

#include "ban.h"
#include "notes.h"

/* The remedy for an infinite flow under one cut's rules. `notes` has its
 * conflicts. NULL when the search would have gone past the job's limits of
 * steps or memory; then a note says so. Tags are as before afterwards. */
REMAT_NODISCARD enum remat_status
remat_find_remedy(struct remat_work *w, const struct remat_bans *bans,
                  struct remat_notes *notes, const struct remat_remedy **remedy,
                  struct remat_error *err);

#endif
