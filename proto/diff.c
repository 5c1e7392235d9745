/*
 * diff.c: two requests, and what they decide differently. Nodes are the same
 * when they have the same name.
 */
#include "run.h"

struct diff_run {
    struct proto_run before;
    struct proto_run after;
    struct proto_answer answer_before; /* for its problem */
    const struct remat_plan *plan_before;
    const struct remat_plan *plan_after;
    remat_node *counterpart; /* by node after */
    bool *is_matched;        /* by node before; in the second job */
};

/* ---- names ------------------------------------------------------------- */

static bool match_names(struct diff_run *d)
{
    struct remat_job *before = d->before.job;
    struct remat_job *after = d->after.job;
    uint32_t n = remat_graph_n_nodes(after);

    d->counterpart = remat_job_alloc(after, n, sizeof(*d->counterpart));
    d->is_matched = remat_job_alloc(after, remat_graph_n_nodes(before),
                                    sizeof(*d->is_matched));
    if (d->counterpart == NULL || d->is_matched == NULL)
        return false;
    for (remat_node v = 0; v < n; v++) {
        d->counterpart[v] =
            remat_graph_find(before, remat_graph_name(after, v));
        if (d->counterpart[v] != REMAT_NONE)
            d->is_matched[d->counterpart[v]] = true;
    }
    return true;
}

/* ---- what one graph alone has ------------------------------------------ */

struct alone {
    const struct remat_job *job;
    const uint8_t *places;
    bool is_before;
};

static bool is_alone(const struct diff_run *d, const struct alone *a,
                     remat_node v)
{
    return a->is_before ? !d->is_matched[v] : d->counterpart[v] == REMAT_NONE;
}

static uint32_t count_placed(const struct diff_run *d, const struct alone *a)
{
    uint32_t count = 0;

    for (remat_node v = 0; v < remat_graph_n_nodes(a->job); v++)
        count += is_alone(d, a, v) && a->places[v] != REMAT_PLACE_NONE;
    return count;
}

static void add_placed(const struct diff_run *d, const struct alone *a,
                       struct proto_difference *difference)
{
    for (remat_node v = 0; v < remat_graph_n_nodes(a->job); v++) {
        enum remat_place place = (enum remat_place)a->places[v];

        if (!is_alone(d, a, v) || place == REMAT_PLACE_NONE)
            continue;
        difference->moves[difference->n_moves++] = (struct proto_move){
            .name = remat_graph_node(a->job, v)->name,
            .before = a->is_before ? place : REMAT_PLACE_NONE,
            .after = a->is_before ? REMAT_PLACE_NONE : place,
            .n_bytes = remat_node_bytes(a->job, v),
            .flops = remat_node_flops(a->job, v),
            .why = a->is_before ? "the second graph does not have it"
                                : "the first graph does not have it"};
    }
}

static bool find_difference(struct diff_run *d,
                            struct proto_difference *difference)
{
    struct alone before = {
        d->before.job, remat_plan_places(d->before.job, d->plan_before), true};
    struct alone after = {
        d->after.job, remat_plan_places(d->after.job, d->plan_after), false};
    struct remat_solved solved = {d->before.job, d->plan_before};
    struct remat_error error = {.node = REMAT_NONE};
    struct remat_diff diff;
    enum remat_status status;

    if (before.places == NULL || after.places == NULL)
        return proto_decode_no_memory(&d->after.answer->problem,
                                      &d->after.budget);
    status = remat_plan_diff_graphs(&solved, d->after.job, d->plan_after,
                                    d->counterpart, &diff, &error);
    d->after.answer->n_steps = remat_job_steps(d->after.job);
    if (status != REMAT_OK)
        return proto_run_fail(&d->after, status, &error);
    if (!proto_difference_of(d->after.job, &diff,
                             count_placed(d, &before) + count_placed(d, &after),
                             difference))
        return proto_decode_no_memory(&d->after.answer->problem,
                                      &d->after.budget);
    add_placed(d, &before, difference);
    add_placed(d, &after, difference);
    return true;
}

/* ---- for programs ------------------------------------------------------ */

static void add_side(struct proto_text *text, const struct proto_run *run,
                     const struct remat_plan *plan)
{
    proto_text_puts(text, "{\"outcome\":");
    proto_text_quote_words(text, proto_outcome_name(plan->outcome));
    proto_encode_key(text, "digest");
    proto_text_quote_words(text, run->names.digest);
    proto_text_puts(text, "}");
}

static void add_alone(struct proto_text *text, const struct diff_run *d,
                      const struct alone *a)
{
    bool is_first = true;

    proto_text_puts(text, "[");
    for (remat_node v = 0; v < remat_graph_n_nodes(a->job); v++) {
        if (!is_alone(d, a, v))
            continue;
        proto_text_puts(text, is_first ? "" : ",");
        proto_encode_name(text, a->job, v);
        is_first = false;
    }
    proto_text_puts(text, "]");
}

