/*
 * batch.c: line after line, through the same cache as single requests.
 */
#include "batch.h"

#include <string.h>

#include "count.h"
#include "request_key.h"
#include "server.h"
#include "solve.h"
#include "text.h"

/* The key of a line is that of the same document posted alone. */
static bool line_key(const struct srv_job *job, const char *line, size_t n,
                     struct srv_key *key)
{
    struct srv_hash *hash = srv_hash_new();

    if (hash == NULL)
        return false;
    srv_key_begin(hash, job->owner, SRV_CALL_PLANS, PROTO_JSON);
    srv_hash_bytes(hash, line, n);
    const bool done = srv_hash_end(hash, key);
    srv_hash_free(hash);
    return done;
}

/* Without its line breaks and their indentation: strings hold none. */
static void put_flat(struct srv_text *text, const char *json)
{
    while (*json != '\0') {
        const size_t n = strcspn(json, "\n");

        srv_text_bytes(text, json, n);
        json += n;
        json += strspn(json, "\n ");
    }
    srv_text_bytes(text, "\n", 1);
}

static void put_problem(struct srv_text *text,
                        const struct proto_problem *problem)
{
    char *json = proto_problem_encode(problem, NULL);

    if (json == NULL)
        text->failed = true;
    else
        put_flat(text, json);
    proto_free(json);
}

/* Of all lines together. */
static void add_effort(struct srv_job *job, const struct srv_solution *solution)
{
    job->n_nodes += solution->n_nodes;
    job->n_steps += solution->n_steps;
    if (solution->memory_bytes > job->memory_bytes)
        job->memory_bytes = solution->memory_bytes;
    for (int i = 0; i < PROTO_N_PHASES; i++)
        job->phase_ns[i] += solution->phase_ns[i];
}

static void do_line(struct srv_job *job, struct srv_text *text,
                    const char *line, size_t n)
{
    struct srv_cache *cache = &job->server->cache;
    const struct srv_document document = {.bytes = line,
                                          .length = n,
                                          .call = SRV_CALL_PLANS,
                                          .format = PROTO_JSON};
    struct srv_solution solution = {.source = SRV_CACHE_HIT};
    struct srv_key key;
    const bool has_key = line_key(job, line, n, &key);

    if (has_key)
        solution.answer = srv_cache_get(cache, &key);
    if (solution.answer != NULL) {
        srv_count_cache(job->server, SRV_CACHE_HIT);
    } else {
        srv_solve(job, &document, &solution);
        if (has_key && solution.answer != NULL)
            srv_cache_put(cache, &key, solution.answer);
    }
    add_effort(job, &solution);
    if (solution.answer != NULL)
        srv_text_bytes(text, solution.answer->bytes, solution.answer->length);
    else
        put_problem(text, &solution.problem);
    srv_answer_unref(solution.answer);
}

static bool is_blank(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    }
    return true;
}

static size_t line_length(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));

    return (size_t)((stop == NULL ? end : stop) - at);
}

static uint32_t count_lines(const char *at, const char *end)
{
    uint32_t n_lines = 0;

    while (at < end) {
        const size_t n = line_length(at, end);

        n_lines += !is_blank(at, n);
        at += n + 1;
    }
    return n_lines;
}

static bool is_too_large(struct srv_job *job, uint32_t n_lines, size_t n_bytes)
{
    const size_t most = (size_t)job->server->config.job_memory;

    if (n_lines > SRV_BATCH_LINES)
        proto_problem_set(&job->problem, PROTO_TOO_LARGE, NULL,
                          "the batch has %u lines, at most %u; send several",
                          n_lines, SRV_BATCH_LINES);
    else if (n_bytes > most)
        proto_problem_set(&job->problem, PROTO_TOO_LARGE, NULL,
                          "the answers of the batch have more than %zu bytes "
                          "(--job-memory); send several",
                          most);
    else
        return false;
    return true;
}

static void do_lines(struct srv_job *job, struct srv_text *text, const char *at,
                     const char *end)
{
    while (at < end && !atomic_load(&job->cancelled)) {
        const size_t n = line_length(at, end);

        if (!is_blank(at, n)) {
            do_line(job, text, at, n);
            atomic_fetch_add(&job->progress_done, 1);
            atomic_fetch_add(&job->event, 1);
        }
        if (is_too_large(job, 0, text->length))
            return;
        at += n + 1;
    }
}

void srv_batch_run(struct srv_job *job)
{
    const char *at = job->body.data == NULL ? "" : job->body.data;
    const char *end = at + job->body.length;
    const uint32_t n_lines = count_lines(at, end);
    struct srv_text text = {0};

    if (is_too_large(job, n_lines, 0))
        return;
    atomic_store(&job->progress_done, 0);
    atomic_store(&job->progress_total, n_lines);
    do_lines(job, &text, at, end);
    if (atomic_load(&job->cancelled) || job->problem.kind != PROTO_NO_PROBLEM) {
        srv_text_release(&text);
        return; /* the desk knows why it was stopped */
    }
    job->answer = srv_text_answer(&text, "application/x-ndjson");
    if (job->answer == NULL)
        proto_problem_set(&job->problem, PROTO_OUT_OF_MEMORY, NULL,
                          "no memory for the answers of the batch");
}
