/*
 * page_memory.c: bytes alive over both halves, and what the peak is made of.
 *
 * Long curves are thinned: of each stretch of steps, the one with the least and
 * the one with the most activations stay, and the one with the most of
 * everything, so that no peak is lost.
 */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    MOST_STRETCHES = 660, /* of both halves; three points each */
    MOST_PEAK_ROWS = 100,
    TABLE_STRETCHES = 24, /* of a half, in the table */
    WIDTH = 960,
    HEIGHT = 260,
    LEFT = 64, /* of the plot inside the drawing */
    RIGHT = 8,
    TOP = 12,
    BOTTOM = 26
};

/* A point of the drawing: a step of one of the halves. */
struct point {
    uint32_t x; /* steps of both halves, counted through */
    remat_node node;
    int64_t activation_bytes;
    int64_t gradient_bytes;
};

struct points {
    struct point *at;
    uint32_t n;
    uint32_t n_forward; /* of them, the forward's */
    uint32_t n_steps;   /* before thinning */
    uint32_t begin;     /* x of the backward's first step */
    int64_t most;       /* bytes, of any step */
};

static struct point point_of(const struct remat_curve *curve, uint32_t i,
                             uint32_t begin)
{
    return (struct point){begin + i, curve->node[i], curve->activation_bytes[i],
                          curve->gradient_bytes[i]};
}

static int64_t total_of(const struct remat_curve *curve, uint32_t i)
{
    return curve->activation_bytes[i] + curve->gradient_bytes[i];
}

/* Up to three steps of [from, to), in order. */
static void keep_some(struct points *points, const struct remat_curve *curve,
                      uint32_t begin, uint32_t from, uint32_t to)
{
    uint32_t kept[3] = {from, from, from};

    for (uint32_t i = from; i < to; i++) {
        if (curve->activation_bytes[i] < curve->activation_bytes[kept[0]])
            kept[0] = i;
        if (curve->activation_bytes[i] > curve->activation_bytes[kept[1]])
            kept[1] = i;
        if (total_of(curve, i) > total_of(curve, kept[2]))
            kept[2] = i;
    }
    for (uint32_t i = from; i < to; i++)
        if (i == kept[0] || i == kept[1] || i == kept[2])
            points->at[points->n++] = point_of(curve, i, begin);
}

static void add_curve(struct points *points, const struct remat_curve *curve,
                      uint32_t begin, uint32_t stretch)
{
    for (uint32_t i = 0; i < curve->n_steps; i += stretch) {
        uint32_t to =
            curve->n_steps - i < stretch ? curve->n_steps : i + stretch;

        keep_some(points, curve, begin, i, to);
    }
    for (uint32_t i = 0; i < curve->n_steps; i++)
        if (total_of(curve, i) > points->most)
            points->most = total_of(curve, i);
}

static bool find_points(struct proto_page *page, struct points *points)
{
    const struct remat_memory *memory = &page->plan->memory;
    uint32_t stretch;

    points->begin = memory->forward.n_steps;
    points->n_steps = memory->forward.n_steps + memory->backward.n_steps;
    stretch = points->n_steps <= 3 * MOST_STRETCHES
                  ? 1
                  : points->n_steps / MOST_STRETCHES + 1;
    points->at = remat_job_alloc(page->job,
                                 points->n_steps < 6 * MOST_STRETCHES
                                     ? points->n_steps
                                     : 6 * MOST_STRETCHES,
                                 sizeof(*points->at));
    if (points->at == NULL)
        return false;
    add_curve(points, &memory->forward, 0, stretch);
    points->n_forward = points->n;
    add_curve(points, &memory->backward, points->begin, stretch);
    return true;
}

/* ---- the drawing ------------------------------------------------------- */

static double x_of(const struct points *points, uint32_t x)
{
    double steps = points->n_steps > 1 ? points->n_steps - 1 : 1;

    return LEFT + (WIDTH - LEFT - RIGHT) * (double)x / steps;
}

static double y_of(const struct points *points, int64_t n_bytes)
{
    double most = points->most > 0 ? (double)points->most : 1;

    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ((double)n_bytes / most);
}

/* The area between zero and a curve of one half. */
static void add_area(struct proto_page *page, const struct points *points,
                     uint32_t from, uint32_t to, bool is_total)
{
    if (from == to)
        return;
    proto_text_format(page->text, "<path class=\"%s\" d=\"M%.1f,%d",
                      is_total ? "gradients" : "activations",
                      x_of(points, points->at[from].x), HEIGHT - BOTTOM);
    for (uint32_t i = from; i < to; i++) {
        const struct point *p = &points->at[i];

        proto_text_format(page->text, "L%.1f,%.1f", x_of(points, p->x),
                          y_of(points, p->activation_bytes +
                                           (is_total ? p->gradient_bytes : 0)));
    }
    proto_text_format(page->text, "V%dZ\"/>", HEIGHT - BOTTOM);
}

