/*
 * parse.h: the text of a document to jansson's tree.
 */
#ifndef PROTO_PARSE_H
#define PROTO_PARSE_H

#include "locate.h"

/* The tree of a document, or NULL and a problem; NULL alone when the budget
 * refused memory. Nesting is checked before jansson sees the text. O(length).
 */
json_t *proto_json_parse(struct proto_json *json, struct proto_source source,
                         unsigned depth, struct proto_problem *problem);

#endif
