/*
 * batch.h: many documents in one body, one a line (NDJSON). On a pool thread.
 */
#ifndef SRV_BATCH_H
#define SRV_BATCH_H

struct srv_job;

#define SRV_BATCH_LINES 1000U /* more are refused */

/* Makes the job's answer: a line for each line that is not blank, in their
 * order: the plan, or the problem of that line alone. */
void srv_batch_run(struct srv_job *job);

#endif
