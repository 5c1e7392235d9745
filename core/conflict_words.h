/*
 * conflict_words.h: a conflict in one sentence. Private to core.
 */
#ifndef REMAT_CONFLICT_WORDS_H
#define REMAT_CONFLICT_WORDS_H

#include "work.h"

/* What stands in the way of each node on the path of an infinite flow, node by
 * node: first those with a tag, then rules of thumb, then what the graph is.
 * NULL without room. O(path). */
const char *remat_conflict_message(struct remat_work *w,
                                   const struct remat_diagnostic *d);

#endif
