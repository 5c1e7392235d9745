/*
 * rank_differ.c: ranks that do not ask for the same, and in what they differ.
 */
#include "rank.h"

#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options and passes -------------------------------------------------- */

static bool say(char *why, const char *option)
{
    snprintf(why, PROTO_RANK_WHY_BYTES, "the option %s", option);
    return false;
}

static bool same_options(const struct remat_options *a,
                         const struct remat_options *b, char *why)
{
#define SAME(name)          \
    if (a->name != b->name) \
        return say(why, #name);
#define X(name, value) SAME(name)
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    SAME(profile)
    SAME(max_dist_from_bw)
    SAME(activation_memory_budget_solver)
    SAME(activation_memory_budget_runtime_estimator)
    SAME(memory_limit_bytes)
#undef SAME
    if (a->activation_memory_budget < b->activation_memory_budget ||
        a->activation_memory_budget > b->activation_memory_budget)
        return say(why, "activation_memory_budget");
    return true;
}

bool proto_rank_agrees(const struct proto_rank_document *a,
                       const struct proto_rank_document *b,
                       char why[PROTO_RANK_WHY_BYTES])
{
    why[0] = '\0';
    if (a == b)
        return true;
    if (!same_options(&a->options.core, &b->options.core, why))
        return false;
    if (strcmp(a->passes, b->passes) != 0) {
        snprintf(why, PROTO_RANK_WHY_BYTES, "the passes");
        return false;
    }
    if (a->n_nodes != b->n_nodes || a->print[0] != b->print[0] ||
        a->print[1] != b->print[1])
        return false;
    if (strcmp(a->tags, b->tags) != 0)
        snprintf(why, PROTO_RANK_WHY_BYTES, "the tags of the pass set_tags");
    return why[0] == '\0';
}

/* ---- two graphs side by side -------------------------------------------- */

/* A comparison reads the first document, and while that is in memory the
 * second. */
struct pair {
    const struct proto_env *env;
    const struct proto_rank_document *document[2];
    struct remat_job *first;
    struct proto_problem problem; /* of the second */
    char *text;                   /* where to tell */
    size_t n_bytes;
    bool has_told;
};

static bool drop_members(void *context, json_t *body,
                         struct proto_problem *problem)
{
    (void)context;
    (void)problem;
    json_object_del(body, "rank");
    json_object_del(body, "world_size");
    return true;
}

static const char *name_of(struct remat_job *job, remat_node v)
{
    return v == REMAT_NONE ? NULL : remat_graph_node(job, v)->name;
}

static void tell(struct pair *p, struct remat_job *second,
                 const struct remat_difference *d)
{
    const char *a = name_of(p->first, d->node[0]);
    const char *b = name_of(second, d->node[1]);
    const char *before = d->where[0] == '\0' ? "" : " (";
    const char *after = d->where[0] == '\0' ? "" : ")";

    if (a != NULL && b != NULL)
        snprintf(p->text, p->n_bytes, "`%.60s` against `%.60s`%s%s%s: %s", a, b,
                 before, d->where, after, d->what);
    else
        snprintf(p->text, p->n_bytes, "`%.60s` of the %s: %s",
                 a != NULL ? a : b, a != NULL ? "first" : "second", d->what);
    p->has_told = true;
}

static enum remat_status on_second(void *context,
                                   const struct proto_asked *asked,
                                   const struct remat_plan **plan,
                                   struct remat_error *err)
{
    struct pair *p = context;
    struct remat_difference difference;
    enum remat_status status = remat_structure_differ(
        p->first, asked->job,
        p->document[0]->with_modules || p->document[1]->with_modules,
        &difference, err);

    (void)plan;
    if (status != REMAT_OK)
        return status;
    if (difference.found) {
        tell(p, asked->job, &difference);
    } else {
        snprintf(p->text, p->n_bytes,
                 "among nodes that no output reads and that look the same");
        p->has_told = true;
    }
    return REMAT_E_STOPPED; /* that was all */
}

/* The report for people, so that nodes go by their own names. */
static struct proto_request request_of(const struct proto_rank_document *d)
{
    return (struct proto_request){
        .body = d->body, .length = d->body_length, .format = PROTO_TEXT};
}

static enum remat_status on_first(void *context,
                                  const struct proto_asked *asked,
                                  const struct remat_plan **plan,
                                  struct remat_error *err)
{
    struct pair *p = context;
    const struct proto_hooks hooks = {
        .parsed = drop_members, .solve = on_second, .context = p};
    const struct proto_request request = request_of(p->document[1]);
    struct proto_answer answer;

    (void)plan;
    (void)err;
    p->first = asked->job;
    proto_plan_hooked(p->env, &request, &hooks, &answer);
    p->problem = answer.problem;
    proto_answer_release(&answer);
    return REMAT_E_STOPPED;
}

/* False and a problem when the documents could not be read again. */
static bool compare(struct pair *p, struct proto_problem *problem)
{
    const struct proto_hooks hooks = {
        .parsed = drop_members, .solve = on_first, .context = p};
    const struct proto_request request = request_of(p->document[0]);
    struct proto_answer answer;

    proto_plan_hooked(p->env, &request, &hooks, &answer);
    if (!p->has_told)
        *problem = p->first == NULL ? answer.problem : p->problem;
    proto_answer_release(&answer);
    return p->has_told;
}

/* ---- who holds what ------------------------------------------------------ */

enum {
    MOST_KINDS = 4,  /* told one by one */
    MOST_RANGES = 8, /* of ranks, of each kind */
    LIST_BYTES = 120
};

struct kind {
    const struct proto_rank_document *document; /* of its lowest rank */
    uint32_t rank;                              /* that rank */
};

/* "ranks 0-3, 5, 8-9 and 4 more": the members whose kind it is. */
static void list_ranks(const struct proto_rank *members,
                       const uint32_t *kind_of, uint32_t n, uint32_t kind,
                       char words[LIST_BYTES])
{
    size_t used = 0;
    uint32_t n_ranges = 0;
    uint32_t n_left = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = i;

        if (kind_of[i] != kind)
            continue;
        while (i + 1 < n && kind_of[i + 1] == kind)
            i++;
        if (n_ranges++ >= MOST_RANGES || used + 32 > LIST_BYTES) {
            n_left += i - first + 1;
            continue;
        }
        used += (size_t)snprintf(words + used, LIST_BYTES - used, "%s%" PRIu32,
                                 used > 0 ? ", " : "", members[first].rank);
        if (i > first)
            used += (size_t)snprintf(words + used, LIST_BYTES - used,
                                     "-%" PRIu32, members[i].rank);
    }
    if (n_left > 0)
        snprintf(words + used, LIST_BYTES - used, " and %" PRIu32 " more",
                 n_left);
}

