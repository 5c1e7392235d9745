/*
 * page_recomputed.c: operators that run twice, by module and operator, and the
 * longest chain of them that something in the backward waits for.
 *
 * Modules that differ in numbers alone (layers) are one group.
 */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUPS = 200,
    MOST_KINDS = 40, /* operators of a group that are named */
    MOST_CHAIN = 24  /* nodes of the longest chain that are named */
};

/* One operator that runs twice. */
struct item {
    const char *module; /* "": none */
    const char *target;
    remat_node node;
    uint32_t depth;
    int64_t flops;
};

/* Items in a row that belong together. */
struct group {
    uint32_t from;
    uint32_t to;
    uint32_t depth;
    int64_t flops;
};

/* As strcmp, where every run of digits counts as one. */
static int compare_folded(const char *a, const char *b)
{
    for (;;) {
        size_t x = strspn(a, "0123456789");
        size_t y = strspn(b, "0123456789");

        if (x > 0 && y > 0) {
            a += x;
            b += y;
            continue;
        }
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        if (*a == '\0')
            return 0;
        a++;
        b++;
    }
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int order = compare_folded(x->module, y->module);

    if (order == 0)
        order = strcmp(x->target, y->target);
    if (order == 0)
        order = x->node < y->node ? -1 : 1;
    return order;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;

    if (x->flops != y->flops)
        return x->flops > y->flops ? -1 : 1;
    if (x->to - x->from != y->to - y->from)
        return x->to - x->from > y->to - y->from ? -1 : 1;
    return x->from < y->from ? -1 : 1;
}

/* ---- depth ------------------------------------------------------------- */

/* Depth of each recomputed node (0: none) and the one before it. */
static uint32_t *find_depths(const struct proto_page *page, remat_node *before)
{
    struct remat_nodes again = page->plan->recomputed;
    uint32_t *depth = remat_job_alloc(page->job, page->n, sizeof(*depth));

    for (uint32_t i = 0; depth != NULL && i < again.n; i++) {
        remat_node v = again.at[i];
        struct remat_nodes inputs = remat_node_inputs(page->job, v);

        depth[v] = 1;
        before[v] = REMAT_NONE;
        for (uint32_t j = 0; j < inputs.n; j++)
            if (depth[inputs.at[j]] + 1 > depth[v]) {
                depth[v] = depth[inputs.at[j]] + 1;
                before[v] =
                    depth[inputs.at[j]] == 0 ? REMAT_NONE : inputs.at[j];
            }
    }
    return depth;
}

/* The deepest node that the backward reads. */
static remat_node find_deepest(const struct proto_page *page,
                               const uint32_t *depth)
{
    struct remat_nodes again = page->plan->recomputed;
    remat_node deepest = REMAT_NONE;

    for (uint32_t i = 0; i < again.n; i++)
        if ((deepest == REMAT_NONE || depth[again.at[i]] > depth[deepest]) &&
            proto_page_consumers(page, again.at[i]) > 0)
            deepest = again.at[i];
    return deepest;
}

static void add_chain(struct proto_page *page, const uint32_t *depth,
                      const remat_node *before)
{
    remat_node v = find_deepest(page, depth);
    remat_node names[MOST_CHAIN];
    uint32_t n = 0;

    if (v == REMAT_NONE)
        return;
    proto_page_puts(page, "<p>The longest chain that an operator of the "
                          "backward waits for is ");
    proto_page_plural(page, depth[v], "operator");
    proto_page_puts(page, " deep:</p>\n<ol class=\"chain\">");
    for (; v != REMAT_NONE && n < MOST_CHAIN; v = before[v])
        names[n++] = v;
    if (v != REMAT_NONE) {
        proto_page_puts(page, "<li>");
        proto_html_count(page->text, depth[v]);
        proto_page_puts(page, " more before</li>");
    }
    while (n-- > 0) {
        proto_page_puts(page, "<li>");
        proto_page_node(page, names[n]);
        proto_page_puts(page, "</li>");
    }
    proto_page_puts(page, "</ol>\n");
}

/* ---- groups ------------------------------------------------------------ */

static struct item *list_items(const struct proto_page *page,
                               const uint32_t *depth)
{
    struct remat_nodes again = page->plan->recomputed;
    struct item *items = remat_job_alloc(page->job, again.n, sizeof(*items));

    for (uint32_t i = 0; items != NULL && i < again.n; i++) {
        const struct remat_node_spec *spec =
            remat_graph_node(page->job, again.at[i]);

        items[i] = (struct item){proto_page_module_name(page, again.at[i]),
                                 spec->target, again.at[i], depth[again.at[i]],
                                 remat_node_flops(page->job, again.at[i])};
    }
    if (items != NULL)
        qsort(items, again.n, sizeof(*items), compare_items);
    return items;
}

/* Groups of neighbours in [from, to) with the same module, or the same operator
 * too; returns how many. */
static uint32_t make_groups(const struct item *items, uint32_t from,
                            uint32_t to, bool by_target, struct group *groups)
{
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        bool joins =
            n > 0 &&
            compare_folded(items[i - 1].module, items[i].module) == 0 &&
            (!by_target || strcmp(items[i - 1].target, items[i].target) == 0);
        struct group *group;

        if (!joins)
            groups[n++] = (struct group){i, i, 0, 0};
        group = &groups[n - 1];
        group->to = i + 1;
        if (items[i].depth > group->depth)
            group->depth = items[i].depth;
        if (items[i].flops > INT64_MAX - group->flops)
            group->flops = INT64_MAX;
        else
            group->flops += items[i].flops;
    }
    qsort(groups, n, sizeof(*groups), compare_groups);
    return n;
}

