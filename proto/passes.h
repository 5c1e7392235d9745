/*
 * passes.h: the passes of a request, applied. Private to proto.
 */
#ifndef PROTO_PASSES_H
#define PROTO_PASSES_H

#include "decode.h"

/* In order; the reports stand beside the passes. Where one fails, *failed is
 * its position. */
REMAT_NODISCARD enum remat_status
proto_passes_apply(struct remat_job *job, struct proto_passes *passes,
                   uint32_t *failed, struct remat_error *error);
/* The JSON Pointer of the member that a REMAT_E_OPTION of pass `number` is
 * about. */
void proto_pass_pointer(uint32_t number, const char *detail, char *pointer,
                        size_t size);

#endif
