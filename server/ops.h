/*
 * ops.h: what operators ask, the same on both listeners: probes, metrics and
 * the operator table.
 */
#ifndef SRV_OPS_H
#define SRV_OPS_H

#include "answer.h"
#include "proto.h"
#include "route.h"

struct srv_server;

/* Whether the call is one of those here. */
bool srv_ops_takes(enum srv_call call);

/*
 * Answers such a call; query as it came, "" for none. The answer is the
 * caller's reference, and *status its status (200, or 503 for a probe that was
 * asked to be verbose). NULL: *problem says why. Any thread; takes the locks of
 * pool, registry, desk and store one after the other, each for moments.
 * O(jobs + connections).
 */
struct srv_answer *srv_ops_answer(struct srv_server *server, enum srv_call call,
                                  const char *query, int *status,
                                  struct proto_problem *problem);

#endif
