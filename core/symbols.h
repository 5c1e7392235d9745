/*
 * symbols.h: size symbols that the saved values need (semantics 9.3). Private
 * to core.
 */
#ifndef REMAT_SYMBOLS_H
#define REMAT_SYMBOLS_H

#include "work.h"

/* Replaces *sym by its final list: nodes that bind a symbol, among them those
 * added because a derived symbol, a saved value or a tangent mentions it, then
 * the derived ones. At most one entry a node. O(symbols log symbols). */
REMAT_NODISCARD enum remat_status remat_bind_symbols(struct remat_work *w,
                                                     struct remat_nodes *sym,
                                                     struct remat_nodes saved,
                                                     struct remat_error *err);

#endif
