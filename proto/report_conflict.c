/*
 * report_conflict.c: a graph without a plan, told step by step.
 *
 * A conflict is a chain from a value that may not be computed again to a place
 * that must have it in the backward, with nothing on the way that could be
 * saved. The first is told link by link, the others in a sentence each. What to
 * change is the remedy's business (report_remedy.c); without one every link of
 * the first that is somebody's choice is named with the change: any breaks this
 * chain, though another may remain.
 */
#include "encode.h"

#include <inttypes.h>
#include <string.h>

enum {
    MOST_TOLD = 20 /* conflicts */
};

/* Heuristics that an option turns off. */
static const struct {
    enum remat_ban_reason reason;
    const char *option;
} switches[] = {
    {REMAT_BAN_NOT_ALLOWED, "ban_recompute_not_in_allowlist false"},
    {REMAT_BAN_NON_BUILTIN, "is_non_builtin_to_include false"},
    {REMAT_BAN_MATERIALISED, "ban_recompute_materialized_backward false"},
    {REMAT_BAN_TOO_FAR, "a larger max_dist_from_bw"},
    {REMAT_BAN_REDUCTION, "ban_recompute_reductions false"},
    {REMAT_BAN_FAR_APART, "ban_recompute_used_far_apart false"},
    {REMAT_BAN_LONG_CHAIN, "ban_recompute_long_fusible_chains false"},
};

/* The node a step speaks of: an edge to the sink speaks of the one before. */
static remat_node subject(const struct remat_diagnostic *d, uint32_t i)
{
    if (d->path[i].node == REMAT_NONE && i > 0)
        return d->path[i - 1].node;
    return d->path[i].node;
}

static void add_name(struct proto_text *text,
                     const struct proto_decision *decision, remat_node node)
{
    if (node == REMAT_NONE)
        proto_text_puts(text, "it");
    else
        proto_text_show(text, remat_graph_node(decision->job, node)->name);
}

static void add_steps(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct remat_diagnostic *d)
{
    for (uint32_t i = 0; i < d->n_path; i++) {
        const struct remat_step *step = &d->path[i];

        proto_text_format(text, "%4" PRIu32 ". ", i + 1);
        add_name(text, decision, subject(d, i));
        proto_text_puts(text, " ");
        proto_text_show(text,
                        step->reason != NULL ? step->reason : "comes next");
        if (step->origin != REMAT_ORIGIN_DATAFLOW) {
            proto_text_puts(text, "  [");
            proto_text_puts(text, remat_origin_text(step->origin));
            proto_text_puts(text, "]");
        }
        proto_text_puts(text, "\n");
    }
}

/* ---- what may be changed ----------------------------------------------- */

static const char *find_switch(const char *reason)
{
    for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
        if (strcmp(remat_ban_text(switches[i].reason), reason) == 0)
            return switches[i].option;
    return NULL;
}

static bool change_annotation(struct proto_text *text,
                              const struct proto_decision *decision,
                              const struct remat_diagnostic *d, uint32_t i)
{
    remat_node v = subject(d, i);
    const struct remat_node_spec *spec = remat_graph_node(decision->job, v);
    bool is_first = i == 0;

    proto_text_puts(text, "  - ");
    proto_text_show(text, spec->name);
    if (is_first && spec->policy == REMAT_MUST_SAVE)
        proto_text_puts(text, ": leave its tag must_save out, so that it may "
                              "be computed again");
    else if (is_first)
        proto_text_puts(text, ": deny the trait (\"-no_recompute\"), if it may "
                              "be computed twice after all");
    else if (spec->policy != REMAT_UNTAGGED)
        proto_text_puts(text, ": leave its tag out, or write must_save, so "
                              "that it may be saved");
    else
        proto_text_puts(text, ": do not pin it to the backward "
                              "(partitioner_tag)");
    proto_text_puts(text, "\n");
    return true;
}

static bool change_heuristic(struct proto_text *text,
                             const struct proto_decision *decision,
                             const struct remat_diagnostic *d, uint32_t i)
{
    const char *option = find_switch(d->path[i].reason);
    bool is_view = strstr(d->path[i].reason, "recompute_views") != NULL;

    if (option == NULL && !is_view)
        return false;
    proto_text_puts(text, "  - ");
    add_name(text, decision, subject(d, i));
    proto_text_puts(text, ": a rule of thumb that the option ");
    proto_text_puts(text, is_view ? "recompute_views false" : option);
    proto_text_puts(text, " turns off\n");
    return true;
}

