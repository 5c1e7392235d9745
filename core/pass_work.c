/*
 * pass_work.c: what every pass needs: steps, remarks, and the refusal of
 * memory.
 */
#include "pass_work.h"

enum remat_status remat_pass_no_memory(struct remat_pass_work *w)
{
    if (w->scratch->status == REMAT_OK)
        return remat_job_no_memory(w->job, w->err);
    if (w->job->arena.status == REMAT_OK)
        w->job->arena.status = w->scratch->status;
    return remat_job_no_memory(w->job, w->err);
}

enum remat_status remat_pass_spend(struct remat_pass_work *w, remat_node v)
{
    return remat_job_spend(w->job, 1 + (uint64_t)remat_n_inputs(w->g, v),
                           "passes", w->err);
}

static bool make_room(struct remat_pass_work *w)
{
    uint32_t capacity =
        w->diagnostics_capacity == 0 ? 8 : w->diagnostics_capacity * 2;
    struct remat_diagnostic *diagnostics;

    if (w->n_diagnostics < w->diagnostics_capacity)
        return true;
    diagnostics =
        REMAT_NEW_ARRAY(w->scratch, struct remat_diagnostic, capacity);
    if (diagnostics == NULL)
        return false;
    if (w->n_diagnostics > 0)
        memcpy(diagnostics, w->diagnostics,
               w->n_diagnostics * sizeof(*diagnostics));
    w->diagnostics = diagnostics;
    w->diagnostics_capacity = capacity;
    return true;
}

enum remat_status remat_pass_note(struct remat_pass_work *w, const char *code,
                                  enum remat_severity severity, remat_node node,
                                  const char *message)
{
    if (message == NULL || !make_room(w))
        return remat_pass_no_memory(w);
    w->diagnostics[w->n_diagnostics++] = (struct remat_diagnostic){
        .code = code, .severity = severity, .node = node, .message = message};
    return REMAT_OK;
}
