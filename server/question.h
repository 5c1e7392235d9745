/*
 * question.h: what a call asks about a job, besides which: the names and values
 * of its query as meanings.
 */
#ifndef SRV_QUESTION_H
#define SRV_QUESTION_H

#include "key.h"
#include "proto.h"
#include "route.h"

#define SRV_QUESTION_WORD_SIZE 24

/* "" for what the query does not say. */
struct srv_question {
    char *node;                      /* its name, or NULL; malloc'ed */
    char as[SRV_QUESTION_WORD_SIZE]; /* of an export: as proto_export_params */
    char depth[SRV_QUESTION_WORD_SIZE];
    enum proto_report_style style;
    bool is_about_frontier; /* the job is one: known with its document */
};

/* Reads the query of a call that derives (route.h). False: `problem` says what
 * is wrong with which value, and there is nothing to release. O(query). */
bool srv_question_read(enum srv_call call, const char *query,
                       struct srv_question *question,
                       struct proto_problem *problem);

void srv_question_release(struct srv_question *question);

/* Whose question it is, about which job. */
struct srv_question_of {
    const char *owner;
    enum srv_call call;
    enum proto_format format;
    const char *job_id;
};
/* Equal for equal questions, however they were written. False without memory.
 */
bool srv_question_key(const struct srv_question_of *of,
                      const struct srv_question *question, struct srv_key *key);

#endif
