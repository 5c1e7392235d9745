/*
 * encode.c: the plan document, remat/plan/v1.
 *
 * Members stand in one fixed order and nothing in it depends on time, address
 * or hash, so the same decision is always the same bytes. What was not computed
 * is absent.
 */
#include "encode.h"

#include <string.h>

const char *proto_outcome_name(enum remat_outcome outcome)
{
    switch (outcome) {
    case REMAT_PLAN:
        break;
    case REMAT_INFINITE_FLOW:
        return "infinite_flow";
    case REMAT_INVALID_OUTPUT:
        return "invalid_output";
    }
    return "plan";
}

static void add_names(struct proto_text *text,
                      const struct proto_decision *decision, const char *key,
                      struct remat_nodes nodes)
{
    proto_encode_key(text, key);
    proto_encode_names(text, decision->job, nodes);
}

/* ---- cuts ---- */

static void add_cut(struct proto_text *text,
                    const struct proto_decision *decision,
                    const struct remat_cut *cut)
{
    if (cut->unbounded) {
        proto_text_puts(text, "{\"unbounded\":true");
    } else {
        proto_text_puts(text, "{\"value\":");
        proto_text_int(text, cut->value);
    }
    proto_encode_integer(text, "vertices", (int64_t)cut->n_vertices);
    proto_encode_integer(text, "edges", (int64_t)cut->n_edges);
    if (!cut->unbounded)
        add_names(text, decision, "nodes", cut->nodes);
    proto_text_puts(text, "}");
}

static void add_cuts(struct proto_text *text,
                     const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;

    if (plan->n_cuts > 0 && !plan->cuts[plan->n_cuts - 1].unbounded) {
        proto_encode_key(text, "cut");
        add_cut(text, decision, &plan->cuts[plan->n_cuts - 1]);
    }
    if (decision->explain == PROTO_EXPLAIN_NONE)
        return;
    proto_encode_key(text, "cuts");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < plan->n_cuts; i++) {
        if (i > 0)
            proto_text_puts(text, ",");
        add_cut(text, decision, &plan->cuts[i]);
    }
    proto_text_puts(text, "]");
}

/* ---- the answer proper ---- */

static void add_answer(struct proto_text *text,
                       const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;

    add_names(text, decision, "saved", plan->saved);
    add_names(text, decision, "saved_sym", plan->saved_sym);
    add_names(text, decision, "saved_opaque", plan->saved_opaque);
    add_names(text, decision, "recomputed", plan->recomputed);
}

static void add_memory(struct proto_text *text,
                       const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;

    proto_encode_key(text, "memory");
    proto_text_puts(text, "{\"saved_bytes\":");
    proto_text_int(text, plan->saved_bytes);
    proto_encode_integer(text, "saved_storage_bytes",
                         plan->saved_storage_bytes);
    proto_encode_integer(text, "static_bytes", plan->static_bytes);
    proto_encode_integer(text, "peak_forward_bytes",
                         plan->memory.peak_forward_bytes);
    proto_encode_integer(text, "peak_backward_bytes",
                         plan->memory.peak_backward_bytes);
    add_names(text, decision, "peak_nodes", plan->memory.peak_nodes);
    proto_text_puts(text, "}");
}

static void add_cost(struct proto_text *text, const struct remat_plan *plan)
{
    proto_encode_key(text, "cost");
    proto_text_puts(text, "{\"forward_flops\":");
    proto_text_int(text, plan->forward_flops);
    proto_encode_integer(text, "recomputed_flops", plan->recomputed_flops);
    proto_text_puts(text, "}");
}

static void add_limit(struct proto_text *text,
                      const struct remat_limit_report *limit)
{
    proto_encode_key(text, "limit");
    proto_text_format(text, "{\"met\":%s,\"optimal\":%s",
                      limit->is_met ? "true" : "false",
                      limit->is_optimal ? "true" : "false");
    proto_encode_integer(text, "floor_bytes", limit->floor_bytes);
    proto_encode_integer(text, "flops_bound", limit->flops_bound);
    proto_text_puts(text, "}");
}

/* ---- diagnostics ---- */

static const char *severity_name(enum remat_severity severity)
{
    static const char *const names[] = {[REMAT_ERROR] = "error",
                                        [REMAT_WARNING] = "warning",
                                        [REMAT_INFO] = "info"};

    return names[severity];
}

