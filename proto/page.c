/*
 * page.c: the frame of a report's page and the order of its sections.
 */
#include "page.h"

#include <string.h>

/* ---- the whole file ---- */

static bool is_style(const struct proto_asset *asset)
{
    return strncmp(asset->type, "text/css", 8) == 0;
}

static void add_hashes(struct proto_text *text, bool of_styles)
{
    size_t n;
    const struct proto_asset *assets = proto_assets(&n);

    for (size_t i = 0; i < n; i++)
        if (is_style(&assets[i]) == of_styles) {
            proto_text_puts(text, " 'sha256-");
            proto_text_puts(text, proto_asset_hash(i));
            proto_text_puts(text, "'");
        }
}

static void add_assets(struct proto_text *text, bool of_styles)
{
    const char *tag = of_styles ? "style" : "script";
    size_t n;
    const struct proto_asset *assets = proto_assets(&n);

    for (size_t i = 0; i < n; i++)
        if (is_style(&assets[i]) == of_styles) {
            proto_text_format(text, "<%s>", tag);
            proto_text_add(text, assets[i].bytes, assets[i].length);
            proto_text_format(text, "</%s>\n", tag);
        }
}

static void add_head(struct proto_page *page)
{
    struct proto_text *text = page->text;

    proto_text_puts(text, "<!doctype html>\n<html lang=\"en\"><head>"
                          "<meta charset=\"utf-8\">\n"
                          "<meta http-equiv=\"Content-Security-Policy\" "
                          "content=\"default-src 'none'; script-src");
    add_hashes(text, false);
    proto_text_puts(text, "; style-src");
    add_hashes(text, true);
    proto_text_puts(
        text, "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
              "<meta name=\"viewport\" "
              "content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n"
              "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    if (page->decision->name != NULL && page->decision->name[0] != '\0')
        proto_html_words(text, page->decision->name);
    else
        proto_text_puts(text, page->trace != NULL ? "min_cut_information"
                                                  : "A joint graph");
    proto_text_puts(text, " \xC2\xB7 remat report</title>\n");
    add_assets(text, true);
    proto_text_puts(text, "</head><body class=\"file\">\n");
}

/* ---- the body ---- */

static void add_link(struct proto_page *page, const char *id, const char *words)
{
    proto_page_puts(page, "<li><a href=\"#");
    proto_page_puts(page, id);
    proto_page_puts(page, "\">");
    proto_page_puts(page, words);
    proto_page_puts(page, "</a></li>");
}

static void add_contents(struct proto_page *page)
{
    proto_page_puts(page, "<nav class=\"contents\" aria-label=\"Sections of "
                          "this report\"><ul>");
    if (page->before != NULL)
        add_link(page, "diff", "The change");
    add_link(page, "summary", "Summary");
    add_link(page, "saved", "Saved values");
    if (page->plan->memory.forward.n_steps > 0)
        add_link(page, "memory", "Memory");
    add_link(page, "recomputed", "Recomputed");
    add_link(page, "cut", "The cut");
    add_link(page, "frontier", "Frontier");
    proto_page_puts(page, "</ul></nav>\n");
}

static void add_plan(struct proto_page *page)
{
    add_contents(page);
    proto_page_diff(page);
    proto_page_summary(page);
    proto_page_remarks(page);
    proto_page_saved(page);
    proto_page_memory(page);
    proto_page_recomputed(page);
    proto_page_cut(page);
    proto_page_frontier(page);
}

static void add_report(struct proto_page *page)
{
    proto_page_head(page);
    if (page->plan->outcome != REMAT_PLAN)
        proto_page_diff(page);
    if (page->plan->outcome == REMAT_PLAN) {
        add_plan(page);
    } else {
        proto_page_conflicts(page);
        proto_page_remarks(page);
    }
    proto_page_graph(page);
}

void proto_page_write(struct proto_page *page)
{
    if (page->style == PROTO_REPORT_FILE)
        add_head(page);
    proto_page_puts(page, page->trace != NULL
                              ? "<main id=\"report\" data-trace>\n"
                              : "<main id=\"report\">\n");
    if (page->trace != NULL)
        proto_page_trace(page, page->trace);
    else
        add_report(page);
    proto_page_puts(page, "</main>\n");
    if (page->style == PROTO_REPORT_FILE) {
        add_assets(page->text, false);
        proto_page_puts(page, "</body></html>\n");
    }
}
