/*
 * encode_explain.c: the facts behind a plan, node by node. Nodes removed as
 * dead code have none.
 */
#include "encode.h"

/* Opens `{` or goes on with `,`, then writes the node's name and a colon. */
static void add_node_key(struct proto_text *text, const struct remat_job *job,
                         remat_node v, bool *is_first)
{
    proto_text_puts(text, *is_first ? "" : ",");
    *is_first = false;
    proto_encode_name(text, job, v);
    proto_text_puts(text, ":");
}

static void add_tags(struct proto_text *text,
                     const struct proto_decision *decision)
{
    const struct remat_facts *facts = &decision->plan->facts;
    uint32_t n = remat_graph_n_nodes(decision->job);
    bool is_first = true;

    proto_encode_key(text, "tags");
    proto_text_puts(text, "{");
    for (remat_node v = 0; v < n; v++) {
        if (!facts->live[v] || facts->tag[v] == REMAT_UNTAGGED)
            continue;
        add_node_key(text, decision->job, v, &is_first);
        proto_text_quote_words(text, remat_policy_text(facts->tag[v]));
    }
    proto_text_puts(text, "}");
}

enum class {
    CLASS_FW,
    CLASS_BW,
    CLASS_TANGENTS_CLOSURE,
    CLASS_UNCLAIMED
};

static bool is_in_class(const struct remat_facts *facts, remat_node v,
                        enum class which)
{
    if (!facts->live[v])
        return false;
    switch (which) {
    case CLASS_FW:
        return facts->required_fw[v];
    case CLASS_BW:
        return facts->required_bw[v];
    case CLASS_TANGENTS_CLOSURE:
        return facts->tangents_closure[v];
    case CLASS_UNCLAIMED:
        break;
    }
    return !facts->required_fw[v] && !facts->required_bw[v];
}

static void add_class(struct proto_text *text,
                      const struct proto_decision *decision, enum class which)
{
    uint32_t n = remat_graph_n_nodes(decision->job);
    bool is_first = true;

    proto_text_puts(text, "[");
    for (remat_node v = 0; v < n; v++) {
        if (!is_in_class(&decision->plan->facts, v, which))
            continue;
        proto_text_puts(text, is_first ? "" : ",");
        is_first = false;
        proto_encode_name(text, decision->job, v);
    }
    proto_text_puts(text, "]");
}

static void add_classes(struct proto_text *text,
                        const struct proto_decision *decision)
{
    proto_encode_key(text, "classes");
    proto_text_puts(text, "{\"fw\":");
    add_class(text, decision, CLASS_FW);
    proto_encode_key(text, "bw");
    add_class(text, decision, CLASS_BW);
    proto_encode_key(text, "tangents_closure");
    add_class(text, decision, CLASS_TANGENTS_CLOSURE);
    proto_encode_key(text, "unclaimed");
    add_class(text, decision, CLASS_UNCLAIMED);
    proto_text_puts(text, "}");
}

static void add_dist(struct proto_text *text,
                     const struct proto_decision *decision)
{
    const struct remat_facts *facts = &decision->plan->facts;
    uint32_t n = remat_graph_n_nodes(decision->job);
    bool is_first = true;

    proto_encode_key(text, "dist");
    proto_text_puts(text, "{");
    for (remat_node v = 0; v < n; v++) {
        if (!facts->live[v])
            continue;
        add_node_key(text, decision->job, v, &is_first);
        proto_text_int(text, facts->dist[v]);
    }
    proto_text_puts(text, "}");
}

static void add_bans(struct proto_text *text,
                     const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;
    const struct remat_cut *cut = &plan->cuts[plan->n_cuts - 1];

    proto_encode_key(text, "bans");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < cut->n_bans; i++) {
        proto_text_puts(text, i == 0 ? "{\"node\":" : ",{\"node\":");
        proto_encode_name(text, decision->job, cut->bans[i].node);
        proto_encode_key(text, "reason");
        proto_text_quote_words(text, remat_ban_text(cut->bans[i].reason));
        proto_text_puts(text, "}");
    }
    proto_text_puts(text, "]");
}

static void add_weights(struct proto_text *text,
                        const struct proto_decision *decision)
{
    const struct remat_facts *facts = &decision->plan->facts;
    uint32_t n = remat_graph_n_nodes(decision->job);
    bool is_first = true;

    proto_encode_key(text, "weights");
    proto_text_puts(text, "{");
    for (remat_node v = 0; v < n; v++) {
        if (!facts->live[v] || facts->weight[v] == -2)
            continue;
        add_node_key(text, decision->job, v, &is_first);
        if (facts->weight[v] == -1)
            proto_text_puts(text, "\"infinite\"");
        else
            proto_text_int(text, facts->weight[v]);
    }
    proto_text_puts(text, "}");
}

void proto_encode_full(struct proto_text *text,
                       const struct proto_decision *decision)
{
    const struct remat_facts *facts = &decision->plan->facts;

    if (facts->live == NULL)
        return;
    if (facts->tag != NULL)
        add_tags(text, decision);
    if (facts->required_fw != NULL)
        add_classes(text, decision);
    if (facts->dist != NULL)
        add_dist(text, decision);
    if (decision->plan->n_cuts == 0)
        return;
    add_bans(text, decision);
    if (facts->weight != NULL)
        add_weights(text, decision);
}
