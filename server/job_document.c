/*
 * job_document.c: state, times and links of a job.
 */
#include "job_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route.h"
#include "server.h"
#include "text.h"

/* What both kinds of job are written from. */
struct facts {
    const char *id;
    const char *call;
    enum srv_state state;
    enum srv_priority priority;
    int64_t created_ms;
    int64_t started_ms;
    int64_t finished_ms;
    uint64_t attempts;
    const char *digest;        /* NULL: none */
    const char *outcome;       /* NULL: none */
    const char *problem;       /* JSON text; NULL: none */
    const char *timings;       /* JSON text; NULL: none */
    const struct srv_job *job; /* NULL: not alive */
    size_t n_before;
};

static void put_progress(struct srv_text *text, const struct srv_job *job)
{
    const enum proto_phase phase =
        (enum proto_phase)atomic_load(&job->progress_phase);

    srv_text_open(text, "progress", '{');
    srv_text_string(text, "phase", proto_phase_name(phase));
    srv_text_number(text, "done", atomic_load(&job->progress_done));
    srv_text_number(text, "total", atomic_load(&job->progress_total));
    srv_text_close(text, '}');
}

void srv_job_timings(struct srv_text *text, const struct srv_job *job)
{
    srv_text_open(text, NULL, '{');
    if (job->started_ns >= job->queued_ns)
        srv_text_ms(text, "queue", job->started_ns - job->queued_ns);
    for (int i = 0; i < PROTO_N_PHASES; i++)
        srv_text_ms(text, proto_phase_name((enum proto_phase)i),
                    job->phase_ns[i]);
    srv_text_close(text, '}');
}

/* A batch has no graph of its own to ask about. "{?name}" is a template of RFC
 * 6570. */
static void put_links(struct srv_text *text, const struct facts *facts)
{
    char link[96];
    const bool is_batch = srv_call_of(facts->call) == SRV_CALL_BATCH;
    const struct {
        const char *key;
        const char *end;
        bool is_about_graph;
    } links[] = {{"plan", "/plan", false},
                 {"graph", "/graph", false},
                 {"events", "/events", false},
                 {"report", "/report", true},
                 {"node", "/node{?name}", true},
                 {"export", "/export{?as,around,depth}", true},
                 {"what_if", "/what-if", true}};

    srv_text_open(text, "links", '{');
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (is_batch && links[i].is_about_graph)
            continue;
        snprintf(link, sizeof link, "/v1/jobs/%s%s", facts->id, links[i].end);
        srv_text_string(text, links[i].key, link);
    }
    srv_text_close(text, '}');
}

static void put_job(struct srv_text *text, const char *key,
                    const struct facts *facts)
{
    const bool is_final = srv_state_is_final(facts->state);

    srv_text_open(text, key, '{');
    srv_text_string(text, "id", facts->id);
    srv_text_string(text, "state", srv_state_name(facts->state));
    srv_text_string(text, "call", facts->call);
    srv_text_string(text, "priority",
                    facts->priority == SRV_BATCH ? "batch" : "interactive");
    srv_text_time(text, "created", facts->created_ms);
    srv_text_time(text, "started", facts->started_ms);
    srv_text_time(text, "finished", facts->finished_ms);
    srv_text_number(text, "attempts", facts->attempts);
    if (facts->state == SRV_STATE_QUEUED && facts->job != NULL)
        srv_text_number(text, "queue_position", facts->n_before);
    if (facts->state == SRV_STATE_RUNNING && facts->job != NULL)
        put_progress(text, facts->job);
    if (is_final && facts->timings != NULL)
        srv_text_json(text, "timings_ms", facts->timings);
    if (facts->digest != NULL && facts->digest[0] != '\0')
        srv_text_string(text, "digest", facts->digest);
    if (facts->outcome != NULL && facts->outcome[0] != '\0')
        srv_text_string(text, "outcome", facts->outcome);
    if (is_final && facts->problem != NULL)
        srv_text_json(text, "problem", facts->problem);
    put_links(text, facts);
    srv_text_close(text, '}');
}

static void put_living(struct srv_text *text, const char *key,
                       struct srv_desk *desk, const struct srv_job *job)
{
    const struct srv_job_view view = srv_desk_view(desk, job);
    const bool is_final = srv_state_is_final(view.state);
    char *problem = NULL;
    struct srv_text timings = {0};
    struct facts facts = {
        .id = view.id,
        .call = srv_call_name(job->call),
        .state = view.state,
        .priority = job->priority,
        .created_ms = view.created_ms,
        .started_ms = view.started_ms,
        .finished_ms = is_final ? view.finished_ms : 0,
        .attempts = view.attempts,
        .job = job,
        .n_before = view.n_before,
    };

    if (is_final && job->answer != NULL) {
        facts.digest = job->answer->digest;
        facts.outcome = job->answer->outcome;
    } else if (is_final) {
        problem = proto_problem_encode(&job->problem, NULL);
        facts.problem = problem;
    }
    if (is_final && job->started_ns != 0)
        srv_job_timings(&timings, job);
    facts.timings = timings.bytes;
    put_job(text, key, &facts);
    srv_text_release(&timings);
    proto_free(problem);
}

static void put_record(struct srv_text *text, const char *key,
                       const struct srv_job_record *record)
{
    const struct facts facts = {
        .id = record->id,
        .call = record->call,
        .state = record->state,
        .priority = (enum srv_priority)record->priority,
        .created_ms = record->created_ms,
        .started_ms = record->started_ms,
        .finished_ms = record->finished_ms,
        .attempts = record->attempts,
        .digest = record->digest,
        .outcome = record->outcome,
        .timings = record->note,
        .problem = record->problem,
    };

    put_job(text, key, &facts);
}

struct srv_answer *srv_job_document(struct srv_desk *desk,
                                    const struct srv_job *job)
{
    struct srv_text text = {0};

    put_living(&text, NULL, desk, job);
    srv_text_bytes(&text, "\n", 1);
    return srv_text_answer(&text, "application/json");
}

struct srv_answer *srv_job_document_of(const struct srv_job_record *record)
{
    struct srv_text text = {0};

    put_record(&text, NULL, record);
    srv_text_bytes(&text, "\n", 1);
    return srv_text_answer(&text, "application/json");
}

struct srv_answer *srv_job_document_list(struct srv_desk *desk,
                                         const struct srv_job_list *list)
{
    struct srv_text text = {0};

    srv_text_open(&text, NULL, '{');
    srv_text_open(&text, "jobs", '[');
    for (size_t i = 0; i < list->n_records; i++) {
        const struct srv_job_record *record = &list->records[i];
        struct srv_job *job = srv_desk_find(desk, record->id, record->owner);

        if (job != NULL)
            put_living(&text, NULL, desk, job);
        else
            put_record(&text, NULL, record);
        srv_job_unref(job);
    }
    srv_text_close(&text, ']');
    if (list->next[0] != '\0')
        srv_text_string(&text, "cursor", list->next);
    srv_text_close(&text, '}');
    srv_text_bytes(&text, "\n", 1);
    return srv_text_answer(&text, "application/json");
}

struct srv_answer *srv_job_document_problem(const struct srv_job_record *record,
                                            int *status)
{
    static const char member[] = "\"status\":";
    struct srv_text text = {0};

    if (record->problem == NULL)
        return NULL;
    const char *at = strstr(record->problem, member); /* we wrote it */
    *status = at == NULL ? 500 : (int)strtol(at + sizeof member - 1, NULL, 10);
    srv_text_bytes(&text, record->problem, strlen(record->problem));
    return srv_text_answer(&text, "application/problem+json");
}
