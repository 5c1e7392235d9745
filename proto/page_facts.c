/*
 * page_facts.c: what the sections of a page ask of every node.
 */
#include "page.h"

static uint8_t *find_states(const struct proto_page *page)
{
    const struct remat_plan *plan = page->plan;
    const struct remat_nodes lists[] = {plan->saved, plan->saved_sym,
                                        plan->saved_opaque};
    uint8_t *state = remat_job_alloc(page->job, page->n, sizeof(*state));

    if (state == NULL)
        return NULL;
    for (uint32_t i = 0; i < plan->recomputed.n; i++)
        state[plan->recomputed.at[i]] = REMAT_PLACE_RECOMPUTED;
    for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
        for (uint32_t i = 0; i < lists[k].n; i++)
            state[lists[k].at[i]] = REMAT_PLACE_SAVED;
    return state;
}

static uint8_t *find_reasons(const struct proto_page *page)
{
    const struct remat_plan *plan = page->plan;
    uint8_t *reason = remat_job_alloc(page->job, page->n, sizeof(*reason));

    if (reason == NULL || plan->n_cuts == 0)
        return reason;
    for (uint32_t i = 0; i < plan->cuts[plan->n_cuts - 1].n_bans; i++) {
        const struct remat_ban *ban = &plan->cuts[plan->n_cuts - 1].bans[i];

        reason[ban->node] = (uint8_t)ban->reason;
    }
    return reason;
}

static enum proto_side side_of(const struct proto_page *page, remat_node v)
{
    const struct remat_facts *facts = &page->plan->facts;
    enum remat_op op = remat_graph_node(page->job, v)->op;

    if (op == REMAT_OUTPUT || (facts->live != NULL && !facts->live[v]))
        return PROTO_SIDE_NONE;
    if (facts->tangents_closure != NULL && facts->tangents_closure[v])
        return PROTO_SIDE_BACKWARD;
    if (op != REMAT_CALL_FUNCTION || page->state[v] != REMAT_PLACE_NONE ||
        facts->required_fw == NULL || facts->required_fw[v])
        return PROTO_SIDE_FORWARD;
    return PROTO_SIDE_BACKWARD;
}

bool proto_page_prepare(struct proto_page *page)
{
    uint8_t *side;

    page->n = remat_graph_n_nodes(page->job);
    page->state = find_states(page);
    page->reason = find_reasons(page);
    side = remat_job_alloc(page->job, page->n, sizeof(*side));
    if (page->state == NULL || page->reason == NULL || side == NULL)
        return false;
    for (remat_node v = 0; v < page->n; v++)
        side[v] = (uint8_t)side_of(page, v);
    page->side = side;
    return true;
}

uint32_t proto_page_consumers(const struct proto_page *page, remat_node v)
{
    struct remat_nodes users = remat_node_users(page->job, v);
    uint32_t n = 0;

    for (uint32_t i = 0; i < users.n; i++)
        n += page->side[users.at[i]] == PROTO_SIDE_BACKWARD;
    return n;
}

uint32_t proto_page_readers(const struct proto_page *page, remat_node v)
{
    struct remat_nodes users = remat_node_users(page->job, v);
    uint32_t n = 0;

    for (uint32_t i = 0; i < users.n; i++)
        n += page->side[users.at[i]] == PROTO_SIDE_BACKWARD ||
             page->state[users.at[i]] == REMAT_PLACE_RECOMPUTED;
    return n;
}

int64_t proto_page_storage_bytes(const struct proto_page *page,
                                 const bool *marked)
{
    bool *seen = remat_job_alloc(page->job, page->n, sizeof(*seen));
    int64_t total = 0;

    if (seen == NULL)
        return -1;
    for (remat_node v = 0; v < page->n; v++) {
        remat_node root =
            marked[v] ? remat_node_storage(page->job, v) : REMAT_NONE;
        int64_t n_bytes;

        if (root == REMAT_NONE || seen[root] ||
            remat_node_is_static(page->job, root))
            continue;
        seen[root] = true;
        n_bytes = remat_node_bytes(page->job, root);
        if (n_bytes > 0 && n_bytes <= INT64_MAX - total)
            total += n_bytes;
    }
    return total;
}
