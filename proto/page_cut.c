/*
 * page_cut.c: the cut as a drawing: the forward down the left, the backward up
 * the right, a row for each block, and what is saved crossing from one to the
 * other. Below it, what each block hands over.
 *
 * A value crosses once, to the block of the backward that first reads it, or to
 * its own when only recomputed operators do. Static inputs do not cross: they
 * are there anyway.
 */
#include "page_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 960,
    ROW = 44,
    BOX = 34,
    TOP = 34,
    BOX_WIDTH = 310,
    LEFT_END = BOX_WIDTH + 4,
    RIGHT_BEGIN = WIDTH - BOX_WIDTH - 4,
    LABEL_CHARACTERS = 34,
    MOST_CROSSINGS = 200,
    MOST_VALUES = 20 /* of a block, that are listed */
};

/* Saved values that go from one row to another. */
struct crossing {
    int64_t n_bytes;
    uint32_t from;
    uint32_t to;
    uint32_t n;
};

struct drawing {
    struct proto_page *page;
    struct proto_blocks blocks;
    struct crossing *crossings;
    uint32_t n_crossings;
    int64_t most; /* bytes of a crossing */
};

/* ---- crossings --------------------------------------------------------- */

static uint32_t target_row(const struct drawing *d, remat_node v)
{
    struct remat_nodes users = remat_node_users(d->page->job, v);
    uint32_t row = d->blocks.row_of[v];

    for (uint32_t i = 0; i < users.n; i++)
        if (d->page->side[users.at[i]] == PROTO_SIDE_BACKWARD &&
            d->blocks.row_of[users.at[i]] != REMAT_NONE)
            return d->blocks.row_of[users.at[i]];
    return row;
}

static int compare_places(const void *a, const void *b)
{
    const struct crossing *x = a;
    const struct crossing *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static int compare_bytes(const void *a, const void *b)
{
    const struct crossing *x = a;
    const struct crossing *y = b;

    if (x->n_bytes != y->n_bytes)
        return x->n_bytes > y->n_bytes ? -1 : 1;
    return compare_places(a, b);
}

static uint32_t merge(struct crossing *crossings, uint32_t n)
{
    uint32_t n_merged = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct crossing *last = &crossings[n_merged == 0 ? 0 : n_merged - 1];

        if (n_merged == 0 || compare_places(last, &crossings[i]) != 0) {
            crossings[n_merged++] = crossings[i];
            continue;
        }
        last->n += crossings[i].n;
        if (crossings[i].n_bytes <= INT64_MAX - last->n_bytes)
            last->n_bytes += crossings[i].n_bytes;
    }
    return n_merged;
}

static bool crosses(const struct drawing *d, remat_node v)
{
    return d->page->state[v] == REMAT_PLACE_SAVED &&
           !remat_node_is_static(d->page->job, v) &&
           d->blocks.row_of[v] != REMAT_NONE;
}

static bool find_crossings(struct drawing *d)
{
    struct proto_page *page = d->page;
    uint32_t n = 0;

    d->crossings = remat_job_alloc(page->job, page->n, sizeof(*d->crossings));
    if (d->crossings == NULL)
        return false;
    for (remat_node v = 0; v < page->n; v++) {
        int64_t n_bytes = remat_node_bytes(page->job, v);

        if (crosses(d, v))
            d->crossings[n++] =
                (struct crossing){n_bytes > 0 ? n_bytes : 0,
                                  d->blocks.row_of[v], target_row(d, v), 1};
    }
    qsort(d->crossings, n, sizeof(*d->crossings), compare_places);
    d->n_crossings = merge(d->crossings, n);
    qsort(d->crossings, d->n_crossings, sizeof(*d->crossings), compare_bytes);
    d->most = d->n_crossings > 0 ? d->crossings[0].n_bytes : 0;
    return true;
}

/* ---- labels ------------------------------------------------------------ */

/* Without what every module of a traced model begins with. */
static struct proto_label strip(struct proto_label label)
{
    static const char self[] = "L['self'].";
    size_t n = strlen(self);

    if (label.n > n && memcmp(label.at, self, n) == 0)
        return (struct proto_label){label.at + n, label.n - n};
    return label;
}

/* "blocks.1–6", or the first label alone. */
static void add_range(struct proto_text *text, struct proto_label first,
                      struct proto_label last)
{
    size_t same = 0;

    while (same < first.n && same < last.n && first.at[same] == last.at[same])
        same++;
    proto_text_add(text, first.at, first.n);
    if (same == first.n && same == last.n)
        return;
    while (same > 0 && first.at[same - 1] >= '0' && first.at[same - 1] <= '9')
        same--;
    proto_text_puts(text, "\xE2\x80\x93");
    proto_text_add(text, last.at + same, last.n - same);
}

