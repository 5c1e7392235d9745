/*
 * digest.h: the name of a request: equal for all spellings of one question.
 */
#ifndef PROTO_DIGEST_H
#define PROTO_DIGEST_H

#include "decode.h"

/*
 * Lower-case hex SHA-256 of the canonical JSON of {engine, graph, options,
 * passes}: the graph without name, stack and producer.name (and module where no
 * pass reads it), every option with its effective value but deadline_ms and
 * explain. False and a problem when there is no memory. O(document).
 */
bool proto_digest(struct proto_problem *problem, struct proto_budget *budget,
                  const struct proto_parts *parts,
                  const struct proto_options *options, char hex[65]);

#endif
