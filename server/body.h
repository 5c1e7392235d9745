/*
 * body.h: request bodies as they arrive, and the budget all of them share.
 *
 * A buffer grows with what was received, not with what a header announces: a
 * client pays for memory with bytes.
 */
#ifndef SRV_BODY_H
#define SRV_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes held by bodies and answers of the whole process. Any thread. */
struct srv_budget {
    atomic_size_t used_bytes;
    size_t limit_bytes;
};

/* Takes bytes from the budget; false, and nothing taken, beyond its limit. */
bool srv_budget_take(struct srv_budget *budget, size_t n_bytes);
/* Takes them in any case: for what exists already. New bodies then wait. */
void srv_budget_charge(struct srv_budget *budget, size_t n_bytes);
void srv_budget_give(struct srv_budget *budget, size_t n_bytes);
/* Whether that much more would fit now. */
bool srv_budget_has_room(const struct srv_budget *budget, size_t n_bytes);

/* One body. All zero is an empty one. */
struct srv_body {
    char *data;
    size_t length;
    size_t capacity;
    size_t announced; /* its size, if the header said so, else 0 */
};

enum srv_body_result {
    SRV_BODY_OK,
    SRV_BODY_TOO_LARGE, /* beyond the limit of one body */
    SRV_BODY_NO_ROOM    /* beyond the budget, or no memory */
};

/* Appends; on failure the body is unchanged. Amortised O(n_bytes). */
enum srv_body_result srv_body_append(struct srv_body *body,
                                     struct srv_budget *budget,
                                     size_t limit_bytes, const char *data,
                                     size_t n_bytes);
/* Gives back what is beyond its length: it will not grow any more. */
void srv_body_fit(struct srv_body *body, struct srv_budget *budget);
void srv_body_release(struct srv_body *body, struct srv_budget *budget);

#endif
