/*
 * report.c: placeholder
 */
#include "encode.h"
void proto_encode_report(struct proto_text *text,
                         const struct proto_decision *decision)
{
    proto_encode_plan(text, decision);
}
