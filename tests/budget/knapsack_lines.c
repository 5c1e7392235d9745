/*
 * knapsack_lines: the knapsack solvers of core on given items, for tests.
 *
 * Reads a line {"solver", "memory", "runtime", "budget"} on stdin and answers
 * with {"keep": [indices], "divides_by_zero": bool, "steps": n}. Solvers: dp,
 * greedy, ilp, hirschberg, hirschberg_off_by_one (as PyTorch has it).
 * "fail_at": n makes the n-th allocation of the job fail; "max_steps" bounds
 * it; the answer is then {"status": code}.
 */
#include "knapsack.h"

#include "lines.h"

#include <string.h>

struct allocator {
    json_int_t n;
    json_int_t fail_at; /* 0: never */
};

static void *allocate(void *context, size_t n_bytes)
{
    struct allocator *a = context;

    return ++a->n == a->fail_at ? NULL : malloc(n_bytes);
}

static void release(void *context, void *chunk, size_t n_bytes)
{
    (void)context;
    (void)n_bytes;
    free(chunk);
}

static double *numbers(json_t *list)
{
    size_t n = json_array_size(list);
    double *at = calloc(n + 1, sizeof(*at));

    for (size_t i = 0; at != NULL && i < n; i++)
        at[i] = json_number_value(json_array_get(list, i));
    return at;
}

static enum remat_status solve(struct remat_job *job, const char *solver,
                               const struct remat_items *items, bool *keep,
                               bool *divides)
{
    struct remat_error err = {.node = REMAT_NONE};

    if (strcmp(solver, "dp") == 0)
        return remat_knapsack_dp(job, items, keep, &err);
    if (strcmp(solver, "greedy") == 0)
        return remat_knapsack_greedy(job, items, keep, divides, &err);
    if (strcmp(solver, "ilp") == 0)
        return remat_knapsack_exact(job, items, keep, &err);
    return remat_knapsack_hirschberg(
        job, items, strcmp(solver, "hirschberg_off_by_one") == 0, keep, &err);
}

static json_t *answer(enum remat_status status, const struct remat_job *job,
                      const bool *keep, uint32_t n, bool divides)
{
    json_t *list;

    if (status != REMAT_OK)
        return json_pack("{ss}", "status", remat_status_code(status));
    list = json_array();
    for (uint32_t i = 0; i < n; i++)
        if (keep[i])
            json_array_append_new(list, json_integer(i));
    return json_pack("{sosbsI}", "keep", list, "divides_by_zero", divides,
                     "steps", (json_int_t)remat_job_steps(job));
}

static json_t *answer_line(json_t *line)
{
    struct allocator a = {
        .fail_at = json_integer_value(json_object_get(line, "fail_at"))};
    struct remat_limits limits = {.allocate = allocate,
                                  .release = release,
                                  .context = &a,
                                  .n_steps = (uint64_t)json_integer_value(
                                      json_object_get(line, "max_steps"))};
    double *memory = numbers(json_object_get(line, "memory"));
    double *runtime = numbers(json_object_get(line, "runtime"));
    struct remat_items items = {
        memory, runtime,
        (uint32_t)json_array_size(json_object_get(line, "memory")),
        json_number_value(json_object_get(line, "budget"))};
    struct remat_job *job = remat_job_new(&limits);
    bool *keep = calloc(items.n + 1, sizeof(*keep));
    enum remat_status status = REMAT_E_NOMEM;
    bool divides = false;
    json_t *result;

    if (job != NULL && keep != NULL)
        status = solve(job, json_string_value(json_object_get(line, "solver")),
                       &items, keep, &divides);
    result = answer(status, job, keep, items.n, divides);
    free(memory);
    free(runtime);
    free(keep);
    remat_job_free(job);
    return result;
}

int main(void)
{
    return lines_run(answer_line);
}
