/*
 * encode_node.c: the document remat/node/v1.
 *
 * What is not known is absent, never 0.
 */
#include "node.h"

#include "canon.h"

static const char *const place_names[] = {[REMAT_PLACE_NONE] = "neither",
                                          [REMAT_PLACE_SAVED] = "saved",
                                          [REMAT_PLACE_RECOMPUTED] =
                                              "recomputed"};

static void add_known_words(struct proto_text *text, const char *key,
                            const char *words)
{
    if (words != NULL)
        proto_encode_words(text, key, words);
}

static void add_bool(struct proto_text *text, const char *key, bool value)
{
    proto_encode_key(text, key);
    proto_text_puts(text, value ? "true" : "false");
}

static void add_spec(struct proto_text *text, const struct remat_job *job,
                     remat_node v)
{
    static const char *const ops[] = {[REMAT_PLACEHOLDER] = "placeholder",
                                      [REMAT_GET_ATTR] = "get_attr",
                                      [REMAT_CALL_FUNCTION] = "call_function",
                                      [REMAT_OUTPUT] = "output"};
    const struct remat_node_spec *spec = remat_graph_node(job, v);
    int64_t n_bytes = remat_node_bytes(job, v);

    proto_text_puts(text, "\"node\":");
    proto_encode_name(text, job, v);
    add_known_words(text, "op", ops[spec->op]);
    add_known_words(text, "target", spec->target);
    add_known_words(text, "module", spec->module);
    add_known_words(text, "stack", spec->stack);
    if (n_bytes >= 0)
        proto_encode_integer(text, "bytes", n_bytes);
    if (spec->op == REMAT_CALL_FUNCTION)
        proto_encode_integer(text, "flops", remat_node_flops(job, v));
}

/* The document's or a pass's tag, and what the clean-up makes of it. */
static void add_tag(struct proto_text *text, const struct remat_facts *facts,
                    const struct proto_node_facts *node)
{
    uint8_t effective = facts->tag == NULL || !facts->live[node->node]
                            ? (uint8_t)node->tag.policy
                            : facts->tag[node->node];

    if (node->tag.policy == REMAT_UNTAGGED && effective == REMAT_UNTAGGED)
        return;
    proto_encode_key(text, "tag");
    proto_text_puts(text, "{\"policy\":");
    proto_encode_policy(text, node->tag.policy);
    if (node->tag.has_region)
        proto_encode_integer(text, "region", node->tag.region);
    proto_encode_key(text, "effective");
    proto_encode_policy(text, effective);
    proto_text_puts(text, "}");
}

static bool has(const bool *of_nodes, remat_node v)
{
    return of_nodes != NULL && of_nodes[v];
}

static void add_class(struct proto_text *text, const struct remat_facts *facts,
                      remat_node v)
{
    bool live = facts->live[v];
    bool fw = live && has(facts->required_fw, v);
    bool bw = live && has(facts->required_bw, v);

    if (facts->required_fw == NULL)
        return;
    proto_encode_key(text, "class");
    proto_text_puts(text, live ? "{\"live\":true" : "{\"live\":false");
    add_bool(text, "fw", fw);
    add_bool(text, "bw", bw);
    add_bool(text, "tangents_closure", live && has(facts->tangents_closure, v));
    add_bool(text, "unclaimed", live && !fw && !bw);
    proto_text_puts(text, "}");
    if (live && facts->dist != NULL)
        proto_encode_integer(text, "dist", facts->dist[v]);
}

/* Of every cut: under a budget, later ones have laxer rules. */
static void add_bans(struct proto_text *text, const struct remat_plan *plan,
                     remat_node v)
{
    bool is_first = true;

    if (plan->n_cuts == 0)
        return;
    proto_encode_key(text, "bans");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < plan->n_cuts; i++)
        for (uint32_t j = 0; j < plan->cuts[i].n_bans; j++) {
            const struct remat_ban *ban = &plan->cuts[i].bans[j];

            if (ban->node != v)
                continue;
            proto_text_puts(text, is_first ? "{\"cut\":" : ",{\"cut\":");
            is_first = false;
            proto_text_int(text, i);
            add_known_words(text, "reason", remat_ban_text(ban->reason));
            add_known_words(text, "origin",
                            remat_origin_text(remat_ban_origin(ban->reason)));
            proto_text_puts(text, "}");
        }
    proto_text_puts(text, "]");
}

