/*
 * remat_pass.h: passes over checkpoint tags. Part of remat.h.
 */
#ifndef REMAT_PUBLIC_PASS_H
#define REMAT_PUBLIC_PASS_H

#include "remat.h"

enum remat_pass_kind {
    REMAT_PASS_SAC_POLICY,
    REMAT_PASS_STAGE_RECOMPUTATION,
    REMAT_PASS_AUTOPARALLEL,
    REMAT_PASS_FSDP_ALL_GATHER,
    REMAT_PASS_REPAIR_TAGS,
    REMAT_PASS_SET_TAGS
};
enum remat_stage {
    REMAT_STAGE_NONE,
    REMAT_STAGE_AUTO,
    REMAT_STAGE_GIB
};

/* An operator to save, or only each n-th match of it (1st, n+1-th, ...). */
struct remat_save_entry {
    const char *target; /* "aten.mm.default" */
    uint32_t every;     /* at least 1 */
};

struct remat_tag {
    enum remat_policy policy;
    bool has_region; /* never when untagged */
    int64_t region;
};

/* The tag that a node gets. */
struct remat_set_tag {
    remat_node node;
    struct remat_tag tag;
    bool keeps_region; /* the node's own, if any; tag says none */
};

/* A pass over the tags of a sealed graph; fields a kind does not name below are
 * not read. */
struct remat_pass {
    enum remat_pass_kind kind;
    const struct remat_save_entry *save; /* sac_policy, autoparallel */
    uint32_t n_save;
    bool has_save;               /* autoparallel: false means its own list */
    enum remat_policy otherwise; /* sac_policy */
    const char *modules;         /* sac_policy: pattern, or NULL */
    enum remat_stage stage;      /* stage_recomputation, autoparallel */
    double stage_size_gib;       /* with REMAT_STAGE_GIB; 0 or more */
    bool reshard_after_forward;  /* fsdp_all_gather */
    const struct remat_set_tag *tags; /* set_tags; the later of equal nodes
                                         wins */
    uint32_t n_tags;
};

struct remat_tag_change {
    remat_node node;
    struct remat_tag before;
    struct remat_tag after;
};

struct remat_diagnostic;

struct remat_pass_report {
    const struct remat_tag_change *changes; /* node order */
    uint32_t n_changes;
    const struct remat_diagnostic *diagnostics;
    uint32_t n_diagnostics;
};

/* Changes the tags that remat_plan_solve starts from. Passes compose in the
 * order of the calls. O(nodes + edges), staging O((nodes + edges) log nodes).
 * The report lives in the job. */
REMAT_NODISCARD enum remat_status
remat_pass_apply(struct remat_job *job, const struct remat_pass *pass,
                 struct remat_pass_report *report, struct remat_error *err);
/* The tags as they are now: policy, and the region when *has_region. */
enum remat_policy remat_graph_tag(const struct remat_job *job, remat_node node,
                                  bool *has_region, int64_t *region);

#endif
