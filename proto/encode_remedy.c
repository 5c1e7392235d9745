/*
 * encode_remedy.c: what to change so that a graph without a plan has one.
 *
 * The remedy belongs to all conflicts together and stands in the first of them.
 */
#include "encode.h"

const struct remat_diagnostic *
proto_first_conflict(const struct remat_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_diagnostics; i++)
        if (plan->diagnostics[i].severity == REMAT_ERROR)
            return &plan->diagnostics[i];
    return NULL;
}

void proto_encode_remedy_tags(struct proto_text *text,
                              const struct remat_job *job,
                              const struct remat_remedy *remedy)
{
    proto_text_puts(text, "{");
    for (uint32_t i = 0; i < remedy->n_changes; i++) {
        proto_text_puts(text, i == 0 ? "" : ",");
        proto_encode_name(text, job, remedy->changes[i].node);
        proto_text_puts(text, ":");
        proto_encode_policy(text, remedy->changes[i].after.policy);
    }
    proto_text_puts(text, "}");
}

static void add_changes(struct proto_text *text, const struct remat_job *job,
                        const struct remat_remedy *remedy)
{
    proto_encode_key(text, "changes");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < remedy->n_changes; i++) {
        const struct remat_tag_change *change = &remedy->changes[i];

        proto_text_puts(text, i == 0 ? "{\"node\":" : ",{\"node\":");
        proto_encode_name(text, job, change->node);
        proto_encode_key(text, "from");
        proto_encode_policy(text, change->before.policy);
        proto_encode_key(text, "to");
        proto_encode_policy(text, change->after.policy);
        proto_text_puts(text, "}");
    }
    proto_text_puts(text, "]");
}

/* What the plan with the changes comes to. */
static void add_result(struct proto_text *text, const struct remat_plan *plan)
{
    proto_encode_key(text, "result");
    proto_text_puts(text, "{\"saved_bytes\":");
    proto_text_int(text, plan->saved_bytes);
    proto_encode_integer(text, "recomputed_flops", plan->recomputed_flops);
    proto_encode_integer(text, "peak_forward_bytes",
                         plan->memory.peak_forward_bytes);
    proto_encode_integer(text, "peak_backward_bytes",
                         plan->memory.peak_backward_bytes);
    proto_text_puts(text, "}");
}

static void add_facts(struct proto_text *text, const struct remat_job *job,
                      const struct remat_remedy *remedy)
{
    proto_encode_key(text, "facts");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < remedy->n_facts; i++) {
        proto_text_puts(text, i == 0 ? "" : ",");
        proto_encode_step(text, job, &remedy->facts[i]);
    }
    proto_text_puts(text, "]");
}

void proto_encode_remedy(struct proto_text *text,
                         const struct proto_decision *decision)
{
    const struct remat_remedy *remedy = decision->plan->remedy;

    if (remedy == NULL)
        return;
    proto_encode_key(text, "remedy");
    if (remedy->n_changes == 0) {
        proto_text_puts(text, "null");
        add_facts(text, decision->job, remedy);
        return;
    }
    proto_text_puts(text, "{\"tags\":");
    proto_encode_remedy_tags(text, decision->job, remedy);
    add_changes(text, decision->job, remedy);
    proto_encode_integer(text, "cost", remedy->cost);
    if (!remedy->is_least) {
        proto_encode_key(text, "least");
        proto_text_puts(text, "false");
    }
    add_result(text, remedy->plan);
    proto_text_puts(text, "}");
}
