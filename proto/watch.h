/*
 * watch.h: where a request is: its phase, how long each took, how far it is,
 * and whether it has to stop. Private to proto.
 */
#ifndef PROTO_WATCH_H
#define PROTO_WATCH_H

#include "proto.h"

/* Of events of one kind, every stride-th is told. */
struct proto_thinning {
    uint64_t n_events;
    uint64_t stride;
    unsigned n_told; /* with this stride */
};

struct proto_watch {
    const struct proto_env *env;
    uint64_t *phase_ns; /* PROTO_N_PHASES, of the answer */
    uint64_t started_ns;
    uint64_t deadline_ns; /* 0: none */
    uint64_t phase_began_ns;
    enum proto_phase phase;
    bool was_cancelled;
    uint32_t done; /* parts */
    uint32_t total;
    struct proto_thinning phases;
    struct proto_thinning parts;
};

/* In the first phase. */
void proto_watch_start(struct proto_watch *watch, const struct proto_env *env,
                       uint64_t *phase_ns);
void proto_watch_enter(struct proto_watch *watch, enum proto_phase phase);
/* Adds what has passed to the last phase. */
void proto_watch_end(struct proto_watch *watch);
/* `done` parts of `total` are done. */
void proto_watch_advance(struct proto_watch *watch, uint32_t done,
                         uint32_t total);
/* Milliseconds from the start; one too far for the clock is none. */
void proto_watch_set_deadline(struct proto_watch *watch, int64_t deadline_ms);
/* Non-zero: give up. */
int proto_watch_should_stop(void *of_watch);

#endif
