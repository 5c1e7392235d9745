/*
 * what_if.h: a what-if on its way, for the calls that answer one: its document,
 * and the report of its job. Private to proto.
 */
#ifndef PROTO_WHAT_IF_H
#define PROTO_WHAT_IF_H

#include "run.h"

struct proto_what_if {
    struct proto_problem *problem;
    const struct proto_budget *budget;
    bool is_parsed; /* pointers no longer lead into the body as it was sent */
    json_t *tags;   /* or NULL; while the tree is there */
    json_t *options;
    struct proto_options changed;
    struct proto_passes added; /* none or one */
    char digest_before[65];
};

/* Hooks of a run of the kind PROTO_CALL_WHAT_IF, whose context is the what-if.
 * Its problem and budget, the run's, are set before. */
bool proto_what_if_parsed(void *context, json_t *body,
                          struct proto_problem *problem);
bool proto_what_if_decoded(void *context, struct proto_run *run,
                           const struct proto_parts *parts);
/* After passes: solves the request as it was and as it is changed. False: a
 * problem is set. */
bool proto_what_if_solve(struct proto_what_if *w, struct proto_run *run,
                         const struct remat_plan **before,
                         const struct remat_plan **after);
/* What differs between the two, which both are plans. */
bool proto_what_if_compare(struct proto_run *run,
                           const struct remat_plan *before,
                           const struct remat_plan *after,
                           struct remat_diff *diff);
/* Before the end: makes the problem's pointer lead into the body as it was
 * sent. */
void proto_what_if_point(const struct proto_what_if *w,
                         struct proto_answer *answer);

#endif
