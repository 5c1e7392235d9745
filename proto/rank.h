/*
 * rank.h: what is kept of a rank's request. Private to proto.
 *
 * Places are those of the canonical form (struct remat_structure), so what one
 * document says of a place holds for the same place of another of the same
 * structure. Of the graph itself nothing is kept but its text.
 */
#ifndef PROTO_RANK_H
#define PROTO_RANK_H

#include "hooks.h"

#include "budget.h"

enum {
    PROTO_RANK_NAME_BYTES = 80
};

struct proto_rank_document {
    struct proto_budget budget; /* counts what is below */
    char name[PROTO_RANK_NAME_BYTES];
    char digest[65];
    char *body; /* the request as it came */
    size_t body_length;
    char *passes; /* canonical JSON, without the tags of set_tags */
    size_t passes_bytes;
    char *tags; /* these, by place */
    size_t tags_bytes;
    bool with_modules; /* a pass reads modules */
    struct proto_options options;
    uint64_t print[2];
    uint32_t n_nodes;

    /* this document's own decision */
    enum proto_result result;
    const char *outcome;
    char *answer; /* as proto_plan gives it */
    size_t answer_length;
    struct remat_limit_report limit;
    uint32_t *handed_over; /* places, ascending */
    uint32_t n_handed_over;
    int64_t saved_bytes;
    int64_t *bytes; /* by place: what saving it adds to saved_bytes */
};

/* Takes "rank" and "world_size" out of a body. */
bool proto_rank_take_members(json_t *body, struct proto_problem *problem,
                             struct proto_rank *rank);

/* rank_differ.c: whether two documents ask for the same; else *why says in what
 * they differ without looking into the graphs, or "" for the graphs. */
enum {
    PROTO_RANK_WHY_BYTES = 256
};
bool proto_rank_agrees(const struct proto_rank_document *a,
                       const struct proto_rank_document *b,
                       char why[PROTO_RANK_WHY_BYTES]);
/* Sets ranks-disagree: who holds which document, and the first difference
 * between the first two kinds. Members in the order of ranks. */
void proto_rank_tell_difference(const struct proto_env *env,
                                const struct proto_rank *members, uint32_t n,
                                struct proto_problem *problem);

#endif
