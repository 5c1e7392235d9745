/*
 * encode.h: a decision as documents: JSON for programs, text for people.
 */
#ifndef PROTO_ENCODE_H
#define PROTO_ENCODE_H

#include "decision.h"
#include "members.h"

const char *proto_outcome_name(enum remat_outcome outcome);

/* ---- encode.c: the document remat/plan/v1 ---- */
void proto_encode_plan(struct proto_text *text,
                       const struct proto_decision *decision);

/* The members that every document ends with: `,"diagnostics":[...]`, and
 * `,"passes":[...],"engine":...,"digest":...}`. */
void proto_encode_diagnostics(struct proto_text *text,
                              const struct proto_decision *decision);
void proto_encode_tail(struct proto_text *text,
                       const struct proto_decision *decision);

/* ---- encode_frontier.c: the document remat/frontier/v1, and as a table ----
 * decision->plan holds outcome and diagnostics of the frontier alone. */
void proto_encode_frontier(struct proto_text *text,
                           const struct proto_decision *decision,
                           const struct remat_frontier *frontier);
void proto_report_frontier(struct proto_text *text,
                           const struct proto_decision *decision,
                           const struct remat_frontier *frontier);

/* ---- encode_explain.c: what explain "full" adds ---- */
void proto_encode_full(struct proto_text *text,
                       const struct proto_decision *decision);

/* ---- encode_passes.c: what each pass changed, and tags on their own ---- */
/* "must_save", or null for no tag. */
void proto_encode_policy(struct proto_text *text, enum remat_policy policy);
/* `,"passes":[...]` */
void proto_encode_passes(struct proto_text *text,
                         const struct proto_decision *decision);
/* {"tags":{node:[policy,region or null]}}, tagged nodes only. */
void proto_encode_tags(struct proto_text *text, const struct remat_job *job);
/* A line for each pass; a line for each of their diagnostics, with `before` in
 * front of it. */
void proto_report_passes(struct proto_text *text,
                         const struct proto_passes *passes);
void proto_report_pass_remarks(struct proto_text *text,
                               const struct proto_passes *passes,
                               const char *before);

/* ---- encode_remedy.c: what to change in a graph without a plan ---- */
/* `,"remedy":...`, and `,"facts":[...]` where no tag helps; nothing where there
 * was no search. */
void proto_encode_remedy(struct proto_text *text,
                         const struct proto_decision *decision);
/* The first error of a plan, or NULL. */
const struct remat_diagnostic *
proto_first_conflict(const struct remat_plan *plan);
/* {"node":tag,...}: what a pass `set_tags` takes. */
void proto_encode_remedy_tags(struct proto_text *text,
                              const struct remat_job *job,
                              const struct remat_remedy *remedy);

/* ---- notes.c: diagnostics of the decoder ---- */
enum {
    PROTO_MOST_NOTES = 3,
    PROTO_NOTE_BYTES = 1024
};
struct proto_note {
    const char *code;
    remat_node node;
    char message[PROTO_NOTE_BYTES];
};
/* The next note from *at on (start at 0); false behind the last. */
bool proto_note_next(const struct proto_decision *decision, unsigned *at,
                     struct proto_note *note);

/* ---- report.c: the text report ---- */
void proto_encode_report(struct proto_text *text,
                         const struct proto_decision *decision);

/* ---- report_saved.c: its tables of saved values and of operators ---- */
void proto_report_saved(struct proto_text *text,
                        const struct proto_decision *decision);
void proto_report_operators(struct proto_text *text,
                            const struct proto_decision *decision);
/* A saved value in a table, and the order of its rows for qsort: largest first,
 * ties as PyTorch has them. */
struct proto_saved_row {
    int64_t n_bytes;
    uint32_t position; /* in PyTorch's order */
    remat_node node;
};
int proto_compare_saved(const void *a, const void *b);
/* Why a saved value is, by the bans of the last cut (enum remat_ban_reason by
 * node). */
void proto_report_why(struct proto_text *text,
                      const struct proto_decision *decision,
                      const uint8_t *reasons, remat_node v);
/* "bfloat16[2,2048,4096]", cut off with dots where it does not fit. */
enum {
    PROTO_TYPE_BYTES = 96
};
void proto_report_type(const struct remat_value *value,
                       char text[PROTO_TYPE_BYTES]);
/* "1.2 GiB" */
void proto_report_size(struct proto_text *text, int64_t n_bytes);

/* ---- encode_diff.c: what two plans decide differently ---- */
struct proto_move {
    const char *name; /* as the answer has it: a mark, or the node's own */
    enum remat_place before;
    enum remat_place after;
    int64_t n_bytes; /* -1: not known */
    int64_t flops;
    const char *why;
};
struct proto_difference {
    struct proto_move *moves;
    uint32_t n_moves;
    int64_t saved_bytes;
    int64_t recomputed_flops;
    int64_t peak_bytes;
};
/* Core's difference, with room for n more moves, in the job; false without
 * memory. */
bool proto_difference_of(struct remat_job *job, const struct remat_diff *diff,
                         uint32_t n_more, struct proto_difference *difference);
/* {"saved_added":[...],...,"moves":[...]} */
void proto_encode_difference(struct proto_text *text,
                             const struct proto_difference *difference);
/* The same for people: a line of totals, and one for each move. */
void proto_report_difference(struct proto_text *text,
                             const struct proto_difference *difference);

/* ---- why.c: why a value is where it is ---- */
/* Bans of the last cut by node, in the job; NULL without memory. */
const uint8_t *proto_bans_by_node(struct remat_job *job,
                                  const struct remat_plan *plan);
/* Of a saved value, in words, unescaped. */
void proto_add_why_saved(struct proto_text *text,
                         const struct proto_decision *decision,
                         const uint8_t *bans, remat_node v);
/* Where a plan has each node. */
struct proto_states {
    const uint8_t *bans;   /* of proto_bans_by_node */
    const uint8_t *places; /* of remat_plan_places */
    const bool *backward;  /* of remat_plan_backward; NULL without a plan */
};
/* In the job; false without memory. O(nodes + edges). */
bool proto_states_find(struct remat_job *job, const struct remat_plan *plan,
                       struct proto_states *states);
/* Of any node. */
void proto_add_why(struct proto_text *text,
                   const struct proto_decision *decision,
                   const struct proto_states *states, remat_node v);
/* Whether `user`, which reads v, does so in the backward; of the output node:
 * whether the backward returns v. O(outputs). */
bool proto_reads_in_backward(const struct proto_decision *decision,
                             const struct proto_states *states, remat_node v,
                             remat_node user);

/* ---- report_remedy.c: what to change; nothing where nobody looked ---- */
void proto_report_remedy(struct proto_text *text,
                         const struct proto_decision *decision);

/* ---- report_conflict.c: why there is no plan, and what may be changed ---- */
void proto_report_conflict(struct proto_text *text,
                           const struct proto_decision *decision);

#endif
