/*
 * json.h: jansson inside a request's budget.
 *
 * A session takes over jansson's allocations of this thread: blocks come from
 * chunks of the budget and are given back together at the end, so a tree needs
 * no json_decref and cannot leak. No value of a session may outlive it, and
 * none from outside may be released in one.
 */
#ifndef PROTO_JSON_H
#define PROTO_JSON_H

#include "budget.h"
#include "proto.h"

#include <jansson.h>
#include <setjmp.h>

struct proto_json_chunk;

struct proto_json {
    struct proto_budget *budget;
    struct proto_json_chunk *newest;
    bool parsing;
    jmp_buf refused; /* where a refusal of memory leads while parsing */
};

/* Installs the hook; once, before threads. */
void proto_json_start(void);

void proto_json_begin(struct proto_json *json, struct proto_budget *budget);
void proto_json_end(struct proto_json *json);

/* json_loadb of any value; a refusal of memory ends it with NULL. */
json_t *proto_json_load(struct proto_json *json, const char *text,
                        size_t length, size_t flags, json_error_t *error);
/* The string that a JSON string literal stands for, in the session; "" when it
 * is none. */
const char *proto_json_key(struct proto_json *json, const char *text,
                           size_t length);

/* "an integer", "a list", ... for messages. */
const char *proto_json_kind(const json_t *value);

#endif
