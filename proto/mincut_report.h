/*
 * mincut_report.h: PyTorch's min_cut_information for people, on a terminal.
 */
#ifndef PROTO_MINCUT_REPORT_H
#define PROTO_MINCUT_REPORT_H

#include "mincut_info.h"
#include "text.h"

/* Takes scratch from the job. */
void proto_report_trace(struct proto_text *text, struct remat_job *job,
                        const struct proto_mincut_info *info,
                        const char *digest);
/* Why a value is among the saved ones, as far as the artifact tells: words
 * without an end, never NULL. */
const char *proto_mincut_why(const struct proto_mincut_info *info,
                             uint32_t node);

#endif
