/*
 * run.h: one request on its way. Private to proto.
 */
#ifndef PROTO_RUN_H
#define PROTO_RUN_H

#include "decode.h"
#include "digest.h"
#include "encode.h"
#include "hooks.h"
#include "mincut_info.h"
#include "template.h"
#include "watch.h"

struct proto_run {
    const struct proto_env *env;
    const struct proto_request *request;
    struct proto_answer *answer;
    const struct proto_hooks *hooks; /* or NULL */
    enum proto_call kind;
    struct proto_watch watch;
    struct proto_budget budget;
    struct remat_job *job;
    struct proto_options options;
    struct proto_passes passes;
    struct proto_notes notes;
    struct proto_names names;
    const char *name;  /* of the graph */
    bool is_enveloped; /* the graph is a member of the body */
    unsigned n_levels; /* of what-ifs that were opened: envelope.h */
    /* Whether the body may be PyTorch's min_cut_information; if it is, decode
     * sets trace, and there is no graph: no passes, nothing to solve. */
    bool takes_trace;
    const struct proto_mincut_info *trace; /* in the job */
};

/* Whether the answer is made through a template. */
static inline bool proto_run_has_template(const struct proto_run *run)
{
    return run->request->format == PROTO_JSON && run->kind != PROTO_CALL_TAGS &&
           run->kind != PROTO_CALL_DIFF;
}

/* Whether requests with the same structure may have it. */
static inline bool proto_run_shares_template(const struct proto_run *run)
{
    return proto_run_has_template(run) && run->kind != PROTO_CALL_NODE &&
           run->kind != PROTO_CALL_WHAT_IF;
}

/* Whether what is asked is the request's digest and structure alone: of the
 * others a hook finds the structure. */
static inline bool proto_run_is_named(const struct proto_run *run)
{
    return run->kind == PROTO_CALL_PLAN || run->kind == PROTO_CALL_FRONTIER;
}

/* ---- plan.c: the steps of a request, in this order. Each is false when the
 * answer is settled: a problem, or (decode) what look_up knew. End is called in
 * any case, and frees the job. ---- */
void proto_run_begin(struct proto_run *run);
bool proto_run_decode(struct proto_run *run);
bool proto_run_passes(struct proto_run *run);
bool proto_run_solve(struct proto_run *run, const struct remat_plan **plan);
void proto_run_end(struct proto_run *run);
/* Sets the problem that a refusal of core is for who asked; always false. */
bool proto_run_fail(struct proto_run *run, enum remat_status status,
                    const struct remat_error *error);

/* ---- run_answer.c: the answer's body, outcome and template; false and a
 * problem when there is no memory ---- */
bool proto_run_encode_plan(struct proto_run *run,
                           const struct remat_plan *plan);
bool proto_run_encode_frontier(struct proto_run *run,
                               const struct remat_frontier *frontier);
bool proto_run_encode_tags(struct proto_run *run);
/* What encode.h takes. */
struct proto_decision proto_run_decision(struct proto_run *run,
                                         const struct remat_plan *plan);
/* Any other document: what is written between the two is its text. */
void proto_run_open(struct proto_run *run, struct proto_text *text,
                    enum remat_outcome outcome);
bool proto_run_close(struct proto_run *run, struct proto_text *text,
                     enum remat_outcome outcome);
/* The text is the body. */
bool proto_run_take(struct proto_run *run, struct proto_text *text,
                    enum remat_outcome outcome);
/* Fills a template with this request's names: the answer, or a problem when
 * there is no memory, or neither when the bytes are not its template. */
enum proto_filled proto_run_fill(struct proto_run *run, const char *bytes,
                                 size_t length);

#endif
