/*
 * pass_stage_recomputation.c: AutoParallel's staging (semantics 10.1 - 10.7).
 *
 * A long run of recomputed values is cut into stages of about equal size; what
 * is alive at the cheapest point of a stage is saved, so that the backward need
 * not start from the beginning.
 *
 *   remat_find_recomputable  the values looked at, in node order
 *   tag_all                  10.3  recompute what has no tag
 *   find_deaths              10.4, 10.5  where each value is last read
 *   choose_points            10.5, 10.6  stages and their cheapest points
 *   mark_alive               10.7  save what is alive at those points
 *
 * A value is alive from the node that makes it to the node it dies at, so what
 * is alive at all chosen points together is found in one walk, without a copy
 * of the set at each point.
 */
#include "pass.h"

#include "error.h"
#include "format.h"
#include "work.h"

/* ---- 10.1 -------------------------------------------------------------- */

static bool is_forward(const struct remat_graph *g, remat_node v)
{
    return g->role[v] != REMAT_TANGENT && g->specs[v]->op != REMAT_OUTPUT &&
           g->specs[v]->placement != REMAT_IS_BACKWARD;
}

static uint32_t distance(const struct remat_graph *g, const uint32_t *dist,
                         remat_node v)
{
    uint32_t least = REMAT_FAR;

    if (g->specs[v]->op == REMAT_OUTPUT)
        return REMAT_FAR;
    if (!is_forward(g, v))
        return 0;
    for (uint32_t i = g->users.begin[v]; i < g->users.begin[v + 1]; i++)
        if (dist[g->users.items[i]] + 1 < least)
            least = dist[g->users.items[i]] + 1;
    return least;
}

enum remat_status remat_find_recomputable(struct remat_pass_work *w,
                                          struct remat_recomputable *r)
{
    const struct remat_graph *g = w->g;
    uint32_t *dist = REMAT_NEW_ARRAY(w->scratch, uint32_t, g->n);
    remat_node *at = REMAT_NEW_ARRAY(w->scratch, remat_node, g->n);
    uint32_t n = 0;

    r->is_member = REMAT_NEW_ARRAY(w->scratch, bool, g->n);
    if (dist == NULL || at == NULL || r->is_member == NULL)
        return remat_pass_no_memory(w);
    for (remat_node v = g->n; v-- > 0;) {
        enum remat_status status = remat_pass_spend(w, v);

        if (status != REMAT_OK)
            return status;
        dist[v] = distance(g, dist, v);
    }
    for (remat_node v = 0; v < g->n; v++) {
        if (!is_forward(g, v) || dist[v] >= REMAT_FAR ||
            g->specs[v]->op == REMAT_PLACEHOLDER)
            continue;
        r->is_member[v] = true;
        at[n++] = v;
    }
    r->nodes = (struct remat_nodes){at, n};
    if (n > 0)
        return REMAT_OK;
    return remat_pass_note(w, "pass-matched-nothing", REMAT_WARNING, REMAT_NONE,
                           "the backward reads no value that the forward "
                           "computes, so the pass has nothing to tag");
}

/* ---- marks ------------------------------------------------------------- */

void remat_mark_must_save(struct remat_pass_work *w, remat_node v,
                          struct remat_skipped *skipped)
{
    struct remat_graph *g = w->g;

    if (g->policy[v] == REMAT_UNTAGGED ||
        (g->has_ac_graph_id[v] && g->ac_graph_id[v] == REMAT_PASS_REGION)) {
        g->policy[v] = REMAT_MUST_SAVE;
        return;
    }
    if (g->policy[v] == REMAT_MUST_SAVE)
        return; /* skipped as well, but it says the same */
    if (skipped->n++ == 0)
        skipped->first = v;
}

