/*
 * page_parts.c: what the sections of a page have in common: frames, names,
 * amounts.
 */
#include "page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PLACE_BYTES = 240 /* of a line of a stack */
};

void proto_page_puts(struct proto_page *page, const char *html)
{
    proto_text_puts(page->text, html);
}

void proto_page_open(struct proto_page *page, const char *id,
                     const char *heading, const char *words)
{
    proto_page_puts(page, "<section id=\"");
    proto_page_puts(page, id);
    proto_page_puts(page, "\" aria-labelledby=\"h-");
    proto_page_puts(page, id);
    proto_page_puts(page, "\">\n<h2 id=\"h-");
    proto_page_puts(page, id);
    proto_page_puts(page, "\">");
    proto_page_puts(page, heading);
    proto_page_puts(page, "</h2>\n");
    if (words != NULL) {
        proto_page_puts(page, "<p class=\"lead\">");
        proto_page_puts(page, words);
        proto_page_puts(page, "</p>\n");
    }
}

void proto_page_close(struct proto_page *page)
{
    proto_page_puts(page, "</section>\n");
}

void proto_page_node(struct proto_page *page, remat_node v)
{
    const char *name = remat_graph_node(page->job, v)->name;

    proto_text_format(page->text,
                      "<button type=\"button\" class=\"node\" data-i=\"%" PRIu32
                      "\" data-node=\"",
                      v);
    proto_html_attribute(page->text, name);
    proto_page_puts(page, "\">");
    proto_html_name(page->text, name);
    proto_page_puts(page, "</button>");
}

static void add_code(struct proto_page *page, const char *name, size_t length)
{
    struct proto_text copy;

    proto_text_init(&copy, page->text->budget);
    proto_text_add(&copy, name, length);
    proto_text_add(&copy, "", 1);
    proto_page_puts(page, "<code>");
    if (copy.failed)
        page->text->failed = true;
    else
        proto_html_name(page->text, copy.bytes);
    proto_page_puts(page, "</code>");
    proto_text_release(&copy);
}

/* Names that have backticks themselves come out as several pieces. */
bool proto_page_message(struct proto_page *page, const char *message,
                        remat_node v)
{
    const char *name =
        v == REMAT_NONE ? "" : remat_graph_node(page->job, v)->name;
    const size_t length = strlen(name);
    bool is_linked = false;

    while (*message != '\0') {
        const size_t before = strcspn(message, "`");
        const char *begin = message + before + 1;
        size_t n;

        proto_html_part(page->text, message, before);
        if (message[before] == '\0')
            break;
        n = strcspn(begin, "`");
        if (v != REMAT_NONE && !is_linked &&
            strncmp(begin, name, length) == 0 && begin[length] == '`') {
            proto_page_node(page, v);
            is_linked = true;
            n = length;
        } else if (begin[n] == '`') {
            add_code(page, begin, n);
        } else {
            proto_html_words(page->text, begin - 1);
            break;
        }
        message = begin + n + 1;
    }
    return is_linked;
}

/* ---- amounts ---- */

/* Rounded for reading; the exact count is its title. */
static void add_amount(struct proto_page *page, int64_t amount,
                       const char *units,
                       void (*write)(struct proto_text *text, int64_t amount))
{
    proto_page_puts(page, "<span title=\"");
    proto_html_count(page->text, amount);
    proto_page_puts(page, " ");
    proto_page_puts(page, units);
    proto_page_puts(page, "\">");
    write(page->text, amount);
    proto_page_puts(page, "</span>");
}

void proto_page_size(struct proto_page *page, int64_t n_bytes)
{
    add_amount(page, n_bytes, "bytes", proto_html_size);
}

void proto_page_flops(struct proto_page *page, int64_t flops)
{
    add_amount(page, flops, "floating-point operations", proto_html_flops);
}

void proto_page_plural(struct proto_page *page, int64_t n, const char *word)
{
    proto_html_count(page->text, n);
    proto_page_puts(page, " ");
    proto_page_puts(page, word);
    if (n != 1)
        proto_page_puts(page, "s");
}

static void open_cell(struct proto_page *page, int64_t value)
{
    proto_text_format(page->text, "<td class=\"n\" data-v=\"%" PRId64 "\">",
                      value);
}

void proto_page_size_cell(struct proto_page *page, int64_t n_bytes)
{
    open_cell(page, n_bytes);
    if (n_bytes < 0)
        proto_page_puts(page, "unknown");
    else
        proto_page_size(page, n_bytes);
    proto_page_puts(page, "</td>");
}

void proto_page_flops_cell(struct proto_page *page, int64_t flops)
{
    open_cell(page, flops);
    proto_page_flops(page, flops);
    proto_page_puts(page, "</td>");
}

void proto_page_count_cell(struct proto_page *page, int64_t count)
{
    open_cell(page, count);
    proto_html_count(page->text, count);
    proto_page_puts(page, "</td>");
}

void proto_page_share_cell(struct proto_page *page, int64_t part, int64_t whole)
{
    double share = whole > 0 && part > 0 ? (double)part / (double)whole : 0;

    proto_text_format(page->text,
                      "<td class=\"n share\" data-v=\"%.6f\">%.1f%%"
                      "<svg class=\"bar\" width=\"48\" height=\"6\" "
                      "aria-hidden=\"true\"><rect width=\"%.1f\" "
                      "height=\"6\"/></svg></td>",
                      share, share * 100, share > 1 ? 48 : share * 48);
}

