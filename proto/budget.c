/*
 * budget.c: counting what one request holds.
 */
#include "budget.h"

#include <stdlib.h>

_Thread_local uint64_t proto_fail_at;

bool proto_budget_may_allocate(struct proto_budget *budget)
{
    if (proto_fail_at == 0 || --proto_fail_at != 0)
        return true;
    budget->no_memory = true;
    return false;
}

void *proto_budget_allocate(struct proto_budget *budget, size_t n_bytes)
{
    void *block;

    if (budget->limit_bytes != 0 &&
        n_bytes > budget->limit_bytes - budget->used_bytes) {
        budget->over_limit = true;
        return NULL;
    }
    if (budget->stop != NULL && budget->stop(budget->stop_context) != 0) {
        budget->stopped = true;
        return NULL;
    }
    if (!proto_budget_may_allocate(budget))
        return NULL;
    block = malloc(n_bytes);
    if (block == NULL) {
        budget->no_memory = true;
        return NULL;
    }
    budget->used_bytes += n_bytes;
    if (budget->used_bytes > budget->peak_bytes)
        budget->peak_bytes = budget->used_bytes;
    return block;
}

void proto_budget_release(struct proto_budget *budget, void *block,
                          size_t n_bytes)
{
    if (block == NULL)
        return;
    budget->used_bytes -= n_bytes;
    free(block);
}