static void begin_diagnostic(struct proto_text *text,
                             const struct proto_decision *decision,
                             const char *code, enum remat_severity severity,
                             remat_node node)
{
    proto_text_puts(text, "{\"code\":");
    proto_text_quote_words(text, code);
    proto_encode_words(text, "severity", severity_name(severity));
    if (node != REMAT_NONE) {
        proto_encode_key(text, "node");
        proto_encode_name(text, decision->job, node);
    }
}

static void add_diagnostic(struct proto_text *text,
                           const struct proto_decision *decision,
                           const struct remat_diagnostic *diagnostic)
{
    begin_diagnostic(text, decision, diagnostic->code, diagnostic->severity,
                     diagnostic->node);
    proto_encode_words(text, "message", diagnostic->message);
    if (diagnostic->n_path > 0) {
        proto_encode_key(text, "path");
        proto_text_puts(text, "[");
        for (uint32_t i = 0; i < diagnostic->n_path; i++) {
            if (i > 0)
                proto_text_puts(text, ",");
            proto_encode_step(text, decision->job, &diagnostic->path[i]);
        }
        proto_text_puts(text, "]");
    }
    if (diagnostic->has_counts) {
        proto_encode_integer(text, "num_fwd_outputs",
                             diagnostic->n_fwd_outputs);
        proto_encode_integer(text, "num_bwd_outputs",
                             diagnostic->n_bwd_outputs);
    }
    if (diagnostic->has_floor) {
        proto_encode_key(text, "floor");
        proto_text_format(text, "%.17g", diagnostic->floor);
    }
    if (diagnostic->has_floor || diagnostic->nodes.n > 0)
        add_names(text, decision, "nodes", diagnostic->nodes);
    if (diagnostic == proto_first_conflict(decision->plan))
        proto_encode_remedy(text, decision);
    proto_text_puts(text, "}");
}

static void add_notes(struct proto_text *text,
                      const struct proto_decision *decision, bool is_first)
{
    struct proto_note note;
    unsigned at = 0;

    while (proto_note_next(decision, &at, &note)) {
        if (!is_first)
            proto_text_puts(text, ",");
        is_first = false;
        begin_diagnostic(text, decision, note.code, REMAT_WARNING, note.node);
        proto_encode_words(text, "message", note.message);
        proto_text_puts(text, "}");
    }
}

static void add_list(struct proto_text *text,
                     const struct proto_decision *decision,
                     const struct remat_diagnostic *diagnostics, uint32_t n,
                     bool *is_first)
{
    for (uint32_t i = 0; i < n; i++) {
        if (decision->explain == PROTO_EXPLAIN_NONE &&
            diagnostics[i].severity != REMAT_ERROR)
            continue;
        if (!*is_first)
            proto_text_puts(text, ",");
        *is_first = false;
        add_diagnostic(text, decision, &diagnostics[i]);
    }
}

void proto_encode_diagnostics(struct proto_text *text,
                              const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;
    const struct proto_passes *passes = decision->passes;
    bool is_first = true;

    proto_encode_key(text, "diagnostics");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; passes != NULL && i < passes->n; i++)
        add_list(text, decision, passes->at[i].report.diagnostics,
                 passes->at[i].report.n_diagnostics, &is_first);
    add_list(text, decision, plan->diagnostics, plan->n_diagnostics, &is_first);
    if (decision->explain != PROTO_EXPLAIN_NONE)
        add_notes(text, decision, is_first);
    proto_text_puts(text, "]");
}

void proto_encode_tail(struct proto_text *text,
                       const struct proto_decision *decision)
{
    proto_encode_passes(text, decision);
    proto_encode_words(text, "engine", PROTO_ENGINE);
    proto_encode_words(text, "digest", decision->digest);
    proto_text_puts(text, "}\n");
}

void proto_encode_plan(struct proto_text *text,
                       const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;

    proto_text_puts(text, "{\"schema\":\"remat/plan/v1\"");
    proto_encode_words(text, "outcome", proto_outcome_name(plan->outcome));
    if (plan->outcome == REMAT_PLAN)
        add_answer(text, decision);
    add_cuts(text, decision);
    if (plan->outcome == REMAT_PLAN) {
        add_memory(text, decision);
        add_cost(text, plan);
        if (plan->limit.is_asked)
            add_limit(text, &plan->limit);
    }
    proto_encode_diagnostics(text, decision);
    if (decision->explain == PROTO_EXPLAIN_FULL)
        proto_encode_full(text, decision);
    proto_encode_tail(text, decision);
}
