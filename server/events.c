/*
 * events.c: one event for how things stand now.
 */
#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "desk.h"
#include "server.h"
#include "text.h"

uint64_t srv_events_newest(const struct srv_job *job)
{
    return atomic_load(&job->event);
}

bool srv_events_has_news(const struct srv_request *request)
{
    return srv_events_newest(request->job) > request->event_sent;
}

/* One event: what clients see of the job. */
static int describe(const struct srv_request *request, uint64_t number,
                    char *bytes, size_t n_bytes)
{
    const struct srv_job *job = request->job;
    const struct srv_job_view view = srv_desk_view(&request->server->desk, job);
    const enum proto_phase phase =
        (enum proto_phase)atomic_load(&job->progress_phase);

    if (view.state == SRV_STATE_RUNNING)
        return snprintf(bytes, n_bytes,
                        "id: %" PRIu64 "\nevent: progress\ndata: {\"state\":"
                        "\"running\",\"phase\":\"%s\",\"done\":%u,\"total\":%u}"
                        "\n\n",
                        number, proto_phase_name(phase),
                        atomic_load(&job->progress_done),
                        atomic_load(&job->progress_total));
    return snprintf(bytes, n_bytes,
                    "id: %" PRIu64 "\nevent: %s\ndata: {\"state\":\"%s\"}\n\n",
                    number, number == SRV_EVENT_END ? "end" : "progress",
                    srv_state_name(view.state));
}

struct srv_answer *srv_events_of(enum srv_state state)
{
    struct srv_text text = {0};

    srv_text_printf(&text,
                    "id: %" PRIu64 "\nevent: end\ndata: {\"state\":\"%s\"}"
                    "\n\n",
                    SRV_EVENT_END, srv_state_name(state));
    return srv_text_answer(&text, "text/event-stream");
}

ssize_t srv_events_next(struct srv_request *request, char *bytes,
                        size_t n_bytes)
{
    static const char beat[] = ": still here\n\n";
    const uint64_t number = srv_events_newest(request->job);
    const uint64_t now_ns = srv_now_ns();
    const uint64_t silent_ns = now_ns - request->event_sent_ns;

    if (request->event_sent == SRV_EVENT_END || request->close)
        return -1;
    if (number > request->event_sent) {
        const int n = describe(request, number, bytes, n_bytes);

        request->event_sent = number;
        request->event_sent_ns = now_ns;
        return n > 0 && (size_t)n < n_bytes ? n : -1;
    }
    if (silent_ns < request->server->registry.heartbeat_ns ||
        n_bytes < sizeof beat)
        return 0;
    request->event_sent_ns = now_ns;
    memcpy(bytes, beat, sizeof beat - 1);
    return (ssize_t)sizeof beat - 1;
}
