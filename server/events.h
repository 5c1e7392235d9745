/*
 * events.h: server-sent events of one job: its state, phase and progress.
 *
 * Every event says how things stand, not what changed, so that a client that
 * comes back needs the newest one only. The id of an event grows with each
 * change; Last-Event-ID says which was seen.
 *
 * Threads: next in the HTTP thread; has_news in the loop thread, with the
 * registry's lock held.
 */
#ifndef SRV_EVENTS_H
#define SRV_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store.h"

struct srv_job;
struct srv_request;

/* The number of the last event of every job; no other comes near it. */
#define SRV_EVENT_END UINT64_C(1000000000)

/* The number of the newest event of a job, at least 1. */
uint64_t srv_events_newest(const struct srv_job *job);
/* Whether the request, a stream, has not written that one. */
bool srv_events_has_news(const struct srv_request *request);
/* The whole stream of a job that is over. NULL without memory. */
struct srv_answer *srv_events_of(enum srv_state state);
/* Writes what is to be said now, at most n_bytes (256 are enough); 0: nothing.
 * -1: the stream is at its end. */
ssize_t srv_events_next(struct srv_request *request, char *bytes,
                        size_t n_bytes);

#endif
