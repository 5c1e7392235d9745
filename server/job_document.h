/*
 * job_document.h: a job as clients see it, living or from the store.
 */
#ifndef SRV_JOB_DOCUMENT_H
#define SRV_JOB_DOCUMENT_H

#include "answer.h"
#include "desk.h"
#include "store.h"
#include "text.h"

/* application/json, one reference; NULL without memory. */
struct srv_answer *srv_job_document(struct srv_desk *desk,
                                    const struct srv_job *job);
struct srv_answer *srv_job_document_of(const struct srv_job_record *record);
/* {"jobs": [...], "cursor": ...}; what is alive is shown as it is now. */
struct srv_answer *srv_job_document_list(struct srv_desk *desk,
                                         const struct srv_job_list *list);
/* {"queue": ms, "decode": ms, ...} of a job that has run. */
void srv_job_timings(struct srv_text *text, const struct srv_job *job);
/* Why a finished job has no answer: its problem document, and the status that
 * it names. NULL without memory, or when there is none. */
struct srv_answer *srv_job_document_problem(const struct srv_job_record *record,
                                            int *status);

#endif
