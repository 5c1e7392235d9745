/*
 * count.h: what requests and jobs mean to metrics.h.
 */
#ifndef SRV_COUNT_H
#define SRV_COUNT_H

#include <stdbool.h>

#include "metrics.h"

struct srv_job;
struct srv_request;
struct srv_server;
struct srv_solution;

/* Makes the counters, by the table of routes. False without memory. */
bool srv_count_init(struct srv_server *server);

/* A request is over and answered, or closed. */
void srv_count_request(const struct srv_request *request);
/* A connection was refused at its first moment. */
void srv_count_refused(struct srv_server *server,
                       const struct proto_problem *problem);
/* A job has come to its end. */
void srv_count_job(const struct srv_job *job);
/* A document was decoded, and solved unless its answer was known.
 * saved_bytes: of the plan that was solved, else 0. */
void srv_count_solution(struct srv_server *server,
                        const struct srv_solution *solution,
                        uint64_t saved_bytes);
/* Where an answer came from that was known before its document was decoded. */
void srv_count_cache(struct srv_server *server, enum srv_cache_result result);

#endif