enum remat_status remat_pass_note_skipped(struct remat_pass_work *w,
                                          const struct remat_skipped *skipped)
{
    if (skipped->n == 0)
        return REMAT_OK;
    return remat_pass_note(
        w, "pass-mark-skipped", REMAT_INFO, skipped->first,
        remat_format(&w->job->arena,
                     "%u value%s that the pass would save keep%s the tag of "
                     "another region than %d, the first is `%s`",
                     skipped->n, skipped->n == 1 ? "" : "s",
                     skipped->n == 1 ? "s" : "", REMAT_PASS_REGION,
                     w->g->specs[skipped->first]->name));
}

/* ---- 10.3 -------------------------------------------------------------- */

static void tag_all(struct remat_pass_work *w,
                    const struct remat_recomputable *r)
{
    for (uint32_t i = 0; i < r->nodes.n; i++) {
        remat_node v = r->nodes.at[i];

        if (w->g->policy[v] == REMAT_UNTAGGED &&
            remat_special(w->g, v) != REMAT_GETITEM)
            remat_pass_tag(w, v, REMAT_PREFER_RECOMPUTE, REMAT_PASS_REGION);
    }
}

static bool is_forced(const struct remat_graph *g, remat_node v)
{
    return g->policy[v] == REMAT_MUST_RECOMPUTE;
}

/* ---- 10.4, 10.5 -------------------------------------------------------- */

/* dies_at[v]: after which node v is not alive any more; REMAT_NONE: never.
 *
 * A forced node hands what it reads to its users, and they are processed in
 * order, so a value is last read by the latest node that is reached from it
 * through forced nodes only: reach[u] is the latest beyond a user u. What would
 * die at a forced node lives for ever. */
static remat_node *find_deaths(struct remat_pass_work *w,
                               const struct remat_recomputable *r)
{
    const struct remat_graph *g = w->g;
    remat_node *reach = REMAT_NEW_ARRAY(w->scratch, remat_node, g->n);
    remat_node *dies_at = REMAT_NEW_ARRAY(w->scratch, remat_node, g->n);

    if (reach == NULL || dies_at == NULL)
        return NULL;
    for (uint32_t i = r->nodes.n; i-- > 0;) {
        remat_node v = r->nodes.at[i];
        remat_node last = v;

        for (uint32_t j = g->users.begin[v]; j < g->users.begin[v + 1]; j++) {
            remat_node user = g->users.items[j];

            if (r->is_member[user] && reach[user] > last)
                last = reach[user];
        }
        reach[v] = is_forced(g, v) ? last : v;
        dies_at[v] = is_forced(g, last) ? REMAT_NONE : last;
    }
    return dies_at;
}

/* ---- 10.6 -------------------------------------------------------------- */

/* The sum of what is not forced. */
static enum remat_status add_up(struct remat_pass_work *w,
                                const struct remat_recomputable *r,
                                int64_t *n_bytes)
{
    const struct remat_graph *g = w->g;

    *n_bytes = 0;
    for (uint32_t i = 0; i < r->nodes.n; i++) {
        remat_node v = r->nodes.at[i];

        if (is_forced(g, v))
            continue;
        if (g->n_bytes[v] < 0)
            return remat_error_set(w->err, REMAT_E_SIZE, v,
                                   "val: staging needs the size of this "
                                   "value, which is missing, null, const or "
                                   "opaque; give it as a tensor");
        if (!remat_add_i64(*n_bytes, g->n_bytes[v], n_bytes))
            return remat_error_set(w->err, REMAT_E_WEIGHT, v,
                                   "val: the values to stage add up past 2^63 "
                                   "bytes");
    }
    return REMAT_OK;
}

/* The least whole number of bytes that fills a stage. */
static int64_t stage_bytes(const struct remat_pass *pass, int64_t n_bytes)
{
    /* sqrt(bytes / 2^30) GiB is sqrt(bytes) * 2^15 bytes; both roundings are
     * those of the formula, as powers of two are exact. */
    double target = pass->stage == REMAT_STAGE_AUTO
                        ? remat_root_times_2_15((uint64_t)(double)n_bytes)
                        : pass->stage_size_gib * 1073741824.0;
    int64_t whole;

    if (target >= 9223372036854775808.0)
        return INT64_MAX;
    whole = (int64_t)target;
    return (double)whole < target ? whole + 1 : whole;
}