/* Shown in full, or in a drawing its last characters, which tell more. */
static void add_label(struct proto_page *page,
                      const struct proto_block_row *row, bool is_short)
{
    struct proto_text label;
    const char *at;

    proto_text_init(&label, page->text->budget);
    add_range(&label, strip(row->first), strip(row->last));
    proto_text_add(&label, "", 1);
    if (label.failed) {
        page->text->failed = true;
        return;
    }
    at = label.bytes;
    if (is_short && label.length > LABEL_CHARACTERS) {
        at += label.length - LABEL_CHARACTERS;
        while (((unsigned char)*at & 0xC0) == 0x80)
            at++;
        proto_page_puts(page, "\xE2\x80\xA6");
    }
    if (is_short)
        proto_html_words(page->text, at);
    else
        proto_html_name(page->text, at);
    proto_text_release(&label);
}

/* ---- the drawing ------------------------------------------------------- */

static int y_of(uint32_t row)
{
    return TOP + (int)row * ROW;
}

static void add_box(struct drawing *d, uint32_t i, bool is_backward)
{
    struct proto_page *page = d->page;
    const struct proto_block_row *row = &d->blocks.rows[i];
    int x = is_backward ? RIGHT_BEGIN : 4;

    proto_text_format(page->text,
                      "<a href=\"#block-%" PRIu32
                      "\" class=\"block %s\"><rect x=\"%d\" y=\"%d\" "
                      "width=\"%d\" height=\"%d\" rx=\"6\"/>"
                      "<text x=\"%d\" y=\"%d\">",
                      i, is_backward ? "backward" : "forward", x, y_of(i),
                      BOX_WIDTH, BOX, x + 12, y_of(i) + BOX / 2 + 4);
    add_label(page, row, true);
    if (row->n_blocks > 1 && !row->is_merged)
        proto_text_format(page->text,
                          " <tspan class=\"times\">\xC3\x97%" PRIu32 "</tspan>",
                          row->n_blocks);
    proto_text_format(page->text,
                      "</text><text class=\"tick\" x=\"%d\" y=\"%d\" "
                      "text-anchor=\"end\">",
                      x + BOX_WIDTH - 12, y_of(i) + BOX / 2 + 4);
    proto_html_count(page->text,
                     is_backward ? row->n_backward : row->n_forward);
    if (is_backward && row->n_again > 0) {
        proto_page_puts(page, " <tspan class=\"again\">+ ");
        proto_html_count(page->text, row->n_again);
        proto_page_puts(page, " again</tspan>");
    }
    proto_page_puts(page, "</text></a>\n");
}

static void add_crossing_line(struct drawing *d, const struct crossing *c)
{
    struct proto_page *page = d->page;
    int from = y_of(c->from) + BOX / 2;
    int to = y_of(c->to) + BOX / 2;
    double width = d->most > 0 && c->n_bytes > 0
                       ? 1.5 + 10.5 * ((double)c->n_bytes / (double)d->most)
                       : 1;

    proto_text_format(page->text,
                      "<path class=\"cross%s\" stroke-width=\"%.1f\" "
                      "d=\"M%d,%dC%d,%d %d,%d %d,%d\"><title>",
                      from == to ? "" : " far", width, LEFT_END, from,
                      LEFT_END + 110, from, RIGHT_BEGIN - 110, to, RIGHT_BEGIN,
                      to);
    proto_page_plural(page, c->n, "value");
    proto_page_puts(page, ", ");
    proto_html_size(page->text, c->n_bytes);
    proto_page_puts(page, "</title></path>");
}

static void add_crossing_label(struct drawing *d, const struct crossing *c)
{
    if (c->from != c->to || c->n_bytes == 0)
        return;
    proto_text_format(d->page->text,
                      "<text class=\"tick strong halo\" x=\"%d\" y=\"%d\" "
                      "text-anchor=\"middle\">",
                      (LEFT_END + RIGHT_BEGIN) / 2,
                      y_of(c->from) + BOX / 2 + 4);
    proto_html_size(d->page->text, c->n_bytes);
    proto_page_puts(d->page, "</text>");
}

static void add_crossings(struct drawing *d)
{
    uint32_t n = d->n_crossings;

    if (n > MOST_CROSSINGS)
        n = MOST_CROSSINGS;
    for (uint32_t i = 0; i < n; i++)
        add_crossing_line(d, &d->crossings[i]);
    for (uint32_t i = 0; i < n; i++)
        add_crossing_label(d, &d->crossings[i]);
}

static void add_drawing(struct drawing *d)
{
    struct proto_page *page = d->page;

    proto_text_format(page->text,
                      "<figure class=\"cut\"><svg viewBox=\"0 0 %d %d\" "
                      "role=\"group\" aria-label=\"Blocks of the forward on "
                      "the left, of the backward on the right, saved values "
                      "between them\">"
                      "<text class=\"tick\" x=\"4\" y=\"18\">forward "
                      "\xE2\x86\x93 operators</text>"
                      "<text class=\"tick\" x=\"%d\" y=\"18\" "
                      "text-anchor=\"middle\">saved</text>"
                      "<text class=\"tick\" x=\"%d\" y=\"18\">backward "
                      "\xE2\x86\x91 operators</text>\n",
                      WIDTH, y_of(d->blocks.n_rows) + 4,
                      (LEFT_END + RIGHT_BEGIN) / 2, RIGHT_BEGIN);
    add_crossings(d);
    for (uint32_t i = 0; i < d->blocks.n_rows; i++) {
        add_box(d, i, false);
        add_box(d, i, true);
    }
    proto_page_puts(page, "</svg></figure>\n");
    if (d->n_crossings > MOST_CROSSINGS) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, d->n_crossings - MOST_CROSSINGS,
                          "smaller crossing");
        proto_page_puts(page, " that the drawing leaves out.</p>\n");
    }
}

