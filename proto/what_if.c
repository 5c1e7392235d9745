/*
 * what_if.c: a request, the same request with some tags and options changed,
 * and what moves.
 *
 *   reading    {"base", "what_if"}: the base becomes the body, the changes wait
 *              for the graph
 *   changes    tags and options decoded, and the digest of the plain request
 *              that asks for the same
 *   answer     both plans, the second one in full
 *
 * The graph is decoded once. The tags are the pass set_tags behind the
 * request's own, so the changed request can be written as a plain one.
 */
#include "what_if.h"

#include "json.h"
#include "passes.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------- */

static bool fail_member(struct proto_problem *problem,
                        const struct proto_path *path, const char *key,
                        struct proto_words known)
{
    struct proto_path inner = proto_path_key(path, key);
    char advice[256];

    proto_words_advise(known, key, advice, sizeof(advice));
    return proto_decode_fail(problem, PROTO_UNKNOWN_OPTION, &inner,
                             "there is no member \"%.300s\" here, %s", key,
                             advice);
}

static bool check_members(struct proto_problem *problem,
                          const struct proto_path *path, json_t *object,
                          struct proto_words known)
{
    const char *key;
    json_t *member;

    json_object_foreach (object, key, member)
        if (proto_words_find(known, key) < 0)
            return fail_member(problem, path, key, known);
    return true;
}

static bool check_object(struct proto_problem *problem,
                         const struct proto_path *path, json_t *json,
                         const char *what)
{
    return json_is_object(json) ||
           proto_decode_fail(problem, PROTO_BAD_REQUEST, path,
                             "expected %s, found %s", what,
                             json == NULL ? "nothing" : proto_json_kind(json));
}

static bool check_envelope(struct proto_problem *problem, json_t *body)
{
    static const char *const outer[] = {"base", "what_if"};
    static const char *const inner[] = {"tags", "options"};
    struct proto_path root = {0};
    struct proto_path at_base = proto_path_key(&root, "base");
    struct proto_path at_changes = proto_path_key(&root, "what_if");
    json_t *changes = json_object_get(body, "what_if");

    return check_object(problem, &root, body,
                        "an object with \"base\" and \"what_if\"") &&
           check_members(problem, &root, body, PROTO_WORDS(outer)) &&
           check_object(problem, &at_base, json_object_get(body, "base"),
                        "a plan request") &&
           check_object(problem, &at_changes, changes,
                        "an object with \"tags\", \"options\" or both") &&
           check_members(problem, &at_changes, changes, PROTO_WORDS(inner));
}

/* The base takes the place of the body. */
bool proto_what_if_parsed(void *context, json_t *body,
                          struct proto_problem *problem)
{
    struct proto_what_if *w = context;
    json_t *changes = json_object_get(body, "what_if");
    json_t *base = json_object_get(body, "base");
    bool done;

    if (!check_envelope(problem, body))
        return false;
    w->tags = json_incref(json_object_get(changes, "tags"));
    w->options = json_incref(json_object_get(changes, "options"));
    w->is_parsed = true;
    json_incref(base);
    json_object_clear(body);
    done = json_object_update(body, base) == 0;
    json_decref(base);
    return done || proto_decode_no_memory(problem, w->budget);
}

/* ---- changes ----------------------------------------------------------- */

/* Puts `front` in the place of the first n bytes of the pointer. */
static void move_pointer(struct proto_problem *problem, size_t n,
                         const char *front)
{
    char moved[sizeof(problem->pointer)];

    if (!problem->has_pointer || n > strlen(problem->pointer))
        return;
    snprintf(moved, sizeof(moved), "%s%s", front, problem->pointer + n);
    memcpy(problem->pointer, moved, sizeof(moved));
}

/* [{"pass": "set_tags", "tags": ...}], an object of the session. */
static json_t *pass_of(json_t *tags)
{
    return json_pack("[{ssso}]", "pass", "set_tags", "tags", json_incref(tags));
}

static bool decode_tags(struct proto_what_if *w, struct proto_run *run,
                        json_t *passes)
{
    struct proto_decoder decoder = {
        .job = run->job,
        .budget = &run->budget,
        .problem = w->problem,
        .limits = &run->env->limits,
    };

    if (proto_decode_passes(&decoder, passes, &w->added) &&
        proto_find_tagged(&decoder, &w->added))
        return true;
    move_pointer(w->problem, strlen("/passes/0"), "/what_if");
    return false;
}

