/*
 * arg_walk.h: visits every reference in a tree of arguments, in document order,
 * without recursion. Private to core.
 */
#ifndef REMAT_ARG_WALK_H
#define REMAT_ARG_WALK_H

#include "remat.h"

enum {
    REMAT_ARG_DEPTH = 64
};

struct remat_arg_walk {
    struct {
        const struct remat_arg *next;
        uint32_t n_left;
    } level[REMAT_ARG_DEPTH];
    unsigned depth;
    bool too_deep;
};

/* Starts over a row of arguments. */
static inline void remat_arg_walk_init(struct remat_arg_walk *walk,
                                       const struct remat_arg *args,
                                       uint32_t n_args)
{
    walk->depth = 1;
    walk->too_deep = false;
    walk->level[0].next = args;
    walk->level[0].n_left = n_args;
}

/* The next reference, or REMAT_NONE at the end or when the tree is deeper than
 * REMAT_ARG_DEPTH (then too_deep is set). Amortised O(1) an argument. */
static inline remat_node remat_arg_walk_next(struct remat_arg_walk *walk)
{
    while (walk->depth > 0) {
        const struct remat_arg *arg;

        if (walk->level[walk->depth - 1].n_left == 0) {
            walk->depth--;
            continue;
        }
        arg = walk->level[walk->depth - 1].next++;
        walk->level[walk->depth - 1].n_left--;
        if (arg->kind == REMAT_ARG_NODE)
            return arg->as.node;
        if (arg->kind != REMAT_ARG_LIST && arg->kind != REMAT_ARG_DICT &&
            arg->kind != REMAT_ARG_SLICE)
            continue;
        if (walk->depth == REMAT_ARG_DEPTH) {
            walk->too_deep = true;
            return REMAT_NONE;
        }
        walk->level[walk->depth].next = arg->as.items;
        walk->level[walk->depth].n_left = arg->n_items;
        walk->depth++;
    }
    return REMAT_NONE;
}

#endif
