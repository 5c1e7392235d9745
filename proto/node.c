/*
 * node.c: one node explained, and the price of forcing it to be saved or to be
 * computed again.
 *
 *   question   which node
 *   choices    the graph solved again under another tag of it
 *   notes      what a choice does not do, and why
 *
 * The graph is decoded once and its passes run once. The tags of the choices
 * are written over those of the graph, one after the other, as the pass
 * set_tags would: a policy, and the region that the node has.
 */
#include "node.h"

#include "run.h"

#include <string.h>

struct node_run {
    struct proto_run run;
    const char *name;
    struct proto_node_facts facts;
    const struct remat_plan *plan;
};

/* ---- question ---------------------------------------------------------- */

static bool fail_unknown(struct proto_run *run, const char *name)
{
    const char *nearest = proto_nearest_node(run->job, name);

    if (nearest != NULL)
        proto_problem_set(&run->answer->problem, PROTO_NOT_FOUND, NULL,
                          "the graph has no node \"%.300s\", did you mean "
                          "%.300s?",
                          name, nearest);
    else
        proto_problem_set(&run->answer->problem, PROTO_NOT_FOUND, NULL,
                          "the graph has no node \"%.300s\"", name);
    return false;
}

/* The digest leaves out where the node stands in a program; the answer does
 * not.
 */
static bool seal(struct node_run *n, struct proto_run *run)
{
    const struct remat_node_spec *spec =
        remat_graph_node(run->job, n->facts.node);
    const char *const texts[] = {"node",
                                 run->names.digest,
                                 n->name,
                                 run->request->format == PROTO_TEXT ? "text"
                                                                    : "json",
                                 run->answer->explain,
                                 spec->module == NULL ? "" : "module",
                                 spec->module,
                                 spec->stack == NULL ? "" : "stack",
                                 spec->stack};

    if (!proto_names_seal(&run->names, texts, sizeof(texts) / sizeof(*texts)))
        return proto_decode_no_memory(&run->answer->problem, &run->budget);
    memcpy(run->answer->structure, run->names.structure,
           sizeof(run->answer->structure));
    return true;
}

static bool on_decoded(void *context, struct proto_run *run,
                       const struct proto_parts *parts)
{
    struct node_run *n = context;

    (void)parts;
    n->facts.node = remat_graph_find(run->job, n->name);
    return n->facts.node == REMAT_NONE ? fail_unknown(run, n->name)
                                       : seal(n, run);
}

/* ---- notes ------------------------------------------------------------- */

static const char *name_of(const struct node_run *n, remat_node v)
{
    return remat_graph_node(n->run.job, v)->name;
}

/* Why a graph has no plan: its first error. */
static const char *conflict_of(const struct remat_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        if (plan->diagnostics[i].severity == REMAT_ERROR)
            return plan->diagnostics[i].message;
    return "there is no plan";
}

static bool is_several(const struct node_run *n)
{
    const struct remat_value *value =
        &remat_graph_node(n->run.job, n->facts.node)->value;

    return value->kind == REMAT_VALUE_TUPLE || value->kind == REMAT_VALUE_DICT;
}

/* "returns several values, ...: what is saved is a, b" */
static const char *several_note(struct node_run *n, const uint8_t *places)
{
    struct remat_nodes users = remat_graph_users(n->run.job, n->facts.node);
    struct proto_text text;
    const char *note = NULL;
    uint32_t n_saved = 0;

    proto_text_init(&text, &n->run.budget);
    proto_text_puts(&text, "it returns several values, so it is not saved "
                           "itself, only its getitems are");
    for (uint32_t i = 0; i < users.n; i++) {
        if (places[users.at[i]] != REMAT_PLACE_SAVED)
            continue;
        proto_text_puts(&text, n_saved++ == 0 ? ": " : ", ");
        proto_text_puts(&text, name_of(n, users.at[i]));
    }
    proto_text_add(&text, "", 1);
    if (!text.failed)
        note = remat_job_strdup(n->run.job, text.bytes);
    proto_text_release(&text);
    return note;
}

/* Of both choices, when the forward does not compute the node. */
static const char *other_half_note(const struct node_run *n,
                                   const struct remat_plan *plan,
                                   const struct proto_states *states)
{
    remat_node v = n->facts.node;

    if (remat_graph_node(n->run.job, v)->op == REMAT_OUTPUT)
        return "it is what both halves return, no value";
    if (!plan->facts.live[v])
        return "it is dead code, whatever its tag";
    if (plan->facts.required_bw[v])
        return "it belongs to the backward, where tags decide nothing";
    if (states->backward[v] && states->places[v] == REMAT_PLACE_NONE)
        return "the backward alone computes it";
    return plan->facts.required_fw[v] ? NULL : "neither half needs it";
}

static const char *unsaved_note(struct node_run *n,
                                const struct remat_plan *plan,
                                const struct proto_states *states)
{
    const char *note = other_half_note(n, plan, states);

    if (note != NULL)
        return note;
    return is_several(n)
               ? several_note(n, states->places)
               : "the backward reads nothing that it would be saved for";
}

static const char *not_again_note(const struct node_run *n,
                                  const struct remat_plan *plan,
                                  const struct proto_states *states)
{
    remat_node v = n->facts.node;
    const char *note = other_half_note(n, plan, states);

    if (note != NULL)
        return note;
    if (remat_graph_node(n->run.job, v)->op == REMAT_PLACEHOLDER)
        return "it is an input, which nothing computes";
    return plan->facts.tag[v] == REMAT_MUST_RECOMPUTE
               ? "the backward needs nothing that it would be computed again "
                 "for"
               : "the clean-up of tags does not leave it the tag";
}

