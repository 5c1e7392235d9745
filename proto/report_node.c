/*
 * report_node.c: one node explained to people.
 */
#include "node.h"

#include "canon.h"

#include <inttypes.h>

static void add_name(struct proto_text *text, const struct remat_job *job,
                     remat_node v)
{
    proto_text_show(text, remat_graph_node(job, v)->name);
}

static void add_line(struct proto_text *text, const char *label,
                     const char *words)
{
    if (words == NULL)
        return;
    proto_text_format(text, "  %-10s", label);
    proto_text_show(text, words);
    proto_text_puts(text, "\n");
}

static void add_spec(struct proto_text *text, const struct remat_job *job,
                     remat_node v)
{
    const struct remat_node_spec *spec = remat_graph_node(job, v);
    int64_t n_bytes = remat_node_bytes(job, v);

    add_line(text, "target", spec->target);
    add_line(text, "module", spec->module);
    add_line(text, "source", spec->stack);
    if (n_bytes >= 0) {
        proto_text_puts(text, "  bytes     ");
        proto_report_size(text, n_bytes);
        proto_text_puts(text, "\n");
    }
    if (spec->op == REMAT_CALL_FUNCTION)
        proto_text_format(text, "  FLOPs     %" PRId64 "\n",
                          remat_node_flops(job, v));
}

static const char *tag_words(enum remat_policy policy)
{
    return policy == REMAT_UNTAGGED ? "none" : remat_policy_text(policy);
}

static void add_tag(struct proto_text *text, const struct remat_facts *facts,
                    const struct proto_node_facts *node)
{
    proto_text_format(text, "  tag       %s", tag_words(node->tag.policy));
    if (node->tag.has_region)
        proto_text_format(text, ", region %" PRId64, node->tag.region);
    if (facts->tag != NULL && facts->live[node->node] &&
        facts->tag[node->node] != node->tag.policy)
        proto_text_format(text, "; after the clean-up: %s",
                          tag_words(facts->tag[node->node]));
    proto_text_puts(text, "\n");
}

static void add_class(struct proto_text *text, const struct remat_facts *facts,
                      remat_node v)
{
    if (!facts->live[v] || facts->required_fw == NULL)
        return;
    proto_text_puts(text, "  class     ");
    proto_text_puts(
        text, facts->required_fw[v]
                  ? (facts->required_bw[v] ? "forward and backward" : "forward")
                  : (facts->required_bw[v] ? "backward" : "unclaimed"));
    if (facts->tangents_closure[v])
        proto_text_puts(text, ", depends on a tangent");
    if (facts->dist != NULL && facts->dist[v] < 1000000000)
        proto_text_format(text, "; %" PRIu32 " from the backward",
                          facts->dist[v]);
    proto_text_puts(text, "\n");
}

static void add_bans(struct proto_text *text, const struct remat_plan *plan,
                     remat_node v)
{
    for (uint32_t i = 0; i < plan->n_cuts; i++)
        for (uint32_t j = 0; j < plan->cuts[i].n_bans; j++) {
            const struct remat_ban *ban = &plan->cuts[i].bans[j];

            if (ban->node != v)
                continue;
            proto_text_format(text, "  ban       cut %" PRIu32 ": %s\n", i,
                              remat_ban_text(ban->reason));
        }
}

static void add_weight(struct proto_text *text, const struct remat_facts *facts,
                       remat_node v)
{
    enum remat_weight_kind kind;

    if (facts->weight == NULL || facts->weight[v] == -2)
        return;
    kind = (enum remat_weight_kind)facts->weight_kind[v];
    proto_text_puts(text, "  weight    ");
    if (facts->weight[v] == -1)
        proto_text_puts(text, "infinite");
    else
        proto_text_int(text, facts->weight[v]);
    proto_text_puts(text, ": ");
    proto_text_puts(text, remat_weight_text(kind));
    if (kind == REMAT_WEIGHT_DISTANCE || kind == REMAT_WEIGHT_DOUBLED) {
        proto_text_puts(text, " (");
        proto_canon_add_real(text, remat_distance_factor(facts->dist[v]));
        proto_text_puts(text, ")");
    }
    proto_text_puts(text, "\n");
}