static void add_changes(struct proto_text *text,
                        const struct proto_decision *decision,
                        const struct remat_diagnostic *d)
{
    bool any = false;

    proto_text_puts(text, "\nWhat may be changed (any one breaks this chain; "
                          "another conflict may remain):\n");
    for (uint32_t i = 0; i < d->n_path; i++) {
        const struct remat_step *step = &d->path[i];

        if (step->reason == NULL || subject(d, i) == REMAT_NONE)
            continue;
        if (step->origin == REMAT_ORIGIN_ANNOTATION)
            any = change_annotation(text, decision, d, i) || any;
        else if (step->origin == REMAT_ORIGIN_HEURISTIC)
            any = change_heuristic(text, decision, d, i) || any;
    }
    if (!any)
        proto_text_puts(text, "  - nothing on the way is a tag or an option: "
                              "the graph itself has to be different\n");
}

static uint32_t count_conflicts(const struct remat_plan *plan)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        n += plan->diagnostics[i].severity == REMAT_ERROR;
    return n;
}

/* All conflicts but the first. */
static void tell_others(struct proto_text *text, const struct remat_plan *plan,
                        uint32_t n)
{
    uint32_t number = 0;

    proto_text_puts(text, "\n");
    for (uint32_t i = 0; i < plan->n_diagnostics && number < MOST_TOLD; i++) {
        if (plan->diagnostics[i].severity != REMAT_ERROR || ++number == 1)
            continue;
        proto_text_format(text, "Conflict %" PRIu32 ": ", number);
        proto_text_show(text, plan->diagnostics[i].message);
        proto_text_puts(text, "\n");
    }
    if (n > MOST_TOLD)
        proto_text_format(text, "And %" PRIu32 " more.\n", n - MOST_TOLD);
}

static void tell_infinite(struct proto_text *text,
                          const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;
    const struct remat_diagnostic *first = proto_first_conflict(plan);
    uint32_t n = count_conflicts(plan);

    proto_text_puts(text, "\nThere is no plan: the backward needs a value that "
                          "can be neither saved nor computed again.\n");
    if (n > 1)
        proto_text_format(text,
                          "There are %" PRIu32 " such conflicts that have no "
                          "value in common. The first:\n",
                          n);
    proto_text_puts(text, "\n");
    add_steps(text, decision, first);
    if (n > 1)
        tell_others(text, plan, n);
    if (plan->remedy != NULL)
        proto_report_remedy(text, decision);
    else
        add_changes(text, decision, first);
}

/* Position of the node among the outputs. */
static uint32_t find_output(const struct proto_decision *decision,
                            remat_node node)
{
    uint32_t last = remat_graph_n_nodes(decision->job) - 1;
    const struct remat_node_spec *output =
        remat_graph_node(decision->job, last);
    uint32_t i = 0;

    while (i < output->n_args && (output->args[i].kind != REMAT_ARG_NODE ||
                                  output->args[i].as.node != node))
        i++;
    return i;
}

static void add_count_change(struct proto_text *text,
                             const struct proto_decision *decision,
                             const struct remat_diagnostic *d)
{
    uint32_t position;

    if (d->node == REMAT_NONE)
        return;
    position = find_output(decision, d->node);
    if (position >= d->n_fwd_outputs)
        return;
    proto_text_puts(text, "If ");
    add_name(text, decision, d->node);
    proto_text_format(text,
                      " is a gradient, num_fwd_outputs is too large: it is the "
                      "number %" PRIu32 " among the outputs, so write %" PRIu32
                      " or less.\n",
                      position + 1, position);
}

static void tell_invalid(struct proto_text *text,
                         const struct proto_decision *decision,
                         const struct remat_diagnostic *d)
{
    proto_text_puts(text, "\nThere is no plan: one side has to return what it "
                          "cannot compute.\n\n  ");
    proto_text_show(text, d->message);
    proto_text_puts(text, "\n\n");
    add_steps(text, decision, d);
    if (!d->has_counts)
        return;
    proto_text_format(text,
                      "\nThe output node has %" PRIu32 " forward and %" PRIu32
                      " backward outputs.\n",
                      d->n_fwd_outputs, d->n_bwd_outputs);
    add_count_change(text, decision, d);
}

void proto_report_conflict(struct proto_text *text,
                           const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;

    if (plan->outcome == REMAT_INFINITE_FLOW)
        tell_infinite(text, decision);
    else
        tell_invalid(text, decision, proto_first_conflict(plan));
}
