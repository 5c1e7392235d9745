/*
 * why.c: why a value is saved, computed again or neither, in words that follow
 * its name.
 */
#include "encode.h"

#include <string.h>

enum {
    ONLY_OUTPUTS = 1000000000 /* the distance of what reaches nothing else */
};

const uint8_t *proto_bans_by_node(struct remat_job *job,
                                  const struct remat_plan *plan)
{
    uint8_t *reasons =
        remat_job_alloc(job, remat_graph_n_nodes(job), sizeof(*reasons));

    if (reasons == NULL || plan->n_cuts == 0)
        return reasons;
    for (uint32_t i = 0; i < plan->cuts[plan->n_cuts - 1].n_bans; i++) {
        const struct remat_ban *ban = &plan->cuts[plan->n_cuts - 1].bans[i];

        reasons[ban->node] = (uint8_t)ban->reason;
    }
    return reasons;
}

/* ---- saved ------------------------------------------------------------- */

static bool is_free_input(const struct proto_decision *decision, remat_node v)
{
    return remat_graph_node(decision->job, v)->op == REMAT_PLACEHOLDER &&
           decision->plan->facts.weight != NULL &&
           decision->plan->facts.weight[v] == 0 &&
           remat_node_bytes(decision->job, v) > 0;
}

/* The several-valued call that a getitem takes its value from, or NONE. */
static remat_node source_of(const struct proto_decision *decision, remat_node v)
{
    const struct remat_node_spec *spec = remat_graph_node(decision->job, v);

    if (strcmp(spec->target, "getitem") != 0 || spec->n_args == 0 ||
        spec->args[0].kind != REMAT_ARG_NODE)
        return REMAT_NONE;
    return spec->args[0].as.node;
}

void proto_add_why_saved(struct proto_text *text,
                         const struct proto_decision *decision,
                         const uint8_t *bans, remat_node v)
{
    remat_node source = source_of(decision, v);

    if (is_free_input(decision, v)) {
        proto_text_puts(text, "is a static input, free to save");
    } else if (bans[v] != REMAT_BAN_NONE) {
        proto_text_puts(text, remat_ban_text((enum remat_ban_reason)bans[v]));
    } else if (source != REMAT_NONE && bans[source] != REMAT_BAN_NONE) {
        proto_text_puts(text, "is a result of ");
        proto_text_puts(text, remat_graph_node(decision->job, source)->name);
        proto_text_puts(text, ", which ");
        proto_text_puts(text,
                        remat_ban_text((enum remat_ban_reason)bans[source]));
    } else {
        proto_text_puts(text, "is cheaper to save than what it is computed "
                              "from");
    }
}

/* ---- computed again ---------------------------------------------------- */

static void add_again(struct proto_text *text, const struct remat_facts *facts,
                      remat_node v)
{
    if (facts->tag[v] == REMAT_MUST_RECOMPUTE)
        proto_text_puts(text, "is tagged must_recompute");
    else if (facts->tag[v] == REMAT_PREFER_RECOMPUTE)
        proto_text_puts(text, "is tagged prefer_recompute");
    else if (facts->weight != NULL && facts->weight[v] == -1)
        proto_text_puts(
            text,
            remat_weight_text((enum remat_weight_kind)facts->weight_kind[v]));
    else
        proto_text_puts(text, "is cheaper to compute again than to save");
}

/* ---- neither ----------------------------------------------------------- */

static void add_neither(struct proto_text *text,
                        const struct proto_decision *decision,
                        const struct proto_states *states, remat_node v)
{
    const struct remat_facts *facts = &decision->plan->facts;

    if (remat_graph_node(decision->job, v)->op == REMAT_OUTPUT)
        proto_text_puts(text, "is what both halves return");
    else if (facts->required_bw[v])
        proto_text_puts(text, "belongs to the backward");
    else if (states->backward[v])
        proto_text_puts(text, "is computed by the backward alone");
    else if (!facts->required_fw[v])
        proto_text_puts(text, "is needed by neither half");
    else if (facts->tangents_closure[v])
        proto_text_puts(text, "depends on a tangent");
    else if (facts->dist[v] < ONLY_OUTPUTS &&
             facts->side[v] == REMAT_CUT_SOURCE)
        proto_text_puts(text, "is needed by the backward only through values "
                              "that are saved further on");
    else
        proto_text_puts(text, "is needed by the forward alone");
}

bool proto_states_find(struct remat_job *job, const struct remat_plan *plan,
                       struct proto_states *states)
{
    states->bans = proto_bans_by_node(job, plan);
    states->places = remat_plan_places(job, plan);
    states->backward = NULL;
    if (states->bans == NULL || states->places == NULL)
        return false;
    if (plan->outcome != REMAT_PLAN)
        return true;
    states->backward = remat_plan_backward(job, plan, states->places);
    return states->backward != NULL;
}

void proto_add_why(struct proto_text *text,
                   const struct proto_decision *decision,
                   const struct proto_states *states, remat_node v)
{
    const struct remat_facts *facts = &decision->plan->facts;

    if (!facts->live[v])
        proto_text_puts(text,
                        "is dead code: nothing that is returned needs it");
    else if (decision->plan->outcome != REMAT_PLAN)
        proto_text_puts(text, "has no place, as the graph has no plan");
    else if (states->places[v] == REMAT_PLACE_SAVED)
        proto_add_why_saved(text, decision, states->bans, v);
    else if (states->places[v] == REMAT_PLACE_RECOMPUTED)
        add_again(text, facts, v);
    else
        add_neither(text, decision, states, v);
}

bool proto_reads_in_backward(const struct proto_decision *decision,
                             const struct proto_states *states, remat_node v,
                             remat_node user)
{
    const struct remat_facts *facts = &decision->plan->facts;

    if (remat_graph_node(decision->job, user)->op == REMAT_OUTPUT)
        return remat_graph_is_backward_output(decision->job, v);
    if (states->backward != NULL)
        return states->backward[user];
    return facts->live[user] && facts->required_bw != NULL &&
           facts->required_bw[user];
}
