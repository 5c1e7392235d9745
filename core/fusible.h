/*
 * fusible.h: which pairs of producer and user fuse into one kernel (semantics
 * 5.1), and what follows from it for a value. Private to core.
 */
#ifndef REMAT_FUSIBLE_H
#define REMAT_FUSIBLE_H

#include "work.h"

/* Sets w->fusible and w->materialised_backward. Reads users, fw. */
REMAT_NODISCARD enum remat_status remat_find_fusible(struct remat_work *w,
                                                     struct remat_error *err);
/* 6.5: the value is written to memory because a user does not fuse with it. */
bool remat_is_materialised(const struct remat_work *w, remat_node v);
/* 5.3e: it, or a view of it, is read outside the forward unfused. */
bool remat_is_materialised_in_backward(const struct remat_work *w,
                                       remat_node v);

#endif
