/*
 * page_graph.c: the graph as data, for the neighbourhoods that report.js draws.
 * Columns, one entry a node, so that it stays small: operators and modules are
 * numbers into lists of words, sides and states letters.
 */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NODES = 100000,
    MOST_BYTES = 32 << 20, /* of names, words and references together */
    BYTES_A_REFERENCE = 7
};

struct word {
    const char *text;
    remat_node node;
};

static int compare_words(const void *a, const void *b)
{
    const struct word *x = a;
    const struct word *y = b;
    int order = strcmp(x->text, y->text);

    return order != 0 ? order : x->node < y->node ? -1 : 1;
}

static const char *target_of(const struct remat_node_spec *spec)
{
    return spec->target;
}

static const char *module_of(const struct remat_node_spec *spec)
{
    return spec->module == NULL ? "" : spec->module;
}

/* `"key":[words],"key_of":[numbers]` */
static bool add_words(struct proto_page *page, const char *key,
                      const char *(*word_of)(const struct remat_node_spec *))
{
    struct word *words = remat_job_alloc(page->job, page->n, sizeof(*words));
    uint32_t *numbers = remat_job_alloc(page->job, page->n, sizeof(*numbers));
    uint32_t n = 0;

    if (words == NULL || numbers == NULL)
        return false;
    for (remat_node v = 0; v < page->n; v++)
        words[v] = (struct word){word_of(remat_graph_node(page->job, v)), v};
    qsort(words, page->n, sizeof(*words), compare_words);
    proto_text_format(page->text, ",\"%s\":[", key);
    for (uint32_t i = 0; i < page->n; i++) {
        if (i == 0 || strcmp(words[i - 1].text, words[i].text) != 0) {
            proto_page_puts(page, n++ == 0 ? "" : ",");
            proto_html_quote(page->text, words[i].text);
        }
        numbers[words[i].node] = n - 1;
    }
    proto_text_format(page->text, "],\"%s_of\":[", key);
    for (remat_node v = 0; v < page->n; v++) {
        proto_page_puts(page, v == 0 ? "" : ",");
        proto_text_int(page->text, numbers[v]);
    }
    proto_page_puts(page, "]");
    return true;
}

static void add_names(struct proto_page *page)
{
    proto_page_puts(page, "{\"names\":[");
    for (remat_node v = 0; v < page->n; v++) {
        proto_page_puts(page, v == 0 ? "" : ",");
        proto_html_quote(page->text, remat_graph_node(page->job, v)->name);
    }
    proto_page_puts(page, "]");
}

static void add_letters(struct proto_page *page, const char *key,
                        const uint8_t *values, const char *letters)
{
    proto_text_format(page->text, ",\"%s\":\"", key);
    for (remat_node v = 0; v < page->n; v++)
        proto_text_add(page->text, &letters[values[v]], 1);
    proto_page_puts(page, "\"");
}

static void add_bytes(struct proto_page *page)
{
    proto_page_puts(page, ",\"bytes\":[");
    for (remat_node v = 0; v < page->n; v++) {
        proto_page_puts(page, v == 0 ? "" : ",");
        proto_text_int(page->text, remat_node_bytes(page->job, v));
    }
    proto_page_puts(page, "]");
}

static void add_inputs(struct proto_page *page)
{
    proto_page_puts(page, ",\"inputs\":[");
    for (remat_node v = 0; v < page->n; v++) {
        struct remat_nodes inputs = remat_node_inputs(page->job, v);

        proto_page_puts(page, v == 0 ? "[" : ",[");
        for (uint32_t i = 0; i < inputs.n; i++) {
            proto_page_puts(page, i == 0 ? "" : ",");
            proto_text_int(page->text, inputs.at[i]);
        }
        proto_page_puts(page, "]");
    }
    proto_page_puts(page, "]");
}

/* Whether the data stay within what a browser reads in a moment. */
static bool is_small(const struct proto_page *page)
{
    size_t n_bytes = 0;

    if (page->n > MOST_NODES)
        return false;
    for (remat_node v = 0; v < page->n && n_bytes <= MOST_BYTES; v++) {
        const struct remat_node_spec *spec = remat_graph_node(page->job, v);

        n_bytes += strlen(spec->name) + strlen(module_of(spec)) +
                   (size_t)BYTES_A_REFERENCE *
                       (4 + (size_t)remat_node_inputs(page->job, v).n);
    }
    return n_bytes <= MOST_BYTES;
}

void proto_page_graph(struct proto_page *page)
{
    if (!is_small(page))
        return;
    proto_page_puts(page, "<script type=\"application/json\" "
                          "id=\"graph-data\">");
    add_names(page);
    if (!add_words(page, "targets", target_of) ||
        !add_words(page, "modules", module_of)) {
        page->text->failed = true;
        return;
    }
    add_letters(page, "sides", page->side, "-fb");
    add_letters(page, "states", page->state, "-sr");
    add_bytes(page);
    add_inputs(page);
    proto_page_puts(page, "}</script>\n");
}
