/*
 * bans.c: bans of inputs and by the static rules (semantics 5.3), then those
 * along chains.
 *
 * Reads tag, closure, fw, dist, fusible.
 */
#include "bans.h"

#include "chains.h"
#include "dropout.h"
#include "error.h"
#include "fusible.h"

enum {
    FAR_ENOUGH_TO_IGNORE = 1000 /* rule f looks at nearer nodes only */
};

static enum remat_status known_bytes(const struct remat_graph *g, remat_node v,
                                     int64_t *n_bytes, struct remat_error *err)
{
    *n_bytes = g->n_bytes[v];
    if (*n_bytes >= 0)
        return REMAT_OK;
    return remat_error_set(err, REMAT_E_SIZE, v,
                           "val: the decision needs the size of this value, "
                           "which is missing, null, const or opaque; give it "
                           "as a tensor");
}

/* g: its result is less than a quarter of what it reads directly. The sum
 * sticks at 2^63 - 1 and 4 * size is compared as size against a quarter,
 * rounded so that nothing changes. */
static enum remat_status is_reduction(const struct remat_graph *g, remat_node v,
                                      bool *result, struct remat_error *err)
{
    const struct remat_node_spec *spec = remat_spec(g, v);
    enum remat_status status;
    int64_t n_read = 0;
    int64_t n_bytes;

    for (uint32_t i = 0; i < spec->n_args; i++) {
        if (spec->args[i].kind != REMAT_ARG_NODE)
            continue;
        status = known_bytes(g, spec->args[i].as.node, &n_bytes, err);
        if (status != REMAT_OK)
            return status;
        n_read = remat_add_saturating(n_read, n_bytes);
    }
    status = known_bytes(g, v, &n_bytes, err);
    if (status != REMAT_OK)
        return status;
    /* 4 * n < r  <=>  n < r / 4 rounded up */
    *result = n_bytes < n_read / 4 + (n_read % 4 != 0);
    return REMAT_OK;
}

bool remat_is_non_builtin(const struct remat_work *w, remat_node v)
{
    return w->options.is_non_builtin_to_include &&
           (remat_has_trait(w->g, v, REMAT_CUSTOM) ||
            remat_special(w->g, v) == REMAT_TRITON_FUNCTIONAL);
}

/* d: what kind of operator may run twice. */
static enum remat_ban_reason kind_reason(const struct remat_work *w,
                                         const struct remat_rules *rules,
                                         remat_node v)
{
    const struct remat_graph *g = w->g;

    if (rules->allow_list)
        return remat_has_trait(g, v, REMAT_RECOMPUTABLE)
                   ? REMAT_BAN_NONE
                   : REMAT_BAN_NOT_ALLOWED;
    if (remat_has_trait(g, v, REMAT_RANDOM))
        return REMAT_BAN_RANDOM;
    if (remat_has_trait(g, v, REMAT_COMPUTE_INTENSIVE))
        return REMAT_BAN_COMPUTE;
    return remat_is_non_builtin(w, v) ? REMAT_BAN_NON_BUILTIN : REMAT_BAN_NONE;
}

/* d to g, for a node that a to c left open. */
static enum remat_status heuristic_reason(const struct remat_work *w,
                                          const struct remat_rules *rules,
                                          remat_node v,
                                          enum remat_ban_reason *reason,
                                          struct remat_error *err)
{
    enum remat_status status;
    bool reduces;

    *reason = kind_reason(w, rules, v);
    if (*reason != REMAT_BAN_NONE)
        return REMAT_OK;
    if (rules->materialised_backward && !remat_has_trait(w->g, v, REMAT_VIEW) &&
        remat_is_materialised_in_backward(w, v)) {
        *reason = REMAT_BAN_MATERIALISED;
        return REMAT_OK;
    }
    if (w->dist[v] < FAR_ENOUGH_TO_IGNORE &&
        (int64_t)w->dist[v] > w->options.max_dist_from_bw) {
        *reason = REMAT_BAN_TOO_FAR;
        return REMAT_OK;
    }
    if (!rules->reductions)
        return REMAT_OK;
    status = is_reduction(w->g, v, &reduces, err);
    if (status == REMAT_OK && reduces)
        *reason = REMAT_BAN_REDUCTION;
    return status;
}