/* ---- what a node is ---- */

void proto_page_operator_cell(struct proto_page *page, remat_node v)
{
    const struct remat_node_spec *spec = remat_graph_node(page->job, v);

    proto_page_puts(page, "<td class=\"op\">");
    if (spec->op == REMAT_CALL_FUNCTION)
        proto_html_name(page->text, spec->target);
    else
        proto_page_puts(page, "<span class=\"none\">input</span>");
    proto_page_puts(page, "</td>");
}

void proto_page_type(struct proto_page *page, const struct remat_value *value)
{
    char type[PROTO_TYPE_BYTES];

    proto_report_type(value, type);
    proto_html_words(page->text, type);
}

void proto_page_begin_value(struct proto_page *page, remat_node v,
                            int64_t n_bytes)
{
    proto_page_puts(page, "<tr><th scope=\"row\">");
    proto_page_node(page, v);
    proto_page_puts(page, "</th>");
    proto_page_operator_cell(page, v);
    proto_page_puts(page, "<td class=\"type\">");
    proto_page_type(page, &remat_graph_node(page->job, v)->value);
    proto_page_puts(page, "</td>");
    proto_page_size_cell(page, n_bytes);
}

/* Paths begin with what Dynamo calls the model, which is the same in all. */
const char *proto_page_module_name(const struct proto_page *page, remat_node v)
{
    static const char self[] = "L['self'].";
    const char *module = remat_graph_node(page->job, v)->module;

    if (module == NULL)
        return "";
    return strncmp(module, self, sizeof(self) - 1) == 0
               ? module + sizeof(self) - 1
               : module;
}

void proto_page_module(struct proto_page *page, remat_node v)
{
    const char *module = proto_page_module_name(page, v);

    if (module[0] == '\0')
        proto_page_puts(page, "<span class=\"none\">\xE2\x80\x93</span>");
    else
        proto_html_name(page->text, module);
}

/* Where the last mention of a file begins, or the last line that says
 * anything. */
static const char *last_frame(const char *stack)
{
    const char *frame = NULL;
    const char *line = stack;

    for (const char *at = stack; (at = strstr(at, "File \"")) != NULL; at++)
        frame = at;
    if (frame != NULL)
        return frame;
    for (const char *at = stack; *at != '\0'; at++)
        if (*at == '\n' && at[1] != '\0' && at[1] != '\n')
            line = at + 1;
    return line;
}

/* 'File "/a/b/model.py", line 12, in forward' as model.py:12, another line as
 * it is, cut off where it does not fit. */
static void describe_frame(const char *frame, char place[PLACE_BYTES])
{
    static const char file[] = "File \"";
    static const char line[] = "\", line ";
    const char *path = frame + (sizeof(file) - 1);
    size_t length =
        strncmp(frame, file, sizeof(file) - 1) == 0 ? strcspn(path, "\"\n") : 0;
    const char *number = path + length + (sizeof(line) - 1);

    if (length == 0 || strncmp(path + length, line, sizeof(line) - 1) != 0) {
        snprintf(place, PLACE_BYTES, "%.*s", (int)strcspn(frame, "\n") % 4096,
                 frame);
        return;
    }
    for (size_t i = length; i-- > 0;)
        if (path[i] == '/' || path[i] == '\\') {
            path += i + 1;
            length -= i + 1;
            break;
        }
    snprintf(place, PLACE_BYTES, "%.*s:%.*s",
             (int)(length < PLACE_BYTES / 2 ? length : PLACE_BYTES / 2), path,
             (int)(strspn(number, "0123456789") % 16), number);
}

/* False: nothing is known. */
static bool find_place(const char *stack, char place[PLACE_BYTES])
{
    if (stack == NULL || stack[0] == '\0')
        return false;
    describe_frame(last_frame(stack), place);
    return true;
}

void proto_page_frame(struct proto_page *page, const char *stack)
{
    char place[PLACE_BYTES];

    if (find_place(stack, place))
        proto_html_name(page->text, place);
    else
        proto_page_puts(page, "<span class=\"none\">\xE2\x80\x93</span>");
}

void proto_page_source(struct proto_page *page, remat_node v)
{
    proto_page_frame(page, remat_graph_node(page->job, v)->stack);
}

void proto_page_source_quoted(struct proto_page *page, remat_node v)
{
    char place[PLACE_BYTES] = "";

    find_place(remat_graph_node(page->job, v)->stack, place);
    proto_html_quote(page->text, place);
}

void proto_page_state(struct proto_page *page, remat_node v)
{
    if (page->state[v] == REMAT_PLACE_SAVED)
        proto_page_puts(page, "<span class=\"mark saved\">saved</span>");
    else if (page->state[v] == REMAT_PLACE_RECOMPUTED)
        proto_page_puts(page, "<span class=\"mark again\">recomputed</span>");
    else
        proto_page_puts(page, "<span class=\"none\">\xE2\x80\x93</span>");
}
