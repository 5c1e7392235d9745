/*
 * plan.c: one request from bytes to bytes: decode, solve, encode. The only file
 * of proto that knows both the budget and the clock.
 */
#include "proto.h"

#include "decode.h"
#include "digest.h"
#include "encode.h"
#include "json.h"
#include "passes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void proto_start(void)
{
    proto_json_start();
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

/* One request on its way. */
struct call {
    const struct proto_env *env;
    const struct proto_request *request;
    struct proto_answer *answer;
    struct proto_budget budget;
    struct remat_job *job;
    struct proto_options options;
    struct proto_passes passes;
    struct proto_notes notes;
    const char *name;
    uint64_t started_ns;
    uint64_t deadline_ns; /* 0: none */
    uint64_t phase_began_ns;
    enum proto_phase phase;
    bool was_cancelled;
    bool is_enveloped; /* the graph is a member of the body */
};

/* ---- the clock ---- */

static void enter_phase(struct call *call, enum proto_phase phase)
{
    uint64_t now;

    if (call->env->now_ns == NULL)
        return;
    now = call->env->now_ns(call->env->context);
    if (now > call->phase_began_ns)
        call->answer->phase_ns[call->phase] += now - call->phase_began_ns;
    call->phase_began_ns = now;
    call->phase = phase;
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
        [REMAT_PHASE_DONE] = PROTO_PHASE_ENCODE};

    enter_phase(context, phases[phase]);
}

static int should_stop(void *context)
{
    struct call *call = context;
    const struct proto_env *env = call->env;

    if (env->cancelled != NULL && env->cancelled(env->context) != 0)
        call->was_cancelled = true;
    return call->was_cancelled ||
           (call->deadline_ns != 0 &&
            env->now_ns(env->context) >= call->deadline_ns);
}

static void start_clock(struct call *call)
{
    const struct proto_env *env = call->env;

    call->phase = PROTO_PHASE_DECODE;
    if (env->now_ns == NULL)
        return;
    call->phase_began_ns = env->now_ns(env->context);
    call->started_ns =
        env->started_ns != 0 ? env->started_ns : call->phase_began_ns;
}

static void set_deadline(struct call *call)
{
    uint64_t ns;

    if (call->env->now_ns == NULL || !call->options.has_deadline)
        return;
    if (__builtin_mul_overflow((uint64_t)call->options.deadline_ms,
                               UINT64_C(1000000), &ns) ||
        __builtin_add_overflow(ns, call->started_ns, &ns))
        return; /* later than the clock can tell */
    call->deadline_ns = ns;
}

/* ---- memory ---- */

static void *allocate_chunk(void *context, size_t n_bytes)
{
    struct call *call = context;

    return proto_budget_allocate(&call->budget, n_bytes);
}

static void release_chunk(void *context, void *chunk, size_t n_bytes)
{
    struct call *call = context;

    proto_budget_release(&call->budget, chunk, n_bytes);
}

static bool make_job(struct call *call)
{
    const struct proto_limits *limits = &call->env->limits;
    const struct remat_limits for_core = {
        .memory_bytes = limits->memory_bytes,
        .n_nodes = limits->n_nodes,
        .n_steps = limits->n_steps,
        .stop = should_stop,
        .phase = announce,
        .context = call,
        .allocate = allocate_chunk,
        .release = release_chunk,
    };

    call->job = remat_job_new(&for_core);
    return call->job != NULL ||
           proto_decode_no_memory(&call->answer->problem, &call->budget);
}

/* ---- decode ---- */

/* The tree of an optional text (NULL: there is none). */
static json_t *parse_flag(struct call *call, struct proto_json *json,
                          const char *text, const char *what)
{
    struct proto_source source = {text, 0, what};

    if (text == NULL)
        return NULL;
    source.length = strlen(text);
    return proto_json_parse(json, source, call->env->limits.depth,
                            &call->answer->problem);
}

static bool parse_parts(struct call *call, struct proto_json *json,
                        struct proto_parts *parts)
{
    const struct proto_request *request = call->request;
    struct proto_problem *problem = &call->answer->problem;
    struct proto_source source = {request->body == NULL ? "" : request->body,
                                  request->length, NULL};
    json_t *body =
        proto_json_parse(json, source, call->env->limits.depth, problem);
    json_t *options = NULL;
    json_t *passes = NULL;

    if (body != NULL) {
        options = parse_flag(call, json, request->options, "options");
        passes = parse_flag(call, json, request->passes, "passes");
    }
    if (problem->kind != PROTO_NO_PROBLEM)
        return false;
    if (body == NULL || (request->options != NULL && options == NULL) ||
        (request->passes != NULL && passes == NULL))
        return proto_decode_no_memory(problem, &call->budget);
    return proto_decode_parts(problem, body, options, passes, parts);
}

