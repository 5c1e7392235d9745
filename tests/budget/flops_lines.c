/*
 * flops_lines: what core counts for each node, for tests.
 *
 * Reads a graph document per line on stdin and answers with a line {node:
 * floating-point operations} of the nodes that have any.
 */
#include "lines_graph.h"

static json_t *flops_of(const struct remat_job *job)
{
    json_t *flops = json_object();

    for (remat_node v = 0; v < remat_graph_n_nodes(job); v++)
        if (remat_node_flops(job, v) != 0)
            json_object_set_new(flops, remat_graph_node(job, v)->name,
                                json_integer(remat_node_flops(job, v)));
    return flops;
}

static json_t *answer_line(json_t *graph)
{
    struct remat_job *job = remat_job_new(NULL);
    json_t *flops;

    if (job == NULL)
        lines_broken("no memory");
    lines_decode_graph(job, graph);
    flops = flops_of(job);
    remat_job_free(job);
    return flops;
}

int main(void)
{
    return lines_run(answer_line);
}
