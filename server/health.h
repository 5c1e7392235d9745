/*
 * health.h: is it alive, is it ready, and which check says no.
 *
 * Alive: the loop thread turns. Ready: besides, it is not shutting down, the
 * queue has room and the store takes what is written.
 */
#ifndef SRV_HEALTH_H
#define SRV_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the checks look at. */
struct srv_health_facts {
    uint64_t loop_age_ns; /* since the loop thread last said that it turns */
    bool is_draining;
    size_t n_queued;
    size_t queue_capacity;
    bool is_store_up; /* also when there is nothing to write to */
};

enum srv_check {
    SRV_CHECK_LOOP,
    SRV_CHECK_DRAIN,
    SRV_CHECK_QUEUE,
    SRV_CHECK_STORE,
    SRV_N_CHECKS
};

enum srv_probe {
    SRV_PROBE_LIVE,
    SRV_PROBE_READY
};

#define SRV_HEALTH_WHY_SIZE   96
#define SRV_HEALTH_LINES_SIZE 1024

struct srv_health {
    bool is_good;       /* of what was asked */
    bool is_verbose;    /* the query says so: answer with `lines` */
    bool only_draining; /* not ready for that reason alone */
    bool failed[SRV_N_CHECKS];
    char why[SRV_N_CHECKS][SRV_HEALTH_WHY_SIZE]; /* of those that failed */
    char lines[SRV_HEALTH_LINES_SIZE];           /* "[+]loop ok\n..." */
};

/*
 * Answers a probe. query: "verbose", "exclude=NAME", between "&", in any number
 * and order; what else is in it is ignored, and so is the name of no check, but
 * that is said in the lines. O(query).
 */
void srv_health_probe(const struct srv_health_facts *facts,
                      enum srv_probe probe, const char *query,
                      struct srv_health *health);

#endif
