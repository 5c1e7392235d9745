/*
 * page_frontier.c: saved bytes against recomputed work, all plans worth having.
 */
#include "page.h"

#include "digest.h"

#include <inttypes.h>

enum {
    WIDTH = 960,
    HEIGHT = 300,
    LEFT = 80,
    RIGHT = 16,
    TOP = 12,
    BOTTOM = 40,
    PARTS = 4, /* of an axis */
    MOST_ROWS = 200
};

struct scale {
    int64_t least_bytes; /* where the axis begins */
    int64_t most_bytes;
    int64_t most_flops;
};

static double x_of(const struct scale *scale, int64_t n_bytes)
{
    int64_t range = scale->most_bytes - scale->least_bytes;

    return LEFT +
           (WIDTH - LEFT - RIGHT) * ((double)(n_bytes - scale->least_bytes) /
                                     (range > 0 ? (double)range : 1));
}

static double y_of(const struct scale *scale, int64_t flops)
{
    double most = scale->most_flops > 0 ? (double)scale->most_flops : 1;

    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ((double)flops / most);
}

static struct scale scale_of(const struct proto_page *page)
{
    const struct remat_frontier *frontier = page->frontier;
    struct scale scale = {page->plan->saved_bytes, page->plan->saved_bytes,
                          page->plan->recomputed_flops};

    for (uint32_t i = 0; i < frontier->n_points; i++) {
        if (frontier->points[i].saved_bytes > scale.most_bytes)
            scale.most_bytes = frontier->points[i].saved_bytes;
        if (frontier->points[i].saved_bytes < scale.least_bytes)
            scale.least_bytes = frontier->points[i].saved_bytes;
        if (frontier->points[i].recomputed_flops > scale.most_flops)
            scale.most_flops = frontier->points[i].recomputed_flops;
    }
    scale.least_bytes -= (scale.most_bytes - scale.least_bytes) / 12;
    if (scale.least_bytes < scale.most_bytes / 3)
        scale.least_bytes = 0;
    return scale;
}

/* Parts of an axis: an amount that is not there has no parts. */
static int parts_of(int64_t range)
{
    return range < PARTS ? (int)range : PARTS;
}

static void add_flops_ticks(struct proto_page *page, const struct scale *scale)
{
    const int n = parts_of(scale->most_flops);

    for (int i = 0; i <= n; i++) {
        int64_t flops = n == 0 ? 0 : scale->most_flops / n * i;
        double y = y_of(scale, flops);

        proto_text_format(page->text,
                          "<path class=\"grid\" d=\"M%d,%.1fH%d\"/>"
                          "<text class=\"tick\" x=\"%d\" y=\"%.1f\" "
                          "text-anchor=\"end\">",
                          LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4);
        proto_html_flops(page->text, flops);
        proto_page_puts(page, "</text>");
    }
}

static void add_bytes_ticks(struct proto_page *page, const struct scale *scale)
{
    const int64_t range = scale->most_bytes - scale->least_bytes;
    const int n = parts_of(range);

    for (int i = 0; i <= n; i++) {
        int64_t n_bytes =
            n == 0 ? scale->most_bytes : scale->least_bytes + range / n * i;

        proto_text_format(page->text,
                          "<text class=\"tick\" x=\"%.1f\" y=\"%d\" "
                          "text-anchor=\"%s\">",
                          x_of(scale, n_bytes), HEIGHT - BOTTOM + 16,
                          i == 0   ? "start"
                          : i == n ? "end"
                                   : "middle");
        proto_html_size(page->text, n_bytes);
        proto_page_puts(page, "</text>");
    }
}

static void add_grid(struct proto_page *page, const struct scale *scale)
{
    add_flops_ticks(page, scale);
    add_bytes_ticks(page, scale);
    proto_text_format(page->text,
                      "<text class=\"tick\" x=\"%d\" y=\"%d\" "
                      "text-anchor=\"end\">bytes saved \xE2\x86\x92</text>",
                      WIDTH - RIGHT, HEIGHT - 6);
}

static void add_line(struct proto_page *page, const struct scale *scale)
{
    const struct remat_frontier *frontier = page->frontier;

    proto_page_puts(page, "<path class=\"line\" d=\"");
    for (uint32_t i = 0; i < frontier->n_points; i++)
        proto_text_format(page->text, "%s%.1f,%.1f", i == 0 ? "M" : "L",
                          x_of(scale, frontier->points[i].saved_bytes),
                          y_of(scale, frontier->points[i].recomputed_flops));
    proto_page_puts(page, "\"/>");
    for (uint32_t i = 0; i < frontier->n_points; i++)
        proto_text_format(page->text,
                          "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" "
                          "r=\"%d\"/>",
                          frontier->points[i].knee ? "knee" : "point",
                          x_of(scale, frontier->points[i].saved_bytes),
                          y_of(scale, frontier->points[i].recomputed_flops),
                          frontier->points[i].knee ? 6 : 3);
}

static void add_here(struct proto_page *page, const struct scale *scale)
{
    double x = x_of(scale, page->plan->saved_bytes);
    double y = y_of(scale, page->plan->recomputed_flops);
    bool is_right = x > WIDTH * 3.0 / 4;

    proto_text_format(page->text,
                      "<path class=\"here\" d=\"M%.1f,%.1fl6,6l-6,6l-6,-6z\"/>"
                      "<text class=\"tick strong\" x=\"%.1f\" y=\"%.1f\" "
                      "text-anchor=\"%s\">this plan</text>",
                      x, y - 6, x + (is_right ? 6 : -6), y - 13,
                      is_right ? "end" : "start");
}

