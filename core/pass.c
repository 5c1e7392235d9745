/*
 * pass.c: runs one pass over the tags: checks its fields, applies it, compares
 * the tags before and after.
 *
 * What a pass needs only while it runs lies in an arena of its own, under the
 * job's limit and allocator, so that a hundred passes need no more memory than
 * one. After a failure the tags are as they were.
 */
#include "pass.h"

#include "error.h"
#include "format.h"

/* ---- fields of a pass -------------------------------------------------- */

static enum remat_status check_stage(struct remat_pass_work *w)
{
    const struct remat_pass *pass = w->pass;

    if (pass->stage != REMAT_STAGE_NONE && pass->stage != REMAT_STAGE_AUTO &&
        pass->stage != REMAT_STAGE_GIB)
        return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                               "stage_size_gib: must be a number of 0 or "
                               "more, \"auto\" or null");
    if (pass->stage == REMAT_STAGE_GIB &&
        !(pass->stage_size_gib >= 0 && pass->stage_size_gib <= 1e300))
        return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                               "stage_size_gib: %g, must be a number from 0 "
                               "to 1e300, \"auto\" or null",
                               pass->stage_size_gib);
    return REMAT_OK;
}

static enum remat_status check_otherwise(struct remat_pass_work *w)
{
    enum remat_policy otherwise = w->pass->otherwise;

    if (otherwise > REMAT_UNTAGGED && otherwise < REMAT_N_POLICIES)
        return REMAT_OK;
    return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                           "otherwise: must be one of must_save, prefer_save, "
                           "prefer_recompute, must_recompute, "
                           "must_cpu_offload, prefer_cpu_offload");
}

/* ---- before and after -------------------------------------------------- */

struct tags {
    uint8_t *policy;
    bool *has_region;
    int64_t *region;
};

static enum remat_status copy_tags(struct remat_pass_work *w,
                                   struct tags *before)
{
    const struct remat_graph *g = w->g;

    before->policy = REMAT_NEW_ARRAY(w->scratch, uint8_t, g->n);
    before->has_region = REMAT_NEW_ARRAY(w->scratch, bool, g->n);
    before->region = REMAT_NEW_ARRAY(w->scratch, int64_t, g->n);
    if (w->scratch->status != REMAT_OK)
        return remat_pass_no_memory(w);
    memcpy(before->policy, g->policy, g->n * sizeof(*g->policy));
    memcpy(before->has_region, g->has_ac_graph_id,
           g->n * sizeof(*g->has_ac_graph_id));
    memcpy(before->region, g->ac_graph_id, g->n * sizeof(*g->ac_graph_id));
    return REMAT_OK;
}

static void restore_tags(struct remat_graph *g, const struct tags *before)
{
    memcpy(g->policy, before->policy, g->n * sizeof(*g->policy));
    memcpy(g->has_ac_graph_id, before->has_region,
           g->n * sizeof(*g->has_ac_graph_id));
    memcpy(g->ac_graph_id, before->region, g->n * sizeof(*g->ac_graph_id));
}

static void forget_regions_without_tag(struct remat_graph *g)
{
    for (remat_node v = 0; v < g->n; v++)
        if (g->policy[v] == REMAT_UNTAGGED)
            g->has_ac_graph_id[v] = false;
}

static struct remat_tag tag_of(const uint8_t *policy, const bool *has_region,
                               const int64_t *region, remat_node v)
{
    struct remat_tag tag = {.policy = (enum remat_policy)policy[v]};

    if (tag.policy == REMAT_UNTAGGED || !has_region[v])
        return tag;
    tag.has_region = true;
    tag.region = region[v];
    return tag;
}

static struct remat_tag_change
change_of(const struct remat_graph *g, const struct tags *before, remat_node v)
{
    return (struct remat_tag_change){
        .node = v,
        .before = tag_of(before->policy, before->has_region, before->region, v),
        .after = tag_of(g->policy, g->has_ac_graph_id, g->ac_graph_id, v)};
}

static bool is_change(const struct remat_tag_change *change)
{
    return change->before.policy != change->after.policy ||
           change->before.has_region != change->after.has_region ||
           change->before.region != change->after.region;
}

static enum remat_status list_changes(struct remat_pass_work *w,
                                      const struct tags *before,
                                      struct remat_pass_report *report)
{
    const struct remat_graph *g = w->g;
    struct remat_tag_change *changes;
    uint32_t n = 0;

