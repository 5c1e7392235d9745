/*
 * pass_save.c: the lists of operators that sac_policy and autoparallel save.
 *
 * An entry is refused when nothing can ever match it, for a misspelt name would
 * silently save nothing. Known is what the graph calls and, of PyTorch's own
 * namespaces, the operators it has. Operators of other namespaces are the
 * user's own: they may be absent from this graph.
 */
#include "pass_work.h"

#include "error.h"
#include "format.h"

/* Words joined by dots, at least two; *n_words counts them. */
static bool is_dotted(const char *target, uint32_t *n_words)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    *n_words = 0;
    for (;;) {
        size_t n = strspn(target, letters);

        if (n == 0)
            return false;
        ++*n_words;
        if (target[n] == '\0')
            return *n_words > 1;
        if (target[n] != '.')
            return false;
        target += n + 1;
    }
}

static enum remat_status refuse(struct remat_pass_work *w, uint32_t entry,
                                const char *expected)
{
    return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                           "save[%u]: \"%.80s\", %s", entry,
                           w->pass->save[entry].target, expected);
}

static enum remat_status refuse_overload(struct remat_pass_work *w,
                                         uint32_t entry, const char *overloads)
{
    return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                           "save[%u]: \"%.60s\", an overload that PyTorch does "
                           "not have and this graph does not call; there are: "
                           "%.70s%s",
                           entry, w->pass->save[entry].target, overloads,
                           strlen(overloads) > 70 ? "..." : "");
}

static enum remat_status check_name(struct remat_pass_work *w, uint32_t entry)
{
    const char *target = w->pass->save[entry].target;
    const char *overloads;
    uint32_t n_words;
    bool is_pytorchs;

    if (strcmp(target, "getitem") == 0)
        return refuse(w, entry,
                      "which follows its source: list the operator with "
                      "several results instead");
    if (remat_names_find(&w->g->targets, target) != REMAT_NONE)
        return REMAT_OK;
    is_pytorchs = remat_operator_is_pytorchs(target);
    if (!is_dotted(target, &n_words) || (is_pytorchs && n_words != 3))
        return refuse(w, entry,
                      "must be the target of an operator call, with its "
                      "overload, such as \"aten.mm.default\"");
    if (!is_pytorchs || remat_operator_exists(target, &overloads))
        return REMAT_OK;
    if (overloads == NULL)
        return refuse(w, entry,
                      "which is no operator of PyTorch that this version "
                      "knows or this graph calls: write a target such as "
                      "\"aten.mm.default\"");
    return refuse_overload(w, entry, overloads);
}

enum remat_status remat_pass_check_save(struct remat_pass_work *w)
{
    const struct remat_pass *pass = w->pass;
    bool counts = pass->kind == REMAT_PASS_SAC_POLICY;

    if (!counts && !pass->has_save)
        return REMAT_OK;
    for (uint32_t i = 0; i < pass->n_save; i++) {
        enum remat_status status = remat_job_spend(w->job, 1, "passes", w->err);

        if (status == REMAT_OK)
            status = check_name(w, i);
        if (status != REMAT_OK)
            return status;
        if (pass->save[i].every == 0)
            return refuse(w, i, "every is 0, must be 1 or more");
        if (!counts && pass->save[i].every != 1)
            return refuse(w, i,
                          "every is given, but autoparallel takes plain names "
                          "(of aten.mm.default it always saves every other)");
    }
    return REMAT_OK;
}

enum remat_status remat_pass_note_unmatched(struct remat_pass_work *w,
                                            uint32_t entry)
{
    return remat_pass_note(
        w, "pass-matched-nothing", REMAT_WARNING, REMAT_NONE,
        remat_format(&w->job->arena,
                     "save[%u]: no operator call that the pass looks at is "
                     "`%s`",
                     entry, w->pass->save[entry].target));
}
