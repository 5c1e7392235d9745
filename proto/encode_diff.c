/*
 * encode_diff.c: what two plans decide differently, for programs and people.
 */
#include "encode.h"

#include <inttypes.h>

static const char *const place_names[] = {[REMAT_PLACE_NONE] = "none",
                                          [REMAT_PLACE_SAVED] = "saved",
                                          [REMAT_PLACE_RECOMPUTED] =
                                              "recomputed"};

bool proto_difference_of(struct remat_job *job, const struct remat_diff *diff,
                         uint32_t n_more, struct proto_difference *difference)
{
    struct proto_move *moves =
        remat_job_alloc(job, (size_t)diff->n_moves + n_more, sizeof(*moves));

    if (moves == NULL)
        return false;
    for (uint32_t i = 0; i < diff->n_moves; i++) {
        const struct remat_move *move = &diff->moves[i];

        moves[i] =
            (struct proto_move){.name = remat_graph_node(job, move->node)->name,
                                .before = move->before,
                                .after = move->after,
                                .n_bytes = move->n_bytes,
                                .flops = move->flops,
                                .why = move->why};
    }
    *difference =
        (struct proto_difference){.moves = moves,
                                  .n_moves = diff->n_moves,
                                  .saved_bytes = diff->saved_bytes,
                                  .recomputed_flops = diff->recomputed_flops,
                                  .peak_bytes = diff->peak_bytes};
    return true;
}

/* ---- for programs ------------------------------------------------------ */

/* The values that came to a place, or (is_gone) left it. */
static void add_list(struct proto_text *text,
                     const struct proto_difference *difference,
                     enum remat_place place, bool is_gone)
{
    bool is_first = true;

    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < difference->n_moves; i++) {
        const struct proto_move *move = &difference->moves[i];

        if ((is_gone ? move->before : move->after) != place)
            continue;
        proto_text_puts(text, is_first ? "" : ",");
        proto_text_quote_words(text, move->name);
        is_first = false;
    }
    proto_text_puts(text, "]");
}

static void add_move(struct proto_text *text, const struct proto_move *move)
{
    proto_text_puts(text, "{\"node\":");
    proto_text_quote_words(text, move->name);
    proto_encode_key(text, "from");
    proto_text_quote_words(text, place_names[move->before]);
    proto_encode_key(text, "to");
    proto_text_quote_words(text, place_names[move->after]);
    if (move->n_bytes >= 0)
        proto_encode_integer(text, "bytes", move->n_bytes);
    proto_encode_integer(text, "flops", move->flops);
    proto_encode_key(text, "why");
    proto_text_quote_words(text, move->why);
    proto_text_puts(text, "}");
}

void proto_encode_difference(struct proto_text *text,
                             const struct proto_difference *difference)
{
    proto_text_puts(text, "{\"saved_added\":");
    add_list(text, difference, REMAT_PLACE_SAVED, false);
    proto_encode_key(text, "saved_removed");
    add_list(text, difference, REMAT_PLACE_SAVED, true);
    proto_encode_key(text, "recomputed_added");
    add_list(text, difference, REMAT_PLACE_RECOMPUTED, false);
    proto_encode_key(text, "recomputed_removed");
    add_list(text, difference, REMAT_PLACE_RECOMPUTED, true);
    proto_encode_integer(text, "bytes", difference->saved_bytes);
    proto_encode_integer(text, "flops", difference->recomputed_flops);
    proto_encode_integer(text, "peak", difference->peak_bytes);
    proto_encode_key(text, "moves");
    proto_text_puts(text, "[");
    for (uint32_t i = 0; i < difference->n_moves; i++) {
        proto_text_puts(text, i == 0 ? "" : ",");
        add_move(text, &difference->moves[i]);
    }
    proto_text_puts(text, "]}");
}

/* ---- for people -------------------------------------------------------- */

static void add_signed_size(struct proto_text *text, int64_t n_bytes)
{
    proto_text_puts(text, n_bytes < 0 ? "-" : "+");
    proto_report_size(text, n_bytes < 0 ? -n_bytes : n_bytes);
}

void proto_report_difference(struct proto_text *text,
                             const struct proto_difference *difference)
{
    static const char *const words[] = {[REMAT_PLACE_NONE] = "neither",
                                        [REMAT_PLACE_SAVED] = "saved",
                                        [REMAT_PLACE_RECOMPUTED] =
                                            "recomputed"};

    add_signed_size(text, difference->saved_bytes);
    proto_text_format(text, " saved, %+" PRId64 " FLOPs computed again, ",
                      difference->recomputed_flops);
    add_signed_size(text, difference->peak_bytes);
    proto_text_puts(text, " at the peak");
    proto_text_format(text, "; %" PRIu32 " value%s move%s.\n",
                      difference->n_moves, difference->n_moves == 1 ? "" : "s",
                      difference->n_moves == 1 ? "s" : "");
    for (uint32_t i = 0; i < difference->n_moves; i++) {
        const struct proto_move *move = &difference->moves[i];

        proto_text_puts(text, "  ");
        proto_text_show(text, move->name);
        proto_text_format(text, ": %s -> %s", words[move->before],
                          words[move->after]);
        if (move->n_bytes >= 0) {
            proto_text_puts(text, ", ");
            proto_report_size(text, move->n_bytes);
        }
        proto_text_puts(text, ": ");
        proto_text_show(text, move->why);
        proto_text_puts(text, "\n");
    }
}
