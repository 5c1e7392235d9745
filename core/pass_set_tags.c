/*
 * pass_set_tags.c: gives nodes the tags that somebody wrote down: remedies and
 * questions of the kind "what if".
 *
 * Any node may get any tag, as in a document.
 */
#include "pass.h"

#include "error.h"

static enum remat_status check(struct remat_pass_work *w, uint32_t i)
{
    const struct remat_set_tag *set = &w->pass->tags[i];

    if (set->node >= w->g->n)
        return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                               "tags[%u]: node %u, the graph has %u nodes", i,
                               set->node, w->g->n);
    if (set->tag.policy >= REMAT_N_POLICIES)
        return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                               "tags[%u]: number %d, must be one of enum "
                               "remat_policy",
                               i, (int)set->tag.policy);
    return REMAT_OK;
}

static void set_tag(struct remat_graph *g, const struct remat_set_tag *set)
{
    g->policy[set->node] = (uint8_t)set->tag.policy;
    if (set->keeps_region && set->tag.policy != REMAT_UNTAGGED)
        return;
    g->has_ac_graph_id[set->node] =
        set->tag.has_region && set->tag.policy != REMAT_UNTAGGED;
    g->ac_graph_id[set->node] = set->tag.region;
}

enum remat_status remat_pass_set_tags(struct remat_pass_work *w)
{
    for (uint32_t i = 0; i < w->pass->n_tags; i++) {
        enum remat_status status = check(w, i);

        if (status == REMAT_OK)
            status = remat_job_spend(w->job, 1, "passes", w->err);
        if (status != REMAT_OK)
            return status;
        set_tag(w->g, &w->pass->tags[i]);
    }
    return REMAT_OK;
}