static void add_grid(struct proto_page *page, const struct points *points)
{
    for (int i = 0; i <= 4; i++) {
        int64_t n_bytes = points->most / 4 * i;
        double y = y_of(points, n_bytes);

        proto_text_format(page->text,
                          "<path class=\"grid\" d=\"M%d,%.1fH%d\"/>"
                          "<text class=\"tick\" x=\"%d\" y=\"%.1f\" "
                          "text-anchor=\"end\">",
                          LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4);
        proto_html_size(page->text, n_bytes);
        proto_page_puts(page, "</text>");
    }
}

static void add_halves(struct proto_page *page, const struct points *points)
{
    double middle = x_of(points, points->begin);

    proto_text_format(page->text,
                      "<path class=\"divide\" d=\"M%.1f,%dV%d\"/>"
                      "<text class=\"tick\" x=\"%d\" y=\"%d\">forward "
                      "\xE2\x86\x92</text>",
                      middle, TOP, HEIGHT - BOTTOM, LEFT, HEIGHT - 8);
    if (points->n > points->n_forward)
        proto_text_format(page->text,
                          "<text class=\"tick\" x=\"%.1f\" y=\"%d\">backward "
                          "\xE2\x86\x92</text>",
                          middle + 4, HEIGHT - 8);
}

/* Where activations are at their most, in the forward or the backward. */
static void mark_peak(struct proto_page *page, const struct points *points)
{
    const struct point *peak = &points->at[0];
    double x;
    double y;

    for (uint32_t i = 1; i < points->n; i++)
        if (points->at[i].activation_bytes > peak->activation_bytes)
            peak = &points->at[i];
    x = x_of(points, peak->x);
    y = y_of(points, peak->activation_bytes);
    proto_text_format(page->text,
                      "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" "
                      "r=\"3.5\"/><text class=\"tick strong halo\" x=\"%.1f\" "
                      "y=\"%.1f\" text-anchor=\"%s\">peak ",
                      x, y, x > WIDTH / 2.0 ? x - 8 : x + 8, y - 4,
                      x > WIDTH / 2.0 ? "end" : "start");
    proto_html_size(page->text, peak->activation_bytes);
    proto_page_puts(page, "</text>");
}

static void add_drawing(struct proto_page *page, const struct points *points)
{
    proto_text_format(page->text,
                      "<figure class=\"chart\" id=\"memory-chart\">"
                      "<svg viewBox=\"0 0 %d %d\" role=\"img\" "
                      "aria-label=\"Bytes alive at each step of the forward "
                      "and the backward\">",
                      WIDTH, HEIGHT);
    add_grid(page, points);
    add_area(page, points, 0, points->n_forward, true);
    add_area(page, points, points->n_forward, points->n, true);
    add_area(page, points, 0, points->n_forward, false);
    add_area(page, points, points->n_forward, points->n, false);
    add_halves(page, points);
    if (points->n > 0)
        mark_peak(page, points);
    proto_page_puts(page, "</svg><figcaption class=\"legend\">"
                          "<span class=\"key activations\"></span>"
                          "<span class=\"name\">activations</span> "
                          "<span class=\"key gradients\"></span>"
                          "<span class=\"name\">gradients, on top of "
                          "them</span>");
    if (page->plan->memory.static_bytes > 0) {
        proto_page_puts(page, "<span class=\"gap\"></span>Not drawn: static "
                              "inputs, which are always there, ");
        proto_page_size(page, page->plan->memory.static_bytes);
    }
    proto_page_puts(page, "</figcaption></figure>\n");
}

/* ---- the data ---------------------------------------------------------- */

static void add_numbers(struct proto_page *page, const struct points *points,
                        const char *key, bool of_gradients)
{
    proto_text_format(page->text, ",\"%s\":[", key);
    for (uint32_t i = 0; i < points->n; i++)
        proto_text_format(page->text, "%s%" PRId64, i == 0 ? "" : ",",
                          of_gradients ? points->at[i].gradient_bytes
                                       : points->at[i].activation_bytes);
    proto_page_puts(page, "]");
}

static void add_data(struct proto_page *page, const struct points *points)
{
    proto_text_format(page->text,
                      "<script type=\"application/json\" id=\"memory-data\">"
                      "{\"begin\":%" PRIu32 ",\"x\":[",
                      points->begin);
    for (uint32_t i = 0; i < points->n; i++)
        proto_text_format(page->text, "%s%" PRIu32, i == 0 ? "" : ",",
                          points->at[i].x);
    proto_page_puts(page, "]");
    add_numbers(page, points, "activations", false);
    add_numbers(page, points, "gradients", true);
    proto_page_puts(page, ",\"nodes\":[");
    for (uint32_t i = 0; i < points->n; i++) {
        remat_node v = points->at[i].node;

        proto_page_puts(page, i == 0 ? "" : ",");
        if (v == REMAT_NONE)
            proto_page_puts(page, "null");
        else
            proto_html_quote(page->text, remat_graph_node(page->job, v)->name);
    }
    proto_page_puts(page, "]}</script>\n");
}

