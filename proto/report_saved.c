/*
 * report_saved.c: what is saved, largest first, and which operators run twice.
 */
#include "encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDEST_NAME = 40,
    WIDEST_TYPE = 30,
    SIZE_COLUMN = 12
};

void proto_report_size(struct proto_text *text, int64_t n_bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB",
                                        "GiB",   "TiB", "PiB"};
    double amount = (double)n_bytes;
    size_t unit = 0;

    while (amount >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
        amount /= 1024;
        unit++;
    }
    if (unit == 0)
        proto_text_format(text, "%" PRId64 " %s", n_bytes, units[0]);
    else
        proto_text_format(text, "%.1f %s", amount, units[unit]);
}

/* ---- one value --------------------------------------------------------- */

/* "bfloat16[2,2048,4096]", cut off with dots where it does not fit. */
void proto_report_type(const struct remat_value *value,
                       char text[PROTO_TYPE_BYTES])
{
    size_t length;

    switch (value->kind) {
    case REMAT_VALUE_TENSOR:
        break;
    case REMAT_VALUE_SYM_INT:
    case REMAT_VALUE_SYM_FLOAT:
    case REMAT_VALUE_SYM_BOOL:
        snprintf(text, PROTO_TYPE_BYTES, "scalar symbol");
        return;
    case REMAT_VALUE_TUPLE:
    case REMAT_VALUE_DICT:
        snprintf(text, PROTO_TYPE_BYTES, "%" PRIu32 " values",
                 value->n_members);
        return;
    case REMAT_VALUE_OPAQUE:
    case REMAT_VALUE_CONST:
    case REMAT_VALUE_NULL:
    case REMAT_VALUE_ABSENT:
        snprintf(text, PROTO_TYPE_BYTES, "object");
        return;
    }
    snprintf(text, PROTO_TYPE_BYTES, "%s[", value->type_name);
    for (uint32_t i = 0; i < value->n_dims; i++) {
        length = strlen(text);
        if (length + 24 > PROTO_TYPE_BYTES) {
            snprintf(text + length, PROTO_TYPE_BYTES - length, "...");
            break;
        }
        snprintf(text + length, PROTO_TYPE_BYTES - length, "%s%" PRId64,
                 i == 0 ? "" : ",", value->dims[i]);
    }
    length = strlen(text);
    snprintf(text + length, PROTO_TYPE_BYTES - length, "]");
}

/* The words of why.c, for a terminal. */
void proto_report_why(struct proto_text *text,
                      const struct proto_decision *decision,
                      const uint8_t *reasons, remat_node v)
{
    struct proto_text words;

    proto_text_init(&words, text->budget);
    proto_add_why_saved(&words, decision, reasons, v);
    proto_text_show_gathered(text, &words);
}

/* ---- the table --------------------------------------------------------- */

