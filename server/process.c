/*
 * process.c: reads /proc/self.
 */
#include "process.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "number.h"

/* Of /proc/self/stat, counted from 1, that come after the program's name. */
enum {
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_VIRTUAL = 23,
    FIELD_RESIDENT = 24,
    FIELD_FIRST = 3, /* the first one behind the name */
    STAT_BYTES = 1024
};

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");

    if (file == NULL)
        return false;
    const size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
    return n > 0;
}

/* The number that stands there; 0 when none does. */
static uint64_t number_at(const char *at)
{
    char digits[24];
    uint64_t value = 0;
    const size_t n = strspn(at, "0123456789");

    snprintf(digits, sizeof digits, "%.*s", (int)n, at);
    return srv_number_parse(digits, false, &value) ? value : 0;
}

/* A field of /proc/self/stat. `at` is behind the name, which may hold blanks
 * and parentheses; ") S 1 ...". */
static uint64_t field(const char *at, int number)
{
    for (int i = FIELD_FIRST - 1; i < number && at != NULL; i++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    return at == NULL ? 0 : number_at(at);
}

/* When the machine started, in seconds since 1970; 0: not known. */
static uint64_t boot_s(void)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen("/proc/stat", "r");

    if (file == NULL)
        return 0;
    while (value == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "btime ", 6) == 0)
            value = number_at(line + 6);
    }
    fclose(file);
    return value;
}

static void read_stat(struct srv_process *process)
{
    char text[STAT_BYTES];
    const long page = sysconf(_SC_PAGESIZE);
    const long ticks = sysconf(_SC_CLK_TCK);
    const uint64_t booted_s = boot_s();

    if (!read_text("/proc/self/stat", text, sizeof text))
        return;
    const char *at = strrchr(text, ')');
    process->n_threads = field(at, FIELD_THREADS);
    process->virtual_bytes = field(at, FIELD_VIRTUAL);
    process->resident_bytes =
        field(at, FIELD_RESIDENT) * (page > 0 ? (uint64_t)page : 0);
    if (booted_s > 0 && ticks > 0)
        process->started_s =
            (double)booted_s + (double)field(at, FIELD_START) / (double)ticks;
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static uint64_t count_descriptors(void)
{
    uint64_t n = 0;
    DIR *folder = opendir("/proc/self/fd");

    if (folder == NULL)
        return 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the stream itself */
}

void srv_process_read(struct srv_process *process)
{
    struct rusage usage;
    struct rlimit limit;

    memset(process, 0, sizeof *process);
    read_stat(process);
    process->n_descriptors = count_descriptors();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        process->most_descriptors = limit.rlim_cur;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        process->cpu_s = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
}