/* The curve for who reads tables: of each stretch, its highest step. */
static void add_half_rows(struct proto_page *page, const char *half,
                          const struct remat_curve *curve)
{
    uint32_t stretch = curve->n_steps / TABLE_STRETCHES + 1;

    for (uint32_t from = 0; from < curve->n_steps; from += stretch) {
        uint32_t best = from;

        for (uint32_t i = from; i < curve->n_steps && i - from < stretch; i++)
            if (total_of(curve, i) > total_of(curve, best))
                best = i;
        proto_text_format(page->text,
                          "<tr><th scope=\"row\">%s, step %" PRIu32 "</th><td>",
                          half, best);
        if (curve->node[best] == REMAT_NONE)
            proto_page_puts(page, "before the first operator");
        else
            proto_page_node(page, curve->node[best]);
        proto_page_puts(page, "</td>");
        proto_page_size_cell(page, curve->activation_bytes[best]);
        proto_page_size_cell(page, curve->gradient_bytes[best]);
        proto_page_puts(page, "</tr>\n");
    }
}

static void add_steps(struct proto_page *page)
{
    proto_page_puts(page,
                    "<details><summary>The chart as a table</summary>"
                    "<table class=\"data\"><caption>The highest step of each "
                    "stretch</caption><thead><tr><th scope=\"col\">Step</th>"
                    "<th scope=\"col\">Operator</th>"
                    "<th scope=\"col\" class=\"n\">Activations</th>"
                    "<th scope=\"col\" class=\"n\">Gradients</th></tr></thead>"
                    "<tbody>\n");
    add_half_rows(page, "forward", &page->plan->memory.forward);
    add_half_rows(page, "backward", &page->plan->memory.backward);
    proto_page_puts(page, "</tbody></table></details>\n");
}

/* ---- the peak ---------------------------------------------------------- */

struct row {
    int64_t n_bytes;
    remat_node node;
};

static int64_t held_bytes(const struct proto_page *page, remat_node v)
{
    remat_node root = remat_node_storage(page->job, v);

    return remat_node_bytes(page->job, root == REMAT_NONE ? v : root);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    if (x->n_bytes != y->n_bytes)
        return x->n_bytes > y->n_bytes ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static void add_peak_row(struct proto_page *page, const struct row *row,
                         int64_t peak)
{
    proto_page_begin_value(page, row->node, row->n_bytes);
    proto_page_share_cell(page, row->n_bytes, peak);
    proto_page_puts(page, "<td>");
    proto_page_state(page, row->node);
    proto_page_puts(page, "</td><td class=\"module\">");
    proto_page_module(page, row->node);
    proto_page_puts(page, "</td></tr>\n");
}

static void add_peak_table(struct proto_page *page, const struct row *rows,
                           uint32_t n, int64_t peak)
{
    proto_page_puts(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
                          " aria-label=\"Values alive at the peak\">"
                          "<table class=\"data\" data-sortable><caption>");
    if (n > MOST_PEAK_ROWS)
        proto_text_format(page->text, "The largest %d of ", MOST_PEAK_ROWS);
    proto_page_plural(page, n, "value");
    proto_page_puts(page, " alive at the peak of activations, ");
    proto_page_size(page, peak);
    proto_page_puts(
        page, "</caption><thead><tr><th scope=\"col\">Value</th>"
              "<th scope=\"col\">Operator</th><th scope=\"col\">Type</th>"
              "<th scope=\"col\" class=\"n\">Bytes</th>"
              "<th scope=\"col\" class=\"n\">Share</th>"
              "<th scope=\"col\">State</th><th scope=\"col\">Module</th></tr>"
              "</thead><tbody>\n");
    for (uint32_t i = 0; i < n && i < MOST_PEAK_ROWS; i++)
        add_peak_row(page, &rows[i], peak);
    proto_page_puts(page, "</tbody></table></div>\n");
}

static void add_peak(struct proto_page *page)
{
    const struct remat_memory *memory = &page->plan->memory;
    struct remat_nodes nodes = memory->peak_nodes;
    struct row *rows = remat_job_alloc(page->job, nodes.n, sizeof(*rows));
    int64_t peak = memory->peak_forward_bytes > memory->peak_backward_bytes
                       ? memory->peak_forward_bytes
                       : memory->peak_backward_bytes;

    if (rows == NULL) {
        page->text->failed = true;
        return;
    }
    for (uint32_t i = 0; i < nodes.n; i++)
        rows[i] = (struct row){held_bytes(page, nodes.at[i]), nodes.at[i]};
    qsort(rows, nodes.n, sizeof(*rows), compare_rows);
    proto_page_puts(page, "<h3>The peak</h3>\n");
    add_peak_table(page, rows, nodes.n, peak);
}

void proto_page_memory(struct proto_page *page)
{
    struct points points = {0};

    if (!find_points(page, &points)) {
        page->text->failed = true;
        return;
    }
    if (points.n == 0)
        return;
    proto_page_open(page, "memory", "Memory over time",
                    "Bytes alive at each step, by a model of when values "
                    "come and go: what an allocator does is not in it.");
    add_drawing(page, &points);
    add_data(page, &points);
    add_steps(page);
    if (page->plan->memory.peak_nodes.n > 0)
        add_peak(page);
    proto_page_close(page);
}
