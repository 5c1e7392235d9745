/*
 * plan.c: one request from bytes to bytes: decode, solve, encode. The only file
 * of proto that knows both the budget and the clock.
 */
#include "proto.h"

#include "envelope.h"
#include "page.h"
#include "parse.h"
#include "passes.h"
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void proto_start(void)
{
    proto_json_start();
    proto_assets_start();
}

void proto_limits_init(struct proto_limits *limits)
{
    *limits = (struct proto_limits){
        .body_bytes = (size_t)256 << 20,
        .depth = 64,
        .n_nodes = 1000000,
        .memory_bytes = (size_t)1 << 30,
        .n_steps = UINT64_C(4000000000), /* some minutes */
    };
}

const char *proto_phase_name(enum proto_phase phase)
{
    static const char *const names[] = {
        [PROTO_PHASE_DECODE] = "decode",   [PROTO_PHASE_CLASSIFY] = "classify",
        [PROTO_PHASE_NETWORK] = "network", [PROTO_PHASE_FLOW] = "flow",
        [PROTO_PHASE_EXTRACT] = "extract", [PROTO_PHASE_VERIFY] = "verify",
        [PROTO_PHASE_ENCODE] = "encode"};

    return (unsigned)phase < PROTO_N_PHASES ? names[phase] : "";
}

static void announce(void *context, enum remat_phase phase)
{
    static const enum proto_phase phases[] = {
        [REMAT_PHASE_BUILD] = PROTO_PHASE_DECODE,
        [REMAT_PHASE_CLASSIFY] = PROTO_PHASE_CLASSIFY,
        [REMAT_PHASE_NETWORK] = PROTO_PHASE_NETWORK,
        [REMAT_PHASE_FLOW] = PROTO_PHASE_FLOW,
        [REMAT_PHASE_EXTRACT] = PROTO_PHASE_EXTRACT,
        [REMAT_PHASE_VERIFY] = PROTO_PHASE_VERIFY,
        [REMAT_PHASE_DONE] = PROTO_PHASE_VERIFY};
    struct proto_run *run = context;

    proto_watch_enter(&run->watch, phases[phase]);
}

static void advance(void *context, uint32_t done, uint32_t total)
{
    struct proto_run *run = context;

    proto_watch_advance(&run->watch, done, total);
}

static int should_stop(void *context)
{
    struct proto_run *run = context;

    return proto_watch_should_stop(&run->watch);
}

/* ---- memory ---- */

static void *allocate_chunk(void *context, size_t n_bytes)
{
    struct proto_run *run = context;

    return proto_budget_allocate(&run->budget, n_bytes);
}

static void release_chunk(void *context, void *chunk, size_t n_bytes)
{
    struct proto_run *run = context;

    proto_budget_release(&run->budget, chunk, n_bytes);
}

static bool make_job(struct proto_run *run)
{
    const struct proto_limits *limits = &run->env->limits;
    const struct remat_limits for_core = {
        .memory_bytes = limits->memory_bytes,
        .n_nodes = limits->n_nodes,
        .n_steps = limits->n_steps,
        .stop = should_stop,
        .phase = announce,
        .progress = advance,
        .context = run,
        .allocate = allocate_chunk,
        .release = release_chunk,
    };

    run->job = remat_job_new(&for_core);
    return run->job != NULL ||
           proto_decode_no_memory(&run->answer->problem, &run->budget);
}

/* ---- decode ---- */

/* The tree of an optional text (NULL: there is none). */
static json_t *parse_flag(struct proto_run *run, struct proto_json *json,
                          const char *text, const char *what)
{
    struct proto_source source = {text, 0, what};

    if (text == NULL)
        return NULL;
    source.length = strlen(text);
    return proto_json_parse(json, source, run->env->limits.depth,
                            &run->answer->problem);
}

/* Of a what-if the changes are its own business, and the base is a request. The
 * report of one is a what-if too: it shows what the changes do. */
static bool open_envelope(struct proto_run *run, json_t *body)
{
    struct proto_problem *problem = &run->answer->problem;
    json_t *request;

    if (run->kind == PROTO_CALL_REPORT && proto_envelope_is(body))
        run->kind = PROTO_CALL_WHAT_IF;
    request =
        run->kind == PROTO_CALL_WHAT_IF ? json_object_get(body, "base") : body;

    return !run->request->is_of_job ||
           proto_envelope_open(request, &run->n_levels, problem) ||
           proto_decode_no_memory(problem, &run->budget);
}

static bool parse_parts(struct proto_run *run, struct proto_json *json,
                        struct proto_parts *parts)
{
    const struct proto_request *request = run->request;
    struct proto_problem *problem = &run->answer->problem;
    struct proto_source source = {request->body == NULL ? "" : request->body,
                                  request->length, NULL};
    json_t *body =
        proto_json_parse(json, source, run->env->limits.depth, problem);
    json_t *options = NULL;
    json_t *passes = NULL;

