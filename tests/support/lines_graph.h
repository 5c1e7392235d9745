/*
 * lines_graph.h: graphs in the lines of the programs ..._lines.
 */
#ifndef LINES_GRAPH_H
#define LINES_GRAPH_H

#include "decode.h"
#include "lines.h"

/* Reads a graph document, or a line that has one as "graph", into the job. */
static inline void lines_decode_graph(struct remat_job *job, json_t *document)
{
    static struct proto_limits limits;
    struct proto_budget budget = {0};
    struct proto_problem problem = {0};
    struct proto_parts parts;
    struct proto_decoder decoder = {
        .job = job, .budget = &budget, .problem = &problem, .limits = &limits};

    proto_limits_init(&limits);
    if (!proto_decode_parts(&problem, document, NULL, NULL, &parts) ||
        !proto_decode_graph(&decoder, &parts))
        lines_broken(problem.detail);
}

#endif
