/*
 * mincut_report.c: PyTorch's min_cut_information as text: what was saved, what
 * the knapsack let the backward compute again, and the budget they had.
 */
#include "mincut_report.h"

#include "encode.h"
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_COLUMN = 12,
    NAME_COLUMN = 24,
    SHAPE_COLUMN = 24
};

struct view {
    struct proto_text *text;
    struct remat_job *job;
    const struct proto_mincut_info *info;
};

/* ---- words ------------------------------------------------------------- */

static bool is_input(const struct proto_mincut_node *node)
{
    return node->target != NULL && (strncmp(node->target, "primals_", 8) == 0 ||
                                    strncmp(node->target, "fwd_", 4) == 0);
}

const char *proto_mincut_why(const struct proto_mincut_info *info,
                             uint32_t node)
{
    const struct proto_mincut_node *n = &info->nodes[node];

    if (is_input(n))
        return "is an input of the graph";
    if (n->candidate == PROTO_NO_CANDIDATE)
        return "is cheaper to save than what it is computed from, or must be";
    if (info->candidates[n->candidate].is_kept)
        return "the knapsack keeps it";
    if (info->candidates[n->candidate].is_recomputed)
        return "may be computed again, but is cheaper to save";
    return "was offered to the knapsack";
}

static void pad(struct proto_text *text, size_t length)
{
    proto_text_puts(text, " ");
    while (!text->failed && text->length < length)
        proto_text_puts(text, " ");
}

/* n bytes of words for a terminal, controls replaced. */
static void show(struct view *v, const char *words, size_t n)
{
    char *copy = remat_job_alloc(v->job, n + 1, 1);

    if (copy == NULL) {
        v->text->failed = true;
        return;
    }
    memcpy(copy, words, n);
    proto_text_show(v->text, copy);
}

/* "torch.Size([8, 64])" without what is the same in each. */
static void add_shape(struct view *v, const char *shape)
{
    static const char prefix[] = "torch.Size(";
    const size_t skipped = sizeof prefix - 1;
    size_t n = shape == NULL ? 0 : strlen(shape);

    if (n > skipped && strncmp(shape, prefix, skipped) == 0 &&
        shape[n - 1] == ')')
        show(v, shape + skipped, n - skipped - 1);
    else if (n > 0)
        show(v, shape, n);
}

/* Bytes of the line at `at`. */
static size_t line_length(const char *at)
{
    return strcspn(at, "\n");
}

/* The innermost frame of a stack and the code in it, on a line of their own. */
static void add_stack(struct view *v, const char *stack)
{
    static const char mark[] = "File \"";
    const char *frame = stack;
    size_t n;

    if (stack == NULL)
        return;
    for (const char *at = strstr(stack, mark); at != NULL;
         at = strstr(at + 1, mark))
        frame = at;
    proto_text_puts(v->text, "                                ");
    n = line_length(frame);
    show(v, frame, n);
    if (frame[n] == '\n') {
        frame += n + 1;
        frame += strspn(frame, " \t");
        proto_text_puts(v->text, " | ");
        show(v, frame, line_length(frame));
    }
    proto_text_puts(v->text, "\n");
}

/* ---- one value --------------------------------------------------------- */

static double bytes_of(const struct proto_mincut_info *info, uint32_t node)
{
    uint32_t candidate = info->nodes[node].candidate;

    return candidate == PROTO_NO_CANDIDATE
               ? (double)NAN
               : info->candidates[candidate].n_bytes;
}

static void add_bytes(struct proto_text *text, double n_bytes)
{
    size_t start;

    if (!(n_bytes >= 0 && n_bytes < 9e18)) {
        proto_text_format(text, "%16s  ", "-");
        start = text->length;
    } else {
        proto_text_format(text, "%16" PRId64 "  ", (int64_t)n_bytes);
        start = text->length;
        proto_report_size(text, (int64_t)n_bytes);
    }
    pad(text, start + SIZE_COLUMN);
}

static void add_value(struct view *v, uint32_t node)
{
    size_t start;

    add_bytes(v->text, bytes_of(v->info, node));
    start = v->text->length;
    proto_text_show(v->text, v->info->nodes[node].name);
    pad(v->text, start + NAME_COLUMN);
    start = v->text->length;
    add_shape(v, v->info->nodes[node].shape);
    pad(v->text, start + SHAPE_COLUMN);
}

/* ---- tables ------------------------------------------------------------ */

