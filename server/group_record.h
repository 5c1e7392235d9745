/*
 * group_record.h: what a decided group leaves behind besides its answers: which
 * document each rank had, as a text.
 */
#ifndef SRV_GROUP_RECORD_H
#define SRV_GROUP_RECORD_H

#include <stdint.h>

#include "answer.h"
#include "proto.h"

/* NULL without memory. `documents` are the names of all, by number; `of` is the
 * number of each rank's. */
struct srv_answer *srv_group_record_new(const char *const *documents,
                                        uint32_t n_documents,
                                        const uint32_t *of,
                                        uint32_t world_size);

enum srv_record_match {
    SRV_RECORD_SAME,       /* the rank had this document */
    SRV_RECORD_OTHER,      /* it had another */
    SRV_RECORD_OTHER_WORLD /* the group had another number of ranks */
};
/* *world_size is the record's. A text that is no record has none: 0. */
enum srv_record_match srv_group_record_match(const struct srv_answer *record,
                                             const struct proto_rank *rank,
                                             const char *document,
                                             uint32_t *world_size);

#endif
