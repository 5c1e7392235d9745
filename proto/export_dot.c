/*
 * export_dot.c: a flow network for Graphviz. Vertices are called v1, v2, ...; a
 * node's name stands in labels, shortened and harmless, and whole in the
 * attribute remat_node.
 */
#include "export.h"

#include <inttypes.h>
#include <string.h>

enum {
    LABEL_BYTES = 60,
    MOST_DIMS = 8
};

static const char *const ops[] = {[REMAT_PLACEHOLDER] = "placeholder",
                                  [REMAT_GET_ATTR] = "get_attr",
                                  [REMAT_CALL_FUNCTION] = "call_function",
                                  [REMAT_OUTPUT] = "output"};

/* ---- strings ----------------------------------------------------------- */

/* Bytes of the character at `at`, which is UTF-8 from a document. */
static size_t character_bytes(const char *at)
{
    size_t n = 1;

    while (((unsigned char)at[n] & 0xC0) == 0x80)
        n++;
    return n;
}

static uint32_t code_point(const char *at, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)at;
    uint32_t code = n == 1 ? bytes[0] : bytes[0] & (0xFFu >> (n + 1));

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (bytes[i] & 0x3Fu);
    return code;
}

/* Controls, and what changes the direction of what stands around it. */
static bool is_unfit_for_label(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) ||
           (code >= 0x200E && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* One character inside of a quoted string whose backslashes Graphviz reads. */
static void add_escaped(struct proto_text *text, const char *at, size_t n)
{
    if (at[0] == '"' || at[0] == '\\')
        proto_text_puts(text, "\\");
    if (at[0] == '\n')
        proto_text_puts(text, "\\n");
    else
        proto_text_add(text, at, n);
}

/* A label also takes entities. */
static void add_label(struct proto_text *text, const char *words)
{
    size_t length = 0;
    size_t n;

    for (const char *at = words; at[0] != '\0'; at += n) {
        n = character_bytes(at);
        length += n;
        if (length > LABEL_BYTES) {
            proto_text_puts(text, "...");
            return;
        }
        if (is_unfit_for_label(code_point(at, n)))
            proto_text_puts(text, "?");
        else if (at[0] == '&')
            proto_text_puts(text, "&amp;");
        else
            add_escaped(text, at, n);
    }
}

static void add_attribute(struct proto_text *text, const char *words)
{
    size_t n;

    proto_text_puts(text, "\"");
    for (const char *at = words; at[0] != '\0'; at += n) {
        n = character_bytes(at);
        add_escaped(text, at, n);
    }
    proto_text_puts(text, "\"");
}

/* ---- vertices ---------------------------------------------------------- */

static void add_size(struct proto_text *text,
                     const struct proto_decision *decision, remat_node v)
{
    const struct remat_value *value =
        &remat_graph_node(decision->job, v)->value;
    int64_t n_bytes = remat_node_bytes(decision->job, v);

    if (n_bytes < 0)
        return;
    proto_text_format(text, "\\n%" PRId64 " byte%s", n_bytes,
                      n_bytes == 1 ? "" : "s");
    if (value->kind != REMAT_VALUE_TENSOR)
        return;
    proto_text_puts(text, ", ");
    add_label(text, value->type_name);
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < value->n_dims && i < MOST_DIMS; i++)
        proto_text_format(text, "%s%" PRId64, i == 0 ? "" : ",",
                          value->dims[i]);
    proto_text_puts(text, value->n_dims > MOST_DIMS ? ",...]" : "]");
}

/* op, target, bytes, tag and what became of it. */
static void add_facts(struct proto_text *text,
                      const struct proto_drawing *drawing, remat_node v)
{
    static const char *const states[] = {[PROTO_STATE_NEITHER] = NULL,
                                         [PROTO_STATE_SAVED] = "saved",
                                         [PROTO_STATE_RECOMPUTED] =
                                             "recomputed"};
    const struct proto_decision *decision = drawing->decision;
    const struct remat_node_spec *spec = remat_graph_node(decision->job, v);
    enum remat_policy tag = decision->plan->facts.tag[v];

    proto_text_format(text, "\\n%s ", ops[spec->op]);
    add_label(text, spec->target);
    add_size(text, decision, v);
    if (tag != REMAT_UNTAGGED)
        proto_text_format(text, "\\ntagged %s", remat_policy_text(tag));
    if (states[drawing->state[v]] != NULL)
        proto_text_format(text, "\\n%s", states[drawing->state[v]]);
}

