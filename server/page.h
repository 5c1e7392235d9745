/*
 * page.h: pages for people, as whole HTML documents. What others wrote (names,
 * messages) is text in them, never markup.
 *
 * In the HTTP thread, but for srv_page_report. Where an answer is given, it has
 * one reference, and is NULL without memory.
 */
#ifndef SRV_PAGE_H
#define SRV_PAGE_H

#include "request.h"

struct srv_job_list;
struct srv_job_record;
struct srv_job_view;
struct srv_server;

/* What Content-Security-Policy says of a page: only files of this service run,
 * and only this service is asked. */
extern const char srv_page_policy[];

/* The first page; `list` is NULL for who may not see any. */
struct srv_answer *srv_page_home(const struct srv_request *request,
                                 const struct srv_job_list *list);
/* Of a job that goes on. */
struct srv_answer *srv_page_living(const struct srv_request *request,
                                   const struct srv_job_view *view);
/* Of a job that is over, without a report. */
struct srv_answer *srv_page_over(const struct srv_request *request,
                                 const struct srv_job_record *record);
/* Says nothing of the job: its script asks, with a token. */
struct srv_answer *srv_page_shell(const struct srv_request *request);
/* Of a job with a report: proto's fragment of it, taken as HTML, framed.
 * malloc'ed, *length bytes; NULL without memory. Any thread; O(length). */
char *srv_page_report(const struct srv_server *server, const char *job_id,
                      const char *fragment, size_t *length);
/* In place of a page: malloc'ed, NULL without memory. */
char *srv_page_problem(const struct srv_request *request,
                       const struct proto_problem *problem);

#endif