/* Sorts the members into kinds; their number, at most MOST_KINDS told apart by
 * `kinds`. */
static uint32_t find_kinds(const struct proto_rank *members, uint32_t n,
                           uint32_t *kind_of, struct kind kinds[MOST_KINDS])
{
    char why[PROTO_RANK_WHY_BYTES];
    uint32_t n_kinds = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;

        while (k < n_kinds &&
               !proto_rank_agrees(kinds[k].document, members[i].document, why))
            k++;
        kind_of[i] = k;
        if (k < n_kinds || n_kinds == MOST_KINDS)
            continue;
        kinds[n_kinds++] = (struct kind){members[i].document, members[i].rank};
    }
    return n_kinds;
}

void proto_rank_tell_difference(const struct proto_env *env,
                                const struct proto_rank *members, uint32_t n,
                                struct proto_problem *problem)
{
    struct proto_budget budget = {0};
    uint32_t *kind_of = proto_budget_allocate(&budget, n * sizeof(*kind_of));
    char lists[MOST_KINDS + 1][LIST_BYTES] = {{0}};
    char why[PROTO_RANK_WHY_BYTES + 16];
    char where[512];
    struct kind kinds[MOST_KINDS] = {{NULL, 0}};
    struct pair p = {.env = env, .text = where, .n_bytes = sizeof(where)};
    uint32_t n_kinds;

    if (kind_of == NULL) {
        proto_decode_no_memory(problem, &budget);
        return;
    }
    n_kinds = find_kinds(members, n, kind_of, kinds);
    for (uint32_t k = 0; k <= MOST_KINDS; k++)
        list_ranks(members, kind_of, n, k, lists[k]);
    proto_budget_release(&budget, kind_of, n * sizeof(*kind_of));
    p.document[0] = kinds[0].document;
    p.document[1] = kinds[1].document;
    proto_rank_agrees(p.document[0], p.document[1], why);
    if (why[0] != '\0')
        snprintf(where, sizeof(where), "%s", why);
    else if (!compare(&p, problem))
        return;
    proto_problem_set(
        problem, PROTO_RANKS_DISAGREE, NULL,
        "the ranks do not hold the same graph: rank%s %s against rank%s %s"
        "%s%s%s%s%s%s; first difference, rank %" PRIu32 " against rank %" PRIu32
        ": %s",
        strpbrk(lists[0], "-,") == NULL ? "" : "s", lists[0],
        strpbrk(lists[1], "-,") == NULL ? "" : "s", lists[1],
        n_kinds > 2 ? " against " : "", lists[2],
        n_kinds > 3 ? " against " : "", lists[3],
        lists[4][0] != '\0' ? ", still others: " : "", lists[4], kinds[0].rank,
        kinds[1].rank, where);
}