static bool decode_options(struct proto_what_if *w, struct proto_run *run)
{
    w->changed = run->options;
    if (!proto_decode_options(w->problem, w->options, &w->changed)) {
        move_pointer(w->problem, 0, "/what_if");
        return false;
    }
    run->answer->explain = proto_explain_name(w->changed.explain);
    if (w->changed.has_deadline)
        proto_watch_set_deadline(&run->watch, w->changed.deadline_ms);
    return true;
}

/* The request's passes and the one that the tags are. */
static json_t *all_passes(json_t *passes, json_t *added)
{
    json_t *all = json_array();

    if (all == NULL ||
        (passes != NULL && json_array_extend(all, passes) != 0) ||
        (added != NULL && json_array_extend(all, added) != 0))
        return NULL;
    return all;
}

static bool find_digests(struct proto_what_if *w, struct proto_run *run,
                         json_t *passes, json_t *added)
{
    const char *const texts[] = {"what-if",
                                 run->names.digest,
                                 w->digest_before,
                                 run->answer->explain,
                                 run->request->format == PROTO_TEXT ? "text"
                                                                    : "json",
                                 run->name};
    json_t *all = all_passes(passes, added);

    memcpy(w->digest_before, run->names.digest, sizeof(w->digest_before));
    if (all == NULL ||
        !proto_names_digest_changed(&run->names, &run->budget, &w->changed.core,
                                    all, run->names.digest) ||
        !proto_names_seal(&run->names, texts, sizeof(texts) / sizeof(*texts)))
        return proto_decode_no_memory(w->problem, &run->budget);
    memcpy(run->answer->digest, run->names.digest, sizeof(run->answer->digest));
    memcpy(run->answer->structure, run->names.structure,
           sizeof(run->answer->structure));
    return true;
}

bool proto_what_if_decoded(void *context, struct proto_run *run,
                           const struct proto_parts *parts)
{
    struct proto_what_if *w = context;
    json_t *added = NULL;

    if (w->tags != NULL) {
        added = pass_of(w->tags);
        if (added == NULL)
            return proto_decode_no_memory(w->problem, &run->budget);
        if (!decode_tags(w, run, added))
            return false;
    }
    return decode_options(w, run) && find_digests(w, run, parts->passes, added);
}

/* ---- answer ------------------------------------------------------------ */

/* The passes of both, applied, as those of the request. */
static bool apply_tags(struct proto_what_if *w, struct proto_run *run)
{
    uint32_t n = run->passes.n;
    struct remat_error error = {.node = REMAT_NONE};
    struct proto_pass *all;
    enum remat_status status;
    uint32_t failed;

    if (w->added.n == 0)
        return true;
    status = proto_passes_apply(run->job, &w->added, &failed, &error);
    if (status != REMAT_OK)
        return proto_run_fail(run, status, &error);
    all = remat_job_alloc(run->job, (size_t)n + w->added.n, sizeof(*all));
    if (all == NULL)
        return proto_decode_no_memory(w->problem, &run->budget);
    if (n > 0)
        memcpy(all, run->passes.at, n * sizeof(*all));
    memcpy(all + n, w->added.at, w->added.n * sizeof(*all));
    run->passes = (struct proto_passes){all, n + w->added.n};
    return true;
}

bool proto_what_if_compare(struct proto_run *run,
                           const struct remat_plan *before,
                           const struct remat_plan *after,
                           struct remat_diff *diff)
{
    struct remat_error error = {.node = REMAT_NONE};
    enum remat_status status =
        remat_plan_diff(run->job, before, after, diff, &error);

    run->answer->n_steps = remat_job_steps(run->job);
    return status == REMAT_OK || proto_run_fail(run, status, &error);
}

static bool compare(struct proto_run *run, const struct remat_plan *before,
                    const struct remat_plan *after,
                    struct proto_difference *difference)
{
    struct remat_diff diff;

