/*
 * page_blocks.h: the forward in blocks, one below the other, and the part of
 * the backward that belongs to each. Private to proto.
 */
#ifndef PROTO_PAGE_BLOCKS_H
#define PROTO_PAGE_BLOCKS_H

#include "page.h"

enum {
    PROTO_MOST_BLOCK_ROWS = 48
};

/* Words of a document, not ended by a NUL. */
struct proto_label {
    const char *at;
    size_t n;
};

/* One block, or neighbours that are alike, or (merged) neighbours that are not
 * because there are too many. */
struct proto_block_row {
    struct proto_label first;
    struct proto_label last;
    uint32_t n_blocks;
    bool is_merged;
    uint32_t n_forward; /* operators */
    uint32_t n_backward;
    uint32_t n_again;
    uint32_t n_saved;
    int64_t saved_bytes; /* without static inputs */
    int64_t again_flops;
};

struct proto_blocks {
    struct proto_block_row *rows;
    uint32_t n_rows;
    uint32_t *row_of; /* by node; REMAT_NONE: in none */
};

/* Blocks by module path, up to its first number; where modules are missing, by
 * the longest repetition of operators. Neighbours are alike when they differ in
 * numbers alone and have the same operators, saved and recomputed the same way.
 * False: no memory. O(nodes log nodes + references). */
bool proto_blocks_find(struct proto_page *page, struct proto_blocks *blocks);

/* ---- page_repeats.c ---- */
/* Splits a sequence of n operators (numbers of kinds) where it repeats: fills
 * `part` with a number for each, ascending from 0, and returns how many there
 * are; 0: no memory. O(n). */
uint32_t proto_repeats_find(struct remat_job *job, const uint32_t *kinds,
                            uint32_t n, uint32_t *part);

#endif