    for (remat_node v = 0; v < g->n; v++) {
        struct remat_tag_change change = change_of(g, before, v);

        n += is_change(&change);
    }
    changes = REMAT_NEW_ARRAY(&w->job->arena, struct remat_tag_change, n);
    if (changes == NULL)
        return remat_pass_no_memory(w);
    n = 0;
    for (remat_node v = 0; v < g->n; v++) {
        struct remat_tag_change change = change_of(g, before, v);

        if (!is_change(&change))
            continue;
        changes[n++] = change;
        g->tag_by_pass[v] = change.after.policy != REMAT_UNTAGGED;
    }
    report->changes = changes;
    report->n_changes = n;
    return REMAT_OK;
}

static enum remat_status list_diagnostics(struct remat_pass_work *w,
                                          struct remat_pass_report *report)
{
    struct remat_diagnostic *copy = REMAT_NEW_ARRAY(
        &w->job->arena, struct remat_diagnostic, w->n_diagnostics);

    if (copy == NULL)
        return remat_pass_no_memory(w);
    if (w->n_diagnostics > 0)
        memcpy(copy, w->diagnostics, w->n_diagnostics * sizeof(*copy));
    report->diagnostics = copy;
    report->n_diagnostics = w->n_diagnostics;
    return REMAT_OK;
}

/* ---- one pass ---------------------------------------------------------- */

static enum remat_status dispatch(struct remat_pass_work *w)
{
    enum remat_status status;

    switch (w->pass->kind) {
    case REMAT_PASS_SAC_POLICY:
        status = check_otherwise(w);
        return status != REMAT_OK ? status : remat_pass_sac_policy(w);
    case REMAT_PASS_STAGE_RECOMPUTATION:
        status = check_stage(w);
        return status != REMAT_OK ? status : remat_pass_stage_recomputation(w);
    case REMAT_PASS_AUTOPARALLEL:
        status = check_stage(w);
        return status != REMAT_OK ? status : remat_pass_autoparallel(w);
    case REMAT_PASS_FSDP_ALL_GATHER:
        return remat_pass_fsdp_all_gather(w);
    case REMAT_PASS_REPAIR_TAGS:
        return remat_pass_repair_tags(w);
    case REMAT_PASS_SET_TAGS:
        return remat_pass_set_tags(w);
    }
    return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                           "pass: number %d, must be one of enum "
                           "remat_pass_kind",
                           (int)w->pass->kind);
}

static enum remat_status run(struct remat_pass_work *w,
                             struct remat_pass_report *report)
{
    struct tags before;
    enum remat_status status = copy_tags(w, &before);

    if (status != REMAT_OK)
        return status;
    forget_regions_without_tag(w->g);
    status = dispatch(w);
    if (status == REMAT_OK)
        status = list_changes(w, &before, report);
    if (status == REMAT_OK)
        status = list_diagnostics(w, report);
    if (status != REMAT_OK)
        restore_tags(w->g, &before);
    return status;
}

/* What the job has left, for the scratch. */
static bool limits_left(const struct remat_job *job,
                        struct remat_limits *limits)
{
    *limits = job->limits;
    if (limits->memory_bytes == 0)
        return true;
    if (job->arena.n_bytes >= limits->memory_bytes)
        return false;
    limits->memory_bytes -= job->arena.n_bytes;
    return true;
}

enum remat_status remat_pass_apply(struct remat_job *job,
                                   const struct remat_pass *pass,
                                   struct remat_pass_report *report,
                                   struct remat_error *err)
{
    struct remat_pass_work w = {
        .job = job, .g = &job->graph, .pass = pass, .err = err};
    struct remat_limits limits;
    struct remat_arena scratch;
    enum remat_status status;

    *report = (struct remat_pass_report){0};
    if (!job->graph.sealed)
        return remat_error_set(err, REMAT_E_GRAPH, REMAT_NONE,
                               "graph: must be sealed before a pass");
    if (!limits_left(job, &limits)) {
        job->arena.status = REMAT_E_LIMIT;
        return remat_job_no_memory(job, err);
    }
    remat_arena_init(&scratch, &limits);
    w.scratch = &scratch;
    status = run(&w, report);
    remat_arena_release(&scratch);
    return status;
}

const char *remat_policy_text(enum remat_policy policy)
{
    static const char *const texts[] = {[REMAT_UNTAGGED] = "untagged",
#define X(name, text) [name] = text,
                                        REMAT_POLICY_MAP(X)
#undef X
    };

    return texts[policy];
}

enum remat_policy remat_graph_tag(const struct remat_job *job, remat_node node,
                                  bool *has_region, int64_t *region)
{
    const struct remat_graph *g = &job->graph;
    struct remat_tag tag;

    assert(g->sealed && node < g->n);
    tag = tag_of(g->policy, g->has_ac_graph_id, g->ac_graph_id, node);
    *has_region = tag.has_region;
    *region = tag.region;
    return tag.policy;
}
