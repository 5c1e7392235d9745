/*
 * export.h: a decided graph in the formats of other tools. Private to proto.
 */
#ifndef PROTO_EXPORT_H
#define PROTO_EXPORT_H

#include "drawing.h"

/* ---- export_min_cut.c: PyTorch's min_cut_information ---- */
void proto_export_min_cut(struct proto_text *text,
                          const struct proto_decision *decision,
                          const struct proto_options *options);

/* ---- export_dot.c ---- */
void proto_export_dot(struct proto_text *text,
                      const struct proto_drawing *drawing);

/* ---- export_dimacs.c ---- */
void proto_export_dimacs(struct proto_text *text,
                         const struct proto_drawing *drawing);

#endif
