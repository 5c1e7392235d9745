/*
 * frontier_lines: frontiers of many graphs in one process, for tests.
 *
 * Reads a line {"graph", "options"} on stdin and answers with a line
 * {"outcome", "points", "diagnostics", "steps", "allocations"}; a point has the
 * lists of its plan. Of the options only booleans and "profile" are read.
 * "fail_at": n makes the n-th allocation of the frontier fail, "max_steps": n
 * bounds it; the answer is then {"status", "detail"}. "brief": true leaves the
 * lists out. "seconds" is the processor time of the frontier.
 */
#include "lines_graph.h"

#include <string.h>
#include <time.h>

struct run {
    struct remat_job *job;
    json_int_t n_allocations;
    json_int_t fail_at; /* 0: never */
    bool counts;
};

static void *allocate(void *context, size_t n_bytes)
{
    struct run *run = context;

    if (run->counts && ++run->n_allocations == run->fail_at)
        return NULL;
    return malloc(n_bytes);
}

static void release(void *context, void *chunk, size_t n_bytes)
{
    (void)context;
    (void)n_bytes;
    free(chunk);
}

/* ---- input ---- */

static struct remat_options read_options(json_t *json)
{
    const char *profile = json_string_value(json_object_get(json, "profile"));
    struct remat_options options;

    remat_options_init(&options);
#define X(name, value)                        \
    if (json_object_get(json, #name) != NULL) \
        options.name = json_is_true(json_object_get(json, #name));
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    if (profile != NULL && strcmp(profile, "plain") == 0)
        options.profile = REMAT_PROFILE_PLAIN;
    return options;
}

/* ---- output ---- */

static json_t *names(const struct run *run, struct remat_nodes nodes)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < nodes.n; i++)
        json_array_append_new(
            list, json_string(remat_graph_node(run->job, nodes.at[i])->name));
    return list;
}

static json_t *point_json(const struct run *run,
                          const struct remat_frontier_point *p, bool is_brief)
{
    static const char *const solvers[] = {"dp", "greedy", "ilp", "hirschberg"};
    static const char *const estimators[] = {"flops", "testing", "given"};
    json_t *json = json_pack(
        "{sIsIsoss ss ss sb sI sI}", "saved_bytes", (json_int_t)p->saved_bytes,
        "recomputed_flops", (json_int_t)p->recomputed_flops, "budget",
        p->kind == REMAT_POINT_BUDGET ? json_real(p->budget) : json_null(),
        "kind", p->kind == REMAT_POINT_HULL ? "hull" : "budget", "solver",
        solvers[p->solver], "estimator", estimators[p->estimator], "knee",
        p->knee, "static_bytes", (json_int_t)p->plan->static_bytes,
        "forward_flops", (json_int_t)p->plan->forward_flops);

    if (is_brief)
        return json;
    json_object_set_new(json, "saved", names(run, p->plan->saved));
    json_object_set_new(json, "saved_sym", names(run, p->plan->saved_sym));
    json_object_set_new(json, "saved_opaque",
                        names(run, p->plan->saved_opaque));
    json_object_set_new(json, "recomputed", names(run, p->plan->recomputed));
    return json;
}

static json_t *frontier_json(const struct run *run,
                             const struct remat_frontier *frontier,
                             bool is_brief)
{
    static const char *const outcomes[] = {"plan", "infinite_flow",
                                           "invalid_output"};
    json_t *points = json_array();
    json_t *notes = json_array();

    for (uint32_t i = 0; i < frontier->n_points; i++)
        json_array_append_new(points,
                              point_json(run, &frontier->points[i], is_brief));
    for (uint32_t i = 0; i < frontier->n_diagnostics; i++)
        json_array_append_new(notes,
                              json_string(frontier->diagnostics[i].code));
    return json_pack("{sssoso}", "outcome", outcomes[frontier->outcome],
                     "points", points, "diagnostics", notes);
}

/* ---- one line ---- */

static json_t *solve(struct run *run, json_t *line)
{
    struct remat_options options =
        read_options(json_object_get(line, "options"));
    const struct remat_frontier *frontier;
    struct remat_error err = {.node = REMAT_NONE};
    uint64_t n_steps = remat_job_steps(run->job);
    clock_t begin = clock();
    clock_t end;
    enum remat_status status;
    json_t *answer;

    run->counts = true;
    status = remat_frontier_solve(run->job, &options, &frontier, &err);
    run->counts = false;
    end = clock();
    if (status != REMAT_OK)
        return json_pack("{ssssss}", "status", remat_status_code(status),
                         "cause", remat_status_code(err.status), "detail",
                         err.detail);
    answer = frontier_json(run, frontier,
                           json_is_true(json_object_get(line, "brief")));
    json_object_set_new(
        answer, "steps",
        json_integer((json_int_t)(remat_job_steps(run->job) - n_steps)));
    json_object_set_new(answer, "allocations",
                        json_integer(run->n_allocations));
    json_object_set_new(
        answer, "seconds",
        json_real((double)(end - begin) / (double)CLOCKS_PER_SEC));
    return answer;
}

static json_t *answer_line(json_t *line)
{
    struct run run = {.fail_at =
                          json_integer_value(json_object_get(line, "fail_at"))};
    struct remat_limits limits = {.allocate = allocate,
                                  .release = release,
                                  .context = &run,
                                  .n_steps = (uint64_t)json_integer_value(
                                      json_object_get(line, "max_steps"))};
    json_t *answer;

    run.job = remat_job_new(&limits);
    if (run.job == NULL)
        lines_broken("no memory");
    lines_decode_graph(run.job, json_object_get(line, "graph"));
    answer = solve(&run, line);
    remat_job_free(run.job);
    return answer;
}

int main(void)
{
    return lines_run(answer_line);
}
