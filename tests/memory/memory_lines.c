/*
 * memory_lines: plans of many graphs and options in one process, for tests.
 *
 * Reads a line {"graph", "asks": [options, ...]} on stdin and answers with a
 * line: a list with, for each ask, the lists of the plan, its costs and what it
 * holds step by step; or the status and detail of a failure. The graph is read
 * and sealed once. "max_steps": n bounds the steps of all asks.
 */
#include "lines_graph.h"

#include <string.h>

static json_t *get(json_t *object, const char *key)
{
    return json_object_get(object, key);
}

/* ---- input ---- */

static void read_bool(json_t *ask, const char *key, bool *value)
{
    if (get(ask, key) != NULL)
        *value = json_is_true(get(ask, key));
}

static void read_options(json_t *ask, struct remat_options *o)
{
    json_t *limit = get(ask, "memory_limit_bytes");
    json_t *budget = get(ask, "activation_memory_budget");

    remat_options_init(o);
#define X(name, value) read_bool(ask, #name, &o->name);
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    if (json_is_string(get(ask, "profile")) &&
        strcmp(json_string_value(get(ask, "profile")), "plain") == 0)
        o->profile = REMAT_PROFILE_PLAIN;
    if (json_is_integer(get(ask, "max_dist_from_bw")))
        o->max_dist_from_bw = json_integer_value(get(ask, "max_dist_from_bw"));
    if (json_is_number(budget))
        o->activation_memory_budget = json_number_value(budget);
    if (json_is_integer(limit))
        o->memory_limit_bytes = json_integer_value(limit);
}

/* ---- output ---- */

static json_t *name_json(const struct remat_job *job, remat_node v)
{
    return v == REMAT_NONE ? json_null()
                           : json_string(remat_graph_node(job, v)->name);
}

static json_t *names_json(const struct remat_job *job, struct remat_nodes nodes)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < nodes.n; i++)
        json_array_append_new(list, name_json(job, nodes.at[i]));
    return list;
}

static json_t *curve_json(const struct remat_job *job,
                          const struct remat_curve *curve)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < curve->n_steps; i++)
        json_array_append_new(list,
                              json_pack("[oII]", name_json(job, curve->node[i]),
                                        (json_int_t)curve->activation_bytes[i],
                                        (json_int_t)curve->gradient_bytes[i]));
    return list;
}

static void set_int(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer(value));
}

static void add_memory(const struct remat_job *job, json_t *answer,
                       const struct remat_memory *m)
{
    set_int(answer, "peak_forward_bytes", m->peak_forward_bytes);
    set_int(answer, "peak_backward_bytes", m->peak_backward_bytes);
    set_int(answer, "peak_gradient_bytes", m->peak_gradient_bytes);
    set_int(answer, "peak_total_bytes", m->peak_total_bytes);
    set_int(answer, "resident_bytes", m->static_bytes);
    json_object_set_new(answer, "peak_nodes", names_json(job, m->peak_nodes));
    json_object_set_new(answer, "forward", curve_json(job, &m->forward));
    json_object_set_new(answer, "backward", curve_json(job, &m->backward));
}

static void add_limit(json_t *answer, const struct remat_limit_report *r)
{
    json_object_set_new(answer, "limit",
                        json_pack("{sbsbsIsI}", "is_met", r->is_met,
                                  "is_optimal", r->is_optimal, "floor_bytes",
                                  (json_int_t)r->floor_bytes, "flops_bound",
                                  (json_int_t)r->flops_bound));
}

static json_t *notes_json(const struct remat_job *job,
                          const struct remat_plan *plan)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < plan->n_diagnostics; i++) {
        const struct remat_diagnostic *d = &plan->diagnostics[i];
        json_t *note =
            json_pack("{sssoss}", "code", d->code, "node",
                      name_json(job, d->node), "message", d->message);

        if (d->has_floor)
            json_object_set_new(note, "floor", json_real(d->floor));
        json_array_append_new(list, note);
    }
    return list;
}

static json_t *tags_json(const struct remat_job *job,
                         const struct remat_plan *plan)
{
    json_t *tags = json_object();

    for (remat_node v = 0; v < remat_graph_n_nodes(job); v++)
        if (plan->facts.tag[v] != REMAT_UNTAGGED)
            json_object_set_new(tags, remat_graph_node(job, v)->name,
                                json_integer(plan->facts.tag[v]));
    return tags;
}

static json_t *plan_json(const struct remat_job *job,
                         const struct remat_plan *plan)
{
    static const char *const outcomes[] = {
        [REMAT_PLAN] = "plan",
        [REMAT_INFINITE_FLOW] = "infinite_flow",
        [REMAT_INVALID_OUTPUT] = "invalid_output"};
    json_t *answer = json_object();

    json_object_set_new(answer, "outcome",
                        json_string(outcomes[plan->outcome]));
    json_object_set_new(answer, "diagnostics", notes_json(job, plan));
    if (plan->outcome != REMAT_PLAN)
        return answer;
    json_object_set_new(answer, "saved", names_json(job, plan->saved));
    json_object_set_new(answer, "sym", names_json(job, plan->saved_sym));
    json_object_set_new(answer, "opaque", names_json(job, plan->saved_opaque));
    json_object_set_new(answer, "recomputed",
                        names_json(job, plan->recomputed));
    json_object_set_new(answer, "tags", tags_json(job, plan));
    set_int(answer, "forward_flops", plan->forward_flops);
    set_int(answer, "recomputed_flops", plan->recomputed_flops);
    set_int(answer, "saved_bytes", plan->saved_bytes);
    set_int(answer, "saved_storage_bytes", plan->saved_storage_bytes);
    add_memory(job, answer, &plan->memory);
    if (plan->limit.is_asked)
        add_limit(answer, &plan->limit);
    return answer;
}

/* ---- one line ---- */

static json_t *answer_ask(struct remat_job *job, json_t *ask)
{
    uint64_t before = remat_job_steps(job);
    struct remat_options options;
    struct remat_error err = {.node = REMAT_NONE};
    const struct remat_plan *plan;
    enum remat_status status;
    json_t *answer;

    read_options(ask, &options);
    status = remat_plan_solve(job, &options, &plan, &err);
    if (status != REMAT_OK)
        return json_pack("{sssssO}", "status", remat_status_code(status),
                         "detail", err.detail, "ask", ask);
    answer = plan_json(job, plan);
    set_int(answer, "steps", (int64_t)(remat_job_steps(job) - before));
    return answer;
}

static json_t *answer_line(json_t *line)
{
    json_t *asks = json_incref(get(line, "asks"));
    struct remat_limits limits = {
        .n_steps = (uint64_t)json_integer_value(get(line, "max_steps"))};
    struct remat_job *job = remat_job_new(&limits);
    json_t *answers = json_array();
    json_t *ask;
    size_t i;

    if (job == NULL)
        lines_broken("no memory");
    json_object_del(line, "asks");
    json_object_del(line, "max_steps");
    lines_decode_graph(job, line);
    json_array_foreach (asks, i, ask)
        json_array_append_new(answers, answer_ask(job, ask));
    json_decref(asks);
    remat_job_free(job);
    return answers;
}

int main(void)
{
    return lines_run(answer_line);
}
