/*
 * pass_work.h: what the passes over tags share. Private to core.
 *
 * A pass rewrites the three tag arrays of the sealed graph in place. It works
 * on the graph as sent, dead nodes included: what is dead depends on options
 * that a pass does not know. pass.c copies the tags before and compares after,
 * so a pass reports nothing itself and may fail at any point.
 *
 * A region on an untagged node says nothing: pass.c clears it before a pass
 * runs.
 */
#ifndef REMAT_PASS_WORK_H
#define REMAT_PASS_WORK_H

#include "base.h"
#include "job.h"

#include <string.h>

/* The region of the tags that staging and fsdp_all_gather write. */
enum {
    REMAT_PASS_REGION = 100000
};

struct remat_pass_work {
    struct remat_job *job;
    struct remat_graph *g;
    const struct remat_pass *pass;
    struct remat_arena *scratch; /* gone when the pass has ended */
    struct remat_diagnostic *diagnostics;
    uint32_t n_diagnostics;
    uint32_t diagnostics_capacity;
    struct remat_error *err;
};

/* ---- pass_work.c ---- */

/* The refusal of the scratch or the job's arena as an error. */
enum remat_status remat_pass_no_memory(struct remat_pass_work *w);
/* Uses up steps for node v: one and its references. */
REMAT_NODISCARD enum remat_status remat_pass_spend(struct remat_pass_work *w,
                                                   remat_node v);
/* Adds a diagnostic; `message` is in the job's arena, NULL when it had no
 * room. */
REMAT_NODISCARD enum remat_status remat_pass_note(struct remat_pass_work *w,
                                                  const char *code,
                                                  enum remat_severity severity,
                                                  remat_node node,
                                                  const char *message);

/* ---- pass_save.c ---- */

/* Refuses an entry that names no operator. O(length of the list). */
REMAT_NODISCARD enum remat_status
remat_pass_check_save(struct remat_pass_work *w);
/* The number of an operator among those of the graph, below g->targets.n. */
static inline uint32_t remat_pass_operator(const struct remat_graph *g,
                                           remat_node v)
{
    return (uint32_t)(g->op[v] - g->operators);
}
/* Notes the entry with that index as one that no operator call matches. */
REMAT_NODISCARD enum remat_status
remat_pass_note_unmatched(struct remat_pass_work *w, uint32_t entry);

/* ---- pass_root.c ---- */

/* The square root of n times 2^15, rounded to the nearest double. */
double remat_root_times_2_15(uint64_t n);

/* ---- pass_stage_recomputation.c ---- */

/* The forward values whose backward distance is finite (semantics 10.1), which
 * is what both staging and AutoParallel's save policy look at. */
struct remat_recomputable {
    struct remat_nodes nodes; /* node order */
    bool *is_member;
};
REMAT_NODISCARD enum remat_status
remat_find_recomputable(struct remat_pass_work *w,
                        struct remat_recomputable *r);
/* Initial tags, stages and their marks (semantics 10.2 - 10.7), by the stage
 * size of the pass. */
REMAT_NODISCARD enum remat_status
remat_stage(struct remat_pass_work *w, const struct remat_recomputable *r);

/* Marks that were not made: the node has a tag of another region. */
struct remat_skipped {
    uint32_t n;
    remat_node first;
};
/* must_save, unless the node has a tag of another region than the passes' own;
 * never writes a region (semantics 10.7). */
void remat_mark_must_save(struct remat_pass_work *w, remat_node v,
                          struct remat_skipped *skipped);
REMAT_NODISCARD enum remat_status
remat_pass_note_skipped(struct remat_pass_work *w,
                        const struct remat_skipped *skipped);

/* ---- tags ---- */

static inline void remat_pass_tag(struct remat_pass_work *w, remat_node v,
                                  enum remat_policy policy, int64_t region)
{
    w->g->policy[v] = (uint8_t)policy;
    w->g->has_ac_graph_id[v] = true;
    w->g->ac_graph_id[v] = region;
}

static inline bool remat_pass_calls(const struct remat_graph *g, remat_node v,
                                    const char *target)
{
    return remat_is_call(g, v) && strcmp(g->specs[v]->target, target) == 0;
}

static inline uint32_t remat_n_users(const struct remat_graph *g, remat_node v)
{
    return g->users.begin[v + 1] - g->users.begin[v];
}

static inline uint32_t remat_n_inputs(const struct remat_graph *g, remat_node v)
{
    return g->inputs.begin[v + 1] - g->inputs.begin[v];
}

static inline remat_node remat_first_user(const struct remat_graph *g,
                                          remat_node v)
{
    return g->users.items[g->users.begin[v]];
}

static inline remat_node remat_first_input(const struct remat_graph *g,
                                           remat_node v)
{
    return g->inputs.items[g->inputs.begin[v]];
}

#endif
