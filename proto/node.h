/*
 * node.h: what there is to say about one node. Private to proto.
 */
#ifndef PROTO_NODE_H
#define PROTO_NODE_H

#include "encode.h"

enum {
    PROTO_N_CHOICES = 2
};

/* What it would change to force a node into a place. */
struct proto_choice {
    const char *tag; /* "must_save" */
    bool is_decided; /* outcome says something; else note says why not */
    enum remat_outcome outcome;
    bool has_diff; /* both are plans */
    struct proto_difference diff;
    const char *note; /* or NULL; with names as the answer has them */
};

struct proto_node_facts {
    remat_node node;
    struct remat_tag tag; /* after the passes */
    struct proto_states states;
    struct proto_choice choices[PROTO_N_CHOICES];
};

/* ---- encode_node.c ---- */
/* The document remat/node/v1. O(size of the document + bans). */
void proto_encode_node(struct proto_text *text,
                       const struct proto_decision *decision,
                       const struct proto_node_facts *facts);
/* ---- report_node.c: the same for people ---- */
void proto_report_node(struct proto_text *text,
                       const struct proto_decision *decision,
                       const struct proto_node_facts *facts);

#endif
