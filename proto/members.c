/*
 * members.c: members of JSON objects.
 */
#include "members.h"

void proto_encode_key(struct proto_text *text, const char *key)
{
    proto_text_puts(text, ",\"");
    proto_text_puts(text, key);
    proto_text_puts(text, "\":");
}

void proto_encode_integer(struct proto_text *text, const char *key,
                          int64_t value)
{
    proto_encode_key(text, key);
    proto_text_int(text, value);
}

void proto_encode_words(struct proto_text *text, const char *key,
                        const char *words)
{
    proto_encode_key(text, key);
    proto_text_quote_words(text, words);
}

void proto_encode_name(struct proto_text *text, const struct remat_job *job,
                       remat_node node)
{
    if (node == REMAT_NONE)
        proto_text_puts(text, "null");
    else
        proto_text_quote_words(text, remat_graph_node(job, node)->name);
}

void proto_encode_names(struct proto_text *text, const struct remat_job *job,
                        struct remat_nodes nodes)
{
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < nodes.n; i++) {
        if (i > 0)
            proto_text_puts(text, ",");
        proto_encode_name(text, job, nodes.at[i]);
    }
    proto_text_puts(text, "]");
}

void proto_encode_step(struct proto_text *text, const struct remat_job *job,
                       const struct remat_step *step)
{
    proto_text_puts(text, "{\"node\":");
    proto_encode_name(text, job, step->node);
    if (step->side != REMAT_SIDE_NONE)
        proto_encode_words(text, "side",
                           step->side == REMAT_SIDE_IN ? "in" : "out");
    if (step->reason != NULL)
        proto_encode_words(text, "reason", step->reason);
    proto_encode_words(text, "origin", remat_origin_text(step->origin));
    proto_text_puts(text, "}");
}
