/*
 * page_conflict.c: why a graph has no plan, each conflict as the path that it
 * is, with the remedy; and the warnings of a graph that has one.
 */
#include "page.h"

#include <string.h>

enum {
    MOST_CONFLICTS = 50,
    MOST_STEPS = 60, /* of a path that are drawn */
    MOST_REMARKS = 200
};

/* The node a step speaks of: an edge to the sink speaks of the one before. */
static remat_node subject(const struct remat_diagnostic *d, uint32_t i)
{
    return d->path[i].node == REMAT_NONE && i > 0 ? d->path[i - 1].node
                                                  : d->path[i].node;
}

static void add_step(struct proto_page *page, const struct remat_diagnostic *d,
                     uint32_t i)
{
    const struct remat_step *step = &d->path[i];
    remat_node v = subject(d, i);
    const char *origin = remat_origin_text(step->origin);

    proto_page_puts(page, "<li class=\"step ");
    proto_page_puts(page, origin);
    proto_page_puts(page, "\">");
    if (v == REMAT_NONE)
        proto_page_puts(page, "it");
    else
        proto_page_node(page, v);
    proto_page_puts(page, " <span class=\"reason\">");
    proto_page_message(page, step->reason != NULL ? step->reason : "comes next",
                       REMAT_NONE);
    proto_page_puts(page, "</span>");
    if (step->origin != REMAT_ORIGIN_DATAFLOW) {
        proto_page_puts(page, " <span class=\"mark ");
        proto_page_puts(page, origin);
        proto_page_puts(page, "\">");
        proto_page_puts(page, origin);
        proto_page_puts(page, "</span>");
    }
    if (v != REMAT_NONE && remat_graph_node(page->job, v)->module != NULL) {
        proto_page_puts(page, "<small>");
        proto_html_name(page->text, remat_graph_node(page->job, v)->target);
        proto_page_puts(page, " in ");
        proto_page_module(page, v);
        proto_page_puts(page, "</small>");
    }
    proto_page_puts(page, "</li>\n");
}

static void add_path(struct proto_page *page, const struct remat_diagnostic *d)
{
    if (d->n_path == 0)
        return;
    proto_page_puts(page, "<ol class=\"path\">\n");
    for (uint32_t i = 0; i < d->n_path; i++) {
        if (d->n_path > MOST_STEPS && i == MOST_STEPS / 2) {
            uint32_t left_out = d->n_path - MOST_STEPS;

            proto_page_puts(page, "<li class=\"step dataflow\">");
            proto_page_plural(page, left_out, "step");
            proto_page_puts(page, " in between</li>\n");
            i += left_out;
        }
        add_step(page, d, i);
    }
    proto_page_puts(page, "</ol>\n");
}

static void add_conflict(struct proto_page *page,
                         const struct remat_diagnostic *d, uint32_t number,
                         uint32_t n)
{
    proto_page_puts(page, "<article class=\"conflict\"><h3>");
    if (n > 1) {
        proto_page_puts(page, "Conflict ");
        proto_html_count(page->text, number);
        proto_page_puts(page, " of ");
        proto_html_count(page->text, n);
    } else {
        proto_page_puts(page, page->plan->outcome == REMAT_INFINITE_FLOW
                                  ? "The conflict"
                                  : "What cannot be returned");
    }
    proto_page_puts(page, "</h3>\n<p>");
    proto_page_message(page, d->message, REMAT_NONE);
    proto_page_puts(page, ".</p>\n");
    add_path(page, d);
    if (d->has_counts) {
        proto_page_puts(page, "<p class=\"note\">The output node has ");
        proto_page_plural(page, d->n_fwd_outputs, "forward output");
        proto_page_puts(page, " and ");
        proto_page_plural(page, d->n_bwd_outputs, "backward output");
        proto_page_puts(page, ".</p>\n");
    }
    proto_page_puts(page, "</article>\n");
}

/* ---- the remedy -------------------------------------------------------- */

