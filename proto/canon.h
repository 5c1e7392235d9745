/*
 * canon.h: canonical JSON (RFC 8785), for digests.
 *
 * One rule more than the RFC, which leaves integers beyond 2^53 to the reader:
 * every number that is an integer of 64 bits is written with all its digits,
 * however it was spelled, so that two different numbers never look the same.
 */
#ifndef PROTO_CANON_H
#define PROTO_CANON_H

#include "text.h"

#include <jansson.h>

/* Called between elements with what has been written so far; may empty the
 * buffer. False stops. */
typedef bool proto_canon_flush(void *context, struct proto_text *text);

struct proto_canon {
    struct proto_text *text;
    proto_canon_flush *flush; /* may be NULL */
    void *context;
    /* Members to leave out of an object at depth 1 (the graph), 2 (producer)
     * and 3 (a node); see digest.c. May be NULL. */
    bool (*skip)(const char *key, const char *parent, unsigned depth,
                 const void *context);
    const void *skip_context;
};

/* False when there is no memory or flush said no. `parent` is the key under
 * which `json` stands. */
bool proto_canon_add(struct proto_canon *canon, json_t *json,
                     const char *parent, unsigned depth);
/* A number as ECMAScript writes it. Requires a finite one. */
void proto_canon_add_real(struct proto_text *text, double real);

#endif
