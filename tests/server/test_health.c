/*
 * Probes: each check alone, what a probe looks at, what a query changes.
 */
#include "health.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#define S UINT64_C(1000000000)

static const struct srv_health_facts good = {.loop_age_ns = S,
                                             .n_queued = 3,
                                             .queue_capacity = 256,
                                             .is_store_up = true};

static struct srv_health probe(struct srv_health_facts facts,
                               enum srv_probe which, const char *query)
{
    struct srv_health health;

    srv_health_probe(&facts, which, query, &health);
    return health;
}

START_TEST(all_is_well)
{
    struct srv_health health = probe(good, SRV_PROBE_READY, "");

    ck_assert(health.is_good && !health.is_verbose && !health.only_draining);
    ck_assert_str_eq(health.lines, "[+]loop ok\n[+]drain ok\n[+]queue ok\n"
                                   "[+]store ok\nreadyz check passed\n");
    health = probe(good, SRV_PROBE_LIVE, "verbose");
    ck_assert(health.is_good && health.is_verbose);
    ck_assert_str_eq(health.lines, "[+]loop ok\nlivez check passed\n");
}
END_TEST

START_TEST(each_check_alone)
{
    struct srv_health_facts facts[SRV_N_CHECKS] = {good, good, good, good};
    static const char *const lines[SRV_N_CHECKS] = {
        "[-]loop failed: silent for 7 s\n",
        "[-]drain failed: the server is shutting down\n",
        "[-]queue failed: 231 jobs are waiting, of 256 (--queue)\n",
        "[-]store failed: the store cannot be written to\n"};
    static const char *const excludes[SRV_N_CHECKS] = {
        "exclude=loop", "exclude=drain", "exclude=queue", "exclude=store"};

    facts[SRV_CHECK_LOOP].loop_age_ns = 7 * S;
    facts[SRV_CHECK_DRAIN].is_draining = true;
    facts[SRV_CHECK_QUEUE].n_queued = 231;
    facts[SRV_CHECK_STORE].is_store_up = false;
    for (size_t i = 0; i < SRV_N_CHECKS; i++) {
        struct srv_health health = probe(facts[i], SRV_PROBE_READY, "");

        ck_assert(!health.is_good);
        ck_assert_ptr_nonnull(strstr(health.lines, lines[i]));
        ck_assert_ptr_nonnull(strstr(health.lines, "readyz check failed\n"));
        ck_assert(health.only_draining == (i == SRV_CHECK_DRAIN));
        for (size_t k = 0; k < SRV_N_CHECKS; k++)
            ck_assert(health.failed[k] == (k == i));
        health = probe(facts[i], SRV_PROBE_LIVE, "");
        ck_assert(health.is_good == (i != SRV_CHECK_LOOP));
        for (size_t k = 0; k < SRV_N_CHECKS; k++) {
            health = probe(facts[i], SRV_PROBE_READY, excludes[k]);
            ck_assert(health.is_good == (k == i));
        }
    }
}
END_TEST

START_TEST(limits)
{
    struct srv_health_facts facts = good;

    facts.loop_age_ns = 5 * S - 1;
    ck_assert(probe(facts, SRV_PROBE_LIVE, "").is_good);
    facts.loop_age_ns = 5 * S;
    ck_assert(!probe(facts, SRV_PROBE_LIVE, "").is_good);
    facts = good;
    facts.queue_capacity = 100;
    facts.n_queued = 89;
    ck_assert(probe(facts, SRV_PROBE_READY, "").is_good);
    facts.n_queued = 90;
    ck_assert(!probe(facts, SRV_PROBE_READY, "").is_good);
    facts.queue_capacity = 2;
    facts.n_queued = 1;
    ck_assert(probe(facts, SRV_PROBE_READY, "").is_good);
    facts.queue_capacity = 1;
    facts.n_queued = 0;
    ck_assert(probe(facts, SRV_PROBE_READY, "").is_good);
    facts.n_queued = 1;
    ck_assert(!probe(facts, SRV_PROBE_READY, "").is_good);
}
END_TEST

START_TEST(queries)
{
    struct srv_health_facts bad = good;
    struct srv_health health;

    bad.is_store_up = false;
    bad.n_queued = 256;
    ck_assert(!probe(bad, SRV_PROBE_READY, "exclude=store").is_good);
    health = probe(bad, SRV_PROBE_READY, "exclude=store&verbose&exclude=queue");
    ck_assert(health.is_good && health.is_verbose);
    ck_assert_ptr_nonnull(strstr(health.lines, "[+]store excluded: ok\n"));
    ck_assert(probe(bad, SRV_PROBE_READY, "verbose=1").is_verbose);
    ck_assert(!probe(bad, SRV_PROBE_READY, "verbosely&x=verbose").is_verbose);
    ck_assert(!probe(bad, SRV_PROBE_READY,
                     "&&exclude=&exclude=stor&exclude="
                     "stores&exclude=queue&")
                   .is_good);
    health = probe(good, SRV_PROBE_READY, "exclude=e\xff\n");
    ck_assert(health.is_good);
    ck_assert_ptr_nonnull(
        strstr(health.lines, "[?]exclude=e\?\?: no such check\n"));
}
END_TEST

START_TEST(a_long_query)
{
    char query[4096] = "";
    struct srv_health health;

    while (strlen(query) + 64 < sizeof query)
        snprintf(query + strlen(query), 64, "exclude=%040d&", 7);
    health = probe(good, SRV_PROBE_READY, query);
    ck_assert(health.is_good);
    ck_assert_uint_lt(strlen(health.lines), sizeof health.lines);
    ck_assert_ptr_nonnull(strstr(
        health.lines, "\n[+]loop ok\n[+]drain ok\n[+]queue ok\n[+]store ok\n"
                      "readyz check passed\n"));
}
END_TEST

SUITE("health", all_is_well, each_check_alone, limits, queries, a_long_query)
