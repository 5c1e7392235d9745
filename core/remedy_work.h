/*
 * remedy_work.h: which tags to change so that an infinite flow becomes a plan.
 * Private to the search, remedy*.c.
 *
 *   remedy.c         the search as a whole: tags before plans, plans before
 *                    words
 *   remedy_probe.c   tags changed and taken back; what is in conflict with them
 *   remedy_solve.c   a whole decision with them
 *   remedy_ways.c    the changes that break one conflict
 *   remedy_cut.c     a second minimum cut, through tags instead of values
 *   remedy_search.c  all changes in order of cost, where the cut proves nothing
 *   remedy_prune.c   no change too many
 *   remedy_facts.c   what stands in the way where no tag helps
 *
 * What may be changed: a tag may be taken away, any tag that does not ask for
 * recomputation may become prefer_recompute, and as the last resort an untagged
 * operator may get prefer_recompute; the last two not where a second run gives
 * another result. Regions stay as they are.
 *
 * Classes, distances and fusion do not depend on tags. Tags decide, through the
 * clean-up (tags.c), who is to be computed again and who may not be.
 */
#ifndef REMAT_REMEDY_WORK_H
#define REMAT_REMEDY_WORK_H

#include "conflicts.h"
#include "cut.h"
#include "notes.h"

/* A tag to be; REMAT_UNTAGGED or REMAT_PREFER_RECOMPUTE. */
struct remat_way {
    remat_node node;
    uint8_t policy;
    int64_t cost;
};

#define REMAT_NO_WAY INT64_MAX /* a cost: there is none */

struct remat_remedy_work {
    struct remat_work *w;
    const struct remat_rules *rules; /* of the cut without end */
    const bool *dont_ban;
    struct remat_error *err;

    /* by node: tags as they were, and why a node would be banned if no node had
     * a tag (enum remat_ban_reason) */
    uint8_t *policy;
    bool *has_region;
    uint8_t *untagged_reason;

    bool allows_new;   /* tags on nodes without one */
    bool *is_decided;  /* by node: changed, and not to be changed again */
    uint8_t *excluded; /* by node: bits of policies that were tried already */
    uint32_t *place;   /* by decided node: where it stands among the ways of
                          the cut */

    bool has_begun;  /* the copies of the tags are there */
    uint64_t n_left; /* effort */
    bool is_small;   /* so few changes are there that all may be tried */
    bool is_cut_short;
    bool is_proven; /* that nothing costs less than `best` */
    /* Without conflicts an output that cannot be computed, or REMAT_NONE, and
     * the nodes between it and what is missing. */
    remat_node invalid;
    remat_node *in_the_way;
    uint32_t n_in_the_way;

    struct remat_way *best; /* the least cost so far; n_best 0: none yet */
    uint32_t n_best;
    int64_t best_cost;
};

/* The graph with its tags as they are now. */
struct remat_probe {
    struct remat_work w;
    struct remat_bans bans;
    struct remat_network net;
    struct remat_infinite_part part; /* empty: no conflict */
    bool is_refused; /* with these tags a size is needed that is not known, or
                        cannot be weighed; the rest says nothing */
};

/* Whether a graph is refused for what is in it. */
static inline bool remat_is_refusal(enum remat_status status)
{
    return status == REMAT_E_SIZE || status == REMAT_E_WEIGHT;
}

/* ---- remedy_solve.c ---- */

/* Solves with the tags as they are now; NULL unless it is a plan. */
REMAT_NODISCARD enum remat_status
remat_remedy_solve(struct remat_remedy_work *r, const struct remat_plan **plan);

/* ---- remedy_probe.c ---- */

REMAT_NODISCARD enum remat_status
remat_remedy_begin(struct remat_remedy_work *r);
/* Changes one tag, or gives a node back the tag it had. */
void remat_remedy_apply(struct remat_remedy_work *r, remat_node v,
                        uint8_t policy);
void remat_remedy_restore(struct remat_remedy_work *r, remat_node v);
/* In scratch: rewind behind it. */
REMAT_NODISCARD enum remat_status
remat_remedy_probe(struct remat_remedy_work *r, struct remat_probe *probe);
/* What giving up the tag that v had costs; of a new tag for an untagged one. */
int64_t remat_remedy_cost(const struct remat_remedy_work *r, remat_node v);

/* ---- remedy_ways.c ---- */

enum {
    REMAT_MOST_WAYS = 64
};
struct remat_ways {
    struct remat_way at[REMAT_MOST_WAYS];
    uint32_t n;
    bool is_short; /* there were more */
};
/* The changes that may break the shortest conflict, cheapest first. Every set
 * of changes that breaks it has one of them, unless `is_short`. */
REMAT_NODISCARD enum remat_status
remat_remedy_ways(struct remat_remedy_work *r, const struct remat_probe *probe,
                  struct remat_ways *ways);
/* All changes there are, where they are few (r->is_small). */
void remat_remedy_all_ways(const struct remat_remedy_work *r,
                           struct remat_ways *ways);
/* Those that may make an output computable, of which there are more. */
void remat_remedy_invalid_ways(const struct remat_remedy_work *r,
                               struct remat_ways *ways);
/* How many. O(nodes). */
uint32_t remat_remedy_n_ways(const struct remat_remedy_work *r);
/* No more than the cheapest change costs that unbans v, or that frees v from
 * having to be computed again; REMAT_NO_WAY. */
int64_t remat_remedy_start_bound(const struct remat_remedy_work *r,
                                 const struct remat_probe *probe, remat_node v);
int64_t remat_remedy_end_bound(const struct remat_remedy_work *r,
                               const struct remat_probe *probe, remat_node v);
/* The change that is expected to unban v, whatever it has been tried before. */
struct remat_way remat_remedy_start_way(const struct remat_remedy_work *r,
                                        const struct remat_probe *probe,
                                        remat_node v);
struct remat_way remat_remedy_end_way(const struct remat_remedy_work *r,
                                      const struct remat_probe *probe,
                                      remat_node v);

/* ---- remedy_cut.c ---- */

/* The least cost that every remedy has from here on, REMAT_NO_WAY: there is
 * none. */
REMAT_NODISCARD enum remat_status
remat_remedy_bound(struct remat_remedy_work *r, const struct remat_probe *probe,
                   int64_t *bound);
/* Applies the ways of a minimum cut and appends them to ways[*n ..], which has
 * room for a way per node; *is_stuck when there is no cut. */
REMAT_NODISCARD enum remat_status
remat_remedy_cut(struct remat_remedy_work *r, const struct remat_probe *probe,
                 struct remat_way *ways, uint32_t *n, bool *is_stuck);

/* ---- remedy_search.c ---- */

/* Better remedies than r->best, if there are any. */
REMAT_NODISCARD enum remat_status
remat_remedy_search(struct remat_remedy_work *r);
/* Takes the n ways, which are applied, for the best. */
REMAT_NODISCARD enum remat_status
remat_remedy_take_best(struct remat_remedy_work *r,
                       const struct remat_way *ways, uint32_t n);

/* ---- remedy_prune.c ---- */

/* Takes changes back that are not needed; the n ways are applied and leave no
 * conflict. */
REMAT_NODISCARD enum remat_status
remat_remedy_prune(struct remat_remedy_work *r, struct remat_way *ways,
                   uint32_t *n);

/* ---- remedy_facts.c ---- */

/* What no tag can change: for conflicts that nothing breaks, the reasons. */
REMAT_NODISCARD enum remat_status
remat_remedy_facts(struct remat_remedy_work *r,
                   const struct remat_notes *conflicts,
                   struct remat_remedy *remedy);

#endif
