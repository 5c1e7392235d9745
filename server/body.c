/*
 * body.c: growing bodies under a shared budget.
 */
#include "body.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)4096)

bool srv_budget_take(struct srv_budget *budget, size_t n_bytes)
{
    const size_t before = atomic_fetch_add(&budget->used_bytes, n_bytes);

    if (before <= budget->limit_bytes &&
        n_bytes <= budget->limit_bytes - before)
        return true;
    atomic_fetch_sub(&budget->used_bytes, n_bytes);
    return false;
}

void srv_budget_charge(struct srv_budget *budget, size_t n_bytes)
{
    atomic_fetch_add(&budget->used_bytes, n_bytes);
}

void srv_budget_give(struct srv_budget *budget, size_t n_bytes)
{
    atomic_fetch_sub(&budget->used_bytes, n_bytes);
}

bool srv_budget_has_room(const struct srv_budget *budget, size_t n_bytes)
{
    const size_t used = atomic_load(&budget->used_bytes);

    return used <= budget->limit_bytes && n_bytes <= budget->limit_bytes - used;
}

/* Twice the room, or what is needed, but not more than the body can become. */
static size_t next_capacity(const struct srv_body *body, size_t need,
                            size_t limit_bytes)
{
    const size_t most = body->announced >= need ? body->announced : limit_bytes;
    size_t capacity =
        body->capacity < FIRST_BYTES ? FIRST_BYTES : body->capacity * 2;

    if (capacity < need)
        capacity = need;
    return capacity > most ? most : capacity;
}

static bool grow(struct srv_body *body, struct srv_budget *budget, size_t need,
                 size_t limit_bytes)
{
    size_t capacity = next_capacity(body, need, limit_bytes);

    if (!srv_budget_take(budget, capacity - body->capacity)) {
        capacity = need; /* the last bit of the budget */
        if (!srv_budget_take(budget, capacity - body->capacity))
            return false;
    }
    char *data = realloc(body->data, capacity);
    if (data == NULL) {
        srv_budget_give(budget, capacity - body->capacity);
        return false;
    }
    body->data = data;
    body->capacity = capacity;
    return true;
}

enum srv_body_result srv_body_append(struct srv_body *body,
                                     struct srv_budget *budget,
                                     size_t limit_bytes, const char *data,
                                     size_t n_bytes)
{
    if (n_bytes > limit_bytes - body->length)
        return SRV_BODY_TOO_LARGE;
    if (n_bytes > body->capacity - body->length &&
        !grow(body, budget, body->length + n_bytes, limit_bytes))
        return SRV_BODY_NO_ROOM;
    memcpy(body->data + body->length, data, n_bytes);
    body->length += n_bytes;
    return SRV_BODY_OK;
}

void srv_body_fit(struct srv_body *body, struct srv_budget *budget)
{
    char *data = NULL;

    if (body->length > 0 && body->length < body->capacity)
        data = realloc(body->data, body->length);
    if (data == NULL)
        return;
    srv_budget_give(budget, body->capacity - body->length);
    body->data = data;
    body->capacity = body->length;
}

void srv_body_release(struct srv_body *body, struct srv_budget *budget)
{
    free(body->data);
    srv_budget_give(budget, body->capacity);
    *body = (struct srv_body){0};
}
