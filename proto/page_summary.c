/*
 * page_summary.c: the plan in numbers, against saving everything and against
 * saving nothing but inputs.
 */
#include "page.h"

#include <inttypes.h>
#include <string.h>

/* ---- the two ends of the trade ----------------------------------------- */

/* What the backward reads of the forward when nothing is computed again. */
static bool *mark_read(const struct proto_page *page)
{
    bool *marked = remat_job_alloc(page->job, page->n, sizeof(*marked));

    if (marked == NULL)
        return NULL;
    for (remat_node v = 0; v < page->n; v++)
        marked[v] = page->side[v] == PROTO_SIDE_FORWARD &&
                    proto_page_consumers(page, v) > 0;
    return marked;
}

/* Adds all that the marked nodes are made of. */
static void mark_sources(const struct proto_page *page, bool *marked)
{
    for (remat_node v = page->n; v-- > 0;) {
        struct remat_nodes inputs = remat_node_inputs(page->job, v);

        for (uint32_t i = 0; marked[v] && i < inputs.n; i++)
            marked[inputs.at[i]] = true;
    }
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}

/* The operators among the marked go: their FLOPs. */
static int64_t drop_operators(const struct proto_page *page, bool *marked)
{
    int64_t flops = 0;

    for (remat_node v = 0; v < page->n; v++) {
        bool is_call =
            remat_graph_node(page->job, v)->op == REMAT_CALL_FUNCTION;

        if (marked[v] && is_call)
            flops = add_clamped(flops, remat_node_flops(page->job, v));
        marked[v] = marked[v] && !is_call;
    }
    return flops;
}

static int64_t plan_bytes(const struct proto_page *page)
{
    bool *marked = remat_job_alloc(page->job, page->n, sizeof(*marked));

    if (marked == NULL)
        return -1;
    for (remat_node v = 0; v < page->n; v++)
        marked[v] = page->state[v] == REMAT_PLACE_SAVED;
    return proto_page_storage_bytes(page, marked);
}

struct ends {
    int64_t all_bytes; /* everything that the backward reads is saved */
    int64_t plan_bytes;
    int64_t input_bytes; /* inputs alone are kept */
    int64_t input_flops; /* and the rest computed again */
};

static bool find_ends(const struct proto_page *page, struct ends *ends)
{
    bool *marked = mark_read(page);

    if (marked == NULL)
        return false;
    ends->all_bytes = proto_page_storage_bytes(page, marked);
    mark_sources(page, marked);
    ends->input_flops = drop_operators(page, marked);
    ends->input_bytes = proto_page_storage_bytes(page, marked);
    ends->plan_bytes = plan_bytes(page);
    return ends->all_bytes >= 0 && ends->input_bytes >= 0 &&
           ends->plan_bytes >= 0;
}

static int64_t most_of(const struct ends *ends)
{
    int64_t most =
        ends->all_bytes > ends->plan_bytes ? ends->all_bytes : ends->plan_bytes;

    return most > ends->input_bytes ? most : ends->input_bytes;
}

static void add_bar(struct proto_page *page, int64_t part, int64_t whole)
{
    double share = whole > 0 ? (double)part / (double)whole : 0;

    proto_text_format(page->text,
                      "<td class=\"wide-bar\"><svg class=\"bar\" "
                      "viewBox=\"0 0 300 14\" preserveAspectRatio=\"none\" "
                      "aria-hidden=\"true\"><rect width=\"%.1f\" "
                      "height=\"14\" rx=\"2\"/></svg></td>",
                      share * 300);
}

static void add_end(struct proto_page *page, const char *what, int64_t n_bytes,
                    int64_t flops, int64_t most)
{
    proto_page_puts(page, "<tr><th scope=\"row\">");
    proto_page_puts(page, what);
    proto_page_puts(page, "</th>");
    proto_page_size_cell(page, n_bytes);
    add_bar(page, n_bytes, most);
    proto_page_flops_cell(page, flops);
    proto_page_puts(page, "</tr>\n");
}

static void add_ends(struct proto_page *page, const struct ends *ends)
{
    int64_t most = most_of(ends);

    proto_page_puts(
        page,
        "<table class=\"plain ends\"><caption>What the choice is "
        "between. Bytes the backward is handed, each storage once, "
        "without static inputs. Work is what PyTorch\xE2\x80\x99s FLOP counter "
        "counts: matrix products, convolutions and attention alone."
        "</caption><thead><tr>"
        "<th scope=\"col\">Kept for the backward</th>"
        "<th scope=\"col\" class=\"n\">Bytes</th>"
        "<td></td>"
        "<th scope=\"col\" class=\"n\">Computed again</th></tr></thead>"
        "<tbody>\n");
    add_end(page, "Everything it reads", ends->all_bytes, 0, most);
    add_end(page, "<strong>This plan</strong>", ends->plan_bytes,
            page->plan->recomputed_flops, most);
    add_end(page, "Inputs alone", ends->input_bytes, ends->input_flops, most);
    proto_page_puts(page, "</tbody></table>\n");
}

