/*
 * dropout.h: operators that draw random numbers only when asked to. Private to
 * core.
 */
#ifndef REMAT_DROPOUT_H
#define REMAT_DROPOUT_H

#include "graph.h"

/* Attention counts as seeded for its dropout: with the chance 0 it draws
 * nothing and gives the same result again. O(keywords). */
bool remat_draws_nothing(const struct remat_graph *g, remat_node v);

#endif
