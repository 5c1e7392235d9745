/*
 * page_trace.c: PyTorch's min_cut_information as a page: what its last cut
 * saves, and what the knapsack kept and let go. What the artifact leaves out is
 * left out here.
 */
#include "page.h"

#include "mincut_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NODES = 100000 /* whose neighbourhoods are data */
};

struct view {
    struct proto_page *page;
    const struct proto_mincut_info *info;
};

/* ---- amounts that may be missing --------------------------------------- */

static int64_t bytes_of(double n_bytes)
{
    return isnan(n_bytes) || n_bytes < 0 ? -1
           : n_bytes < 9e18              ? (int64_t)n_bytes
                                         : INT64_MAX;
}

/* Whole numbers with commas, as runtimes mostly are. */
static void add_number(struct proto_page *page, double value)
{
    if (fabs(value) >= 1000 && fabs(value) < 1e15)
        proto_html_count(page->text, (int64_t)value);
    else
        proto_text_format(page->text, "%.4g", value);
}

static void add_number_cell(struct proto_page *page, double value)
{
    if (isnan(value))
        proto_page_puts(page, "<td class=\"n\" data-v=\"-1\">"
                              "<span class=\"none\">\xE2\x80\x93</span></td>");
    else {
        proto_text_format(page->text, "<td class=\"n\" data-v=\"%.9g\">",
                          value);
        add_number(page, value);
        proto_page_puts(page, "</td>");
    }
}

static void add_share_cell(struct proto_page *page, double share)
{
    if (isnan(share))
        add_number_cell(page, share);
    else
        proto_text_format(page->text,
                          "<td class=\"n\" data-v=\"%.9g\">%.3g%%</td>", share,
                          share * 100);
}

static void add_size_cell(struct proto_page *page, double n_bytes)
{
    if (isnan(n_bytes))
        add_number_cell(page, n_bytes);
    else
        proto_page_size_cell(page, bytes_of(n_bytes));
}

static void add_words_cell(struct proto_page *page, const char *class_name,
                           const char *words)
{
    proto_page_puts(page, "<td class=\"");
    proto_page_puts(page, class_name);
    proto_page_puts(page, "\">");
    if (words == NULL)
        proto_page_puts(page, "<span class=\"none\">\xE2\x80\x93</span>");
    else
        proto_html_name(page->text, words);
    proto_page_puts(page, "</td>");
}

/* ---- numbers of the whole ---------------------------------------------- */

typedef void write_value(struct proto_page *page, double value);

static void add_gigabytes(struct proto_page *page, double n_gb)
{
    proto_page_size(page, bytes_of(n_gb * 1e9));
}

static void add_percentage(struct proto_page *page, double ratio)
{
    proto_text_format(page->text, "%.3g%%", ratio * 100);
}

static void add_tile(struct proto_page *page, const char *what, double value,
                     write_value *write, const char *words)
{
    if (isnan(value))
        return;
    proto_page_puts(page, "<div class=\"tile\"><dt>");
    proto_page_puts(page, what);
    proto_page_puts(page, "</dt><dd>");
    write(page, value);
    proto_page_puts(page, "<small>");
    proto_page_puts(page, words);
    proto_page_puts(page, "</small></dd></div>\n");
}

static void add_size_tile(struct proto_page *page, const char *what,
                          double n_bytes, uint32_t n)
{
    proto_page_puts(page, "<div class=\"tile\"><dt>");
    proto_page_puts(page, what);
    proto_page_puts(page, "</dt><dd>");
    if (isnan(n_bytes))
        proto_page_puts(page, "\xE2\x80\x93");
    else
        proto_page_size(page, bytes_of(n_bytes));
    proto_page_puts(page, "<small>");
    proto_page_plural(page, n, "candidate");
    proto_page_puts(page, "</small></dd></div>\n");
}

