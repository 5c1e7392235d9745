/*
 * pass_repair_tags.c: drops tags on getitem, wait and view nodes that
 * contradict what the node is made from, so that the node follows its source.
 *
 * The source is argument 0. What is dropped:
 *
 *   getitem, wait  to be computed again while the source is not: the results of
 *                  an operator come from it together, and a value that was
 *                  waited for comes from its collective
 *   getitem, view  to be saved while the source is computed again: the
 *                  partitioner forbids neither to be computed again, so such a
 *                  tag promises what it does not hold
 *
 * What can hold stays: a view computed again from a saved value, and a wait
 * that is saved while its collective is not (that keeps a gathered parameter).
 * An untagged getitem counts as its source does. One walk in node order meets
 * every source before what is made from it, so a second run finds nothing.
 */
#include "pass.h"

#include "work.h"

static bool is_contradictory(const struct remat_graph *g, remat_node v,
                             bool wanted, bool source_recomputed)
{
    bool is_getitem = remat_special(g, v) == REMAT_GETITEM;

    if (g->policy[v] == REMAT_UNTAGGED || wanted == source_recomputed)
        return false;
    if (wanted)
        return is_getitem || remat_special(g, v) == REMAT_WAIT_TENSOR;
    return is_getitem ||
           (remat_is_call(g, v) && remat_has_trait(g, v, REMAT_VIEW));
}

enum remat_status remat_pass_repair_tags(struct remat_pass_work *w)
{
    struct remat_graph *g = w->g;
    bool *recomputed = REMAT_NEW_ARRAY(w->scratch, bool, g->n);

    if (recomputed == NULL)
        return remat_pass_no_memory(w);
    for (remat_node v = 0; v < g->n; v++) {
        remat_node source = remat_arg_node(g, v, 0);
        enum remat_status status = remat_pass_spend(w, v);
        bool wanted = remat_wants_recompute(g->policy[v]);

        if (status != REMAT_OK)
            return status;
        if (source != REMAT_NONE &&
            is_contradictory(g, v, wanted, recomputed[source])) {
            g->policy[v] = REMAT_UNTAGGED;
            g->has_ac_graph_id[v] = false;
            wanted = false;
        }
        recomputed[v] = wanted;
        if (remat_special(g, v) == REMAT_GETITEM && source != REMAT_NONE &&
            g->policy[v] == REMAT_UNTAGGED)
            recomputed[v] = recomputed[source];
    }
    return REMAT_OK;
}
