/*
 * export_min_cut.c: a decision as the artifact min_cut_information of PyTorch's
 * structured trace (2.13), with its keys.
 *
 *   numbers   as Python writes them
 *   edges, nodes, knapsack, totals   the parts of the document
 *
 * PyTorch writes it only where a knapsack was filled; here the lists of the
 * knapsack are empty otherwise, and what was not computed is null.
 */
#include "export.h"

#include "canon.h"
#include "mincut_keys.h"

#include <math.h>
#include <string.h>

struct trace {
    struct proto_text *text;
    const struct proto_decision *decision;
    const struct remat_packing *packing; /* of nothing where there is none */
    bool has_whole_runtimes; /* the estimator counts, and does not measure */
    bool sums_as_given;      /* the solver's sum has the runtimes' type */
    uint32_t *place;         /* candidates by node, from 1; 0: none */
};

/* ---- numbers ----------------------------------------------------------- */

/* A float of Python's: 12.0, and null for what is not known. */
static void add_float(struct proto_text *text, double real)
{
    if (!isfinite(real)) {
        proto_text_puts(text, "null");
        return;
    }
    proto_canon_add_real(text, real);
    if (fabs(real) < 1e15 && real == floor(real))
        proto_text_puts(text, ".0");
}

static void add_runtime(const struct trace *t, double runtime)
{
    if (t->has_whole_runtimes)
        proto_canon_add_real(t->text, runtime);
    else
        add_float(t->text, runtime);
}

static void add_flag(struct proto_text *text, bool flag)
{
    proto_text_puts(text, flag ? "true" : "false");
}

/* ---- edges ------------------------------------------------------------- */

static void add_edges(struct trace *t)
{
    const struct remat_job *job = t->decision->job;
    const bool *live = t->decision->plan->facts.live;
    uint32_t n = remat_graph_n_nodes(job);
    int64_t n_edges = 0;

    proto_text_puts(t->text, "\"" PROTO_KEY_EDGES "\":{\"Edges\":[");
    for (remat_node v = 0; v < n; v++) {
        const struct remat_nodes inputs = remat_node_inputs(job, v);

        for (uint32_t i = 0; live[v] && i < inputs.n; i++, n_edges++) {
            proto_text_puts(t->text, n_edges == 0 ? "[" : ",[");
            proto_encode_name(t->text, job, inputs.at[i]);
            proto_text_puts(t->text, ",");
            proto_encode_name(t->text, job, v);
            proto_text_puts(t->text, "]");
        }
    }
    proto_text_puts(t->text, "],\"Total\":");
    proto_text_int(t->text, n_edges);
    proto_text_puts(t->text, "}");
}

/* ---- nodes ------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Python's text of a target. Of its own functions it prints an address too,
 * which no document has. */
static void add_target(struct proto_text *text,
                       const struct remat_node_spec *spec)
{
    const char *target = spec->target;
    const char *name = NULL;

    if (spec->op == REMAT_CALL_FUNCTION && strcmp(target, "getitem") == 0)
        name = target;
    else if (spec->op == REMAT_CALL_FUNCTION &&
             starts_with(target, "operator."))
        name = target + strlen("operator.");
    else if (spec->op == REMAT_CALL_FUNCTION && starts_with(target, "math."))
        name = target + strlen("math.");
    if (name != NULL) {
        proto_text_puts(text, "\"<built-in function ");
        proto_text_escape(text, name, strlen(name));
        proto_text_puts(text, ">\"");
        return;
    }
    if (starts_with(target, "higher_order."))
        target += strlen("higher_order.");
    proto_text_quote_words(text, target);
}

static void add_shape(struct proto_text *text, const struct remat_value *value)
{
    if (value->kind != REMAT_VALUE_TENSOR) {
        proto_text_puts(text, "\"[]\"");
        return;
    }
    proto_text_puts(text, "\"torch.Size([");
    for (uint32_t i = 0; i < value->n_dims; i++) {
        proto_text_puts(text, i == 0 ? "" : ", ");
        proto_text_int(text, value->dims[i]);
    }
    proto_text_puts(text, "])\"");
}

