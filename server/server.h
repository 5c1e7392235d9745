/*
 * server.h: what the parts of the daemon share. One of it, in main.
 */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "body.h"
#include "config.h"
#include "pool.h"
#include "registry.h"

struct MHD_Daemon;

/* Only ever goes up. */
enum srv_phase {
    SRV_SERVING,
    SRV_DRAINING, /* new work is answered 503, accepted work goes on */
    SRV_STOPPING  /* the listener is closed, running work was told to stop */
};

struct srv_server {
    struct srv_config config;
    struct srv_budget budget;
    struct srv_registry registry;
    struct srv_pool pool;
    struct MHD_Daemon *http;
    int listener;      /* -1 when closed */
    bool is_loopback;  /* of the address listened on */
    atomic_int phase;  /* enum srv_phase */
    uint64_t instance; /* random: makes request ids differ between runs */
    atomic_uint_fast64_t n_requests;
};

static inline bool srv_is_draining(const struct srv_server *server)
{
    return atomic_load(&server->phase) != SRV_SERVING;
}

#endif