    if (!proto_what_if_compare(run, before, after, &diff))
        return false;
    return proto_difference_of(run->job, &diff, 0, difference) ||
           proto_decode_no_memory(&run->answer->problem, &run->budget);
}

static void write_json(struct proto_text *text, const struct proto_what_if *w,
                       const struct proto_decision *decision,
                       const struct remat_plan *before,
                       const struct proto_difference *difference)
{
    proto_text_puts(text, "{\"schema\":\"remat/what-if/v1\",\"plan\":");
    proto_encode_plan(text, decision);
    if (!text->failed)
        text->length--; /* the line's end */
    proto_encode_key(text, "before");
    proto_text_puts(text, "{\"outcome\":");
    proto_text_quote_words(text, proto_outcome_name(before->outcome));
    proto_encode_key(text, "digest");
    proto_text_quote_words(text, w->digest_before);
    proto_text_puts(text, "}");
    proto_encode_key(text, "diff");
    if (difference == NULL)
        proto_text_puts(text, "null");
    else
        proto_encode_difference(text, difference);
    proto_text_puts(text, "}\n");
}

static void write_text(struct proto_text *text, const struct proto_what_if *w,
                       const struct proto_decision *decision,
                       const struct remat_plan *before,
                       const struct proto_difference *difference)
{
    bool had_plan = before->outcome == REMAT_PLAN;
    bool has_plan = decision->plan->outcome == REMAT_PLAN;

    if (difference != NULL)
        proto_report_difference(text, difference);
    else if (has_plan)
        proto_text_puts(text, "Now there is a plan; before there was none.\n");
    else
        proto_text_puts(text, had_plan
                                  ? "Now there is no plan; before there was.\n"
                                  : "There is no plan, before or now.\n");
    proto_text_puts(text, "Before: digest ");
    proto_text_puts(text, w->digest_before);
    proto_text_puts(text, "\n\nWith the changes: ");
    proto_encode_report(text, decision);
}

static void answer_with(struct proto_what_if *w, struct proto_run *run,
                        const struct remat_plan *before,
                        const struct remat_plan *after)
{
    const struct proto_decision decision = proto_run_decision(run, after);
    struct proto_difference difference;
    bool has_diff =
        before->outcome == REMAT_PLAN && after->outcome == REMAT_PLAN;
    struct proto_text text;

    proto_watch_enter(&run->watch, PROTO_PHASE_ENCODE);
    if (has_diff && !compare(run, before, after, &difference))
        return;
    proto_run_open(run, &text, after->outcome);
    if (run->request->format == PROTO_TEXT)
        write_text(&text, w, &decision, before, has_diff ? &difference : NULL);
    else
        write_json(&text, w, &decision, before, has_diff ? &difference : NULL);
    proto_run_close(run, &text, after->outcome);
}

bool proto_what_if_solve(struct proto_what_if *w, struct proto_run *run,
                         const struct remat_plan **before,
                         const struct remat_plan **after)
{
    if (!proto_run_solve(run, before) || !apply_tags(w, run))
        return false;
    run->options = w->changed;
    return proto_run_solve(run, after);
}

void proto_what_if_point(const struct proto_what_if *w,
                         struct proto_answer *answer)
{
    if (w->is_parsed && strncmp(answer->problem.pointer, "/what_if", 8) != 0)
        move_pointer(&answer->problem, 0, "/base");
}

void proto_what_if(const struct proto_env *env,
                   const struct proto_request *request,
                   struct proto_answer *answer)
{
    struct proto_what_if w = {.problem = &answer->problem};
    const struct proto_hooks hooks = {.parsed = proto_what_if_parsed,
                                      .decoded = proto_what_if_decoded,
                                      .context = &w};
    struct proto_run run = {.env = env,
                            .request = request,
                            .answer = answer,
                            .hooks = &hooks,
                            .kind = PROTO_CALL_WHAT_IF};
    const struct remat_plan *before = NULL;
    const struct remat_plan *after = NULL;

    w.budget = &run.budget;
    proto_run_begin(&run);
    if (proto_run_decode(&run) && proto_run_passes(&run) &&
        proto_what_if_solve(&w, &run, &before, &after))
        answer_with(&w, &run, before, after);
    proto_what_if_point(&w, answer);
    proto_run_end(&run);
}
