/*
 * encode.h: a decision as documents: JSON for programs, text for people.
 */
#ifndef PROTO_ENCODE_H
#define PROTO_ENCODE_H

#include "decode.h"
#include "text.h"

/* Everything a document is made of; all of it lives in the job. */
struct proto_decision {
    struct remat_job *job; /* the report takes scratch from its arena */
    const struct remat_plan *plan;
    const struct proto_notes *notes;
    const char *name; /* of the graph, or NULL; text only */
    const char *digest;
    enum proto_explain explain;
    const struct proto_passes *passes; /* applied; NULL: none */
};

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
/* `,"key":` */
void proto_encode_key(struct proto_text *text, const char *key);
/* ["name",...] */
void proto_encode_names(struct proto_text *text, const struct remat_job *job,
                        struct remat_nodes nodes);
void proto_encode_name(struct proto_text *text, const struct remat_job *job,
                       remat_node node);

/* ---- encode_passes.c: what each pass changed, and tags on their own ---- */
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
/* "1.2 GiB" */
void proto_report_size(struct proto_text *text, int64_t n_bytes);

/* ---- report_conflict.c: why there is no plan, and what may be changed ---- */
void proto_report_conflict(struct proto_text *text,
                           const struct proto_decision *decision);

#endif