/* The first static rule that matches, a to g. */
static enum remat_status static_reason(const struct remat_work *w,
                                       const struct remat_rules *rules,
                                       remat_node v,
                                       enum remat_ban_reason *reason,
                                       struct remat_error *err)
{
    const struct remat_graph *g = w->g;
    enum remat_special special = remat_special(g, v);

    *reason = REMAT_BAN_NONE;
    if (!remat_is_call(g, v) || special == REMAT_GETITEM)
        return REMAT_OK;
    if (w->tag[v] == REMAT_MUST_SAVE)
        *reason = REMAT_BAN_MUST_SAVE;
    else if (remat_has_trait(g, v, REMAT_NO_RECOMPUTE))
        *reason = REMAT_BAN_NO_RECOMPUTE;
    else if (rules->unrepeatable && remat_is_unrepeatable(w, v) &&
             !remat_draws_nothing(g, v))
        *reason = REMAT_BAN_RANDOM;
    if (*reason != REMAT_BAN_NONE || remat_is_plain(w))
        return REMAT_OK;
    if (w->options.recompute_views && remat_has_trait(g, v, REMAT_VIEW))
        return REMAT_OK;
    if (special == REMAT_LIFT_FRESH)
        return REMAT_OK;
    return heuristic_reason(w, rules, v, reason, err);
}

/* Inputs and static rules, in node order, for every node the network walk does
 * not skip. The rules are evaluated for nodes outside the forward too: they may
 * need a size that is not known. */
static enum remat_status ban_statically(struct remat_work *w,
                                        struct remat_bans *bans,
                                        struct remat_error *err)
{
    const struct remat_graph *g = w->g;

    for (remat_node v = 0; v < g->n; v++) {
        enum remat_ban_reason reason;
        enum remat_status status;

        if (!w->live[v] || remat_spec(g, v)->op == REMAT_OUTPUT ||
            w->closure[v] || remat_wants_recompute(w->tag[v]))
            continue;
        if (g->role[v] == REMAT_PRIMAL)
            remat_ban(w, bans, v, REMAT_BAN_PRIMAL);
        else if (g->role[v] == REMAT_FORWARD_SEED)
            remat_ban(w, bans, v, REMAT_BAN_FORWARD_SEED);
        status = static_reason(w, &bans->rules, v, &reason, err);
        if (status != REMAT_OK)
            return status;
        if (reason != REMAT_BAN_NONE && w->fw[v])
            remat_ban(w, bans, v, reason);
    }
    bans->n_static = bans->n;
    return remat_job_spend(w->job, g->n, "rules", err);
}

enum remat_status remat_find_bans(struct remat_work *w,
                                  const struct remat_rules *rules,
                                  const bool *dont_ban, struct remat_bans *bans,
                                  struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    enum remat_status status;

    *bans = (struct remat_bans){.rules = *rules, .dont_ban = dont_ban};
    if (remat_is_plain(w))
        bans->rules = (struct remat_rules){.unrepeatable = rules->unrepeatable};
    bans->reason = REMAT_NEW_ARRAY(arena, uint8_t, w->g->n);
    bans->list = REMAT_NEW_ARRAY(arena, struct remat_ban, w->g->n);
    if (arena->status != REMAT_OK)
        return remat_job_no_memory(w->job, err);
    status = ban_statically(w, bans, err);
    if (status == REMAT_OK && bans->rules.used_far_apart)
        status = remat_ban_used_far_apart(w, bans, err);
    if (status == REMAT_OK && bans->rules.long_chains)
        status = remat_ban_long_chains(w, bans, err);
    return status;
}
