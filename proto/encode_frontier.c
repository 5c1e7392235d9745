/*
 * encode_frontier.c: the trade of saved bytes against recomputed FLOPs, as the
 * document remat/frontier/v1 and as a table for people.
 */
#include "encode.h"

#include "canon.h"
#include "digest.h"
#include "marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Two digits where they say it all: budgets are twentieths, but a node may
 * bring one of its own. */
static void add_budget(struct proto_text *text, double budget)
{
    char digits[32];

    snprintf(digits, sizeof(digits), "%.2f", budget);
    if (strtod(digits, NULL) == budget)
        proto_text_puts(text, digits);
    else
        proto_canon_add_real(text, budget);
}

/* What to ask for to get the plan of a budget's point: its name, and the
 * options to lay over those of this request. */
static void add_request(struct proto_text *text,
                        const struct remat_frontier_point *point)
{
    char mark[PROTO_BUDGET_MARK_BYTES + 1];

    proto_encode_key(text, "digest");
    proto_mark_budget(point->budget, point->solver, point->estimator, mark);
    proto_text_quote_words(text, mark);
    proto_encode_key(text, "options");
    proto_text_puts(text, "{\"activation_memory_budget\":");
    add_budget(text, point->budget);
    proto_encode_key(text, "activation_memory_budget_solver");
    proto_text_quote_words(text, proto_solver_name(point->solver));
    proto_encode_key(text, "activation_memory_budget_runtime_estimator");
    proto_text_quote_words(text, proto_estimator_name(point->estimator));
    proto_text_puts(text, ",\"compat\":false,\"memory_limit_bytes\":null}");
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
        add_budget(text, point->budget);
    else
        proto_text_puts(text, "null");
    proto_text_format(text, ",\"kind\":\"%s\",\"knee\":%s",
                      kind_name(point->kind), point->knee ? "true" : "false");
    if (point->kind == REMAT_POINT_BUDGET)
        add_request(text, point);
    else
        proto_text_puts(text, ",\"digest\":null");
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
