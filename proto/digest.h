/*
 * digest.h: the names of a request: the digest, equal for all spellings of one
 * question, and the structure, equal also for other names of nodes. Private to
 * proto.
 */
#ifndef PROTO_DIGEST_H
#define PROTO_DIGEST_H

#include "decode.h"
#include "text.h"

#include <openssl/types.h>

/* What is asked, decoded. */
struct proto_question {
    const struct proto_parts *parts;
    const struct proto_options *options;
    const struct remat_job *job; /* sealed, under the document's names */
    const struct proto_passes *passes;
    const struct proto_notes *notes;
    const char *name; /* of the graph, or NULL */
    enum proto_call call;
    enum proto_format format;
    bool wants_structure;
};

struct proto_names {
    char digest[65];
    unsigned char structure[PROTO_STRUCTURE_BYTES]; /* zero: was not asked */
    /* of a frontier or changes: */
    EVP_MD_CTX *head;       /* behind the graph */
    struct proto_text tail; /* what follows the options */
};
void proto_names_init(struct proto_names *names, struct proto_budget *budget);
void proto_names_release(struct proto_names *names);

/*
 * digest: lower-case hex SHA-256 of the canonical JSON of {engine, graph,
 * options, passes}: the graph without name, stack and producer.name (and module
 * where no pass reads it), every option with its effective value but
 * deadline_ms and explain.
 *
 * structure: SHA-256 of the same text with numbers for the names of nodes and
 * roles for the targets of placeholders, and of call, format, explain and
 * whatever else the names or targets that are not in it decide. Of a report for
 * people (PROTO_TEXT): of digest, explain and the graph's name.
 *
 * False and a problem when there is no memory. Within the JSON session of the
 * parts. O(document).
 */
bool proto_names_find(struct proto_problem *problem,
                      struct proto_budget *budget,
                      const struct proto_question *question,
                      struct proto_names *names);
/* As options spell them. */
const char *proto_solver_name(enum remat_knapsack solver);
const char *proto_estimator_name(enum remat_estimator estimator);
/* The digest that a request with the graph and passes of a frontier's and these
 * options has. Within a JSON session. False: no memory. O(passes). */
bool proto_names_digest(const struct proto_names *names,
                        struct proto_budget *budget,
                        const struct remat_options *options, char hex[65]);

/* The same with other passes, which later calls have too. O(passes). */
bool proto_names_digest_changed(struct proto_names *names,
                                struct proto_budget *budget,
                                const struct remat_options *options,
                                json_t *passes, char hex[65]);
/* The structure of answers that nobody shares: a hash of all that they are a
 * function of (NULL as ""). False: no memory. */
bool proto_names_seal(struct proto_names *names, const char *const *texts,
                      size_t n);

#endif
