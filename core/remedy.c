/*
 * remedy.c: the search for a remedy as a whole.
 *
 *   dive      a minimum cut through tags, applied, until nothing is in conflict
 *             (once, unless changed tags make new conflicts); what is too much
 *             is taken back
 *   attempt   whether anything can cost less, and then what
 *   finish    the changes, applied once more, with the plan they give
 *
 * First without tags on untagged nodes, then with them. What the search may
 * spend is bounded, and where it needs more memory or steps than the job has
 * left, the answer goes without a remedy and says so.
 */
#include "remedy.h"

#include "error.h"
#include "format.h"
#include "remedy_work.h"

#include <string.h>

enum {
    MOST_ROUNDS = 30,
    FEW_WAYS = 26 /* of a dozen tags, and a little */
};

/* Looks at nodes and edges in all probes of one attempt: where there are few
 * tags every remedy is found, where there are many the search must end. */
#define EFFORT_OF_FEW  UINT64_C(30000000)
#define EFFORT_OF_MANY UINT64_C(4000000)

static void restore_all(struct remat_remedy_work *r,
                        const struct remat_way *ways, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        remat_remedy_restore(r, ways[k].node);
        r->is_decided[ways[k].node] = false;
    }
}

/* ---- one attempt ------------------------------------------------------- */

/* Cuts until nothing is in conflict. The ways stay applied. */
static enum remat_status cut_all(struct remat_remedy_work *r,
                                 struct remat_way *ways, uint32_t *n,
                                 bool *is_done)
{
    struct remat_arena *arena = &r->w->job->arena;
    bool is_stuck = false;

    *is_done = false;
    for (int round = 0; round < MOST_ROUNDS && !is_stuck; round++) {
        struct remat_mark mark = remat_arena_mark(arena);
        struct remat_probe probe;
        enum remat_status status = remat_remedy_probe(r, &probe);

        if (status != REMAT_OK)
            return status;
        *is_done = probe.part.graph.n == 0 && !probe.is_refused;
        if (*is_done || probe.is_refused)
            return REMAT_OK;
        status = remat_remedy_cut(r, &probe, ways, n, &is_stuck);
        if (status != REMAT_OK)
            return status;
        remat_arena_rewind(arena, mark);
    }
    return REMAT_OK;
}

static enum remat_status dive(struct remat_remedy_work *r)
{
    struct remat_way *ways =
        REMAT_NEW_ARRAY(&r->w->job->arena, struct remat_way, r->w->g->n);
    enum remat_status status;
    bool is_done;
    uint32_t n = 0;

    if (ways == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    status = cut_all(r, ways, &n, &is_done);
    if (status == REMAT_OK && is_done)
        status = remat_remedy_prune(r, ways, &n);
    if (status == REMAT_OK && is_done)
        status = remat_remedy_take_best(r, ways, n);
    if (status == REMAT_OK)
        restore_all(r, ways, n);
    return status;
}

/* Whether nothing costs less than the best. */
static enum remat_status prove(struct remat_remedy_work *r, bool *result)
{
    struct remat_arena *arena = &r->w->job->arena;
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_probe probe;
    int64_t bound;
    enum remat_status status = remat_remedy_probe(r, &probe);

    if (status == REMAT_OK)
        status = remat_remedy_bound(r, &probe, &bound);
    if (status != REMAT_OK)
        return status;
    remat_arena_rewind(arena, mark);
    *result = bound == REMAT_NO_WAY || (r->n_best > 0 && r->best_cost <= bound);
    return REMAT_OK;
}

/* A search that was cut short may have left changes that are not needed. */
static enum remat_status tidy(struct remat_remedy_work *r)
{
    enum remat_status status;

    r->n_left = EFFORT_OF_MANY;
    for (uint32_t k = 0; k < r->n_best; k++)
        remat_remedy_apply(r, r->best[k].node, r->best[k].policy);
    status = remat_remedy_prune(r, r->best, &r->n_best);
    if (status != REMAT_OK)
        return status;
    restore_all(r, r->best, r->n_best);
    r->best_cost = 0;
    for (uint32_t k = 0; k < r->n_best; k++)
        r->best_cost += r->best[k].cost;
    return REMAT_OK;
}

static enum remat_status attempt(struct remat_remedy_work *r, bool allows_new)
{
    enum remat_status status;

    r->allows_new = allows_new;
    r->is_small = remat_remedy_n_ways(r) <= FEW_WAYS;
    r->n_left = r->is_small ? EFFORT_OF_FEW : EFFORT_OF_MANY;
    status = dive(r);
    if (status == REMAT_OK)
        status = prove(r, &r->is_proven);
    if (status == REMAT_OK && !r->is_proven) {
        status = remat_remedy_search(r);
        r->is_proven = !r->is_cut_short;
    }
    return status == REMAT_OK && r->is_cut_short ? tidy(r) : status;
}

/* ---- the result -------------------------------------------------------- */

static struct remat_tag tag_of(const struct remat_graph *g, uint8_t policy,
                               bool has_region, remat_node v)
{
    struct remat_tag tag = {.policy = (enum remat_policy)policy};

    if (tag.policy == REMAT_UNTAGGED || !has_region)
        return tag;
    tag.has_region = true;
    tag.region = g->ac_graph_id[v];
    return tag;
}

static void sort_by_node(struct remat_remedy_work *r, struct remat_way *ways,
                         uint32_t n)
{
    uint32_t at = 0;

    for (uint32_t k = 0; k < n; k++)
        r->is_decided[ways[k].node] = true;
    for (remat_node v = 0; v < r->w->g->n && at < n; v++)
        if (r->is_decided[v]) {
            r->is_decided[v] = false;
            ways[at].cost = remat_remedy_cost(r, v);
            ways[at].policy = r->w->g->policy[v];
            ways[at++].node = v;
        }
}

static enum remat_status finish(struct remat_remedy_work *r,
                                struct remat_remedy *remedy)
{
    const struct remat_graph *g = r->w->g;
    struct remat_tag_change *changes =
        REMAT_NEW_ARRAY(&r->w->job->arena, struct remat_tag_change, r->n_best);
    enum remat_status status;

