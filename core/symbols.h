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

/* A symbol that no node binds, and the first value that mentions it. */
struct remat_unbound {
    remat_node node;
    const char *symbol;
};

/* Those that derived symbols, saved values and tangents mention, each once;
 * *n of them, in the arena. NULL: no memory. O(symbols log symbols). */
struct remat_unbound *remat_find_unbound(struct remat_work *w,
                                         struct remat_nodes sym,
                                         struct remat_nodes saved, uint32_t *n);

#endif