static void add_candidate(struct trace *t, remat_node v)
{
    uint32_t at = t->place[v] - 1;

    proto_encode_key(t->text, "recomputable_candidate_info");
    proto_text_puts(t->text, "{\"recomputable_node_idx\":");
    proto_text_int(t->text, at);
    proto_encode_key(t->text, "memory");
    proto_text_int(t->text, remat_node_bytes(t->decision->job, v));
    proto_encode_key(t->text, "runtime");
    add_runtime(t, t->packing->runtime[at]);
    proto_encode_key(t->text, "is_saved");
    add_flag(t->text, t->packing->keep[at]);
    proto_encode_key(t->text, "is_recomputed");
    add_flag(t->text, !t->packing->keep[at]);
    proto_text_puts(t->text, "}");
}

static void add_node(struct trace *t, remat_node v, uint32_t index)
{
    const struct remat_job *job = t->decision->job;
    const struct remat_node_spec *spec = remat_graph_node(job, v);

    proto_text_puts(t->text, index == 0 ? "" : ",");
    proto_encode_name(t->text, job, v);
    proto_text_puts(t->text, ":{\"index\":");
    proto_text_int(t->text, index);
    proto_encode_key(t->text, "name");
    proto_encode_name(t->text, job, v);
    proto_encode_key(t->text, "is_recomputable_candidate");
    add_flag(t->text, t->place[v] != 0);
    proto_encode_key(t->text, "target");
    add_target(t->text, spec);
    proto_encode_key(t->text, "shape");
    add_shape(t->text, &spec->value);
    proto_encode_key(t->text, "input_arguments");
    proto_encode_names(t->text, job, remat_node_inputs(job, v));
    proto_encode_key(t->text, "stack_trace");
    proto_text_quote_words(t->text, spec->stack == NULL ? "" : spec->stack);
    if (t->place[v] != 0)
        add_candidate(t, v);
    proto_text_puts(t->text, "}");
}

static void add_nodes(struct trace *t)
{
    const bool *live = t->decision->plan->facts.live;
    uint32_t n = remat_graph_n_nodes(t->decision->job);
    uint32_t n_live = 0;

    proto_encode_key(t->text, PROTO_KEY_NODES);
    proto_text_puts(t->text, "{");
    for (remat_node v = 0; v < n; v++)
        if (live[v])
            add_node(t, v, n_live++);
    proto_text_puts(t->text, "}");
    proto_encode_key(t->text, PROTO_KEY_SIZE);
    proto_text_int(t->text, n_live);
}

/* ---- the knapsack ------------------------------------------------------ */

static void add_positions(struct trace *t, const char *key, const uint32_t *at,
                          uint32_t n)
{
    proto_encode_key(t->text, key);
    proto_text_puts(t->text, "[");
    for (uint32_t i = 0; i < n; i++) {
        proto_text_puts(t->text, i == 0 ? "" : ",");
        proto_text_int(t->text, at[i]);
    }
    proto_text_puts(t->text, "]");
}

