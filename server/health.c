/*
 * health.c: the checks and what a probe says of them.
 */
#include "health.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

#define LOOP_MOST_NS   (UINT64_C(5) * SRV_NS_PER_S)
#define QUEUE_PER_CENT 90U
#define NAME_SIZE      33
/* Of the lines, kept for the checks: a name, its reason and some words each. */
#define ROOM_FOR_CHECKS \
    ((size_t)(SRV_N_CHECKS + 1) * (SRV_HEALTH_WHY_SIZE + 24))

static const char *const names[SRV_N_CHECKS] = {"loop", "drain", "queue",
                                                "store"};

static void fail(struct srv_health *health, enum srv_check check,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));
static void fail(struct srv_health *health, enum srv_check check,
                 const char *format, ...)
{
    va_list args;

    health->failed[check] = true;
    va_start(args, format);
    vsnprintf(health->why[check], sizeof health->why[check], format, args);
    va_end(args);
}

static void check_all(const struct srv_health_facts *facts,
                      struct srv_health *health)
{
    if (facts->loop_age_ns >= LOOP_MOST_NS)
        fail(health, SRV_CHECK_LOOP, "silent for %" PRIu64 " s",
             facts->loop_age_ns / SRV_NS_PER_S);
    if (facts->is_draining)
        fail(health, SRV_CHECK_DRAIN, "the server is shutting down");
    if (facts->n_queued > 0 &&
        facts->n_queued * 100 >= facts->queue_capacity * QUEUE_PER_CENT)
        fail(health, SRV_CHECK_QUEUE, "%zu jobs are waiting, of %zu (--queue)",
             facts->n_queued, facts->queue_capacity);
    if (!facts->is_store_up)
        fail(health, SRV_CHECK_STORE, "the store cannot be written to");
}

/* ---- the query --------------------------------------------------------- */

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(at, word, n) == 0;
}

static void say(struct srv_health *health, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct srv_health *health, const char *format, ...)
{
    const size_t length = strlen(health->lines);
    const size_t room = sizeof health->lines - length;
    va_list args;

    va_start(args, format);
    vsnprintf(health->lines + length, room, format, args);
    va_end(args);
}

static void exclude(struct srv_health *health, const char *at, size_t n,
                    bool excluded[SRV_N_CHECKS])
{
    char name[NAME_SIZE];

    for (size_t i = 0; i < SRV_N_CHECKS; i++) {
        if (is_word(at, n, names[i])) {
            excluded[i] = true;
            return;
        }
    }
    if (strlen(health->lines) + ROOM_FOR_CHECKS > sizeof health->lines)
        return;
    snprintf(name, sizeof name, "%.*s", (int)n, at);
    for (size_t i = 0; name[i] != '\0'; i++) {
        if (name[i] < 0x20 || name[i] == 0x7f)
            name[i] = '?';
    }
    say(health, "[?]exclude=%s: no such check\n", name);
}

static void read_query(struct srv_health *health, const char *query,
                       bool excluded[SRV_N_CHECKS])
{
    while (*query != '\0') {
        const size_t n = strcspn(query, "&");

        if (is_word(query, n, "verbose") || is_word(query, n, "verbose=1") ||
            is_word(query, n, "verbose=true"))
            health->is_verbose = true;
        else if (n > 8 && memcmp(query, "exclude=", 8) == 0)
            exclude(health, query + 8, n - 8, excluded);
        query += n + (query[n] == '&' ? 1 : 0);
    }
}

/* ---- the answer -------------------------------------------------------- */

static bool is_of_probe(enum srv_check check, enum srv_probe probe)
{
    return probe == SRV_PROBE_READY || check == SRV_CHECK_LOOP;
}

static void judge(struct srv_health *health, enum srv_probe probe,
                  const bool excluded[SRV_N_CHECKS])
{
    size_t n_failed = 0;

    for (size_t i = 0; i < SRV_N_CHECKS; i++) {
        if (!is_of_probe((enum srv_check)i, probe)) {
            health->failed[i] = false;
            continue;
        }
        if (excluded[i])
            say(health, "[+]%s excluded: ok\n", names[i]);
        else if (!health->failed[i])
            say(health, "[+]%s ok\n", names[i]);
        else
            say(health, "[-]%s failed: %s\n", names[i], health->why[i]);
        health->failed[i] = health->failed[i] && !excluded[i];
        n_failed += health->failed[i];
    }
    health->is_good = n_failed == 0;
    health->only_draining = n_failed == 1 && health->failed[SRV_CHECK_DRAIN];
    say(health, "%s check %s\n", probe == SRV_PROBE_LIVE ? "livez" : "readyz",
        n_failed == 0 ? "passed" : "failed");
}

void srv_health_probe(const struct srv_health_facts *facts,
                      enum srv_probe probe, const char *query,
                      struct srv_health *health)
{
    bool excluded[SRV_N_CHECKS] = {false};

    memset(health, 0, sizeof *health);
    check_all(facts, health);
    read_query(health, query, excluded);
    judge(health, probe, excluded);
}
