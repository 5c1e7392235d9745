/*
 * cpus.c: counts processors; the quota of a container counts too.
 */
#include "cpus.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "number.h"

/* The quota of control group v2 ("200000 100000": two processors), rounded up;
 * 0 when there is none. */
static uint64_t quota_cpus(void)
{
    char quota_text[32];
    char period_text[32];
    uint64_t quota = 0;
    uint64_t period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");

    if (file == NULL)
        return 0;
    const int n_read = fscanf(file, "%31s %31s", quota_text, period_text);
    fclose(file);
    if (n_read != 2 || !srv_number_parse(quota_text, false, &quota) ||
        !srv_number_parse(period_text, false, &period) || period == 0)
        return 0;
    return (quota - 1) / period + 1;
}

unsigned srv_cpus(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t quota = quota_cpus();
    uint64_t n = online < 1 ? 1 : (uint64_t)online;

    if (quota > 0 && quota < n)
        n = quota;
    return n > 256 ? 256 : (unsigned)n;
}
