/*
 * run_answer.c: from a decision to the answer of its request.
 */
#include "encode.h"
#include "marks.h"
#include "passes.h"
#include "run.h"

struct proto_decision proto_run_decision(struct proto_run *run,
                                         const struct remat_plan *plan)
{
    return (struct proto_decision){
        .job = run->job,
        .plan = plan,
        .notes = &run->notes,
        .name = run->name,
        .digest =
            proto_run_has_template(run) ? PROTO_DIGEST_MARK : run->names.digest,
        .explain = run->options.explain,
        .passes = &run->passes,
    };
}

bool proto_run_take(struct proto_run *run, struct proto_text *text,
                    enum remat_outcome outcome)
{
    struct proto_answer *answer = run->answer;

    answer->body = proto_text_take(text, &answer->length);
    if (answer->body == NULL)
        return proto_decode_no_memory(&answer->problem, &run->budget);
    answer->outcome = proto_outcome_name(outcome);
    answer->result = outcome == REMAT_PLAN ? PROTO_PLAN : PROTO_NO_PLAN;
    return true;
}

enum proto_filled proto_run_fill(struct proto_run *run, const char *bytes,
                                 size_t length)
{
    const struct proto_own own = {
        .job = run->job, .names = &run->names, .options = &run->options.core};
    enum remat_outcome outcome;
    struct proto_text text;
    enum proto_filled filled;

    proto_text_init(&text, &run->budget);
    filled = proto_template_fill(&text, bytes, length, &own, &outcome);
    if (filled == PROTO_FILLED)
        proto_run_take(run, &text, outcome);
    else if (filled == PROTO_FILL_FAILED)
        proto_decode_no_memory(&run->answer->problem, &run->budget);
    proto_text_release(&text);
    return filled;
}

/* The answer from its text: the body, or the template of it. */
bool proto_run_close(struct proto_run *run, struct proto_text *text,
                     enum remat_outcome outcome)
{
    struct proto_answer *answer = run->answer;
    enum proto_filled filled;

    if (!proto_run_has_template(run))
        return proto_run_take(run, text, outcome);
    if (text->failed) {
        proto_text_release(text);
        return proto_decode_no_memory(&answer->problem, &run->budget);
    }
    filled = proto_run_fill(run, text->bytes, text->length);
    if (filled == PROTO_NOT_FILLED)
        proto_problem_set(&answer->problem, PROTO_INTERNAL, NULL,
                          "the answer does not fit its own template");
    if (answer->body != NULL && run->env->look_up != NULL &&
        proto_run_shares_template(run))
        answer->template_bytes =
            proto_text_take(text, &answer->template_length);
    proto_text_release(text);
    return answer->body != NULL;
}

void proto_run_open(struct proto_run *run, struct proto_text *text,
                    enum remat_outcome outcome)
{
    proto_text_init(text, &run->budget);
    if (!proto_run_has_template(run))
        return;
    text->keeps_marks = true;
    proto_template_begin(text, run->job, outcome);
}

bool proto_run_encode_plan(struct proto_run *run, const struct remat_plan *plan)
{
    const struct proto_decision decision = proto_run_decision(run, plan);
    struct proto_text text;

    proto_run_open(run, &text, plan->outcome);
    if (run->request->format == PROTO_TEXT)
        proto_encode_report(&text, &decision);
    else
        proto_encode_plan(&text, &decision);
    return proto_run_close(run, &text, plan->outcome);
}

/* A graph without a plan gets the report that a plan request gets. */
bool proto_run_encode_frontier(struct proto_run *run,
                               const struct remat_frontier *frontier)
{
    const struct remat_plan head = {.outcome = frontier->outcome,
                                    .diagnostics = frontier->diagnostics,
                                    .n_diagnostics = frontier->n_diagnostics,
                                    .remedy = frontier->remedy};
    const struct proto_decision decision = proto_run_decision(run, &head);
    struct proto_text text;

    proto_run_open(run, &text, frontier->outcome);
    if (run->request->format == PROTO_JSON)
        proto_encode_frontier(&text, &decision, frontier);
    else if (frontier->outcome == REMAT_PLAN)
        proto_report_frontier(&text, &decision, frontier);
    else
        proto_encode_report(&text, &decision);
    return proto_run_close(run, &text, frontier->outcome);
}

bool proto_run_encode_tags(struct proto_run *run)
{
    struct proto_answer *answer = run->answer;
    struct proto_text text;
    size_t n_remarks;

    proto_text_init(&text, &run->budget);
    proto_report_pass_remarks(&text, &run->passes, "");
    if (text.length > 0 || text.failed) {
        answer->remarks = proto_text_take(&text, &n_remarks);
        if (answer->remarks == NULL)
            return proto_decode_no_memory(&answer->problem, &run->budget);
    }
    proto_encode_tags(&text, run->job);
    answer->body = proto_text_take(&text, &answer->length);
    if (answer->body == NULL)
        return proto_decode_no_memory(&answer->problem, &run->budget);
    answer->result = PROTO_PLAN;
    return true;
}