static void add_summary(const struct view *view)
{
    const struct proto_mincut_info *info = view->info;
    struct proto_page *page = view->page;
    uint32_t n_kept = 0;
    uint32_t n_again = 0;

    for (uint32_t i = 0; i < info->n_candidates; i++) {
        n_kept += info->candidates[i].is_kept;
        n_again += info->candidates[i].is_recomputed;
    }
    proto_page_open(page, "summary", "Summary",
                    "As the artifact says it; runtimes are in the unit of its "
                    "estimator.");
    proto_page_puts(page, "<dl class=\"tiles\">\n");
    add_size_tile(page, "Kept by the knapsack", info->kept_bytes, n_kept);
    add_size_tile(page, "Computed again", info->recomputed_bytes, n_again);
    add_tile(page, "Memory budget", info->memory_budget, add_number,
             "of the way from least to most");
    add_tile(page, "Saved", info->saved_gb, add_gigabytes,
             "of activations, inputs among them");
    add_tile(page, "Least", info->least_gb, add_gigabytes,
             "that can be saved: the inputs alone");
    add_tile(page, "Most", info->most_gb, add_gigabytes,
             "that can be saved: without a budget");
    add_tile(page, "Expected runtime", info->expected_runtime, add_number,
             "of what is computed again");
    add_tile(page, "Saved by the second cut", info->more_aggressive,
             add_percentage, "of the way from least to most, recomputing more");
    add_tile(page, "Saved by the third cut", info->aggressive, add_percentage,
             "of the way, recomputing whatever no rule bans");
    proto_page_puts(page, "</dl>\n");
    proto_page_close(page);
}

/* ---- tables ------------------------------------------------------------ */

static void add_node(const struct view *view, uint32_t i)
{
    const char *name = view->info->nodes[i].name;
    struct proto_page *page = view->page;

    proto_page_puts(page, "<th scope=\"row\"><button type=\"button\" "
                          "class=\"node\" data-node=\"");
    proto_html_attribute(page->text, name);
    proto_page_puts(page, "\">");
    proto_html_name(page->text, name);
    proto_page_puts(page, "</button></th>");
}

static void add_source_cell(struct proto_page *page, const char *stack)
{
    proto_page_puts(page, "<td class=\"source\">");
    proto_page_frame(page, stack);
    proto_page_puts(page, "</td>");
}

static void open_table(struct proto_page *page, const char *caption, int64_t n,
                       const char *csv, const char *heads)
{
    proto_page_puts(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
                          " aria-label=\"Table of ");
    proto_page_puts(page, caption);
    proto_page_puts(page, "\"><table class=\"data\" data-sortable data-filter "
                          "data-csv=\"");
    proto_page_puts(page, csv);
    proto_page_puts(page, "\"><caption>");
    proto_page_puts(page, n > PROTO_PAGE_MOST_ROWS ? "" : "All ");
    if (n > PROTO_PAGE_MOST_ROWS) {
        proto_page_puts(page, "The first ");
        proto_html_count(page->text, PROTO_PAGE_MOST_ROWS);
        proto_page_puts(page, " of ");
    }
    proto_html_count(page->text, n);
    proto_page_puts(page, " ");
    proto_page_puts(page, caption);
    proto_page_puts(page, "</caption><thead><tr><th scope=\"col\">Value</th>");
    proto_page_puts(page, heads);
    proto_page_puts(page, "</tr></thead><tbody>\n");
}

static void close_table(struct proto_page *page)
{
    proto_page_puts(page, "</tbody></table></div>\n");
}

static void add_saved_row(const struct view *view, uint32_t i)
{
    const struct proto_mincut_node *node = &view->info->nodes[i];
    struct proto_page *page = view->page;
    double n_bytes = node->candidate == PROTO_NO_CANDIDATE
                         ? (double)NAN
                         : view->info->candidates[node->candidate].n_bytes;

    proto_page_puts(page, "<tr>");
    add_node(view, i);
    add_words_cell(page, "op", node->target);
    add_words_cell(page, "type", node->shape);
    add_size_cell(page, n_bytes);
    add_source_cell(page, node->stack);
    proto_page_puts(page, "</tr>\n");
}

