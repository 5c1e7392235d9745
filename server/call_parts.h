/*
 * call_parts.h: what the files of the calls share; calls.h is what others see.
 * In the HTTP thread.
 */
#ifndef SRV_CALL_PARTS_H
#define SRV_CALL_PARTS_H

#include "calls.h"

struct srv_answer;
struct srv_job;
struct srv_job_record;

/* ---- call_make.c ---- */

/* The answer of a request, whose reference is taken over; NULL is a lack of
 * memory. */
enum srv_step srv_call_reply(struct srv_request *request,
                             struct srv_answer *answer);
/* What is said of its job by the job's own document. */
enum srv_step srv_call_reply_job(struct srv_request *request);
/* The result of its job, which is over. */
void srv_call_take_result(struct srv_request *request);

/* Whether the answer is in memory, under the key of the request: then it is the
 * request's, which needs its body no more. */
bool srv_call_find_known(struct srv_request *request);
/* With the key of the request known: the answer at once, or the job that makes
 * it is waited for. */
enum srv_step srv_call_make(struct srv_request *request);
/* The calls that make something of their body, as in calls.h. */
enum srv_step srv_call_make_begin(struct srv_request *request);
enum srv_step srv_call_make_end(struct srv_request *request);

/* ---- call_jobs.c ---- */

/* The record of the path's job from the store, to be released. False: there is
 * none of this client's, or it was removed, and the problem says so. */
bool srv_call_read_record(struct srv_request *request, unsigned with,
                          struct srv_job_record *record);
/* Waits for a ticket, which reads so much of the path's job (SRV_WITH_...) on a
 * thread that may wait for the disk. */
enum srv_step srv_call_await_record(struct srv_request *request,
                                    struct srv_job *ticket, unsigned with);
/* The ticket did not end in time. */
void srv_call_refuse_late(struct srv_request *request);

/* The calls about jobs, as in calls.h. */
enum srv_step srv_call_job_begin(struct srv_request *request);
void srv_call_job_end(struct srv_request *request);

/* ---- call_derive.c ---- */

/* The calls that work something out about another job, as in calls.h. */
enum srv_step srv_call_derive_begin(struct srv_request *request);
enum srv_step srv_call_derive_end(struct srv_request *request);

/* ---- call_pages.c ---- */

/* The calls for pages, as in calls.h. */
enum srv_step srv_call_page_begin(struct srv_request *request);

#endif