/* ---- tiles ------------------------------------------------------------- */

static void open_tile(struct proto_page *page, const char *what)
{
    proto_page_puts(page, "<div class=\"tile\"><dt>");
    proto_page_puts(page, what);
    proto_page_puts(page, "</dt><dd>");
}

static void close_tile(struct proto_page *page)
{
    proto_page_puts(page, "</small></dd></div>\n");
}

/* "62 % less than saving everything" */
static void add_saving(struct proto_page *page, int64_t plan, int64_t all)
{
    if (all <= 0)
        return;
    proto_text_format(page->text, "%.0f\xE2\x80\xAF%% of all it reads; ",
                      100 * (double)plan / (double)all);
}

static void add_saved_tile(struct proto_page *page, const struct ends *ends)
{
    const struct remat_plan *plan = page->plan;

    open_tile(page, "Saved for the backward");
    proto_page_size(page, ends->plan_bytes);
    proto_page_puts(page, "<small>");
    add_saving(page, ends->plan_bytes, ends->all_bytes);
    proto_page_plural(page, plan->saved.n, "value");
    if (plan->static_bytes > 0) {
        proto_page_puts(page, ", and ");
        proto_page_size(page, plan->static_bytes);
        proto_page_puts(page, " of static inputs that live anyway");
    }
    close_tile(page);
}

static void add_recomputed_tile(struct proto_page *page)
{
    const struct remat_plan *plan = page->plan;

    open_tile(page, "Computed again");
    proto_page_flops(page, plan->recomputed_flops);
    proto_page_puts(page, "<small>");
    if (plan->forward_flops > 0)
        proto_text_format(page->text,
                          "%.1f\xE2\x80\xAF%% of the forward\xE2\x80\x99s "
                          "counted work; ",
                          100 * (double)plan->recomputed_flops /
                              (double)plan->forward_flops);
    proto_page_plural(page, plan->recomputed.n, "operator");
    close_tile(page);
}

static void add_peak_tile(struct proto_page *page, const char *what,
                          int64_t n_bytes, const struct remat_curve *curve)
{
    open_tile(page, what);
    proto_page_size(page, n_bytes);
    proto_page_puts(page, "<small>of activations, over ");
    proto_page_plural(page, curve->n_steps > 0 ? curve->n_steps - 1 : 0,
                      "operator");
    close_tile(page);
}

/* ---- sentences --------------------------------------------------------- */

static void add_cut(struct proto_page *page)
{
    const struct remat_plan *plan = page->plan;
    const struct remat_cut *cut =
        plan->n_cuts > 0 ? &plan->cuts[plan->n_cuts - 1] : NULL;

    if (cut == NULL || cut->unbounded)
        return;
    proto_page_puts(page, "<p class=\"note\">Minimum cut: value ");
    proto_html_count(page->text, cut->value);
    proto_page_puts(page, ", through ");
    proto_page_plural(page, cut->nodes.n, "node");
    proto_page_puts(page, " of a network of ");
    proto_html_count(page->text, (int64_t)cut->n_vertices);
    proto_page_puts(page, " vertices and ");
    proto_html_count(page->text, (int64_t)cut->n_edges);
    proto_page_puts(page, " edges.</p>\n");
}

static void add_limit(struct proto_page *page)
{
    const struct remat_limit_report *limit = &page->plan->limit;

    if (!limit->is_asked)
        return;
    proto_page_puts(page, limit->is_met
                              ? "<p class=\"note\">The memory limit is met"
                              : "<p class=\"note\">The memory limit cannot be "
                                "met by this plan");
    proto_page_puts(page, "; no plan has a lower peak than ");
    proto_page_size(page, limit->floor_bytes);
    proto_page_puts(page, ".</p>\n");
}

void proto_page_summary(struct proto_page *page)
{
    const struct remat_memory *memory = &page->plan->memory;
    struct ends ends;

    if (!find_ends(page, &ends)) {
        page->text->failed = true;
        return;
    }
    proto_page_open(page, "summary", "Summary",
                    page->plan->no_backward ? "Nothing is needed by a "
                                              "backward, so nothing is saved."
                                            : NULL);
    proto_page_puts(page, "<dl class=\"tiles\">\n");
    add_saved_tile(page, &ends);
    add_recomputed_tile(page);
    add_peak_tile(page, "Peak of the forward", memory->peak_forward_bytes,
                  &memory->forward);
    add_peak_tile(page, "Peak of the backward", memory->peak_backward_bytes,
                  &memory->backward);
    proto_page_puts(page, "</dl>\n");
    add_ends(page, &ends);
    add_limit(page);
    add_cut(page);
    proto_page_close(page);
}
