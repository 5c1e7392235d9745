/*
 * pass_autoparallel.c: AutoParallel's tagging of a joint graph: staging, then
 * its list of operators to save (semantics 10.8).
 */
#include "pass.h"

static const char mm[] = "aten.mm.default";
/* What it saves when the pass does not say; of aten.mm.default every other. */
static const char *const default_save[] = {
    mm,
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_cudnn_attention.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
};

/* Which of the graph's operators are listed, by number. */
static bool *list_operators(struct remat_pass_work *w)
{
    const struct remat_pass *pass = w->pass;
    uint32_t n = pass->has_save ? pass->n_save : REMAT_ARRAY_LEN(default_save);
    bool *listed = REMAT_NEW_ARRAY(w->scratch, bool, w->g->targets.n);

    if (listed == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = remat_names_find(&w->g->targets,
                                           pass->has_save ? pass->save[i].target
                                                          : default_save[i]);

        if (number != REMAT_NONE)
            listed[number] = true;
    }
    return listed;
}

static enum remat_status mark_listed(struct remat_pass_work *w,
                                     const struct remat_recomputable *r,
                                     const bool *listed, bool *matched)
{
    struct remat_skipped skipped = {0, REMAT_NONE};
    uint32_t n_mm = 0;

    for (uint32_t i = 0; i < r->nodes.n; i++) {
        remat_node v = r->nodes.at[i];

        if (!remat_is_call(w->g, v) || !listed[remat_pass_operator(w->g, v)])
            continue;
        matched[remat_pass_operator(w->g, v)] = true;
        if (remat_pass_calls(w->g, v, mm) && n_mm++ % 2 == 1)
            continue;
        remat_mark_must_save(w, v, &skipped);
    }
    return remat_pass_note_skipped(w, &skipped);
}

static enum remat_status note_unmatched(struct remat_pass_work *w,
                                        const bool *matched)
{
    for (uint32_t i = 0; w->pass->has_save && i < w->pass->n_save; i++) {
        uint32_t number =
            remat_names_find(&w->g->targets, w->pass->save[i].target);
        enum remat_status status;

        if (number != REMAT_NONE && matched[number])
            continue;
        status = remat_pass_note_unmatched(w, i);
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

enum remat_status remat_pass_autoparallel(struct remat_pass_work *w)
{
    struct remat_recomputable r = {.is_member = NULL};
    bool *listed;
    bool *matched;
    enum remat_status status = remat_pass_check_save(w);

    if (status == REMAT_OK)
        status = remat_find_recomputable(w, &r);
    if (status == REMAT_OK)
        status = remat_stage(w, &r);
    if (status != REMAT_OK)
        return status;
    listed = list_operators(w);
    matched = REMAT_NEW_ARRAY(w->scratch, bool, w->g->targets.n);
    if (listed == NULL || matched == NULL)
        return remat_pass_no_memory(w);
    status = mark_listed(w, &r, listed, matched);
    return status != REMAT_OK ? status : note_unmatched(w, matched);
}
