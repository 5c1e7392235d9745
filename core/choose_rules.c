/*
 * choose_rules.c: what may not be computed again, as the options say and for
 * the laxer cuts under a budget.
 */
#include "choose.h"

struct remat_rules remat_rules_of(const struct remat_options *o)
{
    bool moderate = !o->aggressive_recomputation;

    return (struct remat_rules){
        .used_far_apart = moderate && o->ban_recompute_used_far_apart,
        .long_chains = moderate && o->ban_recompute_long_fusible_chains,
        .materialised_backward =
            moderate && o->ban_recompute_materialized_backward,
        .allow_list = moderate && o->ban_recompute_not_in_allowlist,
        .reductions = o->ban_recompute_reductions,
    };
}

/* Cut 2 leaves out the rules about fusion, cut 3 the allow-list too. With them
 * went what kept random values from being computed again, so unless PyTorch is
 * to be reproduced that becomes a rule of its own (8.0). */
struct remat_rules remat_rules_without_fusion(struct remat_rules rules,
                                              bool compat)
{
    rules.unrepeatable = !compat;
    rules.used_far_apart = false;
    rules.long_chains = false;
    rules.materialised_backward = false;
    return rules;
}

struct remat_rules remat_rules_without_allow_list(struct remat_rules rules,
                                                  bool compat)
{
    rules = remat_rules_without_fusion(rules, compat);
    rules.allow_list = false;
    return rules;
}
