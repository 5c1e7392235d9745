/*
 * pass_sac_policy.c: selective activation checkpointing by operator and module.
 *
 *   find_regions   which forward calls belong to which region
 *   count_matches  which match of its operator each call is, in its region
 *   choose_saved   which of these matches the list saves
 *   write_tags     in node order; a getitem gets what its source has
 *
 * Calls that have a tag keep it, but count as matches. Regions are numbered by
 * their first call, above every region of the document, so that later stays
 * higher. The passes' own region is left out of that: it stands for no place in
 * the model, and FSDP's chains must stay above what they feed (else the
 * clean-up of tags would save gathered parameters).
 */
#include "pass.h"

#include "error.h"
#include "format.h"
#include "pass_modules.h"

#define NO_REGION REMAT_NONE

struct policy {
    uint32_t *region; /* of a forward call that is no getitem, or NO_REGION */
    uint32_t n_regions;
    uint32_t *ordinal; /* of a call in a region, among equal operators there */
    uint32_t *n_most;  /* by operator: matches in the region with the most */
    uint32_t *begin;   /* by operator: its first element of saved */
    bool *saved;       /* by operator and ordinal */
    bool *seen;        /* of `every` - 1, likewise */
};

static bool is_forward_call(const struct remat_graph *g, remat_node v)
{
    enum remat_placement placement = g->specs[v]->placement;

    return remat_is_call(g, v) && placement != REMAT_IS_BACKWARD &&
           placement != REMAT_MUST_BE_IN_BACKWARD;
}

/* ---- regions ----------------------------------------------------------- */

static enum remat_status note_without_module(struct remat_pass_work *w,
                                             uint32_t n, remat_node first)
{
    return remat_pass_note(
        w, "pass-node-without-module", REMAT_INFO, first,
        remat_format(&w->job->arena,
                     "%u forward operator call%s without a module get%s no "
                     "tag, the first is `%s`",
                     n, n == 1 ? "" : "s", n == 1 ? "s" : "",
                     w->g->specs[first]->name));
}

static enum remat_status find_regions(struct remat_pass_work *w,
                                      struct policy *p)
{
    const struct remat_graph *g = w->g;
    struct remat_modules modules;
    remat_node first = REMAT_NONE; /* without a module */
    uint32_t n = 0;
    enum remat_status status = remat_modules_init(w, &modules);

    for (remat_node v = 0; status == REMAT_OK && v < g->n; v++) {
        p->region[v] = NO_REGION;
        status = remat_pass_spend(w, v);
        if (status != REMAT_OK || !is_forward_call(g, v) ||
            remat_special(g, v) == REMAT_GETITEM)
            continue;
        if (w->pass->modules == NULL) {
            p->region[v] = 0;
        } else if (g->specs[v]->module != NULL) {
            status = remat_modules_find(w, &modules, g->specs[v]->module,
                                        &p->region[v]);
        } else if (g->policy[v] == REMAT_UNTAGGED && n++ == 0) {
            first = v;
        }
    }
    p->n_regions = w->pass->modules == NULL ? 1 : modules.regions.n;
    if (status == REMAT_OK && n > 0)
        status = note_without_module(w, n, first);
    if (status == REMAT_OK && p->n_regions == 0)
        status = remat_modules_note_unmatched(w, &modules);
    return status;
}

/* ---- matches ----------------------------------------------------------- */

/* Calls by region, in node order: a counting sort. */
static remat_node *sort_by_region(struct remat_pass_work *w,
                                  const struct policy *p, uint32_t *n_calls)
{
    uint32_t n = w->g->n;
    uint32_t *end =
        REMAT_NEW_ARRAY(w->scratch, uint32_t, (size_t)p->n_regions + 1);
    remat_node *order = REMAT_NEW_ARRAY(w->scratch, remat_node, n);

    if (end == NULL || order == NULL)
        return NULL;
    for (remat_node v = 0; v < n; v++)
        if (p->region[v] != NO_REGION)
            end[p->region[v] + 1]++;
    for (uint32_t i = 0; i < p->n_regions; i++)
        end[i + 1] += end[i];
    *n_calls = end[p->n_regions];
    for (remat_node v = 0; v < n; v++)
        if (p->region[v] != NO_REGION)
            order[end[p->region[v]]++] = v;
    return order;
}

static enum remat_status count_matches(struct remat_pass_work *w,
                                       struct policy *p)
{
    const struct remat_graph *g = w->g;
    uint32_t n_calls = 0;
    remat_node *order = sort_by_region(w, p, &n_calls);
    uint32_t *count = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->targets.n);
    /* by operator: 1 + the region that count is about */
    uint32_t *counted = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->targets.n);

    if (order == NULL || count == NULL || counted == NULL)
        return remat_pass_no_memory(w);
    for (uint32_t i = 0; i < n_calls; i++) {
        remat_node v = order[i];
        uint32_t number = remat_pass_operator(g, v);

        if (counted[number] != p->region[v] + 1) {
            counted[number] = p->region[v] + 1;
            count[number] = 0;
        }
        p->ordinal[v] = count[number]++;
        if (count[number] > p->n_most[number])
            p->n_most[number] = count[number];
    }
    return REMAT_OK;
}