/* ---- what each block hands over ---------------------------------------- */

struct value {
    int64_t n_bytes;
    uint32_t row;
    remat_node node;
};

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a;
    const struct value *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->n_bytes != y->n_bytes)
        return x->n_bytes > y->n_bytes ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* All that cross, by row and size; NULL: no memory. */
static struct value *list_values(const struct drawing *d, uint32_t *n)
{
    struct value *values =
        remat_job_alloc(d->page->job, d->page->n, sizeof(*values));

    *n = 0;
    for (remat_node v = 0; values != NULL && v < d->page->n; v++)
        if (crosses(d, v))
            values[(*n)++] = (struct value){remat_node_bytes(d->page->job, v),
                                            d->blocks.row_of[v], v};
    if (values != NULL)
        qsort(values, *n, sizeof(*values), compare_values);
    return values;
}

static void add_block_values(struct proto_page *page,
                             const struct value *values, uint32_t n)
{
    proto_page_puts(
        page, "<table class=\"data\"><caption class=\"hidden\">Values this "
              "block hands to the backward</caption><thead><tr>"
              "<th scope=\"col\">Value</th><th scope=\"col\">Operator</th>"
              "<th scope=\"col\">Type</th>"
              "<th scope=\"col\" class=\"n\">Bytes</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < n && i < MOST_VALUES; i++) {
        const struct remat_node_spec *spec =
            remat_graph_node(page->job, values[i].node);

        proto_page_puts(page, "<tr><th scope=\"row\">");
        proto_page_node(page, values[i].node);
        proto_page_puts(page, "</th>");
        proto_page_operator_cell(page, values[i].node);
        proto_page_puts(page, "<td class=\"type\">");
        proto_page_type(page, &spec->value);
        proto_page_puts(page, "</td>");
        proto_page_size_cell(page, values[i].n_bytes);
        proto_page_puts(page, "</tr>\n");
    }
    proto_page_puts(page, "</tbody></table>\n");
    if (n > MOST_VALUES) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, n - MOST_VALUES, "smaller value");
        proto_page_puts(page, ".</p>\n");
    }
}

static void add_block(struct drawing *d, uint32_t i, const struct value *values,
                      uint32_t n)
{
    struct proto_page *page = d->page;
    const struct proto_block_row *row = &d->blocks.rows[i];

    proto_text_format(page->text,
                      "<details class=\"group\" id=\"block-%" PRIu32
                      "\"><summary><span class=\"what\">",
                      i);
    add_label(page, row, false);
    if (row->n_blocks > 1) {
        proto_page_puts(page, " <small>");
        proto_page_plural(page, row->n_blocks, "block");
        proto_page_puts(page, row->is_merged ? "</small>" : " alike</small>");
    }
    proto_page_puts(page, "</span><span class=\"n\">");
    proto_page_plural(page, row->n_saved, "value");
    proto_page_puts(page, "</span><span class=\"n\">");
    proto_page_size(page, row->saved_bytes);
    proto_page_puts(page, "</span><span class=\"n\">");
    proto_html_count(page->text, row->n_again);
    proto_page_puts(page, " again</span></summary>\n");
    if (n > 0)
        add_block_values(page, values, n);
    else
        proto_page_puts(page, "<p class=\"note\">It hands nothing over.</p>\n");
    proto_page_puts(page, "</details>\n");
}

static bool add_blocks(struct drawing *d)
{
    uint32_t n;
    uint32_t from = 0;
    struct value *values = list_values(d, &n);

    if (values == NULL)
        return false;
    proto_page_puts(d->page, "<h3>Block by block</h3>\n"
                             "<div class=\"groups\">\n");
    for (uint32_t i = 0; i < d->blocks.n_rows; i++) {
        uint32_t to = from;

        while (to < n && values[to].row == i)
            to++;
        add_block(d, i, values + from, to - from);
        from = to;
    }
    proto_page_puts(d->page, "</div>\n");
    return true;
}

void proto_page_cut(struct proto_page *page)
{
    struct drawing d = {.page = page};

    if (!proto_blocks_find(page, &d.blocks) || !find_crossings(&d)) {
        page->text->failed = true;
        return;
    }
    if (d.blocks.n_rows == 0)
        return;
    proto_page_open(page, "cut", "The cut",
                    "The forward runs down the left, the backward up the "
                    "right; bands are what is saved, as wide as their bytes "
                    "and without static inputs. Blocks that are alike share a "
                    "row. Choose a block to see what it hands over.");
    add_drawing(&d);
    if (!add_blocks(&d))
        page->text->failed = true;
    proto_page_close(page);
}