/* ---- 10.5 - 10.7 ------------------------------------------------------- */

struct stage {
    remat_node cheapest; /* REMAT_NONE: the stage is empty */
    int64_t least;       /* bytes alive there */
    int64_t n_bytes;     /* made in the stage */
};

/* Sets chosen[v] for the cheapest node of each stage. */
static enum remat_status choose_points(struct remat_pass_work *w,
                                       const struct remat_recomputable *r,
                                       const remat_node *dies_at, bool *chosen)
{
    const struct remat_graph *g = w->g;
    int64_t *dying = REMAT_NEW_ARRAY(w->scratch, int64_t, g->n);
    struct stage stage = {.cheapest = REMAT_NONE};
    int64_t alive = 0;
    int64_t full;
    int64_t total;
    enum remat_status status = add_up(w, r, &total);

    if (status != REMAT_OK)
        return status;
    if (dying == NULL)
        return remat_pass_no_memory(w);
    full = stage_bytes(w->pass, total);
    for (uint32_t i = 0; i < r->nodes.n; i++) {
        remat_node v = r->nodes.at[i];

        if (!is_forced(g, v)) {
            if (dies_at[v] != REMAT_NONE)
                dying[dies_at[v]] += g->n_bytes[v];
            alive += g->n_bytes[v] - dying[v];
            stage.n_bytes += g->n_bytes[v];
        }
        if (stage.cheapest == REMAT_NONE || alive < stage.least) {
            stage.cheapest = v;
            stage.least = alive;
        }
        if (stage.n_bytes < full)
            continue;
        chosen[stage.cheapest] = true;
        stage = (struct stage){.cheapest = REMAT_NONE};
    }
    if (stage.cheapest != REMAT_NONE)
        chosen[stage.cheapest] = true;
    return REMAT_OK;
}

static enum remat_status mark_alive(struct remat_pass_work *w,
                                    const struct remat_recomputable *r,
                                    const remat_node *dies_at,
                                    const bool *chosen)
{
    struct remat_skipped skipped = {0, REMAT_NONE};
    remat_node point = REMAT_NONE; /* the nearest chosen one from v on */
    bool *is_alive = REMAT_NEW_ARRAY(w->scratch, bool, w->g->n);

    if (is_alive == NULL)
        return remat_pass_no_memory(w);
    for (uint32_t i = r->nodes.n; i-- > 0;) {
        remat_node v = r->nodes.at[i];

        if (chosen[v])
            point = v;
        is_alive[v] =
            !is_forced(w->g, v) && point != REMAT_NONE && point < dies_at[v];
    }
    for (uint32_t i = 0; i < r->nodes.n; i++)
        if (is_alive[r->nodes.at[i]])
            remat_mark_must_save(w, r->nodes.at[i], &skipped);
    return remat_pass_note_skipped(w, &skipped);
}

enum remat_status remat_stage(struct remat_pass_work *w,
                              const struct remat_recomputable *r)
{
    enum remat_status status;
    remat_node *dies_at;
    bool *chosen;

    if (w->pass->stage == REMAT_STAGE_NONE)
        return REMAT_OK;
    tag_all(w, r);
    dies_at = find_deaths(w, r);
    chosen = REMAT_NEW_ARRAY(w->scratch, bool, w->g->n);
    if (dies_at == NULL || chosen == NULL)
        return remat_pass_no_memory(w);
    status = choose_points(w, r, dies_at, chosen);
    return status != REMAT_OK ? status : mark_alive(w, r, dies_at, chosen);
}

enum remat_status remat_pass_stage_recomputation(struct remat_pass_work *w)
{
    struct remat_recomputable r = {.is_member = NULL};
    enum remat_status status = remat_find_recomputable(w, &r);

    return status != REMAT_OK ? status : remat_stage(w, &r);
}