    if (changes == NULL)
        return remat_job_no_memory(r->w->job, r->err);
    for (uint32_t k = 0; k < r->n_best; k++)
        remat_remedy_apply(r, r->best[k].node, r->best[k].policy);
    sort_by_node(r, r->best, r->n_best);
    for (uint32_t k = 0; k < r->n_best; k++) {
        remat_node v = r->best[k].node;

        changes[k] = (struct remat_tag_change){
            .node = v,
            .before = tag_of(g, r->policy[v], r->has_region[v], v),
            .after = tag_of(g, g->policy[v], g->has_ac_graph_id[v], v)};
    }
    remedy->changes = changes;
    remedy->n_changes = r->n_best;
    remedy->cost = r->best_cost;
    remedy->is_least = r->is_proven;
    status = remat_remedy_solve(r, &remedy->plan);
    restore_all(r, r->best, r->n_best);
    return status;
}

static enum remat_status find(struct remat_remedy_work *r,
                              const struct remat_notes *notes,
                              struct remat_remedy *remedy)
{
    enum remat_status status = remat_remedy_begin(r);

    if (status == REMAT_OK)
        status = attempt(r, false);
    if (status == REMAT_OK && r->n_best == 0)
        status = attempt(r, true);
    if (status != REMAT_OK)
        return status;
    if (r->n_best > 0)
        return finish(r, remedy);
    return r->is_cut_short ? REMAT_OK : remat_remedy_facts(r, notes, remedy);
}

static bool is_too_much(enum remat_status status)
{
    return status == REMAT_E_STEPS || status == REMAT_E_LIMIT ||
           status == REMAT_E_NOMEM || status == REMAT_E_SIZE ||
           status == REMAT_E_WEIGHT;
}

static void put_tags_back(struct remat_remedy_work *r)
{
    if (r->has_begun)
        for (remat_node v = 0; v < r->w->g->n; v++)
            remat_remedy_restore(r, v);
}

/* The job as it was before the search, which needed more than there is. */
static void give_up(struct remat_remedy_work *r, struct remat_mark mark,
                    uint64_t n_steps)
{
    struct remat_job *job = r->w->job;

    job->arena.status = REMAT_OK;
    remat_arena_rewind(&job->arena, mark);
    job->n_steps = n_steps;
}

static enum remat_status note_missing(struct remat_work *w, remat_node invalid,
                                      struct remat_notes *notes,
                                      struct remat_error *err)
{
    struct remat_diagnostic d = {
        .code = "remedy-not-found",
        .severity = REMAT_INFO,
        .node = invalid,
        .message = "whether a change of tags helps is not known: the search "
                   "would take more steps or memory than there are, or a size "
                   "that the document does not tell"};

    if (invalid != REMAT_NONE)
        d.message = remat_format(
            &w->job->arena,
            "no change of tags was found that helps: without the conflicts "
            "`%s` is an output that cannot be computed, so look at that too",
            remat_spec(w->g, invalid)->name);

    return remat_note(&w->job->arena, notes, d)
               ? REMAT_OK
               : remat_job_no_memory(w->job, err);
}

enum remat_status remat_find_remedy(struct remat_work *w,
                                    const struct remat_bans *bans,
                                    struct remat_notes *notes,
                                    const struct remat_remedy **remedy,
                                    struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_remedy *found = REMAT_NEW(arena, struct remat_remedy);
    struct remat_mark mark = remat_arena_mark(arena);
    struct remat_error own_err = {.node = REMAT_NONE};
    struct remat_remedy_work r = {.w = w,
                                  .rules = &bans->rules,
                                  .dont_ban = bans->dont_ban,
                                  .err = &own_err,
                                  .invalid = REMAT_NONE};
    uint64_t n_steps = w->job->n_steps;
    enum remat_status status;

    *remedy = NULL;
    if (found == NULL)
        return remat_job_no_memory(w->job, err);
    status = find(&r, notes, found);
    if (status != REMAT_OK)
        put_tags_back(&r);
    if (status == REMAT_OK && (found->plan != NULL || found->n_facts > 0)) {
        *remedy = found;
        return REMAT_OK;
    }
    if (status != REMAT_OK && !is_too_much(status))
        return remat_error_set(err, status, own_err.node, "%s", own_err.detail);
    give_up(&r, mark, n_steps);
    return note_missing(w, status == REMAT_OK ? r.invalid : REMAT_NONE, notes,
                        err);
}
