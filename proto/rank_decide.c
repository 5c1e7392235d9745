/*
 * rank_decide.c: from the documents of all ranks to one decision.
 *
 * A decision is a set of places. What it saves on a document is a sum over its
 * own bytes, so every candidate is weighed without any graph in memory; only a
 * document that has to carry out another's decision is read again.
 */
#include "rank.h"

#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A distinct document and the lowest rank that holds it. */
struct entry {
    const struct proto_rank_document *document;
    uint32_t rank;
    uint32_t decision; /* the first entry with the same; itself otherwise */
    bool is_out;       /* its decision cannot be carried out by all */
};

struct deciding {
    const struct proto_env *env;
    const struct proto_rank_group *group;
    struct proto_rank_verdict *verdict;
    struct proto_budget budget;
    struct proto_rank *members; /* in the order of ranks */
    struct entry *entries;      /* in the order of their lowest ranks */
    uint32_t n_entries;
    uint32_t chosen; /* an entry */
};

static bool no_memory(struct deciding *d)
{
    return proto_decode_no_memory(&d->verdict->problem, &d->budget);
}

static bool is_stopped(struct deciding *d)
{
    const struct proto_env *env = d->env;

    if (env->cancelled == NULL || env->cancelled(env->context) == 0)
        return false;
    proto_problem_set(&d->verdict->problem, PROTO_DEADLINE, NULL,
                      "the group was given up before there was a decision");
    return true;
}

/* ---- members and documents ---------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = ((const struct proto_rank *)a)->rank;
    uint32_t y = ((const struct proto_rank *)b)->rank;

    return x < y ? -1 : x > y;
}

/* By document, then by rank. */
static int compare_documents(const void *a, const void *b)
{
    const struct proto_rank *x = a;
    const struct proto_rank *y = b;
    int order = strcmp(x->document->name, y->document->name);

    return order != 0 ? order : compare_ranks(a, b);
}

static int compare_entries(const void *a, const void *b)
{
    uint32_t x = ((const struct entry *)a)->rank;
    uint32_t y = ((const struct entry *)b)->rank;

    return x < y ? -1 : x > y;
}

static bool list_entries(struct deciding *d)
{
    const struct proto_rank_group *group = d->group;
    size_t n = group->n_members;

    d->members = proto_budget_allocate(&d->budget, n * sizeof(*d->members));
    d->entries = proto_budget_allocate(&d->budget, n * sizeof(*d->entries));
    if (d->members == NULL || d->entries == NULL)
        return no_memory(d);
    memcpy(d->members, group->members, n * sizeof(*d->members));
    qsort(d->members, n, sizeof(*d->members), compare_documents);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(d->members[i - 1].document->name,
                             d->members[i].document->name) != 0)
            d->entries[d->n_entries++] = (struct entry){
                .document = d->members[i].document, .rank = d->members[i].rank};
    qsort(d->members, n, sizeof(*d->members), compare_ranks);
    qsort(d->entries, d->n_entries, sizeof(*d->entries), compare_entries);
    return true;
}

static bool check_agreement(struct deciding *d)
{
    char why[PROTO_RANK_WHY_BYTES];

    for (uint32_t i = 1; i < d->n_entries; i++)
        if (!proto_rank_agrees(d->entries[0].document, d->entries[i].document,
                               why)) {
            proto_rank_tell_difference(d->env, d->members, d->group->n_members,
                                       &d->verdict->problem);
            return false;
        }
    return true;
}

/* ---- candidates --------------------------------------------------------- */

static bool same_decision(const struct proto_rank_document *a,
                          const struct proto_rank_document *b)
{
    return a->result == PROTO_PLAN && b->result == PROTO_PLAN &&
           a->n_handed_over == b->n_handed_over &&
           (a->n_handed_over == 0 ||
            memcmp(a->handed_over, b->handed_over,
                   a->n_handed_over * sizeof(*a->handed_over)) == 0);
}

static void find_same(struct deciding *d)
{
    for (uint32_t i = 0; i < d->n_entries; i++) {
        uint32_t k = 0;

        while (k < i &&
               !(d->entries[k].decision == k &&
                 same_decision(d->entries[k].document, d->entries[i].document)))
            k++;
        d->entries[i].decision = k;
        d->entries[i].is_out = d->entries[i].document->result != PROTO_PLAN;
    }
}

/* Sticks at the greatest number. */
static int64_t weigh(const struct proto_rank_document *decision,
                     const struct proto_rank_document *on)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < decision->n_handed_over; i++)
        if (__builtin_add_overflow(sum, on->bytes[decision->handed_over[i]],
                                   &sum))
            return INT64_MAX;
    return sum;
}