int proto_compare_saved(const void *a, const void *b)
{
    const struct proto_saved_row *x = a;
    const struct proto_saved_row *y = b;

    if (x->n_bytes != y->n_bytes)
        return x->n_bytes > y->n_bytes ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

/* Spaces up to that length of the text. */
static void pad(struct proto_text *text, size_t length)
{
    while (!text->failed && text->length < length)
        proto_text_puts(text, " ");
}

static void add_row(struct proto_text *text,
                    const struct proto_decision *decision,
                    const uint8_t *reasons, const struct proto_saved_row *row,
                    size_t name_width)
{
    const struct remat_node_spec *spec =
        remat_graph_node(decision->job, row->node);
    char type[PROTO_TYPE_BYTES];
    size_t start;

    proto_report_type(&spec->value, type);
    proto_text_format(text, "%16" PRId64 "  ", row->n_bytes);
    start = text->length;
    proto_report_size(text, row->n_bytes);
    pad(text, start + SIZE_COLUMN);
    start = text->length;
    proto_text_show(text, spec->name);
    pad(text, start + name_width);
    proto_text_format(text, "  %-*s  ", WIDEST_TYPE, type);
    proto_report_why(text, decision, reasons, row->node);
    proto_text_puts(text, "\n");
}

static size_t widest_name(const struct proto_decision *decision)
{
    struct remat_nodes saved = decision->plan->saved;
    size_t widest = strlen("saved value");

    for (uint32_t i = 0; i < saved.n; i++) {
        size_t n = strlen(remat_graph_node(decision->job, saved.at[i])->name);

        if (n > widest && n <= WIDEST_NAME)
            widest = n;
    }
    return widest;
}

static void add_names(struct proto_text *text,
                      const struct proto_decision *decision, const char *what,
                      struct remat_nodes nodes)
{
    if (nodes.n == 0)
        return;
    proto_text_format(text, "\n%s (%" PRIu32 "):", what, nodes.n);
    for (uint32_t i = 0; i < nodes.n; i++) {
        proto_text_puts(text, i == 0 ? " " : ", ");
        proto_text_show(text,
                        remat_graph_node(decision->job, nodes.at[i])->name);
    }
    proto_text_puts(text, "\n");
}

void proto_report_saved(struct proto_text *text,
                        const struct proto_decision *decision)
{
    struct remat_nodes saved = decision->plan->saved;
    const uint8_t *reasons = proto_bans_by_node(decision->job, decision->plan);
    struct proto_saved_row *rows =
        remat_job_alloc(decision->job, saved.n, sizeof(*rows));
    size_t name_width = widest_name(decision);

    if (rows == NULL || reasons == NULL) {
        text->failed = true;
        return;
    }
    for (uint32_t i = 0; i < saved.n; i++)
        rows[i] = (struct proto_saved_row){
            remat_node_bytes(decision->job, saved.at[i]), i, saved.at[i]};
    qsort(rows, saved.n, sizeof(*rows), proto_compare_saved);
    if (saved.n > 0)
        proto_text_format(text, "\n%16s  %-*s%-*s  %-*s  %s\n", "bytes",
                          SIZE_COLUMN, "", (int)name_width, "saved value",
                          WIDEST_TYPE, "type", "why it is saved");
    for (uint32_t i = 0; i < saved.n; i++)
        add_row(text, decision, reasons, &rows[i], name_width);
    add_names(text, decision, "Saved symbols", decision->plan->saved_sym);
    add_names(text, decision, "Saved objects", decision->plan->saved_opaque);
}

/* ---- recomputed operators ---------------------------------------------- */

struct tally {
    const char *target;
    uint32_t n;
};

static int compare_targets(const void *a, const void *b)
{
    return strcmp(((const struct tally *)a)->target,
                  ((const struct tally *)b)->target);
}

static int compare_tallies(const void *a, const void *b)
{
    const struct tally *x = a;
    const struct tally *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return strcmp(x->target, y->target);
}

/* Merges neighbours of the same target; returns how many are left. */
static uint32_t merge(struct tally *tallies, uint32_t n)
{
    uint32_t n_merged = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (n_merged > 0 &&
            compare_targets(&tallies[n_merged - 1], &tallies[i]) == 0)
            tallies[n_merged - 1].n++;
        else
            tallies[n_merged++] = tallies[i];
    }
    return n_merged;
}

void proto_report_operators(struct proto_text *text,
                            const struct proto_decision *decision)
{
    struct remat_nodes recomputed = decision->plan->recomputed;
    struct tally *tallies =
        remat_job_alloc(decision->job, recomputed.n, sizeof(*tallies));
    uint32_t n;

    if (tallies == NULL) {
        text->failed = true;
        return;
    }
    if (recomputed.n == 0)
        return;
    for (uint32_t i = 0; i < recomputed.n; i++)
        tallies[i] = (struct tally){
            remat_graph_node(decision->job, recomputed.at[i])->target, 1};
    qsort(tallies, recomputed.n, sizeof(*tallies), compare_targets);
    n = merge(tallies, recomputed.n);
    qsort(tallies, n, sizeof(*tallies), compare_tallies);
    proto_text_puts(text, "\n   times  operator computed again\n");
    for (uint32_t i = 0; i < n; i++) {
        proto_text_format(text, "%8" PRIu32 "  ", tallies[i].n);
        proto_text_show(text, tallies[i].target);
        proto_text_puts(text, "\n");
    }
}