struct row {
    double n_bytes; /* -1: not known */
    uint32_t position;
    uint32_t node;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    if (x->n_bytes != y->n_bytes)
        return x->n_bytes > y->n_bytes ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static void add_saved(struct view *v)
{
    const struct proto_mincut_info *info = v->info;
    struct row *rows = remat_job_alloc(v->job, info->n_saved, sizeof(*rows));

    if (rows == NULL) {
        v->text->failed = true;
        return;
    }
    for (uint32_t i = 0; i < info->n_saved; i++) {
        double n_bytes = bytes_of(info, info->saved[i]);

        rows[i] =
            (struct row){isnan(n_bytes) ? -1 : n_bytes, i, info->saved[i]};
    }
    qsort(rows, info->n_saved, sizeof(*rows), compare_rows);
    if (info->n_saved > 0)
        proto_text_format(v->text, "\n%16s  %-*s %-*s%-*s%s\n", "bytes",
                          SIZE_COLUMN - 1, "", NAME_COLUMN, "saved value",
                          SHAPE_COLUMN, "shape", "why it is saved");
    for (uint32_t i = 0; i < info->n_saved; i++) {
        add_value(v, rows[i].node);
        proto_text_puts(v->text, proto_mincut_why(info, rows[i].node));
        proto_text_puts(v->text, "\n");
        add_stack(v, info->nodes[rows[i].node].stack);
    }
}

static void add_recomputed(struct view *v)
{
    const struct proto_mincut_info *info = v->info;
    bool is_first = true;

    for (uint32_t i = 0; i < info->n_candidates; i++) {
        const struct proto_mincut_candidate *c = &info->candidates[i];

        if (!c->is_recomputed)
            continue;
        if (is_first)
            proto_text_format(v->text, "\n%16s  %-*s %-*s%-*s%s\n", "bytes",
                              SIZE_COLUMN - 1, "", NAME_COLUMN,
                              "may be recomputed", SHAPE_COLUMN, "shape",
                              "runtime");
        is_first = false;
        add_value(v, c->node);
        if (isnan(c->runtime))
            proto_text_puts(v->text, "-");
        else
            proto_text_format(v->text, "%.6g", c->runtime);
        proto_text_puts(v->text, "\n");
    }
}

/* ---- totals ------------------------------------------------------------ */

static void add_gigabytes(struct view *v, const char *what, double gigabytes)
{
    if (isnan(gigabytes))
        return;
    proto_text_format(v->text, "  %-44s %.6g GB\n", what, gigabytes);
}

static void add_part(struct view *v, const char *what, double part)
{
    if (isnan(part))
        return;
    proto_text_format(v->text, "  %-44s %.4g\n", what, part);
}

static void add_knapsack(struct view *v)
{
    const struct proto_mincut_info *info = v->info;
    uint32_t n_kept = 0;

    if (info->n_candidates == 0)
        return;
    for (uint32_t i = 0; i < info->n_candidates; i++)
        n_kept += info->candidates[i].is_kept;
    proto_text_format(v->text,
                      "The knapsack keeps %" PRIu32 " of %" PRIu32 " values",
                      n_kept, info->n_candidates);
    if (info->kept_bytes > 0 && info->kept_bytes < 9e18) {
        proto_text_puts(v->text, ", ");
        proto_report_size(v->text, (int64_t)info->kept_bytes);
    }
    if (!isnan(info->expected_runtime))
        proto_text_format(v->text, ", and saves a runtime of %.6g of %.6g",
                          info->expected_runtime, info->offered_runtime);
    proto_text_puts(v->text, ".\n");
}

static void add_totals(struct view *v)
{
    const struct proto_mincut_info *info = v->info;

    proto_text_puts(v->text, "\n");
    add_knapsack(v);
    add_part(v, "memory budget", info->memory_budget);
    add_gigabytes(v, "the inputs", info->least_gb);
    add_gigabytes(v, "what the first cut saves", info->most_gb);
    add_gigabytes(v, "what the last cut saves", info->saved_gb);
    add_part(v, "part saved without the rules about fusion",
             info->more_aggressive);
    add_part(v, "part saved without the list of operators too",
             info->aggressive);
}

void proto_report_trace(struct proto_text *text, struct remat_job *job,
                        const struct proto_mincut_info *info,
                        const char *digest)
{
    struct view v = {text, job, info};

    proto_text_format(text,
                      "min_cut_information of PyTorch: a joint graph of "
                      "%" PRIu32 " nodes and %" PRIu32 " edges\n\n"
                      "The forward saves %" PRIu32 " value%s.\n",
                      info->n_nodes, info->n_edges, info->n_saved,
                      info->n_saved == 1 ? "" : "s");
    add_saved(&v);
    add_recomputed(&v);
    add_totals(&v);
    proto_text_format(text, "\nengine %s, digest %s\n", PROTO_ENGINE, digest);
}

/* ---- a request --------------------------------------------------------- */

void proto_explain(const struct proto_env *env,
                   const struct proto_request *request,
                   struct proto_answer *answer)
{
    struct proto_env alone = *env;
    struct proto_request plain = *request;
    struct proto_run run = {.env = &alone,
                            .request = &plain,
                            .answer = answer,
                            .kind = PROTO_CALL_PLAN,
                            .takes_trace = true};
    const struct remat_plan *plan = NULL;
    struct proto_text text;

    alone.look_up = NULL;
    plain.format = PROTO_TEXT;
    proto_run_begin(&run);
    if (proto_run_decode(&run) && run.trace != NULL) {
        proto_watch_enter(&run.watch, PROTO_PHASE_ENCODE);
        proto_text_init(&text, &run.budget);
        proto_report_trace(&text, run.job, run.trace, run.names.digest);
        proto_run_take(&run, &text, REMAT_PLAN);
    } else if (answer->problem.kind == PROTO_NO_PROBLEM &&
               proto_run_passes(&run) && proto_run_solve(&run, &plan)) {
        proto_watch_enter(&run.watch, PROTO_PHASE_ENCODE);
        proto_run_encode_plan(&run, plan);
    }
    proto_run_end(&run);
}
