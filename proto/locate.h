/*
 * locate.h: from a place in the text to its JSON Pointer, for errors that come
 * up while there is no tree yet.
 */
#ifndef PROTO_LOCATE_H
#define PROTO_LOCATE_H

#include <stddef.h>

/* The pointer of the last key or scalar that starts before byte `position` of a
 * text that parses up to there; `what` (or NULL) becomes its first part. Needs
 * a jansson session or none, as the caller has. O(position). */
void proto_locate(const char *text, size_t length, size_t position,
                  const char *what, char *pointer, size_t size);

#endif
