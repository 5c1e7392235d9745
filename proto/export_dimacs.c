/*
 * export_dimacs.c: a flow network in the format of the first DIMACS challenge,
 * as solvers of maximum flow read it: vertices from 1, whole capacities.
 *
 * Lines stay below 80 bytes, because old readers have a buffer of 100. An
 * infinite capacity is written as a finite one that exceeds every cut without
 * infinite edges; comments say which, and which vertex is which node.
 */
#include "export.h"

#include <inttypes.h>
#include <string.h>

enum {
    COMMENT_BYTES = 72
};
/* Every finite minimum cut is below (core refuses what is not). */
static const int64_t most_capacity = (int64_t)1 << 62;

struct dimacs {
    struct proto_text *text;
    const struct proto_drawing *drawing;
    uint32_t *number; /* by vertex, from 1; 0: not shown */
    uint32_t n_vertices;
    uint32_t n_edges;
    uint32_t source; /* numbers */
    uint32_t sink;
    int64_t infinite;
};

/* ---- comments ---------------------------------------------------------- */

/* Bytes of `words` from `at` on that fit on a line, not ending inside of a
 * character. */
static size_t line_length(const char *words, size_t at, size_t length)
{
    size_t n = length - at < COMMENT_BYTES ? length - at : COMMENT_BYTES;

    while (n > 1 && at + n < length &&
           ((unsigned char)words[at + n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* `words`, in a JSON string, which may go on over several lines "c + ". */
static void add_name(struct dimacs *d, const char *words)
{
    struct proto_text quoted;

    proto_text_init(&quoted, d->text->budget);
    proto_text_quote_words(&quoted, words);
    d->text->failed = d->text->failed || quoted.failed;
    for (size_t at = 0; at < quoted.length;) {
        size_t n = line_length(quoted.bytes, at, quoted.length);

        proto_text_puts(d->text, "c + ");
        proto_text_add(d->text, quoted.bytes + at, n);
        proto_text_puts(d->text, "\n");
        at += n;
    }
    proto_text_release(&quoted);
}

static void add_head(struct dimacs *d)
{
    const struct proto_decision *decision = d->drawing->decision;
    struct proto_text *text = d->text;

    proto_text_puts(text, "c The flow network of the last cut of a joint "
                          "graph, by " PROTO_ENGINE ".\nc digest\nc + ");
    proto_text_puts(text, decision->digest);
    proto_text_format(text,
                      "\nc outcome %s\nc A node is two vertices, in and out; "
                      "the arc between them costs\nc what saving it costs. "
                      "\"c + \" goes on with the line before it.\n",
                      proto_outcome_name(decision->plan->outcome));
    proto_text_format(text, "c infinite %" PRId64 "\n", d->infinite);
    if (d->drawing->around != NULL) {
        proto_text_format(text, "c depth %" PRIu32 " around\n",
                          d->drawing->depth);
        add_name(d, d->drawing->around);
    } else if (decision->plan->network != NULL &&
               decision->plan->network->sink_side != NULL) {
        proto_text_format(
            text, "c cut %" PRId64 "\n",
            decision->plan->cuts[decision->plan->n_cuts - 1].value);
    }
}

static void add_vertex(struct dimacs *d, uint32_t vertex)
{
    const struct remat_network_view *net = d->drawing->network;
    remat_node v = net->node[vertex];

    if (v == REMAT_NONE || d->number[vertex] == 0)
        return;
    proto_text_format(d->text, "c vertex %" PRIu32 " %s\n", d->number[vertex],
                      net->in[v] == vertex ? "in" : "out");
    add_name(d, remat_graph_node(d->drawing->decision->job, v)->name);
}

/* ---- the network ------------------------------------------------------- */

static bool is_shown(const struct dimacs *d, const struct remat_edge *edge)
{
    return d->number[edge->from] != 0 && d->number[edge->to] != 0;
}

/* Numbers what is shown, source and sink always. */
static bool number(struct dimacs *d)
{
    const struct remat_network_view *net = d->drawing->network;
    int64_t sum = 0;

    d->number = remat_job_alloc(d->drawing->decision->job, net->n_vertices,
                                sizeof(*d->number));
    if (d->number == NULL)
        return false;
    for (uint32_t i = 0; i < net->n_vertices; i++)
        if (proto_drawing_shows(d->drawing, i))
            d->number[i] = ++d->n_vertices;
    d->source = net->source == REMAT_NO_VERTEX ? ++d->n_vertices
                                               : d->number[net->source];
    d->sink =
        net->sink == REMAT_NO_VERTEX ? ++d->n_vertices : d->number[net->sink];
    for (uint32_t e = 0; e < net->n_edges; e++) {
        if (!is_shown(d, &net->edges[e]))
            continue;
        d->n_edges++;
        if (net->edges[e].capacity != REMAT_INFINITE && sum < most_capacity)
            sum += net->edges[e].capacity; /* a weight is at most 2^62 */
    }
    d->infinite = sum < most_capacity ? sum + 1 : most_capacity;
    return true;
}

static void add_arcs(struct dimacs *d)
{
    const struct remat_network_view *net = d->drawing->network;

    for (uint32_t e = 0; e < net->n_edges; e++) {
        const struct remat_edge *edge = &net->edges[e];

        if (!is_shown(d, edge))
            continue;
        proto_text_format(d->text, "a %" PRIu32 " %" PRIu32 " %" PRId64 "\n",
                          d->number[edge->from], d->number[edge->to],
                          edge->capacity < d->infinite ? edge->capacity
                                                       : d->infinite);
    }
}

void proto_export_dimacs(struct proto_text *text,
                         const struct proto_drawing *drawing)
{
    struct dimacs d = {.text = text, .drawing = drawing, .infinite = 1};

    if (drawing->network == NULL) {
        d.n_vertices = 2;
        d.source = 1;
        d.sink = 2;
    } else if (!number(&d)) {
        text->failed = true;
        return;
    }
    add_head(&d);
    if (drawing->network != NULL)
        for (uint32_t i = 0; i < drawing->network->n_vertices; i++)
            add_vertex(&d, i);
    proto_text_format(text,
                      "p max %" PRIu32 " %" PRIu32 "\nn %" PRIu32
                      " s\nn %" PRIu32 " t\n",
                      d.n_vertices, d.n_edges, d.source, d.sink);
    if (drawing->network != NULL)
        add_arcs(&d);
}
