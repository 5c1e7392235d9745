/*
 * page_head.c: whose report it is: graph, engine, digest, what was asked beyond
 * the defaults, and what passes did.
 */
#include "page.h"

#include "digest.h"

#include <inttypes.h>

static void begin_choice(struct proto_page *page, const char *name)
{
    proto_page_puts(page, "<li><code>");
    proto_page_puts(page, name);
    proto_page_puts(page, "</code> ");
}

static void add_choice(struct proto_page *page, const char *name,
                       const char *value)
{
    begin_choice(page, name);
    proto_page_puts(page, value);
    proto_page_puts(page, "</li>");
}

static void add_number(struct proto_page *page, const char *name, int64_t value)
{
    begin_choice(page, name);
    proto_html_count(page->text, value);
    proto_page_puts(page, "</li>");
}

static void add_options(struct proto_page *page)
{
    const struct remat_options *o = page->options;
    struct remat_options usual;

    remat_options_init(&usual);
    if (o->profile != usual.profile)
        add_choice(page, "profile",
                   o->profile == REMAT_PROFILE_PLAIN ? "plain" : "pytorch");
#define X(name, value)      \
    if (o->name != (value)) \
        add_choice(page, #name, o->name ? "true" : "false");
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    if (o->max_dist_from_bw != usual.max_dist_from_bw)
        add_number(page, "max_dist_from_bw", o->max_dist_from_bw);
    if (o->memory_limit_bytes >= 0)
        add_number(page, "memory_limit_bytes", o->memory_limit_bytes);
    if (o->activation_memory_budget < 1 || o->activation_memory_budget > 1) {
        begin_choice(page, "activation_memory_budget");
        proto_text_format(page->text, "%.4g</li>", o->activation_memory_budget);
        add_choice(page, "solver",
                   proto_solver_name(o->activation_memory_budget_solver));
        add_choice(page, "runtime estimator",
                   proto_estimator_name(
                       o->activation_memory_budget_runtime_estimator));
    }
}

static void add_passes(struct proto_page *page)
{
    const struct proto_passes *passes = page->decision->passes;

    for (uint32_t i = 0; passes != NULL && i < passes->n; i++) {
        proto_page_puts(page, "<li>pass <code>");
        proto_html_words(page->text, passes->at[i].name);
        proto_page_puts(page, "</code> changed ");
        proto_page_plural(page, passes->at[i].report.n_changes, "tag");
        proto_page_puts(page, "</li>");
    }
}

static void add_choices(struct proto_page *page)
{
    size_t before = page->text->length;
    size_t begin;

    proto_page_puts(page, "<ul class=\"chips\" aria-label=\"Options and passes "
                          "of this request\">");
    begin = page->text->length;
    add_options(page);
    add_passes(page);
    if (page->text->length == begin)
        page->text->length = before; /* all as usual: no list */
    else
        proto_page_puts(page, "</ul>\n");
}

static const char *verdict_of(const struct proto_page *page)
{
    switch (page->plan->outcome) {
    case REMAT_PLAN:
        break;
    case REMAT_INFINITE_FLOW:
        return "<span class=\"mark bad\">no plan: conflicting "
               "constraints</span>";
    case REMAT_INVALID_OUTPUT:
        return "<span class=\"mark bad\">no plan: an output cannot be "
               "computed</span>";
    }
    return "<span class=\"mark good\">plan</span>";
}

void proto_page_head(struct proto_page *page)
{
    const char *name = page->decision->name;

    proto_page_puts(page, "<header class=\"report-head\">\n"
                          "<p class=\"eyebrow\">Rematerialization report</p>\n"
                          "<h1>");
    if (name == NULL || name[0] == '\0')
        proto_page_puts(page, "A joint graph");
    else
        proto_html_name(page->text, name);
    proto_page_puts(page, "</h1>\n<p class=\"meta\">");
    proto_page_puts(page, verdict_of(page));
    proto_page_puts(page, " <span>");
    proto_page_plural(page, page->n, "node");
    proto_page_puts(page, "</span> <span>" PROTO_ENGINE
                          "</span> <span class=\"digest\">digest <code>");
    proto_page_puts(page, page->decision->digest);
    proto_page_puts(page, "</code></span></p>\n");
    add_choices(page);
    proto_page_puts(page, "</header>\n");
}