static void add_side(struct proto_text *text, const struct remat_facts *facts,
                     remat_node v)
{
    static const char *const sides[] = {
        [REMAT_CUT_NONE] = NULL,
        [REMAT_CUT_SOURCE] = "on the side of the inputs",
        [REMAT_CUT_SINK] = "on the side of the backward",
        [REMAT_CUT_BETWEEN] = "goes through it"};

    if (facts->side != NULL)
        add_line(text, "cut", sides[facts->side[v]]);
}

static void add_inputs(struct proto_text *text, const struct remat_job *job,
                       remat_node v)
{
    struct remat_nodes inputs = remat_graph_inputs(job, v);

    for (uint32_t i = 0; i < inputs.n; i++) {
        proto_text_puts(text, i == 0 ? "  reads     " : ", ");
        add_name(text, job, inputs.at[i]);
    }
    proto_text_puts(text, inputs.n > 0 ? "\n" : "");
}

static void add_users(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct proto_node_facts *node)
{
    static const char *const states[] = {[REMAT_PLACE_NONE] = "",
                                         [REMAT_PLACE_SAVED] = ", saved",
                                         [REMAT_PLACE_RECOMPUTED] =
                                             ", recomputed"};
    struct remat_nodes users = remat_graph_users(decision->job, node->node);

    for (uint32_t i = 0; i < users.n; i++) {
        remat_node user = users.at[i];

        proto_text_puts(text, i == 0 ? "  read by   " : "            ");
        add_name(text, decision->job, user);
        proto_text_puts(text, proto_reads_in_backward(decision, &node->states,
                                                      node->node, user)
                                  ? " in the backward"
                                  : "");
        proto_text_puts(text, states[node->states.places[user]]);
        proto_text_puts(text, "\n");
    }
}

static void add_choice(struct proto_text *text,
                       const struct proto_choice *choice)
{
    proto_text_format(text, "\nTagged %s: ", choice->tag);
    if (!choice->is_decided)
        proto_text_puts(text, "cannot be decided. ");
    else if (choice->outcome != REMAT_PLAN)
        proto_text_format(text, "no plan (%s). ",
                          proto_outcome_name(choice->outcome));
    else if (choice->has_diff)
        proto_report_difference(text, &choice->diff);
    else
        proto_text_puts(text, "there is a plan.\n");
    if (choice->note != NULL) {
        proto_text_puts(text, choice->has_diff ? "  Note: " : "");
        proto_text_show(text, choice->note);
        proto_text_puts(text, "\n");
    } else if (!choice->is_decided || choice->outcome != REMAT_PLAN) {
        proto_text_puts(text, "\n");
    }
}

/* The words of why.c, for a terminal. */
static void add_why(struct proto_text *text,
                    const struct proto_decision *decision,
                    const struct proto_node_facts *node)
{
    static const char *const states[] = {
        [REMAT_PLACE_NONE] = "neither saved nor recomputed",
        [REMAT_PLACE_SAVED] = "saved",
        [REMAT_PLACE_RECOMPUTED] = "recomputed"};
    struct proto_text words;

    add_name(text, decision->job, node->node);
    proto_text_format(text, ": %s: it ",
                      states[node->states.places[node->node]]);
    proto_text_init(&words, text->budget);
    proto_add_why(&words, decision, &node->states, node->node);
    proto_text_show_gathered(text, &words);
    proto_text_puts(text, "\n");
}

void proto_report_node(struct proto_text *text,
                       const struct proto_decision *decision,
                       const struct proto_node_facts *facts)
{
    const struct remat_plan *plan = decision->plan;
    remat_node v = facts->node;

    add_why(text, decision, facts);
    add_spec(text, decision->job, v);
    add_tag(text, &plan->facts, facts);
    add_class(text, &plan->facts, v);
    add_bans(text, plan, v);
    add_weight(text, &plan->facts, v);
    add_side(text, &plan->facts, v);
    add_inputs(text, decision->job, v);
    add_users(text, decision, facts);
    for (int i = 0; i < PROTO_N_CHOICES; i++)
        add_choice(text, &facts->choices[i]);
    proto_text_format(text, "\nengine %s, digest %s\n", PROTO_ENGINE,
                      decision->digest);
}
