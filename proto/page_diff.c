/*
 * page_diff.c: what a what-if changes: the numbers before and after, and every
 * value that is somewhere else now.
 */
#include "page.h"

#include <stdlib.h>

enum {
    MOST_TAGS = 50
};

/* ---- numbers ----------------------------------------------------------- */

typedef void write_amount(struct proto_page *page, int64_t amount);

static int64_t peak_of(const struct remat_plan *plan)
{
    return plan->memory.peak_forward_bytes > plan->memory.peak_backward_bytes
               ? plan->memory.peak_forward_bytes
               : plan->memory.peak_backward_bytes;
}

static void add_number(struct proto_page *page, const char *what,
                       int64_t before, int64_t after, write_amount *write)
{
    int64_t more = after - before; /* both are 0 or more */

    proto_page_puts(page, "<tr><th scope=\"row\">");
    proto_page_puts(page, what);
    proto_page_puts(page, "</th><td class=\"n\">");
    write(page, before);
    proto_page_puts(page, "</td><td class=\"n\">");
    write(page, after);
    proto_page_puts(page, "</td><td class=\"n\">");
    proto_page_puts(page, more > 0 ? "+" : "");
    write(page, more);
    proto_page_puts(page, "</td></tr>\n");
}

static void add_numbers(struct proto_page *page)
{
    const struct remat_plan *before = page->before;
    const struct remat_plan *after = page->plan;

    proto_page_puts(
        page, "<table class=\"plain\"><caption class=\"hidden\">Before and "
              "after the change</caption><thead><tr><td></td>"
              "<th scope=\"col\" class=\"n\">Before</th>"
              "<th scope=\"col\" class=\"n\">Now</th>"
              "<th scope=\"col\" class=\"n\">More</th></tr></thead><tbody>\n");
    add_number(page, "Saved, every name counted", before->saved_bytes,
               after->saved_bytes, proto_page_size);
    add_number(page, "Computed again", before->recomputed_flops,
               after->recomputed_flops, proto_page_flops);
    add_number(page, "Peak of activations", peak_of(before), peak_of(after),
               proto_page_size);
    proto_page_puts(page, "</tbody></table>\n");
}

/* ---- the change --------------------------------------------------------- */

static const char *tag_text(struct remat_tag tag)
{
    return tag.policy == REMAT_UNTAGGED ? "no tag"
                                        : remat_policy_text(tag.policy);
}

static void add_tag(struct proto_page *page,
                    const struct remat_tag_change *change)
{
    proto_page_puts(page, "<li>");
    proto_page_node(page, change->node);
    proto_page_puts(page, ": <code>");
    proto_page_puts(page, tag_text(change->after));
    proto_page_puts(page, "</code>, before <code>");
    proto_page_puts(page, tag_text(change->before));
    proto_page_puts(page, "</code></li>\n");
}

/* Options are above, with those that were there before. */
static void add_tags(struct proto_page *page)
{
    const struct remat_pass_report *change = page->change;
    uint32_t n = change == NULL ? 0 : change->n_changes;

    if (n == 0)
        return;
    proto_page_puts(page, "<h3>Tags that were changed</h3>\n<ul>\n");
    for (uint32_t i = 0; i < n && i < MOST_TAGS; i++)
        add_tag(page, &change->changes[i]);
    proto_page_puts(page, "</ul>\n");
    if (n > MOST_TAGS) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, n - MOST_TAGS, "other");
        proto_page_puts(page, ".</p>\n");
    }
}

/* ---- moves ------------------------------------------------------------- */

