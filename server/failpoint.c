/*
 * failpoint.c: arms the one fail point that the environment names.
 */
#include "failpoint.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

atomic_int srv_fail_armed;
static atomic_uint_fast64_t passes_left;
static atomic_int fails_with = SIGKILL;

static const char *const names[SRV_N_FAIL_POINTS] = {"",
#define X(name, text, where) text,
                                                     SRV_FAIL_POINT_MAP(X)
#undef X
};

static bool refuse(char *message, size_t size, const char *wanted)
{
    int at =
        snprintf(message, size,
                 "REMATD_FAIL_POINT=%s: expected NAME or NAME:N, and a ! to "
                 "abort, with "
                 "NAME one of",
                 wanted);

    for (size_t i = 1; i < SRV_N_FAIL_POINTS; i++) {
        if (at < 0 || (size_t)at >= size)
            break;
        at += snprintf(message + at, size - (size_t)at, " %s", names[i]);
    }
    return false;
}

/* The point of that name, SRV_FAIL_NONE when there is none. */
static enum srv_fail_point find(const char *name, size_t length)
{
    for (int i = 1; i < SRV_N_FAIL_POINTS; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return (enum srv_fail_point)i;
    }
    return SRV_FAIL_NONE;
}

bool srv_fail_point_start(char *message, size_t size)
{
    /* Before any thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *wanted = getenv("REMATD_FAIL_POINT");
    char text[64];
    char *colon;
    uint64_t nth = 1;

    if (wanted == NULL || wanted[0] == '\0')
        return true;
    if (snprintf(text, sizeof text, "%s", wanted) >= (int)sizeof text)
        return refuse(message, size, wanted);
    const size_t length = strlen(text);
    if (text[length - 1] == '!') {
        text[length - 1] = '\0';
        atomic_store(&fails_with, SIGABRT);
    }
    colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (!srv_number_parse(colon + 1, false, &nth) || nth == 0)
            return refuse(message, size, wanted);
    }
    const enum srv_fail_point point = find(text, strlen(text));
    if (point == SRV_FAIL_NONE)
        return refuse(message, size, wanted);
    atomic_store(&passes_left, nth);
    atomic_store(&srv_fail_armed, (int)point);
    return true;
}

void srv_fail_point_hit(void)
{
    if (atomic_fetch_sub(&passes_left, 1) == 1)
        (void)raise(atomic_load(&fails_with));
}