static void add_colours(struct proto_text *text,
                        const struct proto_drawing *drawing, uint32_t vertex)
{
    const bool *sink_side = drawing->network->sink_side;
    remat_node v = drawing->network->node[vertex];

    if (sink_side != NULL && sink_side[vertex])
        proto_text_puts(text, ", fillcolor=\"#dbe9f9\"");
    if (v == REMAT_NONE || drawing->state[v] == PROTO_STATE_NEITHER)
        return;
    proto_text_puts(text, drawing->state[v] == PROTO_STATE_SAVED
                              ? ", penwidth=3"
                              : ", penwidth=2, color=\"#b35900\"");
}

static void add_vertex(struct proto_text *text,
                       const struct proto_drawing *drawing, uint32_t vertex)
{
    const struct remat_network_view *net = drawing->network;
    remat_node v = net->node[vertex];
    const char *name;

    if (v == REMAT_NONE) {
        proto_text_format(
            text,
            "  v%" PRIu32 " [label=\"%s\", remat_node=\"\", shape=ellipse",
            vertex + 1, vertex == net->source ? "source" : "sink");
    } else {
        name = remat_graph_node(drawing->decision->job, v)->name;
        proto_text_format(text, "  v%" PRIu32 " [label=\"", vertex + 1);
        add_label(text, name);
        proto_text_puts(text, net->in[v] == vertex ? " (in)" : " (out)");
        if (net->in[v] == vertex || net->in[v] == REMAT_NO_VERTEX)
            add_facts(text, drawing, v);
        proto_text_puts(text, "\", remat_node=");
        add_attribute(text, name);
    }
    add_colours(text, drawing, vertex);
    proto_text_puts(text, "];\n");
}

/* ---- edges ------------------------------------------------------------- */

static void add_edge(struct proto_text *text,
                     const struct proto_drawing *drawing,
                     const struct remat_edge *edge)
{
    proto_text_format(text, "  v%" PRIu32 " -> v%" PRIu32, edge->from + 1,
                      edge->to + 1);
    if (edge->capacity == REMAT_INFINITE)
        proto_text_puts(text, " [label=\"inf\", color=red, fontcolor=red");
    else
        proto_text_format(text, " [label=\"%" PRId64 "\"", edge->capacity);
    if (proto_drawing_cuts(drawing, edge))
        proto_text_puts(text, ", style=bold, penwidth=4, class=cut");
    proto_text_puts(text, "];\n");
}

/* ---- the file ---------------------------------------------------------- */

static void add_title(struct proto_text *text,
                      const struct proto_drawing *drawing)
{
    const struct proto_decision *decision = drawing->decision;

    proto_text_puts(text, "  graph [labelloc=t, label=\"");
    if (decision->name != NULL && decision->name[0] != '\0') {
        add_label(text, decision->name);
        proto_text_puts(text, ": ");
    }
    if (drawing->network == NULL)
        proto_text_puts(text, "there is no network");
    else
        proto_text_puts(text, drawing->network->sink_side == NULL
                                  ? "network"
                                  : "network and its minimum cut (bold)");
    if (drawing->around != NULL) {
        proto_text_format(text, ", to depth %" PRIu32 " around ",
                          drawing->depth);
        add_label(text, drawing->around);
    }
    proto_text_puts(text, "\"];\n");
}

void proto_export_dot(struct proto_text *text,
                      const struct proto_drawing *drawing)
{
    const struct remat_network_view *net = drawing->network;

    proto_text_format(text, "// %s, outcome %s, digest %s\n", PROTO_ENGINE,
                      proto_outcome_name(drawing->decision->plan->outcome),
                      drawing->decision->digest);
    proto_text_puts(text, "digraph remat {\n  charset=\"UTF-8\";\n");
    add_title(text, drawing);
    proto_text_puts(text, "  node [shape=box, fontname=monospace, "
                          "style=filled, fillcolor=white];\n"
                          "  edge [color=black, style=solid];\n");
    for (uint32_t i = 0; net != NULL && i < net->n_vertices; i++)
        if (proto_drawing_shows(drawing, i))
            add_vertex(text, drawing, i);
    for (uint32_t e = 0; net != NULL && e < net->n_edges; e++)
        if (proto_drawing_shows(drawing, net->edges[e].from) &&
            proto_drawing_shows(drawing, net->edges[e].to))
            add_edge(text, drawing, &net->edges[e]);
    proto_text_puts(text, "}\n");
}