static void add_saved(const struct view *view)
{
    const struct proto_mincut_info *info = view->info;

    proto_page_open(view->page, "saved", "Saved values",
                    "What the last cut hands to the backward. Bytes are known "
                    "of candidates alone.");
    if (info->n_saved > 0) {
        open_table(view->page, "saved values", info->n_saved, "saved.csv",
                   "<th scope=\"col\">Operator</th><th scope=\"col\">Shape</th>"
                   "<th scope=\"col\" class=\"n\">Bytes</th>"
                   "<th scope=\"col\">Source</th>");
        for (uint32_t i = 0; i < info->n_saved && i < PROTO_PAGE_MOST_ROWS; i++)
            add_saved_row(view, info->saved[i]);
        close_table(view->page);
    } else {
        proto_page_puts(view->page, "<p class=\"note\">It names none.</p>\n");
    }
    proto_page_close(view->page);
}

static const char *fate_of(const struct proto_mincut_candidate *candidate)
{
    if (candidate->is_kept)
        return "<td><span class=\"mark saved\">kept</span></td>";
    if (candidate->is_recomputed)
        return "<td><span class=\"mark again\">recomputed</span></td>";
    return "<td></td>";
}

static void add_candidate(const struct view *view, uint32_t i)
{
    const struct proto_mincut_candidate *candidate = &view->info->candidates[i];
    const struct proto_mincut_node *node = &view->info->nodes[candidate->node];
    struct proto_page *page = view->page;

    proto_page_puts(page, "<tr>");
    add_node(view, candidate->node);
    add_words_cell(page, "op", node->target);
    add_words_cell(page, "type", node->shape);
    add_size_cell(page, candidate->n_bytes);
    add_share_cell(page, candidate->share);
    add_number_cell(page, candidate->runtime);
    proto_page_puts(page, fate_of(candidate));
    add_source_cell(page, node->stack);
    proto_page_puts(page, "</tr>\n");
}

static void add_candidates(const struct view *view)
{
    uint32_t n = view->info->n_candidates;

    proto_page_open(view->page, "candidates", "Candidates of the knapsack",
                    "Values that no rule wants saved: it keeps those whose "
                    "computing again is dearest for their bytes, as far as the "
                    "budget goes.");
    if (n > 0) {
        open_table(view->page, "candidates", n, "candidates.csv",
                   "<th scope=\"col\">Operator</th><th scope=\"col\">Shape</th>"
                   "<th scope=\"col\" class=\"n\">Bytes</th>"
                   "<th scope=\"col\" class=\"n\">Share</th>"
                   "<th scope=\"col\" class=\"n\">Runtime</th>"
                   "<th scope=\"col\">Decided</th>"
                   "<th scope=\"col\">Source</th>");
        for (uint32_t i = 0; i < n && i < PROTO_PAGE_MOST_ROWS; i++)
            add_candidate(view, i);
        close_table(view->page);
    } else {
        proto_page_puts(view->page, "<p class=\"note\">It names none.</p>\n");
    }
    proto_page_close(view->page);
}

/* ---- the graph as data ------------------------------------------------- */

/* The node at each place, and the place of each node: what is only mentioned
 * (inputs, mostly) first, so that values stand before their readers. */
struct order {
    uint32_t *node_at;
    uint32_t *place_of;
};

static bool find_order(const struct view *view, struct order *order)
{
    const struct proto_mincut_info *info = view->info;
    uint32_t n = 0;

    order->node_at =
        remat_job_alloc(view->page->job, info->n_nodes, sizeof(uint32_t));
    order->place_of =
        remat_job_alloc(view->page->job, info->n_nodes, sizeof(uint32_t));
    if (order->node_at == NULL || order->place_of == NULL)
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < info->n_nodes; i++)
            if (info->nodes[i].is_described == (pass == 1)) {
                order->place_of[i] = n;
                order->node_at[n++] = i;
            }
    return true;
}

