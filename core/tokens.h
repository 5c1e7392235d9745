/*
 * tokens.h: the arguments of a node as a row of tokens in an order that does
 * not depend on how a document was written: keywords and members of
 * dictionaries by name. Private to core.
 */
#ifndef REMAT_TOKENS_H
#define REMAT_TOKENS_H

#include "arg_walk.h"
#include "job.h"

struct remat_tokens {
    struct remat_arena *arena;
    const struct remat_graph *g;
    remat_node node;
    struct {
        const struct remat_arg *items;
        const uint32_t *order; /* NULL: as they stand */
        uint32_t n;
        uint32_t next;
    } level[REMAT_ARG_DEPTH];
    unsigned depth;
    const struct remat_arg *container; /* just given, to be entered */
    bool in_keywords;
    bool failed; /* no room: the row ended early */
};

/* Takes scratch from the arena; the caller rewinds. */
void remat_tokens_init(struct remat_tokens *tokens, struct remat_arena *arena,
                       const struct remat_graph *g, remat_node v);
/* The next token, outer before inner, or NULL at the end. A container is
 * followed by its items. Amortised O(log of the longest dictionary). */
const struct remat_arg *remat_tokens_next(struct remat_tokens *tokens);
/* Whether the token just given is the name of a process group: each group of
 * ranks has its own, so it says nothing about structure. */
bool remat_tokens_is_group(const struct remat_tokens *tokens,
                           const struct remat_arg *token);
/* Where the token just given stands: "argument 1, item 0", "keyword `dim`". */
void remat_tokens_where(const struct remat_tokens *tokens, char *words,
                        size_t n_bytes);

#endif
