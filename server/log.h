/*
 * log.h: one JSON object per line on stderr.
 *
 * A line is put together in fixed storage and written with a single write, so
 * lines of several threads do not mix. What does not fit is left out: a field
 * is there whole or not at all. Nothing of a body is ever logged.
 */
#ifndef SRV_LOG_H
#define SRV_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_log {
    size_t length;
    char text[4096];
};

/* Starts a line: time, level ("info", "warn", "error") and event. */
void srv_log_begin(struct srv_log *log, const char *level, const char *event);
/* Members. Text is escaped; NULL leaves the member out. */
void srv_log_text(struct srv_log *log, const char *key, const char *value);
void srv_log_number(struct srv_log *log, const char *key, uint64_t value);
/* A duration, written as milliseconds with three digits. */
void srv_log_ms(struct srv_log *log, const char *key, uint64_t duration_ns);
/* An object inside the line: members between open and close. */
void srv_log_open(struct srv_log *log, const char *key);
void srv_log_close(struct srv_log *log);
/* Ends and writes the line. */
void srv_log_end(struct srv_log *log);

/* A whole line with one text member, for what happens rarely. */
void srv_log_event(const char *level, const char *event, const char *key,
                   const char *value);

#endif
