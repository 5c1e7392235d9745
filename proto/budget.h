/*
 * budget.h: the memory of one request. JSON tree, arena and answer all take
 * their blocks here, so that one limit bounds them together.
 */
#ifndef PROTO_BUDGET_H
#define PROTO_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto_budget {
    size_t limit_bytes; /* 0: none */
    size_t used_bytes;
    size_t peak_bytes;
    bool over_limit; /* the limit refused a block */
    bool no_memory;  /* the allocator refused a block */
    bool stopped;    /* stop did */
    /* Asked at every block, which is often enough while reading and building:
     * non-zero refuses it. May be NULL. */
    int (*stop)(void *context);
    void *stop_context;
};

/* malloc within the budget, or NULL with the reason recorded. */
void *proto_budget_allocate(struct proto_budget *budget, size_t n_bytes);
/* Gives back a block of that size; NULL is fine. */
void proto_budget_release(struct proto_budget *budget, void *block,
                          size_t n_bytes);
/* False when a test wants this allocation to fail: see proto_fail_at. */
bool proto_budget_may_allocate(struct proto_budget *budget);

/* For tests: the n-th allocation of this thread from now on fails, once; 0:
 * none does. Counts jansson's calls, arena chunks and answer buffers. */
extern _Thread_local uint64_t proto_fail_at;

#endif
