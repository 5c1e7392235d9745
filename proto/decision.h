/*
 * decision.h: a decision, and what it was asked with.
 */
#ifndef PROTO_DECISION_H
#define PROTO_DECISION_H

#include "decode.h"

/* Everything a document is made of; all of it lives in the job. */
struct proto_decision {
    struct remat_job *job; /* the report takes scratch from its arena */
    const struct remat_plan *plan;
    const struct proto_notes *notes;
    const char *name; /* of the graph, or NULL; text only */
    const char *digest;
    enum proto_explain explain;
    const struct proto_passes *passes; /* applied; NULL: none */
};

#endif