/* What the plan does not do although the tag says so. */
static bool add_note(struct node_run *n, struct proto_choice *choice,
                     const struct remat_plan *plan)
{
    bool saves = strcmp(choice->tag, "must_save") == 0;
    struct proto_states states;
    uint8_t place;

    if (choice->note != NULL)
        return true;
    if (plan->outcome != REMAT_PLAN) {
        choice->note = conflict_of(plan);
        return true;
    }
    if (!proto_states_find(n->run.job, plan, &states))
        return proto_decode_no_memory(&n->run.answer->problem, &n->run.budget);
    place = states.places[n->facts.node];
    if (saves && place != REMAT_PLACE_SAVED)
        choice->note = unsaved_note(n, plan, &states);
    else if (!saves && place != REMAT_PLACE_RECOMPUTED)
        choice->note = not_again_note(n, plan, &states);
    else
        return true;
    return choice->note != NULL ||
           proto_decode_no_memory(&n->run.answer->problem, &n->run.budget);
}

/* ---- choices ----------------------------------------------------------- */

static bool compare(struct node_run *n, struct proto_choice *choice,
                    const struct remat_plan *plan)
{
    struct proto_run *run = &n->run;
    struct remat_error error = {.node = REMAT_NONE};
    struct remat_diff diff;
    enum remat_status status;

    choice->is_decided = true;
    choice->outcome = plan->outcome;
    choice->has_diff =
        plan->outcome == REMAT_PLAN && n->plan->outcome == REMAT_PLAN;
    if (!choice->has_diff)
        return true;
    status = remat_plan_diff(run->job, n->plan, plan, &diff, &error);
    run->answer->n_steps = remat_job_steps(run->job);
    if (status != REMAT_OK)
        return proto_run_fail(run, status, &error);
    return proto_difference_of(run->job, &diff, 0, &choice->diff) ||
           proto_decode_no_memory(&run->answer->problem, &run->budget);
}

/* A size that only this choice needs, weights that only it adds up. */
static bool is_its_own(enum remat_status status)
{
    return status == REMAT_E_SIZE || status == REMAT_E_WEIGHT;
}

static bool try(struct node_run *n, struct proto_choice *choice,
                enum remat_policy policy)
{
    struct proto_run *run = &n->run;
    const struct remat_set_tag set = {
        .node = n->facts.node, .tag.policy = policy, .keeps_region = true};
    const struct remat_pass pass = {
        .kind = REMAT_PASS_SET_TAGS, .tags = &set, .n_tags = 1};
    struct remat_error error = {.node = REMAT_NONE};
    struct remat_pass_report report;
    const struct remat_plan *plan = n->plan;
    enum remat_status status =
        remat_pass_apply(run->job, &pass, &report, &error);

    if (status == REMAT_OK && policy != n->facts.tag.policy)
        status = remat_plan_solve(run->job, &run->options.core, &plan, &error);
    run->answer->n_steps = remat_job_steps(run->job);
    if (is_its_own(status)) {
        choice->note = remat_job_strdup(run->job, error.detail);
        return choice->note != NULL ||
               proto_decode_no_memory(&run->answer->problem, &run->budget);
    }
    if (status != REMAT_OK)
        return proto_run_fail(run, status, &error);
    if (policy == n->facts.tag.policy)
        choice->note = "this is its tag";
    return compare(n, choice, plan) && add_note(n, choice, plan);
}

static bool find_facts(struct node_run *n)
{
    struct proto_node_facts *facts = &n->facts;
    struct remat_job *job = n->run.job;

    facts->tag.policy = remat_graph_tag(
        job, facts->node, &facts->tag.has_region, &facts->tag.region);
    if (!proto_states_find(job, n->plan, &facts->states))
        return proto_decode_no_memory(&n->run.answer->problem, &n->run.budget);
    facts->choices[0].tag = "must_save";
    facts->choices[1].tag = "must_recompute";
    return try(n, &facts->choices[0], REMAT_MUST_SAVE) &&
           try(n, &facts->choices[1], REMAT_MUST_RECOMPUTE);
}

static void answer_with(struct node_run *n)
{
    struct proto_run *run = &n->run;
    const struct proto_decision decision = proto_run_decision(run, n->plan);
    struct proto_text text;

    proto_watch_enter(&run->watch, PROTO_PHASE_ENCODE);
    proto_run_open(run, &text, n->plan->outcome);
    if (run->request->format == PROTO_TEXT)
        proto_report_node(&text, &decision, &n->facts);
    else
        proto_encode_node(&text, &decision, &n->facts);
    proto_run_close(run, &text, n->plan->outcome);
}

void proto_node(const struct proto_env *env,
                const struct proto_request *request, const char *name,
                struct proto_answer *answer)
{
    struct node_run n = {.name = name};
    const struct proto_hooks hooks = {.decoded = on_decoded, .context = &n};

    n.run = (struct proto_run){.env = env,
                               .request = request,
                               .answer = answer,
                               .hooks = &hooks,
                               .kind = PROTO_CALL_NODE};
    proto_run_begin(&n.run);
    if (proto_run_decode(&n.run) && proto_run_passes(&n.run) &&
        proto_run_solve(&n.run, &n.plan) && find_facts(&n))
        answer_with(&n);
    proto_run_end(&n.run);
}