static int compare_moves(const void *a, const void *b)
{
    const struct remat_move *x = *(const struct remat_move *const *)a;
    const struct remat_move *y = *(const struct remat_move *const *)b;

    if (x->n_bytes != y->n_bytes)
        return x->n_bytes > y->n_bytes ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static const char *mark_of(enum remat_place place)
{
    switch (place) {
    case REMAT_PLACE_SAVED:
        return "<span class=\"mark saved\">saved</span>";
    case REMAT_PLACE_RECOMPUTED:
        return "<span class=\"mark again\">recomputed</span>";
    case REMAT_PLACE_NONE:
        break;
    }
    return "<span class=\"none\">neither</span>";
}

static void add_move(struct proto_page *page, const struct remat_move *move)
{
    proto_page_puts(page, "<tr><th scope=\"row\">");
    proto_page_node(page, move->node);
    proto_page_puts(page, "</th>");
    proto_page_operator_cell(page, move->node);
    proto_page_puts(page, "<td>");
    proto_page_puts(page, mark_of(move->before));
    proto_page_puts(page, "</td><td>");
    proto_page_puts(page, mark_of(move->after));
    proto_page_puts(page, "</td>");
    proto_page_size_cell(page, move->n_bytes);
    proto_page_flops_cell(page, move->flops);
    proto_page_puts(page, "<td class=\"why\">");
    proto_html_words(page->text, move->why);
    proto_page_puts(page, "</td></tr>\n");
}

static void add_table(struct proto_page *page,
                      const struct remat_move *const *moves, uint32_t n)
{
    proto_page_puts(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
                          " aria-label=\"Values that moved\">"
                          "<table class=\"data\" data-sortable data-filter "
                          "data-csv=\"moves.csv\"><caption>");
    if (n > PROTO_PAGE_MOST_ROWS) {
        proto_page_puts(page, "The largest ");
        proto_html_count(page->text, PROTO_PAGE_MOST_ROWS);
        proto_page_puts(page, " of ");
    }
    proto_page_plural(page, n, "value");
    proto_page_puts(
        page, " that moved</caption><thead><tr><th scope=\"col\">Value</th>"
              "<th scope=\"col\">Operator</th><th scope=\"col\">Before</th>"
              "<th scope=\"col\">Now</th>"
              "<th scope=\"col\" class=\"n\">Bytes</th>"
              "<th scope=\"col\" class=\"n\">Work</th>"
              "<th scope=\"col\">What is different about it</th></tr></thead>"
              "<tbody>\n");
    for (uint32_t i = 0; i < n && i < PROTO_PAGE_MOST_ROWS; i++)
        add_move(page, moves[i]);
    proto_page_puts(page, "</tbody></table></div>\n");
}

static void add_moves(struct proto_page *page)
{
    const struct remat_diff *diff = page->diff;
    const struct remat_move **moves =
        remat_job_alloc(page->job, diff->n_moves, sizeof(*moves));

    if (moves == NULL) {
        page->text->failed = true;
        return;
    }
    if (diff->n_moves == 0) {
        proto_page_puts(page, "<p class=\"note\">Nothing moves: both plans "
                              "save and recompute the same.</p>\n");
        return;
    }
    for (uint32_t i = 0; i < diff->n_moves; i++)
        moves[i] = &diff->moves[i];
    qsort(moves, diff->n_moves, sizeof(*moves), compare_moves);
    proto_page_puts(page, "<h3>What moved</h3>\n");
    add_table(page, moves, diff->n_moves);
}

void proto_page_diff(struct proto_page *page)
{
    bool had_plan;
    bool has_plan = page->plan->outcome == REMAT_PLAN;

    if (page->before == NULL)
        return;
    had_plan = page->before->outcome == REMAT_PLAN;
    proto_page_open(page, "diff", "What the change does",
                    has_plan && had_plan
                        ? "This report is of a changed request; here it is "
                          "held against the request before the change."
                    : has_plan ? "Now there is a plan; before there was none."
                    : had_plan ? "Now there is no plan; before there was one."
                               : "There is no plan, neither before nor now.");
    add_tags(page);
    if (page->diff != NULL) {
        add_numbers(page);
        add_moves(page);
    }
    proto_page_close(page);
}
