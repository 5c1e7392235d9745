/*
 * work.h: one decision in the making. Private to core.
 *
 * The steps of decide.c fill it from top to bottom; each says which fields it
 * reads and which it sets. All arrays are indexed by node (document position)
 * and cover dead nodes too, which are in no set.
 */
#ifndef REMAT_WORK_H
#define REMAT_WORK_H

#include "base.h"
#include "job.h"

#define REMAT_FAR 1000000000u /* distance of what reaches only outputs */

/* Which rule of the clean-up gave a tag; REMAT_TAG_DOCUMENT: none did. */
enum remat_tag_rule {
    REMAT_TAG_DOCUMENT,
    REMAT_TAG_REGION,     /* a later checkpointed region reads the value */
    REMAT_TAG_HOOK,       /* a backward hook, and no recomputed user */
    REMAT_TAG_COLLECTIVE, /* communication does not run twice */
    REMAT_TAG_EFFECT,     /* result of an effectful operator */
    REMAT_TAG_MUTATION    /* source of a copy_ that the backward repeats */
};

/* Which of the switchable heuristics apply to one cut. */
struct remat_rules {
    bool used_far_apart;
    bool long_chains;
    bool materialised_backward;
    bool allow_list;
    bool reductions;
    bool unrepeatable; /* what gives another result when it runs again */
};

struct remat_work {
    struct remat_job *job;
    const struct remat_graph *g;
    struct remat_options options;

    /* live.c */
    bool *live;
    struct remat_rows users; /* live users of live nodes */

    /* tags.c */
    uint8_t *tag;      /* enum remat_policy */
    uint8_t *tag_rule; /* enum remat_tag_rule */

    /* classify.c */
    bool *closure;   /* tangents closure */
    bool *bw;        /* required by the backward */
    bool *fw;        /* required by the forward */
    uint32_t *order; /* among required-fw nodes; REMAT_NONE for others */
    uint32_t *dist;
    bool has_backward; /* some node is in bw */

    /* fusible.c, in the order of users.items */
    bool *fusible;
    bool *materialised_backward; /* of a view: whether rule 5.3e meets an
                                    unfusible user beyond it */
};

/* The input rows of the sealed graph serve live nodes as they are: whatever a
 * live node reads is live. */
#define REMAT_FOR_USERS(w, v, i) \
    for (uint32_t i = (w)->users.begin[v]; i < (w)->users.begin[(v) + 1]; i++)
#define REMAT_FOR_INPUTS(g, v, i) \
    for (uint32_t i = (g)->inputs.begin[v]; i < (g)->inputs.begin[(v) + 1]; i++)

/* Whether PyTorch's own heuristics are off. */
static inline bool remat_is_plain(const struct remat_work *w)
{
    return w->options.profile == REMAT_PROFILE_PLAIN;
}

static inline bool remat_wants_recompute(uint8_t tag)
{
    return tag == REMAT_MUST_RECOMPUTE || tag == REMAT_PREFER_RECOMPUTE;
}

static inline bool remat_in_backward_only(const struct remat_graph *g,
                                          remat_node v)
{
    enum remat_placement placement = g->specs[v]->placement;

    return placement == REMAT_MUST_BE_IN_BACKWARD ||
           (placement == REMAT_IS_BACKWARD &&
            remat_has_trait(g, v, REMAT_MUTABLE));
}

static inline bool remat_in_forward_only(const struct remat_graph *g,
                                         remat_node v)
{
    enum remat_placement placement = g->specs[v]->placement;

    return placement == REMAT_MUST_BE_IN_FORWARD ||
           (placement != REMAT_IS_BACKWARD &&
            placement != REMAT_MUST_BE_IN_BACKWARD &&
            remat_has_trait(g, v, REMAT_MUTABLE));
}

/* A random or seeded operator, or one that may not run twice: computing it
 * again gives another result. */
static inline bool remat_is_unrepeatable(const struct remat_work *w,
                                         remat_node v)
{
    return (w->g->traits[v] &
            (REMAT_NO_RECOMPUTE | REMAT_RANDOM | REMAT_SEEDED)) != 0;
}

/* Whether dead-code elimination keeps a node nobody reads (semantics 1.5). */
static inline bool remat_is_kept(const struct remat_work *w, remat_node v)
{
    const struct remat_graph *g = w->g;
    uint32_t traits = REMAT_MUTABLE | REMAT_IMPURE;

    if (w->options.impure_random)
        traits |= REMAT_SEEDED;
    switch (g->specs[v]->op) {
    case REMAT_PLACEHOLDER:
    case REMAT_OUTPUT:
        return true;
    case REMAT_CALL_FUNCTION:
        return (g->traits[v] & traits) != 0;
    case REMAT_GET_ATTR:
        return false;
    }
    return false;
}

/* tags.c: whether results of v are saved unless it is computed again (2.3). */
bool remat_has_effects(const struct remat_graph *g, remat_node v);

/* The steps, in order. Each is O(nodes + edges) and fails only for want of
 * memory unless its file says otherwise. */
REMAT_NODISCARD enum remat_status remat_remove_dead(struct remat_work *w,
                                                    struct remat_error *err);
REMAT_NODISCARD enum remat_status remat_clean_tags(struct remat_work *w,
                                                   struct remat_error *err);

#endif