static void add_change(struct proto_page *page,
                       const struct remat_tag_change *change)
{
    proto_page_puts(page, "<li>");
    proto_page_node(page, change->node);
    if (change->after.policy == REMAT_UNTAGGED) {
        proto_page_puts(page, ": take its tag <code>");
        proto_page_puts(page, remat_policy_text(change->before.policy));
        proto_page_puts(page, "</code> away");
    } else if (change->before.policy == REMAT_UNTAGGED) {
        proto_page_puts(page, ": tag it <code>");
        proto_page_puts(page, remat_policy_text(change->after.policy));
        proto_page_puts(page, "</code>");
    } else {
        proto_page_puts(page, ": tag it <code>");
        proto_page_puts(page, remat_policy_text(change->after.policy));
        proto_page_puts(page, "</code> instead of <code>");
        proto_page_puts(page, remat_policy_text(change->before.policy));
        proto_page_puts(page, "</code>");
    }
    proto_page_puts(page, "</li>\n");
}

/* {"getitem_3":null} as the text that both the page and scripts show. */
static void take_tags(struct proto_page *page, struct proto_text *tags)
{
    proto_text_init(tags, page->text->budget);
    proto_encode_remedy_tags(tags, page->job, page->plan->remedy);
    proto_text_add(tags, "", 1);
    if (tags->failed)
        page->text->failed = true;
}

static void add_result(struct proto_page *page, const struct remat_plan *plan)
{
    if (plan == NULL)
        return;
    proto_page_puts(page, "<p>Tried: the graph then has a plan that saves ");
    proto_page_size(page, plan->saved_bytes);
    proto_page_puts(page, ", computes ");
    proto_page_flops(page, plan->recomputed_flops);
    proto_page_puts(page, " again and peaks at ");
    proto_page_size(page, plan->memory.peak_forward_bytes >
                                  plan->memory.peak_backward_bytes
                              ? plan->memory.peak_forward_bytes
                              : plan->memory.peak_backward_bytes);
    proto_page_puts(page, " of activations. Without any one of these changes "
                          "it has none.</p>\n");
}

/* Inside single quotes of a shell, as HTML. */
static void add_shell_words(struct proto_page *page, char *words)
{
    for (char *quote; (quote = strchr(words, '\'')) != NULL;
         words = quote + 1) {
        *quote = '\0';
        proto_html_words(page->text, words);
        proto_page_puts(page, "'\\''");
    }
    proto_html_words(page->text, words);
}

static void add_paste(struct proto_page *page)
{
    struct proto_text tags;

    take_tags(page, &tags);
    if (tags.failed)
        return;
    proto_page_puts(page, "<p><button type=\"button\" class=\"primary\" "
                          "data-action=\"apply-remedy\" data-tags=\"");
    proto_html_attribute(page->text, tags.bytes);
    proto_page_puts(page,
                    "\" hidden>Try it</button></p>\n"
                    "<p>As a pass, at the end of the request\xE2\x80\x99s "
                    "<code>passes</code>:</p>\n"
                    "<pre tabindex=\"0\"><code>"
                    "{\"pass\": \"set_tags\", \"tags\": ");
    proto_html_words(page->text, tags.bytes);
    proto_page_puts(page, "}</code></pre>\n");
    if (page->style == PROTO_REPORT_FILE) {
        proto_page_puts(page, "<p>Or on the command line:</p>\n"
                              "<pre tabindex=\"0\"><code>remat diff FILE "
                              "--what-if '{\"tags\": ");
        add_shell_words(page, tags.bytes);
        proto_page_puts(page, "}'</code></pre>\n");
    }
    proto_text_release(&tags);
}

static void add_facts(struct proto_page *page,
                      const struct remat_remedy *remedy)
{
    proto_page_puts(page, "<p>No change of tags gives this graph a plan. What "
                          "would have to be different:</p>\n<ul>\n");
    for (uint32_t i = 0; i < remedy->n_facts; i++) {
        const struct remat_step *fact = &remedy->facts[i];

        proto_page_puts(page, "<li>");
        if (fact->node != REMAT_NONE)
            proto_page_node(page, fact->node);
        proto_page_puts(page, " ");
        proto_page_message(page, fact->reason != NULL ? fact->reason : "",
                           REMAT_NONE);
        proto_page_puts(page, "</li>\n");
    }
    proto_page_puts(page, "</ul>\n");
}

