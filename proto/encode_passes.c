/*
 * encode_passes.c: what each pass changed, and tags on their own.
 */
#include "encode.h"

void proto_encode_policy(struct proto_text *text, enum remat_policy policy)
{
    if (policy == REMAT_UNTAGGED)
        proto_text_puts(text, "null");
    else
        proto_text_quote_words(text, remat_policy_text(policy));
}

/* ["must_save",3], or null for a node without tag. */
static void add_tag(struct proto_text *text, struct remat_tag tag)
{
    if (tag.policy == REMAT_UNTAGGED) {
        proto_text_puts(text, "null");
        return;
    }
    proto_text_puts(text, "[");
    proto_text_quote_words(text, remat_policy_text(tag.policy));
    proto_text_puts(text, ",");
    if (tag.has_region)
        proto_text_int(text, tag.region);
    else
        proto_text_puts(text, "null");
    proto_text_puts(text, "]");
}

static void add_changes(struct proto_text *text, const struct remat_job *job,
                        const struct remat_pass_report *report)
{
    proto_encode_key(text, "changes");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < report->n_changes; i++) {
        const struct remat_tag_change *change = &report->changes[i];

        proto_text_puts(text, i == 0 ? "{\"node\":" : ",{\"node\":");
        proto_encode_name(text, job, change->node);
        proto_encode_key(text, "before");
        add_tag(text, change->before);
        proto_encode_key(text, "after");
        add_tag(text, change->after);
        proto_text_puts(text, "}");
    }
    proto_text_puts(text, "]");
}

void proto_encode_passes(struct proto_text *text,
                         const struct proto_decision *decision)
{
    const struct proto_passes *passes = decision->passes;

    proto_encode_key(text, "passes");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; passes != NULL && i < passes->n; i++) {
        proto_text_puts(text, i == 0 ? "{\"pass\":" : ",{\"pass\":");
        proto_text_quote_words(text, passes->at[i].name);
        proto_encode_key(text, "changed");
        proto_text_int(text, passes->at[i].report.n_changes);
        if (decision->explain != PROTO_EXPLAIN_NONE)
            add_changes(text, decision->job, &passes->at[i].report);
        proto_text_puts(text, "}");
    }
    proto_text_puts(text, "]");
}

void proto_encode_tags(struct proto_text *text, const struct remat_job *job)
{
    uint32_t n = remat_graph_n_nodes(job);
    bool is_first = true;

    proto_text_puts(text, "{\"tags\":{");
    for (remat_node v = 0; v < n; v++) {
        struct remat_tag tag;

        tag.policy = remat_graph_tag(job, v, &tag.has_region, &tag.region);
        if (tag.policy == REMAT_UNTAGGED)
            continue;
        proto_text_puts(text, is_first ? "" : ",");
        is_first = false;
        proto_encode_name(text, job, v);
        proto_text_puts(text, ":");
        add_tag(text, tag);
    }
    proto_text_puts(text, "}}\n");
}

/* ---- for people ---- */

void proto_report_passes(struct proto_text *text,
                         const struct proto_passes *passes)
{
    for (uint32_t i = 0; passes != NULL && i < passes->n; i++) {
        uint32_t n = passes->at[i].report.n_changes;

        proto_text_format(text, "The pass %s changed %u tag%s.\n",
                          passes->at[i].name, n, n == 1 ? "" : "s");
    }
}

void proto_report_pass_remarks(struct proto_text *text,
                               const struct proto_passes *passes,
                               const char *before)
{
    for (uint32_t i = 0; passes != NULL && i < passes->n; i++) {
        const struct remat_pass_report *report = &passes->at[i].report;

        for (uint32_t j = 0; j < report->n_diagnostics; j++) {
            proto_text_format(text, "%s%s: ", before,
                              report->diagnostics[j].code);
            proto_text_show(text, report->diagnostics[j].message);
            proto_text_puts(text, "\n");
        }
    }
}