static int64_t worst_case(const struct deciding *d,
                          const struct proto_rank_document *decision)
{
    int64_t worst = 0;

    for (uint32_t i = 0; i < d->n_entries; i++) {
        int64_t n_bytes = weigh(decision, d->entries[i].document);

        if (n_bytes > worst)
            worst = n_bytes;
    }
    return worst;
}

/* The best candidate left; has_decision: there is one. */
static bool choose(struct deciding *d)
{
    struct proto_rank_verdict *verdict = d->verdict;

    verdict->has_decision = false;
    for (uint32_t i = 0; i < d->n_entries; i++) {
        int64_t worst;

        if (d->entries[i].is_out || d->entries[i].decision != i)
            continue;
        if (is_stopped(d))
            return false;
        worst = worst_case(d, d->entries[i].document);
        if (verdict->has_decision && worst >= verdict->worst_saved_bytes)
            continue;
        verdict->has_decision = true;
        verdict->worst_saved_bytes = worst;
        verdict->decided_by = d->entries[i].rank;
        d->chosen = i;
    }
    return true;
}

/* ---- carrying a decision out -------------------------------------------- */

struct carrying {
    const struct proto_rank_document *decision;
    const struct proto_rank_document *on;
    int64_t saved_bytes; /* of the plan */
};

static bool on_parsed(void *context, json_t *body,
                      struct proto_problem *problem)
{
    struct proto_rank rank = {.rank = 0};

    (void)context;
    return proto_rank_take_members(body, problem, &rank);
}

/* The nodes at the places of the decision, in node order. */
static enum remat_status find_nodes(const struct carrying *c,
                                    struct remat_job *job,
                                    struct remat_nodes *nodes,
                                    struct remat_error *err)
{
    uint32_t n = remat_graph_n_nodes(job);
    struct remat_structure structure;
    enum remat_status status =
        remat_structure_find(job, c->on->with_modules, &structure, err);
    bool *is_given = remat_job_alloc(job, n, sizeof(*is_given));
    remat_node *at = remat_job_alloc(job, n, sizeof(*at));

    if (status != REMAT_OK)
        return status;
    if (is_given == NULL || at == NULL)
        return remat_job_status(job);
    for (uint32_t i = 0; i < c->decision->n_handed_over; i++)
        is_given[c->decision->handed_over[i]] = true;
    *nodes = (struct remat_nodes){at, 0};
    for (remat_node v = 0; v < n; v++)
        if (is_given[structure.place[v]])
            at[nodes->n++] = v;
    return REMAT_OK;
}

/* The bounds that the document's own search found hold for every plan. */
static enum remat_status add_bounds(struct carrying *c, struct remat_job *job,
                                    const struct remat_plan **plan)
{
    struct remat_plan *copy = remat_job_alloc(job, 1, sizeof(*copy));

    if (copy == NULL)
        return remat_job_status(job);
    *copy = **plan;
    copy->limit.floor_bytes = c->on->limit.floor_bytes;
    copy->limit.flops_bound = c->on->limit.flops_bound;
    *plan = copy;
    return REMAT_OK;
}

static enum remat_status on_solve(void *context,
                                  const struct proto_asked *asked,
                                  const struct remat_plan **plan,
                                  struct remat_error *err)
{
    struct carrying *c = context;
    struct remat_nodes nodes = {NULL, 0};
    enum remat_status status = find_nodes(c, asked->job, &nodes, err);

    if (status == REMAT_OK)
        status = remat_plan_carry_out(asked->job, &asked->options->core, nodes,
                                      plan, err);
    if (status != REMAT_OK)
        return status;
    c->saved_bytes = (*plan)->saved_bytes;
    return (*plan)->limit.is_asked ? add_bounds(c, asked->job, plan) : status;
}

/* ---- answers ------------------------------------------------------------ */

static bool finish(struct deciding *d, const struct proto_rank_document *on,
                   const char *plan, size_t length,
                   struct proto_rank_answer *out)
{
    static const char tail[] = "}\n";
    const struct proto_rank_verdict *verdict = d->verdict;
    struct proto_text text;

    proto_text_init(&text, NULL);
    proto_text_add(&text, plan, length - strlen(tail));
    proto_text_puts(&text, ",\"group\":{\"key\":");
    proto_text_quote_words(&text, d->group->key);
    proto_text_format(&text, ",\"world_size\":%" PRIu32, d->group->n_members);
    if (verdict->has_decision)
        proto_text_format(&text,
                          ",\"decided_by\":%" PRIu32
                          ",\"worst_saved_bytes\":%" PRId64 "}",
                          verdict->decided_by, verdict->worst_saved_bytes);
    else
        proto_text_puts(&text, ",\"decided_by\":null}");
    proto_text_puts(&text, tail);
    out->document = on;
    out->body = proto_text_take(&text, &out->length);
    memcpy(out->digest, on->digest, sizeof(out->digest));
    return out->body != NULL || no_memory(d);
}

