/*
 * encode_frontier.c: the trade of saved bytes against recomputed FLOPs, as the
 * document remat/frontier/v1 and as a table for people.
 */
#include "encode.h"

#include <inttypes.h>

static const char *kind_name(enum remat_point_kind kind)
{
    return kind == REMAT_POINT_HULL ? "hull" : "budget";
}

/* ---- the document ---- */

static void add_lists(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct remat_plan *plan)
{
    proto_encode_key(text, "saved");
    proto_encode_names(text, decision->job, plan->saved);
    proto_encode_key(text, "saved_sym");
    proto_encode_names(text, decision->job, plan->saved_sym);
    proto_encode_key(text, "saved_opaque");
    proto_encode_names(text, decision->job, plan->saved_opaque);
    proto_encode_key(text, "recomputed");
    proto_encode_names(text, decision->job, plan->recomputed);
}

static void add_point(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct remat_frontier_point *point)
{
    proto_text_format(text,
                      "{\"saved_bytes\":%" PRId64
                      ",\"recomputed_flops\":%" PRId64 ",\"budget\":",
                      point->saved_bytes, point->recomputed_flops);
    if (point->kind == REMAT_POINT_BUDGET)
        proto_text_format(text, "%.2f", point->budget);
    else
        proto_text_puts(text, "null");
    proto_text_format(text, ",\"kind\":\"%s\",\"knee\":%s",
                      kind_name(point->kind), point->knee ? "true" : "false");
    if (decision->explain == PROTO_EXPLAIN_FULL)
        add_lists(text, decision, point->plan);
    proto_text_puts(text, "}");
}

void proto_encode_frontier(struct proto_text *text,
                           const struct proto_decision *decision,
                           const struct remat_frontier *frontier)
{
    proto_text_format(text,
                      "{\"schema\":\"remat/frontier/v1\",\"outcome\":\"%s\"",
                      proto_outcome_name(frontier->outcome));
    if (frontier->outcome == REMAT_PLAN) {
        proto_encode_key(text, "points");
        proto_text_puts(text, "[");
        for (uint32_t i = 0; i < frontier->n_points; i++) {
            if (i > 0)
                proto_text_puts(text, ",");
            add_point(text, decision, &frontier->points[i]);
        }
        proto_text_puts(text, "]");
    }
    proto_encode_diagnostics(text, decision);
    proto_encode_tail(text, decision);
}

/* ---- the table ---- */

static void add_row(struct proto_text *text,
                    const struct remat_frontier_point *point)
{
    proto_text_format(text, "%16" PRId64 "  %20" PRId64 "  ",
                      point->saved_bytes, point->recomputed_flops);
    if (point->kind == REMAT_POINT_BUDGET)
        proto_text_format(text, "budget %.2f", point->budget);
    else
        proto_text_puts(text, kind_name(point->kind));
    proto_text_puts(text, point->knee ? ", the knee\n" : "\n");
}

void proto_report_frontier(struct proto_text *text,
                           const struct proto_decision *decision,
                           const struct remat_frontier *frontier)
{
    proto_text_format(text,
                      "%" PRIu32 " plans, none better than another in both "
                      "numbers:\n\n%16s  %20s  kind\n",
                      frontier->n_points, "saved bytes", "FLOPs run again");
    for (uint32_t i = 0; i < frontier->n_points; i++)
        add_row(text, &frontier->points[i]);
    proto_text_format(text, "\nengine %s, digest %s\n", PROTO_ENGINE,
                      decision->digest);
}
