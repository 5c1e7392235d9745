/*
 * verify_capacity.h: what each edge of the network may carry, as the verifier
 * sees it. Private to verify_*.c.
 */
#ifndef REMAT_VERIFY_CAPACITY_H
#define REMAT_VERIFY_CAPACITY_H

#include "work.h"

enum {
    REMAT_NO_EDGE = -1
};
#define REMAT_UNLIMITED INT64_MAX

/* Whether v takes part in the network beyond being somebody's user. */
bool remat_verify_takes_part(const struct remat_work *w, remat_node v);
/* Whether there is an edge v_in -> sink, and v_out -> sink. */
bool remat_verify_in_to_sink(const struct remat_work *w, remat_node v);
bool remat_verify_out_to_sink(const struct remat_work *w, remat_node v);
/* Capacity of v_in -> v_out: REMAT_UNLIMITED, or REMAT_NO_EDGE; with it go the
 * edges from v_out to the users. O(users). */
int64_t remat_verify_through(const struct remat_work *w, remat_node v);

#endif