/* The module with N for its numbers, where items of the group differ. */
static void add_module(struct proto_page *page, const struct item *items,
                       const struct group *group)
{
    const char *module = items[group->from].module;
    bool is_one = true;
    struct proto_text name;

    for (uint32_t i = group->from; is_one && i < group->to; i++)
        is_one = strcmp(items[i].module, module) == 0;
    if (module[0] == '\0') {
        proto_page_puts(page, "<em>no module</em>");
        return;
    }
    if (is_one) {
        proto_html_name(page->text, module);
        return;
    }
    proto_text_init(&name, page->text->budget);
    for (const char *at = module; *at != '\0';) {
        size_t digits = strspn(at, "0123456789");

        proto_text_add(&name, digits > 0 ? "N" : at, 1);
        at += digits > 0 ? digits : 1;
    }
    proto_text_add(&name, "", 1);
    if (name.failed)
        page->text->failed = true;
    else
        proto_html_name(page->text, name.bytes);
    proto_text_release(&name);
}

static void add_kind(struct proto_page *page, const struct item *items,
                     const struct group *kind)
{
    proto_page_puts(page, "<tr><th scope=\"row\" class=\"op\">");
    proto_html_name(page->text, items[kind->from].target);
    proto_page_puts(page, "</th>");
    proto_page_count_cell(page, kind->to - kind->from);
    proto_page_flops_cell(page, kind->flops);
    proto_page_count_cell(page, kind->depth);
    proto_page_puts(page, "<td>");
    proto_page_node(page, items[kind->from].node);
    if (kind->to - kind->from > 1) {
        proto_page_puts(page, " <span class=\"none\">and ");
        proto_html_count(page->text, kind->to - kind->from - 1);
        proto_page_puts(page, " more</span>");
    }
    proto_page_puts(page, "</td></tr>\n");
}

static void add_kinds(struct proto_page *page, const struct item *items,
                      const struct group *group, struct group *scratch)
{
    uint32_t n = make_groups(items, group->from, group->to, true, scratch);

    proto_page_puts(
        page, "<table class=\"data\"><caption class=\"hidden\">Operators of "
              "this module</caption><thead><tr>"
              "<th scope=\"col\">Operator</th>"
              "<th scope=\"col\" class=\"n\">Times</th>"
              "<th scope=\"col\" class=\"n\">Work</th>"
              "<th scope=\"col\" class=\"n\">Chain</th>"
              "<th scope=\"col\">For example</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < n && i < MOST_KINDS; i++)
        add_kind(page, items, &scratch[i]);
    proto_page_puts(page, "</tbody></table>\n");
    if (n > MOST_KINDS) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, n - MOST_KINDS, "other operator");
        proto_page_puts(page, ".</p>\n");
    }
}

static void add_group(struct proto_page *page, const struct item *items,
                      const struct group *group, struct group *scratch)
{
    proto_page_puts(page, "<details class=\"group\"><summary>"
                          "<span class=\"what\">");
    add_module(page, items, group);
    proto_page_puts(page, "</span><span class=\"n\">");
    proto_page_plural(page, group->to - group->from, "operator");
    proto_page_puts(page, "</span><span class=\"n\">");
    proto_page_flops(page, group->flops);
    proto_page_puts(page, "</span><span class=\"n\">chain ");
    proto_html_count(page->text, group->depth);
    proto_page_puts(page, "</span></summary>\n");
    add_kinds(page, items, group, scratch);
    proto_page_puts(page, "</details>\n");
}

static bool add_groups(struct proto_page *page, const uint32_t *depth)
{
    uint32_t n_items = page->plan->recomputed.n;
    struct item *items = list_items(page, depth);
    struct group *groups = remat_job_alloc(page->job, n_items, sizeof(*groups));
    struct group *scratch =
        remat_job_alloc(page->job, n_items, sizeof(*scratch));
    uint32_t n;

    if (items == NULL || groups == NULL || scratch == NULL)
        return false;
    n = make_groups(items, 0, n_items, false, groups);
    proto_page_puts(page, "<div class=\"groups\">\n");
    for (uint32_t i = 0; i < n && i < MOST_GROUPS; i++)
        add_group(page, items, &groups[i], scratch);
    proto_page_puts(page, "</div>\n");
    if (n > MOST_GROUPS) {
        proto_page_puts(page, "<p class=\"note\">And ");
        proto_page_plural(page, n - MOST_GROUPS, "other module");
        proto_page_puts(page, " with less work.</p>\n");
    }
    return true;
}

void proto_page_recomputed(struct proto_page *page)
{
    remat_node *before = remat_job_alloc(page->job, page->n, sizeof(*before));
    uint32_t *depth = before == NULL ? NULL : find_depths(page, before);

    proto_page_open(page, "recomputed", "Recomputed operators",
                    page->plan->recomputed.n == 0
                        ? "The backward computes nothing again."
                        : "Run a second time in the backward, by module; "
                          "modules that differ in numbers alone are one "
                          "group. Chain: how many recomputed operators run "
                          "one after the other, at most.");
    if (depth == NULL) {
        page->text->failed = true;
    } else if (page->plan->recomputed.n > 0) {
        add_chain(page, depth, before);
        if (!add_groups(page, depth))
            page->text->failed = true;
    }
    proto_page_close(page);
}
