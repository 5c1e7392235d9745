/*
 * passes.c: runs the passes of a request and says where in it one failed.
 */
#include "passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum remat_status proto_passes_apply(struct remat_job *job,
                                     struct proto_passes *passes,
                                     uint32_t *failed,
                                     struct remat_error *error)
{
    for (uint32_t i = 0; i < passes->n; i++) {
        enum remat_status status = remat_pass_apply(
            job, &passes->at[i].core, &passes->at[i].report, error);

        *failed = i;
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

/* Core begins its messages with the member and an index ("save[3]: ..."). */
void proto_pass_pointer(uint32_t number, const char *detail, char *pointer,
                        size_t size)
{
    size_t n = strcspn(detail, "[: ");

    if (detail[n] == '[')
        snprintf(pointer, size, "/passes/%u/%.*s/%lu", number, (int)n, detail,
                 strtoul(detail + n + 1, NULL, 10));
    else
        snprintf(pointer, size, "/passes/%u/%.*s", number, (int)n, detail);
}
