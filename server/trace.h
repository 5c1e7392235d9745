/*
 * trace.h: the caller's trace (W3C Trace Context), so that its id can stand in
 * the log beside our request id. Text in, meaning out.
 */
#ifndef SRV_TRACE_H
#define SRV_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define SRV_TRACE_HEADER "traceparent"
#define SRV_TRACE_SIZE   56 /* of such a header's value, and its NUL */

#define SRV_TRACE_ID_SIZE 33

struct srv_trace {
    char id[SRV_TRACE_ID_SIZE]; /* 32 lower-case hex digits; "" when there is
                                   none */
    char parent[17];            /* the caller's span */
    char span[17];              /* ours: srv_trace_begin_span */
    bool is_sampled;
    bool was_given; /* a header was there, good or not */
};

/*
 * Takes one traceparent header. What the specification does not allow leaves no
 * trace, silently, and so does a second header: which of two is meant cannot be
 * known. Versions after 00 are read as far as 00 goes. O(1).
 */
void srv_trace_add(struct srv_trace *trace, const char *header);
/* Gives our work in the trace a span of its own, by a seed that is another one
 * for every request. Nothing without a trace. */
void srv_trace_begin_span(struct srv_trace *trace, uint64_t seed);
/* Our span as a traceparent. Only with a trace and a span. */
void srv_trace_write(const struct srv_trace *trace, char text[SRV_TRACE_SIZE]);

#endif
