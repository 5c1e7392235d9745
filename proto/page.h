/*
 * page.h: the report as HTML. Private to proto.
 *
 * Every section is there without JavaScript; report.js adds sorting, filters,
 * an interactive chart and neighbourhoods to what it finds. Whatever can be
 * long is written largest first up to a bound, and what is left out is counted.
 */
#ifndef PROTO_PAGE_H
#define PROTO_PAGE_H

#include "encode.h"
#include "html.h"
#include "proto.h"

enum {
    PROTO_ASSET_HASH_BYTES = 64,
    PROTO_PAGE_MOST_ROWS = 500,
    /* The frontier of a Llama takes a third of a second at 6,000 nodes, three
     * seconds at 30,000: one is for every report, one for who asked for it. */
    PROTO_PAGE_FRONTIER_NODES = 6000,
    PROTO_PAGE_MOST_FRONTIER_NODES = 32000
};

/* ---- page_assets.c ---- */
/* Once, from proto_start. */
void proto_assets_start(void);
/* SHA-256 of asset i in base64. */
const char *proto_asset_hash(size_t i);

/* Where a page draws a node. What neither half claims is of the half that runs
 * it: saved or computed again, it is the forward's. */
enum proto_side {
    PROTO_SIDE_NONE, /* dead, or the output */
    PROTO_SIDE_FORWARD,
    PROTO_SIDE_BACKWARD
};

struct proto_mincut_info;

/* What sections are made of. Arrays are indexed by node and in the arena. */
struct proto_page {
    struct proto_text *text;
    struct remat_job *job;
    const struct proto_decision *decision;
    const struct remat_plan *plan;          /* NULL: there is a trace */
    const struct proto_mincut_info *trace;  /* or NULL */
    const struct remat_plan *before;        /* of a what-if; or NULL */
    const struct remat_pass_report *change; /* of its tags; or NULL */
    const struct remat_diff *diff; /* NULL: one of the two has no plan */
    const struct remat_options *options;
    const struct remat_frontier *frontier; /* NULL: was not asked for */
    enum proto_report_style style;
    uint32_t n;            /* nodes */
    const uint8_t *state;  /* enum remat_place */
    const uint8_t *side;   /* enum proto_side */
    const uint8_t *reason; /* enum remat_ban_reason of the last cut */
};

/* ---- page_facts.c ---- */
/* False: no memory. */
bool proto_page_prepare(struct proto_page *page);
/* Nodes of the backward that read it. O(users). */
uint32_t proto_page_consumers(const struct proto_page *page, remat_node v);
/* The same and the recomputed operators, which run there too. O(users). */
uint32_t proto_page_readers(const struct proto_page *page, remat_node v);
/* Bytes of the storages that nodes with the mark are in, each once and without
 * static inputs; -1: no memory. O(nodes). */
int64_t proto_page_storage_bytes(const struct proto_page *page,
                                 const bool *marked);

/* ---- page.c: the frame ---- */
/* The report of page->plan, or when there is one of the trace. */
void proto_page_write(struct proto_page *page);

/* ---- page_parts.c: what sections have in common ---- */
void proto_page_puts(struct proto_page *page, const char *html);
/* <section id> with a heading; `words` below it, as HTML, or NULL. */
void proto_page_open(struct proto_page *page, const char *id,
                     const char *heading, const char *words);
void proto_page_close(struct proto_page *page);
/* The name as a button that opens the node. */
void proto_page_node(struct proto_page *page, remat_node v);
/* A message, whose names between backticks are code; the first that is v's is
 * its button. False: none was, or v is REMAT_NONE. */
bool proto_page_message(struct proto_page *page, const char *message,
                        remat_node v);
/* "1.23 GiB", with the exact count to point at. */
void proto_page_size(struct proto_page *page, int64_t n_bytes);
void proto_page_flops(struct proto_page *page, int64_t flops);
/* "3 values": plural by appending "s". */
void proto_page_plural(struct proto_page *page, int64_t n, const char *word);
/* Table cells of amounts, with what to sort by. */
void proto_page_size_cell(struct proto_page *page, int64_t n_bytes);
void proto_page_flops_cell(struct proto_page *page, int64_t flops);
void proto_page_count_cell(struct proto_page *page, int64_t count);
/* Part of whole as a percentage and a bar. */
void proto_page_share_cell(struct proto_page *page, int64_t part,
                           int64_t whole);
/* A cell with the operator; an input's target says nothing. */
void proto_page_operator_cell(struct proto_page *page, remat_node v);
/* "float32[8,64]". */
void proto_page_type(struct proto_page *page, const struct remat_value *value);
/* Begins the row of a value: name, operator, type and bytes. */
void proto_page_begin_value(struct proto_page *page, remat_node v,
                            int64_t n_bytes);
/* The module without a leading "L['self']."; "" when it is in none. */
const char *proto_page_module_name(const struct proto_page *page, remat_node v);
/* Module and the last line of the stack, or a dash; as text of an element. */
void proto_page_module(struct proto_page *page, remat_node v);
void proto_page_source(struct proto_page *page, remat_node v);
/* The last line of any stack (NULL: none). */
void proto_page_frame(struct proto_page *page, const char *stack);
/* The line as a JSON string, "" when there is none. */
void proto_page_source_quoted(struct proto_page *page, remat_node v);
/* "saved" or "recomputed" as a mark, or a dash. */
void proto_page_state(struct proto_page *page, remat_node v);

/* ---- a section each ---- */
void proto_page_head(struct proto_page *page);       /* page_head.c */
void proto_page_summary(struct proto_page *page);    /* page_summary.c */
void proto_page_conflicts(struct proto_page *page);  /* page_conflict.c */
void proto_page_remarks(struct proto_page *page);    /* page_conflict.c */
void proto_page_saved(struct proto_page *page);      /* page_saved.c */
void proto_page_memory(struct proto_page *page);     /* page_memory.c */
void proto_page_recomputed(struct proto_page *page); /* page_recomputed.c */
void proto_page_cut(struct proto_page *page);        /* page_cut.c */
void proto_page_frontier(struct proto_page *page);   /* page_frontier.c */
void proto_page_diff(struct proto_page *page);       /* page_diff.c */
void proto_page_graph(struct proto_page *page);      /* page_graph.c */

/* ---- page_trace.c: the sections of another document ---- */
void proto_page_trace(struct proto_page *page,
                      const struct proto_mincut_info *info);

#endif