static int compare_edges(const void *a, const void *b)
{
    const struct proto_mincut_edge *x = a;
    const struct proto_mincut_edge *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* [[places that each place reads]] */
static bool add_inputs(const struct view *view, const struct order *order)
{
    const struct proto_mincut_info *info = view->info;
    struct proto_text *text = view->page->text;
    struct proto_mincut_edge *edges =
        remat_job_alloc(view->page->job, info->n_edges, sizeof(*edges));
    uint32_t at = 0;

    if (edges == NULL)
        return false;
    for (uint32_t i = 0; i < info->n_edges; i++)
        edges[i] =
            (struct proto_mincut_edge){order->place_of[info->edges[i].from],
                                       order->place_of[info->edges[i].to]};
    qsort(edges, info->n_edges, sizeof(*edges), compare_edges);
    proto_text_puts(text, ",\"inputs\":[");
    for (uint32_t i = 0; i < info->n_nodes; i++) {
        bool is_first = true;

        proto_text_puts(text, i == 0 ? "[" : ",[");
        for (; at < info->n_edges && edges[at].to == i; at++) {
            if (edges[at].from == i)
                continue;
            proto_text_puts(text, is_first ? "" : ",");
            proto_text_int(text, edges[at].from);
            is_first = false;
        }
        proto_text_puts(text, "]");
    }
    proto_text_puts(text, "]");
    return true;
}

static char state_of(const struct proto_mincut_info *info,
                     const struct proto_mincut_node *node)
{
    if (node->is_saved)
        return 's';
    return node->candidate != PROTO_NO_CANDIDATE &&
                   info->candidates[node->candidate].is_recomputed
               ? 'r'
               : '-';
}

static void add_columns(const struct view *view, const struct order *order)
{
    const struct proto_mincut_info *info = view->info;
    struct proto_text *text = view->page->text;

    proto_text_puts(text, "{\"names\":[");
    for (uint32_t i = 0; i < info->n_nodes; i++) {
        proto_text_puts(text, i == 0 ? "" : ",");
        proto_html_quote(text, info->nodes[order->node_at[i]].name);
    }
    proto_text_puts(text, "],\"targets\":[");
    for (uint32_t i = 0; i < info->n_nodes; i++) {
        const char *target = info->nodes[order->node_at[i]].target;

        proto_text_puts(text, i == 0 ? "" : ",");
        proto_html_quote(text, target == NULL ? "" : target);
    }
    proto_text_puts(text, "],\"states\":\"");
    for (uint32_t i = 0; i < info->n_nodes; i++) {
        char state = state_of(info, &info->nodes[order->node_at[i]]);

        proto_text_add(text, &state, 1);
    }
    proto_text_puts(text, "\",\"bytes\":[");
    for (uint32_t i = 0; i < info->n_nodes; i++) {
        uint32_t candidate = info->nodes[order->node_at[i]].candidate;

        proto_text_puts(text, i == 0 ? "" : ",");
        proto_text_int(text,
                       candidate == PROTO_NO_CANDIDATE
                           ? -1
                           : bytes_of(info->candidates[candidate].n_bytes));
    }
    proto_text_puts(text, "]");
}

static void add_graph(const struct view *view)
{
    struct order order;

    if (view->info->n_nodes > MOST_NODES)
        return;
    if (!find_order(view, &order)) {
        view->page->text->failed = true;
        return;
    }
    proto_page_puts(view->page, "<script type=\"application/json\" "
                                "id=\"graph-data\">");
    add_columns(view, &order);
    if (!add_inputs(view, &order))
        view->page->text->failed = true;
    proto_page_puts(view->page, "}</script>\n");
}

/* ---- the page ---------------------------------------------------------- */

void proto_page_trace(struct proto_page *page,
                      const struct proto_mincut_info *info)
{
    const struct view view = {page, info};

    proto_page_puts(page, "<header class=\"report-head\">\n"
                          "<p class=\"eyebrow\">PyTorch\xE2\x80\x99s "
                          "min_cut_information</p>\n"
                          "<h1>A recorded cut</h1>\n<p class=\"meta\"><span>");
    proto_page_plural(page, info->n_nodes, "node");
    proto_page_puts(page, "</span> <span>");
    proto_page_plural(page, info->n_edges, "edge");
    proto_page_puts(page, "</span> <span>shown by " PROTO_ENGINE
                          "</span> <span class=\"digest\">digest <code>");
    proto_page_puts(page, page->decision->digest);
    proto_page_puts(page, "</code></span></p>\n</header>\n");
    add_summary(&view);
    add_saved(&view);
    add_candidates(&view);
    add_graph(&view);
}