static void add_candidates(struct trace *t, const struct remat_packing *p)
{
    const struct remat_job *job = t->decision->job;

    proto_encode_key(t->text, PROTO_KEY_ORDER);
    proto_encode_names(t->text, job, p->offered);
    proto_encode_key(t->text, PROTO_KEY_BYTES);
    for (uint32_t i = 0; i < p->offered.n; i++) {
        proto_text_puts(t->text, i == 0 ? "[" : ",");
        proto_text_int(t->text, remat_node_bytes(job, p->offered.at[i]));
    }
    proto_text_puts(t->text, p->offered.n == 0 ? "[]" : "]");
    proto_encode_key(t->text, PROTO_KEY_SHARES);
    proto_text_puts(t->text, "[");
    for (uint32_t i = 0; i < p->offered.n; i++) {
        proto_text_puts(t->text, i == 0 ? "" : ",");
        add_float(t->text, p->memory[i]);
    }
    proto_text_puts(t->text, "]");
    proto_encode_key(t->text, PROTO_KEY_RUNTIMES);
    proto_text_puts(t->text, "[");
    for (uint32_t i = 0; i < p->offered.n; i++) {
        proto_text_puts(t->text, i == 0 ? "" : ",");
        add_runtime(t, p->runtime[i]);
    }
    proto_text_puts(t->text, "]");
    add_positions(t, PROTO_KEY_KEPT, p->saved, p->n_saved);
    add_positions(t, PROTO_KEY_RECOMPUTED, p->recomputed, p->n_recomputed);
    proto_encode_key(t->text, "Expected Runtime");
    if (t->sums_as_given)
        add_runtime(t, p->saved_runtime);
    else
        add_float(t->text, p->saved_runtime);
}

/* ---- totals ------------------------------------------------------------ */

static void add_total(struct trace *t, const char *key, double real)
{
    proto_encode_key(t->text, key);
    add_float(t->text, real);
}

/* What the last cut saves; under a limit on memory no cut decided. */
static struct remat_nodes saved_values(const struct trace *t)
{
    const struct remat_plan *plan = t->decision->plan;

    if (plan->packing == NULL || plan->n_cuts == 0)
        return plan->saved;
    return plan->cuts[plan->n_cuts - 1].nodes;
}

static void add_totals(struct trace *t, const struct remat_packing *p)
{
    const struct remat_job *job = t->decision->job;
    struct remat_nodes saved = saved_values(t);
    double n_bytes = 0.0; /* exact below 2^53 */

    for (uint32_t i = 0; i < saved.n; i++)
        if (remat_node_bytes(job, saved.at[i]) > 0)
            n_bytes += (double)remat_node_bytes(job, saved.at[i]);
    proto_encode_key(t->text, PROTO_KEY_SAVED);
    proto_encode_names(t->text, job, saved);
    add_total(t, "Memory Budget", p->budget);
    add_total(t, "Min Activation Size (GB)", p->least_gb);
    add_total(t, "Max Activation Size (GB)", p->most_gb);
    add_total(t, "Saved Values Activation Size (GB)", n_bytes / 1e9);
    add_total(t, "More Aggressive Saved Values Mem Ratio", p->parts[0]);
    add_total(t, "Aggressive Recomputation Saved Values Mem Ratio",
              p->parts[1]);
}

/* ---- the document ------------------------------------------------------ */

static bool number_candidates(struct trace *t)
{
    struct remat_job *job = t->decision->job;

    t->place =
        remat_job_alloc(job, remat_graph_n_nodes(job), sizeof(*t->place));
    if (t->place == NULL)
        return false;
    for (uint32_t i = 0; i < t->packing->offered.n; i++)
        t->place[t->packing->offered.at[i]] = i + 1;
    return true;
}

void proto_export_min_cut(struct proto_text *text,
                          const struct proto_decision *decision,
                          const struct proto_options *options)
{
    const struct remat_packing none = {.budget = (double)NAN,
                                       .least_gb = (double)NAN,
                                       .most_gb = (double)NAN,
                                       .parts = {(double)NAN, (double)NAN}};
    struct trace t = {
        .text = text,
        .decision = decision,
        .packing =
            decision->plan->packing == NULL ? &none : decision->plan->packing,
        .sums_as_given = options->core.activation_memory_budget_solver ==
                         REMAT_KNAPSACK_HIRSCHBERG,
        .has_whole_runtimes =
            options->core.activation_memory_budget_runtime_estimator !=
            REMAT_ESTIMATE_GIVEN};

    if (!number_candidates(&t)) {
        text->failed = true;
        return;
    }
    proto_text_puts(text, "{");
    add_edges(&t);
    add_nodes(&t);
    add_candidates(&t, t.packing);
    add_totals(&t, t.packing);
    proto_text_puts(text, "}\n");
}
