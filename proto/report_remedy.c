/*
 * report_remedy.c: what to change in a graph without a plan, for people, and as
 * JSON to put into the request.
 */
#include "encode.h"

#include <inttypes.h>
#include <string.h>

enum {
    MOST_CHANGES = 40 /* in words; the JSON has all */
};

static void add_name(struct proto_text *text,
                     const struct proto_decision *decision, remat_node v)
{
    proto_text_show(text, remat_graph_node(decision->job, v)->name);
}

/* ---- JSON on a terminal ------------------------------------------------ */

/* Whether a character does something to a terminal, or to the direction of the
 * text: C0, DEL, C1, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. */
static bool is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

static uint32_t code_of(const unsigned char *at, size_t length)
{
    if (length == 2)
        return (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
    if (length == 3)
        return (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    return length == 1 ? at[0] : 0x10000; /* beyond what is unsafe */
}

/* A JSON string that is safe to look at and means the same name. */
static void add_string(struct proto_text *text, const char *words)
{
    const unsigned char *at = (const unsigned char *)words;
    size_t n = strlen(words);
    size_t length;

    proto_text_puts(text, "\"");
    for (size_t i = 0; i < n; i += length) {
        uint32_t code;

        length = proto_text_character(at + i, n - i);
        if (length == 0) /* names are UTF-8; never less than one byte on */
            length = 1;
        code = code_of(at + i, length);
        if (is_unsafe(code))
            proto_text_format(text, "\\u%04" PRIx32, code);
        else if (code == '"' || code == '\\')
            proto_text_format(text, "\\%c", (int)code);
        else
            proto_text_add(text, words + i, length);
    }
    proto_text_puts(text, "\"");
}

static void add_pass(struct proto_text *text,
                     const struct proto_decision *decision,
                     const struct remat_remedy *remedy)
{
    proto_text_puts(text, "\nAs a pass, at the end of the request's \"passes\":"
                          "\n  {\"pass\": \"set_tags\", \"tags\": {");
    for (uint32_t i = 0; i < remedy->n_changes; i++) {
        const struct remat_tag_change *change = &remedy->changes[i];
        const char *policy = remat_policy_text(change->after.policy);

        proto_text_puts(text, i == 0 ? "" : ", ");
        add_string(text, remat_graph_node(decision->job, change->node)->name);
        if (change->after.policy == REMAT_UNTAGGED)
            proto_text_puts(text, ": null");
        else
            proto_text_format(text, ": \"%s\"", policy);
    }
    proto_text_puts(text, "}}\n");
}

/* ---- words ------------------------------------------------------------- */

static void add_change(struct proto_text *text,
                       const struct proto_decision *decision,
                       const struct remat_tag_change *change)
{
    const char *before = remat_policy_text(change->before.policy);
    const char *after = remat_policy_text(change->after.policy);

    proto_text_puts(text, "  - ");
    add_name(text, decision, change->node);
    if (change->after.policy == REMAT_UNTAGGED)
        proto_text_format(text, ": leave its tag %s out\n", before);
    else if (change->before.policy == REMAT_UNTAGGED)
        proto_text_format(text, ": tag it %s\n", after);
    else
        proto_text_format(text, ": write %s instead of %s\n", after, before);
}

static void add_result(struct proto_text *text, const struct remat_plan *plan)
{
    const struct remat_memory *m = &plan->memory;
    int64_t peak = m->peak_forward_bytes > m->peak_backward_bytes
                       ? m->peak_forward_bytes
                       : m->peak_backward_bytes;

    proto_text_format(text, "Then the forward saves %" PRIu32 " value%s, ",
                      plan->saved.n, plan->saved.n == 1 ? "" : "s");
    proto_report_size(text, plan->saved_bytes);
    proto_text_puts(text, ", with a peak of ");
    proto_report_size(text, peak);
    if (plan->recomputed.n == 0) {
        proto_text_puts(text, " of activations, and nothing runs again.\n");
        return;
    }
    proto_text_format(text,
                      " of activations, and %" PRIu32 " operator%s run%s again",
                      plan->recomputed.n, plan->recomputed.n == 1 ? "" : "s",
                      plan->recomputed.n == 1 ? "s" : "");
    if (plan->recomputed_flops > 0) {
        proto_text_puts(text, ", with ");
        proto_text_int(text, plan->recomputed_flops);
        proto_text_puts(text, " FLOPs");
    }
    proto_text_puts(text, ".\n");
}

static void add_changes(struct proto_text *text,
                        const struct proto_decision *decision,
                        const struct remat_remedy *remedy)
{
    proto_text_puts(text, "\nWhat to change (tried, there is a plan then; "
                          "without any one of these there is none):\n");
    for (uint32_t i = 0; i < remedy->n_changes && i < MOST_CHANGES; i++)
        add_change(text, decision, &remedy->changes[i]);
    if (remedy->n_changes > MOST_CHANGES)
        proto_text_format(text, "  - and %" PRIu32 " more, below\n",
                          remedy->n_changes - MOST_CHANGES);
    if (!remedy->is_least)
        proto_text_puts(text, "Whether less would do is not known: the search "
                              "for it was cut short.\n");
    add_result(text, remedy->plan);
    add_pass(text, decision, remedy);
}

static void add_facts(struct proto_text *text,
                      const struct proto_decision *decision,
                      const struct remat_remedy *remedy)
{
    proto_text_puts(text, "\nNo change of tags helps. What is in the way:\n");
    for (uint32_t i = 0; i < remedy->n_facts; i++) {
        proto_text_puts(text, "  - ");
        add_name(text, decision, remedy->facts[i].node);
        proto_text_puts(text, " ");
        proto_text_show(text, remedy->facts[i].reason);
        proto_text_puts(text, "  [");
        proto_text_puts(text, remat_origin_text(remedy->facts[i].origin));
        proto_text_puts(text, "]\n");
    }
}

void proto_report_remedy(struct proto_text *text,
                         const struct proto_decision *decision)
{
    const struct remat_remedy *remedy = decision->plan->remedy;

    if (remedy == NULL)
        return;
    if (remedy->n_changes > 0)
        add_changes(text, decision, remedy);
    else
        add_facts(text, decision, remedy);
}
