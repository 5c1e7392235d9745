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

/* Where in a document a value stands, in the user's terms; kind 0 is nowhere
 * in particular, and so is all that is inside of it. */
struct proto_place {
    unsigned kind;
    uint32_t index;
    const void *what;
};

struct proto_canon {
    struct proto_text *text;
    proto_canon_flush *flush; /* may be NULL */
    void *context;
    /* What is asked at places of other kinds than 0. */
    /* Whether to leave a member of the object at `place` out. */
    bool (*skip)(void *context, struct proto_place place, const char *key);
    /* The place of a member (position counts in canonical order, without what
     * was left out) or, with key NULL, of an item. */
    struct proto_place (*enter)(void *context, struct proto_place place,
                                const char *key, size_t position);
    /* Told of a string: the text from `begin` on. May be NULL. */
    void (*string)(void *context, struct proto_place place, size_t begin);
};

/* False when there is no memory or flush said no. */
bool proto_canon_add(struct proto_canon *canon, json_t *json,
                     struct proto_place place);
/* The order of members: by UTF-16 code units of two UTF-8 strings. */
int proto_canon_compare(const char *a, const char *b);
/* A number as ECMAScript writes it. Requires a finite one. */
void proto_canon_add_real(struct proto_text *text, double real);

#endif