static void add_weight(struct proto_text *text, const struct remat_job *job,
                       const struct remat_facts *facts, remat_node v)
{
    enum remat_weight_kind kind;

    if (facts->weight == NULL || facts->weight[v] == -2)
        return;
    kind = (enum remat_weight_kind)facts->weight_kind[v];
    proto_encode_key(text, "weight");
    proto_text_puts(text, "{\"value\":");
    if (facts->weight[v] == -1)
        proto_text_puts(text, "\"infinite\"");
    else
        proto_text_int(text, facts->weight[v]);
    if (remat_node_bytes(job, v) >= 0)
        proto_encode_integer(text, "bytes", remat_node_bytes(job, v));
    if (kind == REMAT_WEIGHT_DISTANCE || kind == REMAT_WEIGHT_DOUBLED) {
        proto_encode_integer(text, "distance", facts->dist[v]);
        proto_encode_key(text, "factor");
        proto_canon_add_real(text, remat_distance_factor(facts->dist[v]));
        add_bool(text, "doubled", kind == REMAT_WEIGHT_DOUBLED);
    }
    add_known_words(text, "why", remat_weight_text(kind));
    proto_text_puts(text, "}");
}

static void add_state(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct proto_node_facts *node)
{
    static const char *const sides[] = {[REMAT_CUT_NONE] = "none",
                                        [REMAT_CUT_SOURCE] = "source",
                                        [REMAT_CUT_SINK] = "sink",
                                        [REMAT_CUT_BETWEEN] = "between"};
    const struct remat_facts *facts = &decision->plan->facts;
    struct proto_text why;

    if (facts->side != NULL)
        add_known_words(text, "side", sides[facts->side[node->node]]);
    add_known_words(text, "state",
                    place_names[node->states.places[node->node]]);
    proto_text_init(&why, text->budget);
    proto_add_why(&why, decision, &node->states, node->node);
    proto_text_add(&why, "", 1);
    if (why.failed)
        text->failed = true;
    else
        add_known_words(text, "why", why.bytes);
    proto_text_release(&why);
}

static void add_users(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct proto_node_facts *node)
{
    struct remat_nodes users = remat_graph_users(decision->job, node->node);

    proto_encode_key(text, "users");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < users.n; i++) {
        proto_text_puts(text, i == 0 ? "{\"node\":" : ",{\"node\":");
        proto_encode_name(text, decision->job, users.at[i]);
        add_bool(text, "backward",
                 proto_reads_in_backward(decision, &node->states, node->node,
                                         users.at[i]));
        add_known_words(text, "state",
                        place_names[node->states.places[users.at[i]]]);
        proto_text_puts(text, "}");
    }
    proto_text_puts(text, "]");
}

static void add_choices(struct proto_text *text,
                        const struct proto_node_facts *node)
{
    proto_encode_key(text, "choices");
    proto_text_puts(text, "[");
    for (int i = 0; i < PROTO_N_CHOICES; i++) {
        const struct proto_choice *choice = &node->choices[i];

        proto_text_puts(text, i == 0 ? "{\"choice\":" : ",{\"choice\":");
        proto_text_quote_words(text, choice->tag);
        proto_encode_key(text, "outcome");
        if (choice->is_decided)
            proto_text_quote_words(text, proto_outcome_name(choice->outcome));
        else
            proto_text_puts(text, "null");
        proto_encode_key(text, "diff");
        if (choice->has_diff)
            proto_encode_difference(text, &choice->diff);
        else
            proto_text_puts(text, "null");
        add_known_words(text, "note", choice->note);
        proto_text_puts(text, "}");
    }
    proto_text_puts(text, "]");
}

void proto_encode_node(struct proto_text *text,
                       const struct proto_decision *decision,
                       const struct proto_node_facts *facts)
{
    const struct remat_plan *plan = decision->plan;
    remat_node v = facts->node;

    proto_text_puts(text, "{\"schema\":\"remat/node/v1\",");
    add_spec(text, decision->job, v);
    add_tag(text, &plan->facts, facts);
    add_class(text, &plan->facts, v);
    add_bans(text, plan, v);
    add_weight(text, decision->job, &plan->facts, v);
    add_known_words(text, "outcome", proto_outcome_name(plan->outcome));
    add_state(text, decision, facts);
    proto_encode_key(text, "inputs");
    proto_encode_names(text, decision->job,
                       remat_graph_inputs(decision->job, v));
    add_users(text, decision, facts);
    add_choices(text, facts);
    add_known_words(text, "engine", PROTO_ENGINE);
    add_known_words(text, "digest", decision->digest);
    proto_text_puts(text, "}\n");
}
