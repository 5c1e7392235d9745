/*
 * compose.c: see compose.h.
 */
#include "compose.h"

#include <inttypes.h>

#include "failpoint.h"
#include "job.h"
#include "proto.h"
#include "server.h"

/* Bytes of the document that are in neither part, and then some. */
#define FRAME_BYTES ((size_t)64)

/* Whether the document may be that long, and has its place in the budget. */
static bool take_room(struct srv_job *ticket, size_t n_bytes)
{
    const struct srv_config *config = &ticket->server->config;

    if (n_bytes > config->max_body)
        proto_problem_set(&ticket->problem, PROTO_TOO_LARGE, NULL,
                          "the job's document and the changes have more than "
                          "%" PRIu64 " bytes together (--max-body)",
                          config->max_body);
    else if (!srv_budget_take(&ticket->server->budget, n_bytes))
        proto_problem_set(&ticket->problem, PROTO_QUEUE_FULL, NULL,
                          "too many bytes are waiting (--body-memory)");
    return ticket->problem.kind == PROTO_NO_PROBLEM;
}

void srv_compose(struct srv_job *ticket)
{
    struct srv_budget *budget = &ticket->server->budget;
    const struct srv_job_record *record = &ticket->record;
    const struct proto_what_if_parts parts = {
        .base = record->body,
        .base_length = record->body_length,
        .what_if = ticket->body.data,
        .what_if_length = ticket->body.length,
    };
    const size_t n_bytes =
        record->body_length + ticket->body.length + FRAME_BYTES;
    struct proto_limits limits;
    struct srv_body whole = {0};

    if (!take_room(ticket, n_bytes))
        return;
    proto_limits_init(&limits);
    limits.memory_bytes = (size_t)ticket->server->config.job_memory;
    if (!proto_what_if_body(&limits, &parts, &whole.data, &whole.length,
                            &ticket->problem)) {
        srv_budget_give(budget, n_bytes);
        return;
    }
    whole.capacity = n_bytes;
    srv_body_release(&ticket->body, budget);
    ticket->body = whole;
    srv_fail_point(SRV_FAIL_COMPOSED);
}
