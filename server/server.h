/*
 * server.h: what the parts of the daemon share. One of it, in main.
 */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "body.h"
#include "cache.h"
#include "config.h"
#include "desk.h"
#include "groups.h"
#include "http_thread.h"
#include "metrics.h"
#include "pool.h"
#include "registry.h"
#include "site.h"
#include "store.h"
#include "tokens.h"

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
    struct srv_desk desk;
    struct srv_groups groups;
    struct srv_cache cache;
    struct srv_store *store;
    struct srv_tokens tokens;
    struct srv_metrics metrics;
    struct srv_site site;
    struct srv_http_thread http_thread;
    struct MHD_Daemon *admin; /* NULL without --admin-listen */
    struct srv_registry admin_registry;
    bool admin_is_loopback;
    int listener;     /* -1 when closed */
    bool is_loopback; /* of the address listened on */
    atomic_int phase; /* enum srv_phase */
    uint64_t started_ns;
    atomic_uint_fast64_t loop_seen_ns; /* the loop thread turned; 0: not yet */
    uint64_t instance; /* random: makes request ids differ between runs */
    atomic_uint_fast64_t n_requests;
};

static inline bool srv_is_tls(const struct srv_server *server)
{
    return *server->config.tls_cert != '\0';
}

static inline bool srv_is_draining(const struct srv_server *server)
{
    return atomic_load(&server->phase) != SRV_SERVING;
}

#endif