    if (body != NULL) {
        options = parse_flag(run, json, request->options, "options");
        passes = parse_flag(run, json, request->passes, "passes");
    }
    if (body != NULL && !open_envelope(run, body))
        return false;
    if (body != NULL && run->hooks != NULL && run->hooks->parsed != NULL &&
        !run->hooks->parsed(run->hooks->context, body, problem))
        return false;
    if (problem->kind != PROTO_NO_PROBLEM)
        return false;
    if (body == NULL || (request->options != NULL && options == NULL) ||
        (request->passes != NULL && passes == NULL))
        return proto_decode_no_memory(problem, &run->budget);
    return proto_decode_parts(problem, body, options, passes, parts);
}

static bool decode_graph(struct proto_run *run, const struct proto_parts *parts)
{
    struct proto_decoder decoder = {
        .job = run->job,
        .budget = &run->budget,
        .problem = &run->answer->problem,
        .limits = &run->env->limits,
    };
    bool done = proto_decode_passes(&decoder, parts->passes, &run->passes) &&
                proto_decode_graph(&decoder, parts) &&
                proto_find_tagged(&decoder, &run->passes);

    run->answer->n_nodes = remat_graph_n_nodes(run->job);
    run->notes = decoder.notes;
    run->name = decoder.name;
    return done;
}

static bool find_names(struct proto_run *run, const struct proto_parts *parts)
{
    struct proto_answer *answer = run->answer;
    const struct proto_question question = {.parts = parts,
                                            .options = &run->options,
                                            .job = run->job,
                                            .passes = &run->passes,
                                            .notes = &run->notes,
                                            .name = run->name,
                                            .call = run->kind,
                                            .format = run->request->format,
                                            .wants_structure =
                                                run->env->look_up != NULL &&
                                                proto_run_is_named(run)};

    if (!proto_names_find(&answer->problem, &run->budget, &question,
                          &run->names))
        return false;
    memcpy(answer->digest, run->names.digest, sizeof(answer->digest));
    memcpy(answer->structure, run->names.structure, sizeof(answer->structure));
    return true;
}

/* PyTorch's artifact instead of a request: viewed, or refused. */
static bool decode_trace(struct proto_run *run, const struct proto_parts *parts)
{
    struct proto_answer *answer = run->answer;
    struct proto_decoder decoder = {.budget = &run->budget,
                                    .problem = &answer->problem,
                                    .limits = &run->env->limits};

    if (!run->takes_trace || parts->is_enveloped)
        return proto_mincut_refuse(&answer->problem);
    if (!make_job(run))
        return false;
    decoder.job = run->job;
    if (!proto_mincut_read(&decoder, parts->graph, &run->trace))
        return false;
    answer->n_nodes = run->trace->n_nodes;
    if (!proto_mincut_digest(parts->graph, &run->budget, run->names.digest))
        return proto_decode_no_memory(&answer->problem, &run->budget);
    memcpy(answer->digest, run->names.digest, sizeof(answer->digest));
    return true;
}

static bool decode_tree(struct proto_run *run, struct proto_json *json)
{
    struct proto_problem *problem = &run->answer->problem;
    struct proto_options *options = &run->options;
    struct proto_parts parts = {0};

    proto_options_init(options);
    if (!parse_parts(run, json, &parts))
        return false;
    if (proto_mincut_is(parts.graph))
        return decode_trace(run, &parts);
    if (!proto_decode_options(problem, parts.options, options) ||
        !proto_decode_options(problem, parts.more_options, options))
        return false;
    run->is_enveloped = parts.is_enveloped;
    run->answer->explain = proto_explain_name(options->explain);
    if (options->has_deadline)
        proto_watch_set_deadline(&run->watch, options->deadline_ms);
    return make_job(run) && decode_graph(run, &parts) &&
           find_names(run, &parts) &&
           (run->hooks == NULL || run->hooks->decoded == NULL ||
            run->hooks->decoded(run->hooks->context, run, &parts));
}

static bool parse_and_decode(struct proto_run *run)
{
    const struct proto_limits *limits = &run->env->limits;
    struct proto_json json;
    bool done;

    if (run->request->length > limits->body_bytes) {
        proto_problem_set(&run->answer->problem, PROTO_TOO_LARGE, NULL,
                          "the document has %zu bytes, the limit is %zu",
                          run->request->length, limits->body_bytes);
        return false;
    }
    proto_json_begin(&json, &run->budget);
    done = decode_tree(run, &json);
    proto_json_end(&json);
    return done;
}

/* ---- solve ---- */

