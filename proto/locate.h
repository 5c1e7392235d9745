/*
 * locate.h: from a place in the text to its JSON Pointer, for errors that come
 * up while there is no tree yet.
 */
#ifndef PROTO_LOCATE_H
#define PROTO_LOCATE_H

#include "json.h"

/* A text to parse. `what` names one other than the body ("options"), else NULL:
 * it becomes the first part of pointers. */
struct proto_source {
    const char *text;
    size_t length;
    const char *what;
};

/* The pointer of the last key or scalar that starts before byte `position` of a
 * text that parses up to there. O(position). */
void proto_locate(struct proto_json *json, struct proto_source source,
                  size_t position, char *pointer, size_t size);

#endif