/* ---- what is saved ----------------------------------------------------- */

/* Saves every n-th match, n = `every`. Once for an operator and n; so all
 * entries of one operator take n_most * (1 + 1/2 + 1/3 + ...) steps at most. */
static enum remat_status save_matches(struct remat_pass_work *w,
                                      struct policy *p, uint32_t number,
                                      uint32_t every)
{
    uint32_t begin = p->begin[number];
    uint32_t n = p->n_most[number];

    if (every > n)
        every = n; /* the first alone */
    if (p->seen[begin + every - 1])
        return REMAT_OK;
    p->seen[begin + every - 1] = true;
    for (uint32_t i = 0; i < n; i += every)
        p->saved[begin + i] = true;
    return remat_job_spend(w->job, n / every, "passes", w->err);
}

static enum remat_status choose_saved(struct remat_pass_work *w,
                                      struct policy *p)
{
    const struct remat_graph *g = w->g;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < g->targets.n; i++) {
        p->begin[i] = sum;
        sum += p->n_most[i];
    }
    p->saved = REMAT_NEW_ARRAY(w->scratch, bool, sum);
    p->seen = REMAT_NEW_ARRAY(w->scratch, bool, sum);
    if (p->saved == NULL || p->seen == NULL)
        return remat_pass_no_memory(w);
    for (uint32_t i = 0; i < w->pass->n_save; i++) {
        const struct remat_save_entry *entry = &w->pass->save[i];
        uint32_t number = remat_names_find(&g->targets, entry->target);
        enum remat_status status;

        if (number == REMAT_NONE || p->n_most[number] == 0)
            status = remat_pass_note_unmatched(w, i);
        else
            status = save_matches(w, p, number, entry->every);
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

/* ---- tags -------------------------------------------------------------- */

/* The region before the first new one. */
static enum remat_status highest_region(struct remat_pass_work *w,
                                        uint32_t n_regions, int64_t *highest)
{
    const struct remat_graph *g = w->g;
    remat_node of = REMAT_NONE;

    *highest = 0;
    for (remat_node v = 0; v < g->n; v++)
        if (g->has_ac_graph_id[v] && g->ac_graph_id[v] > *highest &&
            g->ac_graph_id[v] != REMAT_PASS_REGION) {
            *highest = g->ac_graph_id[v];
            of = v;
        }
    if (*highest <= INT64_MAX - 2 - (int64_t)n_regions)
        return REMAT_OK;
    return remat_error_set(w->err, REMAT_E_GRAPH, of,
                           "ac_graph_id: %lld leaves no room for regions "
                           "after it, must be at most %lld here",
                           (long long)*highest,
                           (long long)(INT64_MAX - 2 - (int64_t)n_regions));
}

static int64_t region_number(int64_t highest, uint32_t region)
{
    int64_t number = highest + 1 + (int64_t)region;

    return highest < REMAT_PASS_REGION && number >= REMAT_PASS_REGION
               ? number + 1
               : number;
}

static void follow_source(struct remat_graph *g, remat_node v)
{
    remat_node source = remat_arg_node(g, v, 0);

    if (source == REMAT_NONE || g->policy[source] == REMAT_UNTAGGED)
        return;
    g->policy[v] = g->policy[source];
    g->has_ac_graph_id[v] = g->has_ac_graph_id[source];
    g->ac_graph_id[v] = g->ac_graph_id[source];
}

static enum remat_status write_tags(struct remat_pass_work *w,
                                    const struct policy *p)
{
    struct remat_graph *g = w->g;
    int64_t highest;
    enum remat_status status = highest_region(w, p->n_regions, &highest);

    for (remat_node v = 0; status == REMAT_OK && v < g->n; v++) {
        if (g->policy[v] != REMAT_UNTAGGED || !is_forward_call(g, v))
            continue;
        if (remat_special(g, v) == REMAT_GETITEM)
            follow_source(g, v);
        if (p->region[v] == NO_REGION)
            continue;
        remat_pass_tag(
            w, v,
            p->saved[p->begin[remat_pass_operator(g, v)] + p->ordinal[v]]
                ? REMAT_MUST_SAVE
                : w->pass->otherwise,
            region_number(highest, p->region[v]));
    }
    return status;
}

enum remat_status remat_pass_sac_policy(struct remat_pass_work *w)
{
    const struct remat_graph *g = w->g;
    struct policy p = {
        .region = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->n),
        .ordinal = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->n),
        .n_most = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->targets.n),
        .begin = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->targets.n)};
    enum remat_status status = remat_pass_check_save(w);

    if (w->scratch->status != REMAT_OK)
        return remat_pass_no_memory(w);
    if (status == REMAT_OK)
        status = find_regions(w, &p);
    if (status == REMAT_OK)
        status = count_matches(w, &p);
    if (status == REMAT_OK)
        status = choose_saved(w, &p);
    return status != REMAT_OK ? status : write_tags(w, &p);
}