static enum proto_problem_kind problem_of(enum remat_status status)
{
    switch (status) {
    case REMAT_E_GRAPH:
        return PROTO_INVALID_GRAPH;
    case REMAT_E_SIZE:
        return PROTO_SIZE_UNKNOWN;
    case REMAT_E_OPTION:
        return PROTO_UNKNOWN_OPTION;
    case REMAT_E_NODES:
    case REMAT_E_LIMIT:
    case REMAT_E_WEIGHT:
        return PROTO_TOO_LARGE;
    case REMAT_E_STEPS:
        return PROTO_STEP_LIMIT;
    case REMAT_E_STOPPED:
        return PROTO_DEADLINE;
    case REMAT_E_NOMEM:
        return PROTO_OUT_OF_MEMORY;
    case REMAT_OK:
    case REMAT_E_BUG:
        break;
    }
    return PROTO_INTERNAL;
}

static void report_stopped(struct proto_run *run)
{
    if (run->watch.was_cancelled)
        proto_problem_set(&run->answer->problem, PROTO_DEADLINE, NULL,
                          "the request was given up before there was a plan");
    else
        proto_problem_set(&run->answer->problem, PROTO_DEADLINE, NULL,
                          "deadline_ms of %" PRId64 " passed before there was "
                          "a plan, raise it or make the graph smaller",
                          run->options.deadline_ms);
}

bool proto_run_fail(struct proto_run *run, enum remat_status status,
                    const struct remat_error *error)
{
    struct proto_problem *problem = &run->answer->problem;
    char pointer[32];

    if (status == REMAT_E_STOPPED) {
        report_stopped(run);
        return false;
    }
    if (status == REMAT_E_NOMEM || status == REMAT_E_LIMIT)
        return proto_decode_no_memory(problem, &run->budget);
    if (error->node == REMAT_NONE) {
        proto_problem_set(problem, problem_of(status), NULL, "%s",
                          error->detail);
        return false;
    }
    snprintf(pointer, sizeof(pointer), "%s/nodes/%" PRIu32,
             run->is_enveloped ? "/graph" : "", error->node);
    proto_problem_set(problem, problem_of(status), pointer, "node \"%s\": %s",
                      remat_graph_name(run->job, error->node), error->detail);
    return false;
}

static bool fail_pass(struct proto_run *run, uint32_t number,
                      enum remat_status status, const struct remat_error *error)
{
    char pointer[sizeof(run->answer->problem.pointer)];

    if (status != REMAT_E_OPTION)
        return proto_run_fail(run, status, error);
    proto_pass_pointer(number, error->detail, pointer, sizeof(pointer));
    proto_problem_set(&run->answer->problem, PROTO_UNKNOWN_OPTION, pointer,
                      "the pass %s: %s", run->passes.at[number].name,
                      error->detail);
    return false;
}

bool proto_run_passes(struct proto_run *run)
{
    struct remat_error error = {.node = REMAT_NONE};
    uint32_t failed = 0;
    enum remat_status status;

    proto_watch_enter(&run->watch, PROTO_PHASE_CLASSIFY);
    status = proto_passes_apply(run->job, &run->passes, &failed, &error);
    run->answer->n_steps = remat_job_steps(run->job);
    return status == REMAT_OK || fail_pass(run, failed, status, &error);
}

static enum remat_status decide(struct proto_run *run,
                                const struct remat_plan **plan,
                                struct remat_error *error)
{
    const struct proto_hooks *hooks = run->hooks;
    const struct proto_asked asked = {run->job, &run->options, &run->passes,
                                      run->answer->digest};

    return hooks == NULL || hooks->solve == NULL
               ? remat_plan_solve(run->job, &run->options.core, plan, error)
               : hooks->solve(hooks->context, &asked, plan, error);
}

bool proto_run_solve(struct proto_run *run, const struct remat_plan **plan)
{
    struct remat_error error = {.node = REMAT_NONE};
    enum remat_status status = decide(run, plan, &error);

    run->answer->n_steps = remat_job_steps(run->job);
    if (status == REMAT_OK && (*plan)->outcome == REMAT_PLAN)
        run->answer->saved_bytes = (uint64_t)(*plan)->saved_bytes;
    return status == REMAT_OK || proto_run_fail(run, status, &error);
}

static bool solve_frontier(struct proto_run *run,
                           const struct remat_frontier **frontier)
{
    struct remat_error error = {.node = REMAT_NONE};
    enum remat_status status =
        remat_frontier_solve(run->job, &run->options.core, frontier, &error);

    run->answer->n_steps = remat_job_steps(run->job);
    return status == REMAT_OK || proto_run_fail(run, status, &error);
}

/* ---- what is known ---- */

