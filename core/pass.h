/*
 * pass.h: the passes over tags, which pass.c runs. Private to core.
 */
#ifndef REMAT_PASS_H
#define REMAT_PASS_H

#include "pass_work.h"

REMAT_NODISCARD enum remat_status
remat_pass_sac_policy(struct remat_pass_work *w);
REMAT_NODISCARD enum remat_status
remat_pass_stage_recomputation(struct remat_pass_work *w);
REMAT_NODISCARD enum remat_status
remat_pass_autoparallel(struct remat_pass_work *w);
REMAT_NODISCARD enum remat_status
remat_pass_fsdp_all_gather(struct remat_pass_work *w);
REMAT_NODISCARD enum remat_status
remat_pass_repair_tags(struct remat_pass_work *w);
REMAT_NODISCARD enum remat_status
remat_pass_set_tags(struct remat_pass_work *w);

#endif
