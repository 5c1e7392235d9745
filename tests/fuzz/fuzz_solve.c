/*
 * fuzz_solve: graphs of at most ten nodes, whose cut must be the least of all
 * cuts and the canonical one among those. The verifier runs too: an internal
 * error is a failure.
 *
 * The network is put together again from the facts of the plan (classes, tags,
 * weights, bans) and the arguments of the nodes.
 */
#include "fuzz_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 10
};

/* Vertices: in(v) is bit 2 v, out(v) is bit 2 v + 1. */
struct network {
    uint32_t n;
    uint32_t sources;
    uint32_t sinks;
    uint32_t arcs[2 * MOST + 4]; /* infinite edges */
    int64_t weight[MOST + 2];    /* in to out; -1 infinite, -2 none */
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* ---- the network, again ------------------------------------------------- */

static void add_reads(struct network *net, remat_node user,
                      const struct remat_arg *args, uint32_t n_args)
{
    for (uint32_t i = 0; i < n_args; i++) {
        remat_node v = args[i].as.node;

        if (args[i].kind == REMAT_ARG_NODE && net->weight[v] != -2)
            net->arcs[2 * v + 1] |= 1u << 2 * user;
        if (args[i].kind == REMAT_ARG_LIST || args[i].kind == REMAT_ARG_DICT)
            add_reads(net, user, args[i].as.items, args[i].n_items);
    }
}

static bool wants_recompute(uint8_t tag)
{
    return tag == REMAT_MUST_RECOMPUTE || tag == REMAT_PREFER_RECOMPUTE;
}

static void rebuild(const struct remat_job *job, const struct remat_plan *plan,
                    struct network *net)
{
    const struct remat_cut *cut = &plan->cuts[plan->n_cuts - 1];

    memset(net, 0, sizeof *net);
    net->n = remat_graph_n_nodes(job);
    for (remat_node v = 0; v < net->n; v++)
        net->weight[v] = plan->facts.weight[v];
    for (remat_node v = 0; v < net->n; v++) {
        const struct remat_node_spec *spec = remat_graph_node(job, v);

        if (!plan->facts.live[v])
            continue;
        add_reads(net, v, spec->args, spec->n_args);
        add_reads(net, v, spec->kwargs, spec->n_kwargs);
        if (spec->op == REMAT_OUTPUT)
            continue;
        if (plan->facts.tangents_closure[v] ||
            wants_recompute(plan->facts.tag[v]))
            net->sinks |= 1u << 2 * v;
        if (plan->facts.required_bw[v] && !plan->facts.tangents_closure[v])
            net->sinks |= 2u << 2 * v;
    }
    for (uint32_t i = 0; i < cut->n_bans; i++)
        net->sources |= 1u << 2 * cut->bans[i].node;
}

/* ---- all cuts ------------------------------------------------------------ */

/* Vertices from which a sink can be reached past the nodes of `saved`. */
static uint32_t reaching(const struct network *net, uint32_t saved)
{
    uint32_t found = net->sinks;
    bool grows = true;

    while (grows) {
        grows = false;
        for (uint32_t i = 0; i < 2 * net->n; i++) {
            uint32_t to = net->arcs[i];

            if (i % 2 == 0 && net->weight[i / 2] != -2 &&
                (saved >> i / 2 & 1) == 0)
                to |= 2u << i;
            if ((found >> i & 1) == 0 && (to & found) != 0) {
                found |= 1u << i;
                grows = true;
            }
        }
    }
    return found;
}

/* False when no finite cut separates source and sink. */
static bool least_cut(const struct network *net, int64_t *value, uint32_t *side)
{
    bool some = false;

    for (uint32_t saved = 0; saved < 1u << net->n; saved++) {
        int64_t sum = 0;
        uint32_t reach;

        for (uint32_t v = 0; v < net->n && sum >= 0; v++)
            if ((saved >> v & 1) != 0)
                sum = net->weight[v] < 0 ? -1 : sum + net->weight[v];
        if (sum < 0 || (some && sum > *value))
            continue;
        reach = reaching(net, saved);
        if ((reach & net->sources) != 0)
            continue;
        *side = some && sum == *value ? *side & reach : reach;
        *value = sum;
        some = true;
    }
    return some;
}

static void compare(const struct network *net, const struct remat_cut *cut)
{
    int64_t value = 0;
    uint32_t side = 0;
    uint32_t wanted = 0;
    uint32_t got = 0;

    if (net->sources == 0 || net->sinks == 0) {
        if (cut->unbounded || cut->value != 0 || cut->nodes.n != 0)
            abort();
        return;
    }
    if (least_cut(net, &value, &side) == cut->unbounded)
        abort();
    if (cut->unbounded)
        return;
    for (uint32_t v = 0; v < net->n; v++)
        if (net->weight[v] != -2 && (side >> 2 * v & 3) == 2)
            wanted |= 1u << v;
    for (uint32_t i = 0; i < cut->nodes.n; i++)
        got |= 1u << cut->nodes.at[i];
    if (value != cut->value || wanted != got) {
        fprintf(stderr, "cut %lld of nodes %x, must be %lld of %x\n",
                (long long)cut->value, got, (long long)value, wanted);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct fuzz_program program = {.bytes = bytes,
                                   .n_bytes = n_bytes,
                                   .most_nodes = MOST - 1,
                                   .most_bytes = INT64_C(1) << 40};
    struct remat_options options;
    struct remat_error err = {.node = REMAT_NONE};
    const struct remat_plan *plan = NULL;
    struct remat_job *job = remat_job_new(NULL);
    struct network net;
    enum remat_status status;

    if (job == NULL)
        return 0;
    fuzz_options(&program, &options);
    status = fuzz_build(&program, job, &err);
    if (status == REMAT_OK)
        status = remat_plan_solve(job, &options, &plan, &err);
    if (status == REMAT_E_BUG) {
        fprintf(stderr, "%s\n", err.detail);
        abort();
    }
    if (status == REMAT_OK && plan->n_cuts > 0) {
        rebuild(job, plan, &net);
        compare(&net, &plan->cuts[plan->n_cuts - 1]);
    }
    remat_job_free(job);
    return 0;
}