/* Whether the request goes on to the solver. */
static bool look_up(struct proto_run *run)
{
    const struct proto_env *env = run->env;
    struct proto_answer *answer = run->answer;
    struct proto_identity identity = {.digest = answer->digest,
                                      .explain = answer->explain,
                                      .call = run->kind,
                                      .format = run->request->format};
    struct proto_known known = {0};

    if (env->look_up == NULL)
        return true;
    memcpy(identity.structure, answer->structure, sizeof(identity.structure));
    switch (env->look_up(env->context, &identity, &known)) {
    case PROTO_KNOWN_ANSWER:
        answer->result = PROTO_KNOWN;
        return false;
    case PROTO_DEFER:
        answer->result = PROTO_DEFERRED;
        return false;
    case PROTO_KNOWN_TEMPLATE:
        if (!proto_run_shares_template(run))
            return true;
        proto_watch_enter(&run->watch, PROTO_PHASE_ENCODE);
        answer->is_filled =
            proto_run_fill(run, known.bytes, known.length) == PROTO_FILLED;
        return answer->body == NULL && answer->problem.kind == PROTO_NO_PROBLEM;
    case PROTO_SOLVE:
        break;
    }
    return true;
}

bool proto_run_decode(struct proto_run *run)
{
    if (!parse_and_decode(run))
        return false;
    if (run->kind == PROTO_CALL_TAGS || run->kind == PROTO_CALL_DIFF ||
        run->trace != NULL)
        return true;
    if (!look_up(run))
        return false;
    return !proto_run_has_template(run) ||
           proto_template_hide_names(run->job) ||
           proto_decode_no_memory(&run->answer->problem, &run->budget);
}

/* ---- a request ---- */

void proto_run_begin(struct proto_run *run)
{
    *run->answer = (struct proto_answer){.result = PROTO_PROBLEM};
    run->budget.limit_bytes = run->env->limits.memory_bytes;
    run->budget.stop = should_stop;
    run->budget.stop_context = run;
    proto_names_init(&run->names, &run->budget);
    proto_watch_start(&run->watch, run->env, run->answer->phase_ns);
}

void proto_run_end(struct proto_run *run)
{
    if (run->answer->result == PROTO_PROBLEM && run->budget.stopped) {
        run->answer->problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
        report_stopped(run); /* it knows which clock ran out */
    }
    proto_envelope_point(&run->answer->problem,
                         run->kind == PROTO_CALL_WHAT_IF ? "/base" : "",
                         run->n_levels);
    proto_names_release(&run->names);
    remat_job_free(run->job);
    proto_watch_end(&run->watch);
    run->answer->memory_bytes = run->budget.peak_bytes;
}

void proto_plan_hooked(const struct proto_env *env,
                       const struct proto_request *request,
                       const struct proto_hooks *hooks,
                       struct proto_answer *answer)
{
    struct proto_run run = {.env = env,
                            .request = request,
                            .answer = answer,
                            .hooks = hooks,
                            .kind = PROTO_CALL_PLAN};
    const struct remat_plan *plan = NULL;

    proto_run_begin(&run);
    if (proto_run_decode(&run) && proto_run_passes(&run) &&
        proto_run_solve(&run, &plan)) {
        proto_watch_enter(&run.watch, PROTO_PHASE_ENCODE);
        proto_run_encode_plan(&run, plan);
    }
    proto_run_end(&run);
}

void proto_plan(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    proto_plan_hooked(env, request, NULL, answer);
}

void proto_frontier(const struct proto_env *env,
                    const struct proto_request *request,
                    struct proto_answer *answer)
{
    struct proto_run run = {.env = env,
                            .request = request,
                            .answer = answer,
                            .kind = PROTO_CALL_FRONTIER};
    const struct remat_frontier *frontier = NULL;

    proto_run_begin(&run);
    if (proto_run_decode(&run) && proto_run_passes(&run) &&
        solve_frontier(&run, &frontier)) {
        proto_watch_enter(&run.watch, PROTO_PHASE_ENCODE);
        proto_run_encode_frontier(&run, frontier);
    }
    proto_run_end(&run);
}

void proto_tags(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    struct proto_run run = {.env = env,
                            .request = request,
                            .answer = answer,
                            .kind = PROTO_CALL_TAGS};

    proto_run_begin(&run);
    if (proto_run_decode(&run) && proto_run_passes(&run)) {
        proto_watch_enter(&run.watch, PROTO_PHASE_ENCODE);
        proto_run_encode_tags(&run);
    }
    proto_run_end(&run);
}

void proto_answer_release(struct proto_answer *answer)
{
    proto_free(answer->body);
    proto_free(answer->remarks);
    proto_free(answer->template_bytes);
    answer->body = NULL;
    answer->remarks = NULL;
    answer->template_bytes = NULL;
    answer->length = 0;
}
