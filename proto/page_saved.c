/*
 * page_saved.c: the table of saved values: first those that are kept because of
 * the plan, largest first, then the static inputs, which live anyway. The first
 * rows are HTML; more of them are data that report.js sorts and filters with
 * the rest.
 */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    MOST_DATA_ROWS = 20000
};

/* Whether it is there without the plan: a static input or a view of one. */
static bool is_free(const struct proto_page *page, remat_node v)
{
    remat_node root = remat_node_storage(page->job, v);

    return remat_node_is_static(page->job, root == REMAT_NONE ? v : root);
}

/* Static inputs behind the rest, both in the order that they had. */
static bool move_static(struct proto_page *page, struct proto_saved_row *rows,
                        uint32_t n)
{
    struct proto_saved_row *moved =
        remat_job_alloc(page->job, n, sizeof(*moved));
    uint32_t n_moved = 0;
    uint32_t at = 0;

    if (moved == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (is_free(page, rows[i].node))
            moved[n_moved++] = rows[i];
        else
            rows[at++] = rows[i];
    for (uint32_t i = 0; i < n_moved; i++)
        rows[at++] = moved[i];
    return true;
}

static struct proto_saved_row *list_rows(struct proto_page *page, uint32_t *n)
{
    const struct remat_nodes lists[] = {
        page->plan->saved, page->plan->saved_sym, page->plan->saved_opaque};
    struct proto_saved_row *rows = remat_job_alloc(
        page->job, lists[0].n + (size_t)lists[1].n + lists[2].n, sizeof(*rows));

    *n = 0;
    for (size_t k = 0; rows != NULL && k < sizeof(lists) / sizeof(*lists); k++)
        for (uint32_t i = 0; i < lists[k].n; i++, (*n)++)
            rows[*n] = (struct proto_saved_row){
                k == 0 ? remat_node_bytes(page->job, lists[k].at[i]) : 0, *n,
                lists[k].at[i]};
    if (rows != NULL)
        qsort(rows, *n, sizeof(*rows), proto_compare_saved);
    return rows != NULL && move_static(page, rows, *n) ? rows : NULL;
}

/* What shares are of. */
static int64_t whole_of(const struct proto_page *page,
                        const struct proto_saved_row *rows, uint32_t n)
{
    int64_t whole = 0;

    for (uint32_t i = 0; i < n; i++)
        if (!is_free(page, rows[i].node) && rows[i].n_bytes > 0 &&
            rows[i].n_bytes <= INT64_MAX - whole)
            whole += rows[i].n_bytes;
    return whole;
}

/* A static input has no share: it would be there without the plan. */
static void add_share(struct proto_page *page,
                      const struct proto_saved_row *row, int64_t whole)
{
    if (is_free(page, row->node))
        proto_page_puts(page, "<td class=\"n share\" data-v=\"0\">"
                              "<span class=\"none\">static</span></td>");
    else
        proto_page_share_cell(page, row->n_bytes, whole);
}

static bool take_why(struct proto_page *page, remat_node v,
                     struct proto_text *why)
{
    proto_text_init(why, page->text->budget);
    proto_report_why(why, page->decision, page->reason, v);
    proto_text_add(why, "", 1);
    if (why->failed)
        page->text->failed = true;
    return !why->failed;
}

static void add_why(struct proto_page *page, remat_node v)
{
    struct proto_text why;

    if (take_why(page, v, &why))
        proto_html_words(page->text, why.bytes);
    proto_text_release(&why);
}

static void add_row(struct proto_page *page, const struct proto_saved_row *row,
                    int64_t whole)
{
    proto_page_begin_value(page, row->node, row->n_bytes);
    add_share(page, row, whole);
    proto_page_count_cell(page, proto_page_readers(page, row->node));
    proto_page_puts(page, "<td class=\"why\">");
    add_why(page, row->node);
    proto_page_puts(page, "</td><td class=\"module\">");
    proto_page_module(page, row->node);
    proto_page_puts(page, "</td><td class=\"source\">");
    proto_page_source(page, row->node);
    proto_page_puts(page, "</td></tr>\n");
}

/* ---- rows beyond the table, as data ------------------------------------ */

static void add_quoted_why(struct proto_page *page, remat_node v)
{
    struct proto_text why;

    if (take_why(page, v, &why))
        proto_html_quote(page->text, why.bytes);
    proto_text_release(&why);
}

static void add_data_row(struct proto_page *page,
                         const struct proto_saved_row *row)
{
    const struct remat_node_spec *spec = remat_graph_node(page->job, row->node);
    char type[PROTO_TYPE_BYTES];

    proto_report_type(&spec->value, type);
    proto_text_format(page->text, "[%" PRIu32 ",", row->node);
    proto_html_quote(page->text, spec->name);
    proto_page_puts(page, ",");
    proto_html_quote(page->text,
                     spec->op == REMAT_CALL_FUNCTION ? spec->target : "input");
    proto_page_puts(page, ",");
    proto_html_quote(page->text, type);
    proto_text_format(page->text, ",%" PRId64 ",%" PRIu32 ",", row->n_bytes,
                      proto_page_readers(page, row->node));
    add_quoted_why(page, row->node);
    proto_page_puts(page, ",");
    proto_html_quote(page->text, proto_page_module_name(page, row->node));
    proto_page_puts(page, ",");
    proto_page_source_quoted(page, row->node);
    proto_page_puts(page, is_free(page, row->node) ? ",1]" : ",0]");
}

static void add_data(struct proto_page *page,
                     const struct proto_saved_row *rows, uint32_t n)
{
    uint32_t end = n;

    if (n <= PROTO_PAGE_MOST_ROWS)
        return;
    if (end > MOST_DATA_ROWS)
        end = MOST_DATA_ROWS;
    proto_text_format(page->text,
                      "<script type=\"application/json\" id=\"saved-data\">"
                      "{\"total\":%" PRId64 ",\"rows\":[",
                      whole_of(page, rows, n));
    for (uint32_t i = PROTO_PAGE_MOST_ROWS; i < end; i++) {
        proto_page_puts(page, i == PROTO_PAGE_MOST_ROWS ? "" : ",\n");
        add_data_row(page, &rows[i]);
    }
    proto_page_puts(page, "]}</script>\n");
}

/* ---- the section ------------------------------------------------------- */

static void add_caption(struct proto_page *page,
                        const struct proto_saved_row *rows, uint32_t n)
{
    int64_t left = 0;

    proto_page_puts(page, "<caption>");
    if (n <= PROTO_PAGE_MOST_ROWS) {
        proto_page_puts(page, n == 1 ? "The only saved value" : "All ");
        if (n > 1)
            proto_page_plural(page, n, "saved value");
    } else {
        for (uint32_t i = PROTO_PAGE_MOST_ROWS; i < n; i++)
            left += rows[i].n_bytes > 0 ? rows[i].n_bytes : 0;
        proto_page_puts(page, "The first ");
        proto_html_count(page->text, PROTO_PAGE_MOST_ROWS);
        proto_page_puts(page, " of ");
        proto_page_plural(page, n, "saved value");
        proto_page_puts(page, ", the others have ");
        proto_page_size(page, left);
    }
    if (n > 1)
        proto_page_puts(page, page->plan->static_bytes > 0
                                  ? "; largest first, and static inputs, which "
                                    "live anyway and have no share, last"
                                  : "; largest first");
    proto_page_puts(page, "</caption>");
}

static void add_table(struct proto_page *page,
                      const struct proto_saved_row *rows, uint32_t n)
{
    const int64_t whole = whole_of(page, rows, n);

    proto_page_puts(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
                          " aria-label=\"Table of saved values\">"
                          "<table class=\"data\" id=\"saved-table\" "
                          "data-sortable data-filter data-csv=\"saved.csv\">");
    add_caption(page, rows, n);
    proto_page_puts(page,
                    "<thead><tr><th scope=\"col\">Value</th>"
                    "<th scope=\"col\">Operator</th><th scope=\"col\">Type</th>"
                    "<th scope=\"col\" class=\"n\">Bytes</th>"
                    "<th scope=\"col\" class=\"n\">Share</th>"
                    "<th scope=\"col\" class=\"n\">Readers</th>"
                    "<th scope=\"col\">Why it is saved</th>"
                    "<th scope=\"col\">Module</th><th scope=\"col\">Source</th>"
                    "</tr></thead><tbody>\n");
    for (uint32_t i = 0; i < n && i < PROTO_PAGE_MOST_ROWS; i++)
        add_row(page, &rows[i], whole);
    proto_page_puts(page, "</tbody></table></div>\n");
}

void proto_page_saved(struct proto_page *page)
{
    uint32_t n;
    struct proto_saved_row *rows = list_rows(page, &n);

    if (rows == NULL) {
        page->text->failed = true;
        return;
    }
    proto_page_open(page, "saved", "Saved values",
                    n == 0 ? "The forward hands nothing to the backward."
                           : "What the forward hands to the backward. "
                             "Readers are the operators that run in the "
                             "backward and read it.");
    if (n > 0) {
        add_table(page, rows, n);
        add_data(page, rows, n);
    }
    proto_page_close(page);
}
