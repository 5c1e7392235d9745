/*
 * desk_parts.h: what the parts of the desk say to each other; desk.h is what
 * others see. All in the loop thread, with no lock held, if nothing else is
 * said.
 */
#ifndef SRV_DESK_PARTS_H
#define SRV_DESK_PARTS_H

#include "desk.h"

/* ---- desk.c, with the desk's lock held ---- */
void srv_desk_end_merging(struct srv_desk *desk, struct srv_job *job);
void srv_desk_add_alive(struct srv_desk *desk, struct srv_job *job);

/* ---- desk_structure.c ---- */
/* A deferred job waits for the end of the one that leads, if there still is
 * one; else it is queued again, to lead or to find the answer. Takes the pool's
 * reference. */
void srv_desk_follow(struct srv_desk *desk, struct srv_job *job);
/* Out of those who wait, with the reference; false when it is not there. */
bool srv_desk_unfollow(struct srv_desk *desk, struct srv_job *job);
/* A leader is over: its followers find the answer, or one of them leads. */
void srv_desk_release_followers(struct srv_desk *desk, struct srv_job *leader);

/* ---- desk_end.c ---- */
/* Resumes a list of the registry's. */
void srv_desk_resume(const struct srv_request *ready);
/* The state becomes what clients see; who waits is told. */
void srv_desk_reveal(struct srv_desk *desk, struct srv_job *job);
/* Writes how it ended; the mail says what came of it. */
void srv_desk_save_end(struct srv_desk *desk, struct srv_job *job);
/* The group that the job waits in has been decided. */
void srv_desk_end_group(struct srv_desk *desk, struct srv_job *job);
/* Tells a job to stop. The first reason counts; a queued or waiting job ends at
 * once, a running one soon. */
void srv_desk_end(struct srv_desk *desk, struct srv_job *job,
                  enum srv_stop reason);

/* ---- desk_keep.c ---- */
/* The job could not be written: who waited for that is told. */
void srv_desk_fail_keep(struct srv_desk *desk, struct srv_job *job,
                        enum srv_store_result result);

#endif