static bool answer_with_own(struct deciding *d,
                            const struct proto_rank_document *on,
                            struct proto_rank_answer *out)
{
    out->result = on->result;
    out->outcome = on->outcome;
    return finish(d, on, on->answer, on->answer_length, out);
}

/* A document that cannot carry the decision out takes it from the candidates:
 * *is_valid. Graphs of one structure can. */
static bool carry_out(struct deciding *d, const struct proto_rank_document *on,
                      struct proto_rank_answer *out, bool *is_valid)
{
    struct carrying c = {.decision = d->entries[d->chosen].document, .on = on};
    const struct proto_hooks hooks = {
        .parsed = on_parsed, .solve = on_solve, .context = &c};
    const struct proto_request request = {
        .body = on->body, .length = on->body_length, .format = PROTO_JSON};
    struct proto_answer answer;
    bool done = false;

    proto_plan_hooked(d->env, &request, &hooks, &answer);
    d->verdict->n_steps += answer.n_steps;
    *is_valid = answer.result != PROTO_NO_PLAN;
    if (answer.result == PROTO_PLAN && c.saved_bytes != weigh(c.decision, on))
        proto_problem_set(&d->verdict->problem, PROTO_INTERNAL, NULL,
                          "a plan of the group saves other bytes than it was "
                          "chosen for");
    else if (answer.result == PROTO_PLAN)
        done = finish(d, on, answer.body, answer.length, out);
    else if (answer.result == PROTO_PROBLEM)
        d->verdict->problem = answer.problem;
    out->result = answer.result;
    out->outcome = answer.outcome;
    proto_answer_release(&answer);
    return done;
}

static void drop_answers(struct proto_rank_verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->n_answers; i++)
        proto_free(verdict->answers[i].body);
    verdict->n_answers = 0;
}

/* *is_valid: no document refused the decision. */
static bool answer_all(struct deciding *d, bool *is_valid)
{
    struct proto_rank_verdict *verdict = d->verdict;
    uint32_t chosen = d->chosen;

    *is_valid = true;
    for (uint32_t i = 0; i < d->n_entries && *is_valid; i++) {
        const struct entry *entry = &d->entries[i];
        struct proto_rank_answer *out = &verdict->answers[verdict->n_answers];
        bool is_own = !verdict->has_decision || entry->decision == chosen;

        *out = (struct proto_rank_answer){.document = entry->document};
        if (is_stopped(d))
            return false;
        if (is_own ? !answer_with_own(d, entry->document, out)
                   : !carry_out(d, entry->document, out, is_valid) && *is_valid)
            return false;
        verdict->n_answers += *is_valid;
    }
    return true;
}

/* Without a decision every document keeps its own answer, which must not be a
 * plan then. */
static bool check_undecided(struct deciding *d)
{
    for (uint32_t i = 0; i < d->n_entries && !d->verdict->has_decision; i++)
        if (d->entries[i].document->result == PROTO_PLAN)
            proto_problem_set(&d->verdict->problem, PROTO_RANKS_DISAGREE, NULL,
                              "no decision of any rank can be carried out by "
                              "all, rank %" PRIu32 "'s among them",
                              d->entries[i].rank);
    return d->verdict->problem.kind == PROTO_NO_PROBLEM;
}

static bool make_answers(struct deciding *d)
{
    bool is_valid = false;

    while (!is_valid) {
        if (!choose(d) || !check_undecided(d) || !answer_all(d, &is_valid))
            return false;
        if (is_valid)
            break;
        drop_answers(d->verdict);
        d->entries[d->chosen].is_out = true;
    }
    return true;
}

void proto_ranks_decide(const struct proto_env *env,
                        const struct proto_rank_group *group,
                        struct proto_rank_verdict *verdict)
{
    struct proto_env unaided = *env;
    struct deciding d = {.env = &unaided, .group = group, .verdict = verdict};
    size_t n = group->n_members;

    unaided.look_up = NULL;
    *verdict = (struct proto_rank_verdict){.n_answers = 0};
    if (list_entries(&d) && check_agreement(&d)) {
        verdict->answers =
            proto_budget_may_allocate(&d.budget)
                ? calloc((size_t)d.n_entries + 1, sizeof(*verdict->answers))
                : NULL;
        find_same(&d);
        if (verdict->answers == NULL)
            no_memory(&d);
        else if (!make_answers(&d))
            drop_answers(verdict);
    }
    proto_budget_release(&d.budget, d.members, n * sizeof(*d.members));
    proto_budget_release(&d.budget, d.entries, n * sizeof(*d.entries));
}

void proto_rank_verdict_release(struct proto_rank_verdict *verdict)
{
    drop_answers(verdict);
    free(verdict->answers);
    verdict->answers = NULL;
}
