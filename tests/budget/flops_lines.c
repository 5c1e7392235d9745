/*
 * flops_lines: what core counts for each node, for tests.
 *
 * Reads a graph document per line on stdin and answers with a line {node:
 * floating-point operations} of the nodes that have any.
 */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>

static void broken(const char *what)
{
    fprintf(stderr, "flops_lines: %s\n", what);
    exit(EXIT_FAILURE);
}

static void decode_graph(struct remat_job *job, json_t *graph)
{
    struct proto_limits limits;
    struct proto_budget budget = {0};
    struct proto_problem problem = {0};
    struct proto_parts parts;
    struct proto_decoder decoder = {.job = job,
                                    .budget = &budget,
                                    .problem = &problem,
                                    .limits = &limits};

    proto_limits_init(&limits);
    if (!proto_decode_parts(&problem, graph, NULL, NULL, &parts) ||
        !proto_decode_graph(&decoder, &parts))
        broken(problem.detail);
}

static json_t *flops_of(const struct remat_job *job)
{
    json_t *flops = json_object();

    for (remat_node v = 0; v < remat_graph_n_nodes(job); v++)
        if (remat_node_flops(job, v) != 0)
            json_object_set_new(flops, remat_graph_node(job, v)->name,
                                json_integer(remat_node_flops(job, v)));
    return flops;
}

int main(void)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;

    while ((length = getline(&text, &capacity, stdin)) > 0) {
        json_t *graph = json_loadb(text, (size_t)length, 0, NULL);
        struct remat_job *job = remat_job_new(NULL);
        json_t *flops;

        if (graph == NULL || job == NULL)
            broken("not JSON, or no memory");
        decode_graph(job, graph);
        flops = flops_of(job);
        json_dumpf(flops, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(flops);
        json_decref(graph);
        remat_job_free(job);
    }
    free(text);
    return EXIT_SUCCESS;
}