static void add_remedy(struct proto_page *page)
{
    const struct remat_remedy *remedy = page->plan->remedy;

    if (remedy == NULL)
        return;
    proto_page_puts(page, "<article class=\"remedy\" aria-labelledby=\""
                          "h-remedy\"><h3 id=\"h-remedy\">What to change</h3>"
                          "\n");
    if (remedy->n_changes == 0) {
        add_facts(page, remedy);
    } else {
        proto_page_puts(page, "<ul>\n");
        for (uint32_t i = 0; i < remedy->n_changes; i++)
            add_change(page, &remedy->changes[i]);
        proto_page_puts(page, "</ul>\n");
        add_result(page, remedy->plan);
        if (!remedy->is_least)
            proto_page_puts(page, "<p class=\"note\">Whether less would do is "
                                  "not known: the search for it was cut "
                                  "short.</p>\n");
        add_paste(page);
    }
    proto_page_puts(page, "</article>\n");
}

void proto_page_conflicts(struct proto_page *page)
{
    const struct remat_plan *plan = page->plan;
    bool is_infinite = plan->outcome == REMAT_INFINITE_FLOW;
    uint32_t n = 0;
    uint32_t number = 0;

    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        n += plan->diagnostics[i].severity == REMAT_ERROR;
    proto_page_open(page, "conflicts", "Why there is no plan",
                    is_infinite ? "The backward needs a value that can be "
                                  "neither saved nor computed again. Read each "
                                  "path from the top: from what may not be "
                                  "computed again to what must have it."
                                : "One half has to return what it cannot "
                                  "compute.");
    add_remedy(page);
    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        if (plan->diagnostics[i].severity == REMAT_ERROR &&
            ++number <= MOST_CONFLICTS)
            add_conflict(page, &plan->diagnostics[i], number, n);
    if (n > MOST_CONFLICTS) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, n - MOST_CONFLICTS, "other conflict");
        proto_page_puts(page, ", in the plan document.</p>\n");
    }
    proto_page_close(page);
}

/* ---- remarks ----------------------------------------------------------- */

static void open_remark(struct proto_page *page, uint32_t *n)
{
    if ((*n)++ == 0) {
        proto_page_open(page, "remarks", "Remarks", NULL);
        proto_page_puts(page, "<ul class=\"remarks\">\n");
    }
}

static void add_remark(struct proto_page *page, uint32_t *n, const char *code,
                       const char *message, remat_node v)
{
    open_remark(page, n);
    if (*n > MOST_REMARKS)
        return;
    proto_page_puts(page, "<li><code class=\"code\">");
    proto_html_words(page->text, code);
    proto_page_puts(page, "</code> ");
    if (!proto_page_message(page, message, v) && v != REMAT_NONE) {
        proto_page_puts(page, " ");
        proto_page_node(page, v);
    }
    proto_page_puts(page, "</li>\n");
}

static void add_diagnostics(struct proto_page *page, uint32_t *n,
                            const struct remat_diagnostic *list,
                            uint32_t n_list)
{
    for (uint32_t i = 0; i < n_list; i++)
        if (list[i].severity != REMAT_ERROR)
            add_remark(page, n, list[i].code, list[i].message, list[i].node);
}

void proto_page_remarks(struct proto_page *page)
{
    const struct proto_passes *passes = page->decision->passes;
    struct proto_note note;
    unsigned at = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; passes != NULL && i < passes->n; i++)
        add_diagnostics(page, &n, passes->at[i].report.diagnostics,
                        passes->at[i].report.n_diagnostics);
    add_diagnostics(page, &n, page->plan->diagnostics,
                    page->plan->n_diagnostics);
    while (proto_note_next(page->decision, &at, &note))
        add_remark(page, &n, note.code, note.message, note.node);
    if (n == 0)
        return;
    proto_page_puts(page, "</ul>\n");
    if (n > MOST_REMARKS) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, n - MOST_REMARKS, "other remark");
        proto_page_puts(page, ", in the plan document.</p>\n");
    }
    proto_page_close(page);
}
