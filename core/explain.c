/*
 * explain.c: what there is to say about one node, beyond what a plan lists.
 */
#include "base.h"
#include "job.h"

const char *remat_weight_text(enum remat_weight_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) [name] = text,
        REMAT_WEIGHT_MAP(X)
#undef X
    };

    return (unsigned)kind < REMAT_ARRAY_LEN(texts) ? texts[kind] : "";
}

static struct remat_nodes row_of(struct remat_rows rows, remat_node v)
{
    return (struct remat_nodes){rows.items + rows.begin[v],
                                rows.begin[v + 1] - rows.begin[v]};
}

struct remat_nodes remat_graph_inputs(const struct remat_job *job,
                                      remat_node node)
{
    assert(job->graph.sealed && node < job->graph.n);
    return row_of(job->graph.inputs, node);
}

struct remat_nodes remat_graph_users(const struct remat_job *job,
                                     remat_node node)
{
    assert(job->graph.sealed && node < job->graph.n);
    return row_of(job->graph.users, node);
}

bool remat_graph_is_backward_output(const struct remat_job *job,
                                    remat_node node)
{
    const struct remat_graph *g = &job->graph;

    for (uint32_t i = 0; i < g->bwd_outputs.n; i++)
        if (g->bwd_outputs.at[i] == node)
            return true;
    return false;
}
