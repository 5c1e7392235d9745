/*
 * members.h: members of JSON objects, each behind another, and nodes by name.
 */
#ifndef PROTO_MEMBERS_H
#define PROTO_MEMBERS_H

#include "remat.h"
#include "text.h"

/* `,"key":` */
void proto_encode_key(struct proto_text *text, const char *key);
/* `,"key":...` */
void proto_encode_integer(struct proto_text *text, const char *key,
                          int64_t value);
void proto_encode_words(struct proto_text *text, const char *key,
                        const char *words);
/* A node's name, or null for REMAT_NONE. */
void proto_encode_name(struct proto_text *text, const struct remat_job *job,
                       remat_node node);
/* ["name",...] */
void proto_encode_names(struct proto_text *text, const struct remat_job *job,
                        struct remat_nodes nodes);
/* {"node":...,"side":...,"reason":...,"origin":...} */
void proto_encode_step(struct proto_text *text, const struct remat_job *job,
                       const struct remat_step *step);

#endif