static bool decode_graph(struct call *call, const struct proto_parts *parts)
{
    struct proto_decoder decoder = {
        .job = call->job,
        .budget = &call->budget,
        .problem = &call->answer->problem,
        .limits = &call->env->limits,
    };
    bool done = proto_decode_passes(&decoder, parts->passes, &call->passes) &&
                proto_decode_graph(&decoder, parts);

    call->answer->n_nodes = remat_graph_n_nodes(call->job);
    call->notes = decoder.notes;
    call->name = decoder.name;
    return done;
}

static bool decode_tree(struct call *call, struct proto_json *json)
{
    struct proto_problem *problem = &call->answer->problem;
    struct proto_options *options = &call->options;
    struct proto_parts parts = {0};

    proto_options_init(options);
    if (!parse_parts(call, json, &parts) ||
        !proto_decode_options(problem, parts.options, options) ||
        !proto_decode_options(problem, parts.more_options, options))
        return false;
    call->is_enveloped = parts.is_enveloped;
    set_deadline(call);
    return make_job(call) && decode_graph(call, &parts) &&
           proto_digest(problem, &call->budget, &parts, options,
                        call->answer->digest);
}

static bool decode(struct call *call)
{
    const struct proto_limits *limits = &call->env->limits;
    struct proto_json json;
    bool done;

    if (call->request->length > limits->body_bytes) {
        proto_problem_set(&call->answer->problem, PROTO_TOO_LARGE, NULL,
                          "the document has %zu bytes, the limit is %zu",
                          call->request->length, limits->body_bytes);
        return false;
    }
    proto_json_begin(&json, &call->budget);
    done = decode_tree(call, &json);
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
    case REMAT_E_UNBUILT:
        return PROTO_NOT_IMPLEMENTED;
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

static void report_stopped(struct call *call)
{
    if (call->was_cancelled)
        proto_problem_set(&call->answer->problem, PROTO_DEADLINE, NULL,
                          "the request was given up before there was a plan");
    else
        proto_problem_set(&call->answer->problem, PROTO_DEADLINE, NULL,
                          "deadline_ms of %" PRId64 " passed before there was "
                          "a plan, raise it or make the graph smaller",
                          call->options.deadline_ms);
}

static bool fail_solve(struct call *call, enum remat_status status,
                       const struct remat_error *error)
{
    struct proto_problem *problem = &call->answer->problem;
    char pointer[32];

    if (status == REMAT_E_STOPPED) {
        report_stopped(call);
        return false;
    }
    if (status == REMAT_E_NOMEM || status == REMAT_E_LIMIT)
        return proto_decode_no_memory(problem, &call->budget);
    if (error->node == REMAT_NONE) {
        proto_problem_set(problem, problem_of(status), NULL, "%s",
                          error->detail);
        return false;
    }
    snprintf(pointer, sizeof(pointer), "%s/nodes/%" PRIu32,
             call->is_enveloped ? "/graph" : "", error->node);
    proto_problem_set(problem, problem_of(status), pointer, "node \"%s\": %s",
                      remat_graph_node(call->job, error->node)->name,
                      error->detail);
    return false;
}

static bool fail_pass(struct call *call, uint32_t number,
                      enum remat_status status, const struct remat_error *error)
{
    char pointer[sizeof(call->answer->problem.pointer)];

    if (status != REMAT_E_OPTION)
        return fail_solve(call, status, error);
    proto_pass_pointer(number, error->detail, pointer, sizeof(pointer));
    proto_problem_set(&call->answer->problem, PROTO_UNKNOWN_OPTION, pointer,
                      "the pass %s: %s", call->passes.at[number].name,
                      error->detail);
    return false;
}

static bool apply_passes(struct call *call)
{
    struct remat_error error = {.node = REMAT_NONE};
    uint32_t failed = 0;
    enum remat_status status;

    enter_phase(call, PROTO_PHASE_CLASSIFY);
    status = proto_passes_apply(call->job, &call->passes, &failed, &error);
    call->answer->n_steps = remat_job_steps(call->job);
    return status == REMAT_OK || fail_pass(call, failed, status, &error);
}

static bool solve(struct call *call, const struct remat_plan **plan)
{
    struct remat_error error = {.node = REMAT_NONE};
    enum remat_status status =
        remat_plan_solve(call->job, &call->options.core, plan, &error);

    call->answer->n_steps = remat_job_steps(call->job);
    return status == REMAT_OK || fail_solve(call, status, &error);
}

static bool solve_frontier(struct call *call,
                           const struct remat_frontier **frontier)
{
    struct remat_error error = {.node = REMAT_NONE};
    enum remat_status status =
        remat_frontier_solve(call->job, &call->options.core, frontier, &error);

    call->answer->n_steps = remat_job_steps(call->job);
    return status == REMAT_OK || fail_solve(call, status, &error);
}

/* ---- encode ---- */

static struct proto_decision decision_of(struct call *call,
                                         const struct remat_plan *plan)
{
    return (struct proto_decision){
        .job = call->job,
        .plan = plan,
        .notes = &call->notes,
        .name = call->name,
        .digest = call->answer->digest,
        .explain = call->options.explain,
        .passes = &call->passes,
    };
}

static bool take_answer(struct call *call, struct proto_text *text,
                        enum remat_outcome outcome)
{
    struct proto_answer *answer = call->answer;

    answer->body = proto_text_take(text, &answer->length);
    if (answer->body == NULL)
        return proto_decode_no_memory(&answer->problem, &call->budget);
    answer->outcome = proto_outcome_name(outcome);
    answer->result = outcome == REMAT_PLAN ? PROTO_PLAN : PROTO_NO_PLAN;
    return true;
}

static bool encode(struct call *call, const struct remat_plan *plan)
{
    const struct proto_decision decision = decision_of(call, plan);
    struct proto_text text;

    proto_text_init(&text, &call->budget);
    if (call->request->format == PROTO_TEXT)
        proto_encode_report(&text, &decision);
    else
        proto_encode_plan(&text, &decision);
    return take_answer(call, &text, plan->outcome);
}

/* A graph without a plan gets the report that a plan request gets. */
static bool encode_frontier(struct call *call,
                            const struct remat_frontier *frontier)
{
    const struct remat_plan head = {.outcome = frontier->outcome,
                                    .diagnostics = frontier->diagnostics,
                                    .n_diagnostics = frontier->n_diagnostics};
    const struct proto_decision decision = decision_of(call, &head);
    struct proto_text text;

    proto_text_init(&text, &call->budget);
    if (call->request->format == PROTO_JSON)
        proto_encode_frontier(&text, &decision, frontier);
    else if (frontier->outcome == REMAT_PLAN)
        proto_report_frontier(&text, &decision, frontier);
    else
        proto_encode_report(&text, &decision);
    return take_answer(call, &text, frontier->outcome);
}

static bool encode_tags(struct call *call)
{
    struct proto_answer *answer = call->answer;
    struct proto_text text;
    size_t n_remarks;

    proto_text_init(&text, &call->budget);
    proto_report_pass_remarks(&text, &call->passes, "");
    if (text.length > 0 || text.failed) {
        answer->remarks = proto_text_take(&text, &n_remarks);
        if (answer->remarks == NULL)
            return proto_decode_no_memory(&answer->problem, &call->budget);
    }
    proto_encode_tags(&text, call->job);
    answer->body = proto_text_take(&text, &answer->length);
    if (answer->body == NULL)
        return proto_decode_no_memory(&answer->problem, &call->budget);
    answer->result = PROTO_PLAN;
    return true;
}

/* ---- a request ---- */

static void begin(struct call *call)
{
    *call->answer = (struct proto_answer){.result = PROTO_PROBLEM};
    call->budget.limit_bytes = call->env->limits.memory_bytes;
    call->budget.stop = should_stop;
    call->budget.stop_context = call;
    start_clock(call);
}

static void end(struct call *call)
{
    if (call->answer->result == PROTO_PROBLEM && call->budget.stopped) {
        call->answer->problem =
            (struct proto_problem){.kind = PROTO_NO_PROBLEM};
        report_stopped(call); /* it knows which clock ran out */
    }
    remat_job_free(call->job);
    enter_phase(call, PROTO_PHASE_ENCODE);
    call->answer->memory_bytes = call->budget.peak_bytes;
}

void proto_plan(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    struct call call = {.env = env, .request = request, .answer = answer};
    const struct remat_plan *plan = NULL;

    begin(&call);
    if (decode(&call) && apply_passes(&call) && solve(&call, &plan)) {
        enter_phase(&call, PROTO_PHASE_ENCODE);
        encode(&call, plan);
    }
    end(&call);
}

void proto_frontier(const struct proto_env *env,
                    const struct proto_request *request,
                    struct proto_answer *answer)
{
    struct call call = {.env = env, .request = request, .answer = answer};
    const struct remat_frontier *frontier = NULL;

    begin(&call);
    if (decode(&call) && apply_passes(&call) &&
        solve_frontier(&call, &frontier)) {
        enter_phase(&call, PROTO_PHASE_ENCODE);
        encode_frontier(&call, frontier);
    }
    end(&call);
}

void proto_tags(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    struct call call = {.env = env, .request = request, .answer = answer};

    begin(&call);
    if (decode(&call) && apply_passes(&call)) {
        enter_phase(&call, PROTO_PHASE_ENCODE);
        encode_tags(&call);
    }
    end(&call);
}

void proto_answer_release(struct proto_answer *answer)
{
    proto_free(answer->body);
    proto_free(answer->remarks);
    answer->body = NULL;
    answer->remarks = NULL;
    answer->length = 0;
}
