/*
 * report.c: a decision for people, on a terminal.
 */
#include "encode.h"

#include <inttypes.h>

static void add_heading(struct proto_text *text,
                        const struct proto_decision *decision)
{
    uint32_t n = remat_graph_n_nodes(decision->job);

    if (decision->name != NULL && decision->name[0] != '\0') {
        proto_text_show(text, decision->name);
        proto_text_puts(text, ": ");
    }
    proto_text_format(text, "a joint graph of %" PRIu32 " nodes\n", n);
    proto_report_passes(text, decision->passes);
}

static void add_total(struct proto_text *text, const struct remat_plan *plan)
{
    proto_text_format(text, "\nThe forward saves %" PRIu32 " value%s, ",
                      plan->saved.n, plan->saved.n == 1 ? "" : "s");
    proto_report_size(text, plan->saved_bytes);
    if (plan->saved_bytes >= 1024)
        proto_text_format(text, " (%" PRId64 " bytes)", plan->saved_bytes);
    proto_text_puts(text, ".\n");
    if (plan->static_bytes > 0) {
        proto_text_puts(text, "  ");
        proto_report_size(text, plan->static_bytes);
        proto_text_puts(text, " of it is in static inputs, which live through "
                              "the step anyway.\n");
    }
    if (plan->saved_storage_bytes != plan->saved_bytes) {
        proto_text_puts(text, "  ");
        proto_report_size(text, plan->saved_storage_bytes);
        proto_text_puts(text, " when values that share storage count once.\n");
    }
}

static void add_counts(struct proto_text *text,
                       const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;
    const struct remat_facts *facts = &plan->facts;
    uint32_t n = remat_graph_n_nodes(decision->job);
    uint32_t n_forward = 0;
    uint32_t n_backward = 0;
    uint32_t n_dead = 0;

    for (remat_node v = 0; v < n; v++) {
        bool is_call =
            remat_graph_node(decision->job, v)->op == REMAT_CALL_FUNCTION;

        n_dead += !facts->live[v];
        n_forward += is_call && facts->live[v] && facts->required_fw[v];
        n_backward += is_call && facts->live[v] && !facts->required_fw[v];
    }
    proto_text_format(text,
                      "\nOperators: %" PRIu32 " of the forward, %" PRIu32
                      " of the backward alone, %" PRIu32
                      " computed again in it",
                      n_forward, n_backward, plan->recomputed.n);
    if (n_dead > 0)
        proto_text_format(text, "; %" PRIu32 " dead nodes were left out",
                          n_dead);
    proto_text_puts(text, ".\n");
}

static void add_cut(struct proto_text *text, const struct remat_plan *plan)
{
    const struct remat_cut *cut;

    if (plan->n_cuts == 0)
        return;
    cut = &plan->cuts[plan->n_cuts - 1];
    if (cut->unbounded)
        return;
    proto_text_format(text,
                      "Minimum cut: value %" PRId64 ", through %" PRIu32
                      " node%s of a network of %" PRIu64 " vertices and "
                      "%" PRIu64 " edges.\n",
                      cut->value, cut->nodes.n, cut->nodes.n == 1 ? "" : "s",
                      cut->n_vertices, cut->n_edges);
}

static void add_remarks(struct proto_text *text,
                        const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;
    struct proto_note note;
    unsigned at = 0;

    proto_report_pass_remarks(text, decision->passes, "\n");
    for (uint32_t i = 0; i < plan->n_diagnostics; i++) {
        if (plan->diagnostics[i].severity == REMAT_ERROR)
            continue;
        proto_text_format(text, "\n%s: ", plan->diagnostics[i].code);
        proto_text_show(text, plan->diagnostics[i].message);
        proto_text_puts(text, "\n");
    }
    while (proto_note_next(decision, &at, &note)) {
        proto_text_format(text, "\n%s: ", note.code);
        proto_text_show(text, note.message);
        proto_text_puts(text, "\n");
    }
}

void proto_encode_report(struct proto_text *text,
                         const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;

    add_heading(text, decision);
    if (plan->outcome != REMAT_PLAN) {
        proto_report_conflict(text, decision);
    } else {
        add_total(text, plan);
        if (plan->no_backward)
            proto_text_puts(text, "Nothing is needed by a backward, so nothing "
                                  "is saved.\n");
        proto_report_saved(text, decision);
        add_counts(text, decision);
        proto_report_operators(text, decision);
        proto_text_puts(text, "\n");
        add_cut(text, plan);
    }
    add_remarks(text, decision);
    proto_text_format(text, "\nengine %s, digest %s\n", PROTO_ENGINE,
                      decision->digest);
}
