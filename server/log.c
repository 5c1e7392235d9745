/*
 * log.c: builds and writes log lines.
 */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAIL_BYTES 8 /* kept free for what closes the line: "}}\n" */

/* Appends, or leaves the line as it was when there is no room. */
static bool append(struct srv_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool append(struct srv_log *log, const char *format, ...)
{
    const size_t room = sizeof log->text - TAIL_BYTES - log->length;
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(log->text + log->length, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room) {
        log->text[log->length] = '\0';
        return false;
    }
    log->length += (size_t)n;
    return true;
}

static const char *separator(const struct srv_log *log)
{
    return log->text[log->length - 1] == '{' ? "" : ",";
}

void srv_log_begin(struct srv_log *log, const char *level, const char *event)
{
    struct timespec now;
    struct tm utc;
    char stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    log->length = 0;
    append(log, "{\"ts\":\"%s.%06ldZ\",\"level\":\"%s\",\"event\":\"%s\"",
           stamp, now.tv_nsec / 1000, level, event);
}

void srv_log_text(struct srv_log *log, const char *key, const char *value)
{
    const size_t start = log->length;
    bool fits =
        value != NULL && append(log, "%s\"%s\":\"", separator(log), key);

    if (value == NULL)
        return;
    for (const char *at = value; fits && *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;

        if (byte == '"' || byte == '\\')
            fits = append(log, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            fits = append(log, "\\u%04x", byte);
        else
            fits = append(log, "%c", byte);
    }
    if (!fits || !append(log, "\"")) {
        log->length = start;
        log->text[start] = '\0';
    }
}

void srv_log_number(struct srv_log *log, const char *key, uint64_t value)
{
    append(log, "%s\"%s\":%" PRIu64, separator(log), key, value);
}

void srv_log_ms(struct srv_log *log, const char *key, uint64_t duration_ns)
{
    append(log, "%s\"%s\":%" PRIu64 ".%03u", separator(log), key,
           duration_ns / 1000000, (unsigned)(duration_ns / 1000 % 1000));
}

void srv_log_open(struct srv_log *log, const char *key)
{
    append(log, "%s\"%s\":{", separator(log), key);
}

void srv_log_close(struct srv_log *log)
{
    append(log, "}");
}

void srv_log_end(struct srv_log *log)
{
    size_t done = 0;

    /* The tail has its room: see TAIL_BYTES. */
    log->text[log->length++] = '}';
    log->text[log->length++] = '\n';
    while (done < log->length) {
        const ssize_t n =
            write(STDERR_FILENO, log->text + done, log->length - done);

        if (n <= 0)
            return; /* nobody reads the log: nothing better to do */
        done += (size_t)n;
    }
}

void srv_log_event(const char *level, const char *event, const char *key,
                   const char *value)
{
    struct srv_log log;

    srv_log_begin(&log, level, event);
    srv_log_text(&log, key, value);
    srv_log_end(&log);
}