static void write_json(struct proto_text *text, const struct diff_run *d,
                       const struct proto_difference *difference)
{
    const struct alone before = {.job = d->before.job, .is_before = true};
    const struct alone after = {.job = d->after.job};

    proto_text_puts(text, "{\"schema\":\"remat/diff/v1\",\"before\":");
    add_side(text, &d->before, d->plan_before);
    proto_encode_key(text, "after");
    add_side(text, &d->after, d->plan_after);
    proto_encode_key(text, "diff");
    if (difference == NULL)
        proto_text_puts(text, "null");
    else
        proto_encode_difference(text, difference);
    proto_encode_key(text, "only_before");
    add_alone(text, d, &before);
    proto_encode_key(text, "only_after");
    add_alone(text, d, &after);
    proto_encode_key(text, "engine");
    proto_text_quote_words(text, PROTO_ENGINE);
    proto_text_puts(text, "}\n");
}

/* ---- for people -------------------------------------------------------- */

static void report_alone(struct proto_text *text, const struct diff_run *d,
                         const struct alone *a, const char *label)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < remat_graph_n_nodes(a->job); v++) {
        if (!is_alone(d, a, v))
            continue;
        proto_text_puts(text, n++ == 0 ? label : ", ");
        proto_text_show(text, remat_graph_node(a->job, v)->name);
    }
    proto_text_puts(text, n > 0 ? "\n" : "");
}

static void report_outcome(struct proto_text *text, const struct proto_run *run,
                           const struct remat_plan *plan, const char *which)
{
    proto_text_format(text, "%s: digest %s", which, run->names.digest);
    if (plan->outcome != REMAT_PLAN)
        proto_text_format(text, ", no plan (%s)",
                          proto_outcome_name(plan->outcome));
    proto_text_puts(text, "\n");
}

static void write_text(struct proto_text *text, const struct diff_run *d,
                       const struct proto_difference *difference)
{
    const struct alone before = {.job = d->before.job, .is_before = true};
    const struct alone after = {.job = d->after.job};

    report_outcome(text, &d->before, d->plan_before, "First");
    report_outcome(text, &d->after, d->plan_after, "Second");
    if (difference != NULL) {
        proto_text_puts(text, "From the first to the second: ");
        proto_report_difference(text, difference);
    }
    report_alone(text, d, &before, "Only in the first: ");
    report_alone(text, d, &after, "Only in the second: ");
}

/* ---- both requests ----------------------------------------------------- */

static void write_answer(struct diff_run *d)
{
    struct proto_run *run = &d->after;
    bool before = d->plan_before->outcome == REMAT_PLAN;
    bool after = d->plan_after->outcome == REMAT_PLAN;
    struct proto_difference difference;
    struct proto_text text;

    proto_watch_enter(&run->watch, PROTO_PHASE_ENCODE);
    if (!match_names(d)) {
        proto_decode_no_memory(&run->answer->problem, &run->budget);
        return;
    }
    if (before && after && !find_difference(d, &difference))
        return;
    proto_run_open(run, &text, d->plan_after->outcome);
    if (run->request->format == PROTO_TEXT)
        write_text(&text, d, before && after ? &difference : NULL);
    else
        write_json(&text, d, before && after ? &difference : NULL);
    proto_run_close(run, &text,
                    after ? d->plan_before->outcome : d->plan_after->outcome);
}

static bool solve(struct proto_run *run, const struct remat_plan **plan)
{
    return proto_run_decode(run) && proto_run_passes(run) &&
           proto_run_solve(run, plan);
}

static void name_side(struct proto_problem *problem, const char *side)
{
    const struct proto_problem plain = *problem;

    *problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
    proto_problem_set(problem, plain.kind,
                      plain.has_pointer ? plain.pointer : NULL, "%s: %s", side,
                      plain.detail);
}

void proto_diff(const struct proto_env *env, const struct proto_request *before,
                const struct proto_request *after, struct proto_answer *answer)
{
    struct diff_run d = {0};

    d.before = (struct proto_run){.env = env,
                                  .request = before,
                                  .answer = &d.answer_before,
                                  .kind = PROTO_CALL_DIFF};
    d.after = (struct proto_run){.env = env,
                                 .request = after,
                                 .answer = answer,
                                 .kind = PROTO_CALL_DIFF};
    proto_run_begin(&d.before);
    proto_run_begin(&d.after);
    if (solve(&d.before, &d.plan_before) && solve(&d.after, &d.plan_after))
        write_answer(&d);
    proto_run_end(&d.after);
    proto_run_end(&d.before);
    answer->n_steps += d.answer_before.n_steps;
    if (d.answer_before.problem.kind != PROTO_NO_PROBLEM) {
        answer->problem = d.answer_before.problem;
        name_side(&answer->problem, "first");
    } else if (answer->problem.kind != PROTO_NO_PROBLEM) {
        name_side(&answer->problem, "second");
    }
    proto_answer_release(&d.answer_before);
}