static void add_drawing(struct proto_page *page)
{
    struct scale scale = scale_of(page);

    proto_text_format(page->text,
                      "<figure class=\"chart\" tabindex=\"0\" "
                      "aria-label=\"The frontier, drawn\">"
                      "<svg class=\"wide\" viewBox=\"0 0 %d %d\" "
                      "role=\"img\" aria-label=\"Recomputed work against saved "
                      "bytes; the table below has the numbers\">",
                      WIDTH, HEIGHT);
    add_grid(page, &scale);
    add_line(page, &scale);
    add_here(page, &scale);
    proto_page_puts(page, "</svg></figure>\n");
}

/* ---- the table --------------------------------------------------------- */

static void add_use(struct proto_page *page,
                    const struct remat_frontier_point *point)
{
    if (point->kind != REMAT_POINT_BUDGET)
        return;
    proto_page_puts(page, "<button type=\"button\" data-action=\"use-point\" "
                          "data-options=\"{&quot;activation_memory_budget"
                          "&quot;:");
    proto_text_format(
        page->text,
        "%.17g,&quot;activation_memory_budget_solver&quot;:&quot;%s&quot;,"
        "&quot;activation_memory_budget_runtime_estimator&quot;:&quot;%s&quot;,"
        "&quot;compat&quot;:false,&quot;memory_limit_bytes&quot;:null}\" "
        "hidden>Use this point</button>",
        point->budget, proto_solver_name(point->solver),
        proto_estimator_name(point->estimator));
}

static void add_row(struct proto_page *page,
                    const struct remat_frontier_point *point)
{
    proto_page_puts(page, "<tr><th scope=\"row\">");
    if (point->kind == REMAT_POINT_BUDGET)
        proto_text_format(page->text, "budget %.4g, %s", point->budget,
                          proto_solver_name(point->solver));
    else
        proto_page_puts(page, "hull");
    if (point->knee)
        proto_page_puts(page, " <span class=\"mark good\">knee</span>");
    proto_page_puts(page, "</th>");
    proto_page_size_cell(page, point->saved_bytes);
    proto_page_flops_cell(page, point->recomputed_flops);
    proto_page_share_cell(page, point->recomputed_flops,
                          page->plan->forward_flops);
    proto_page_puts(page, "<td>");
    add_use(page, point);
    proto_page_puts(page, "</td></tr>\n");
}

/* All points, or evenly chosen ones that leave neither ends nor knee out. */
static void add_rows(struct proto_page *page)
{
    const struct remat_frontier *frontier = page->frontier;
    uint32_t n = frontier->n_points;
    uint32_t stride = n / MOST_ROWS + 1;

    for (uint32_t i = 0; i < n; i++)
        if (i % stride == 0 || i + 1 == n || frontier->points[i].knee ||
            frontier->points[i].kind == REMAT_POINT_BUDGET)
            add_row(page, &frontier->points[i]);
}

static void add_table(struct proto_page *page)
{
    uint32_t n = page->frontier->n_points;

    proto_page_puts(page, "<details class=\"frontier-table\"><summary>The "
                          "points as a table</summary>"
                          "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
                          " aria-label=\"Points of the frontier\">"
                          "<table class=\"data\" data-sortable "
                          "data-csv=\"frontier.csv\"><caption>");
    proto_page_plural(page, n, "plan");
    if (n > 1)
        proto_page_puts(page, ", none better than another in both numbers");
    if (n > MOST_ROWS)
        proto_page_puts(page, "; a part of them, evenly chosen");
    proto_page_puts(page, "</caption><thead><tr><th scope=\"col\">Plan</th>"
                          "<th scope=\"col\" class=\"n\">Saved</th>"
                          "<th scope=\"col\" class=\"n\">Computed again</th>"
                          "<th scope=\"col\" class=\"n\">Of the forward</th>"
                          "<td></td></tr></thead><tbody>\n");
    add_rows(page);
    proto_page_puts(page, "</tbody></table></div></details>\n");
}

/* Whether all points are the plan itself: there is nothing to draw. */
static bool is_one_plan(const struct proto_page *page)
{
    const struct remat_frontier *frontier = page->frontier;

    return frontier->n_points == 1 &&
           frontier->points[0].saved_bytes == page->plan->saved_bytes &&
           frontier->points[0].recomputed_flops == page->plan->recomputed_flops;
}

/* Why there is none; a service can make a job of it. */
static void add_missing(struct proto_page *page)
{
    proto_page_puts(page, "<p class=\"note\" id=\"frontier-missing\">");
    if (page->n <= PROTO_PAGE_FRONTIER_NODES) {
        proto_page_puts(page, "This graph has none.</p>\n");
        return;
    }
    proto_page_puts(page, "It takes seconds for graphs of more than ");
    proto_html_count(page->text, PROTO_PAGE_FRONTIER_NODES);
    proto_page_puts(page, " nodes, and is not worked out with every report: "
                          "<code>remat frontier</code> and <code>POST "
                          "/v1/frontier</code> do it.</p>\n");
    if (page->n <= PROTO_PAGE_MOST_FRONTIER_NODES && page->before == NULL)
        proto_page_puts(page, "<p><button type=\"button\" "
                              "data-action=\"ask-frontier\" hidden>Work it out"
                              "</button></p>\n");
}

void proto_page_frontier(struct proto_page *page)
{
    proto_page_open(page, "frontier", "The frontier",
                    "Bytes saved, static inputs among them, against work done "
                    "twice: every point is a plan that no other plan betters "
                    "in both.");
    if (page->frontier != NULL && page->frontier->n_points > 0) {
        if (is_one_plan(page))
            proto_page_puts(page, "<p class=\"note\">This plan is the only "
                                  "point: none saves fewer bytes, and none "
                                  "computes less again.</p>\n");
        else
            add_drawing(page);
        add_table(page);
    } else {
        add_missing(page);
    }
    proto_page_close(page);
}
