/*
 * notes.c: what the decoder noticed, in words. All are warnings: the decision
 * stands, but perhaps not for the graph the sender had in mind.
 */
#include "encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const struct proto_decision *decision,
                           remat_node node)
{
    return remat_graph_node(decision->job, node)->name;
}

static bool describe_fields(const struct proto_notes *notes,
                            struct proto_note *note)
{
    size_t length;

    if (notes->n_fields == 0)
        return false;
    note->code = "unknown-field";
    snprintf(note->message, sizeof(note->message),
             "fields that remat/graph/v1 does not know were ignored:");
    for (uint32_t i = 0; i < notes->n_fields; i++) {
        length = strlen(note->message);
        snprintf(note->message + length, sizeof(note->message) - length,
                 "%s %.48s%s%s%s", i == 0 ? "" : ",", notes->fields[i],
                 notes->meant[i] == NULL ? "" : " (did you mean ",
                 notes->meant[i] == NULL ? "" : notes->meant[i],
                 notes->meant[i] == NULL ? "" : "?)");
    }
    length = strlen(note->message);
    if (notes->more_fields)
        snprintf(note->message + length, sizeof(note->message) - length,
                 " and more");
    return true;
}

static bool describe_unmarked(const struct proto_decision *decision,
                              struct proto_note *note)
{
    const struct proto_notes *notes = decision->notes;

    if (notes->n_unmarked == 0)
        return false;
    note->code = "reference-without-percent";
    note->node = notes->unmarked;
    snprintf(note->message, sizeof(note->message),
             "%s refers to no node, but has the literal string \"%.100s\", "
             "which is the name of one: write \"%%%.100s\" if the node is "
             "meant",
             name_of(decision, notes->unmarked), notes->unmarked_text,
             notes->unmarked_text);
    if (notes->n_unmarked > 1) {
        size_t length = strlen(note->message);

        snprintf(note->message + length, sizeof(note->message) - length,
                 " (%" PRIu32 " more nodes are like this)",
                 notes->n_unmarked - 1);
    }
    return true;
}

static bool describe_version(const struct proto_notes *notes,
                             struct proto_note *note)
{
    if (notes->untested_version == NULL)
        return false;
    note->code = "producer-version-untested";
    snprintf(note->message, sizeof(note->message),
             "the graph comes from version %.64s of its producer, decisions "
             "are tested against PyTorch %s",
             notes->untested_version, remat_table_version());
    return true;
}

bool proto_note_next(const struct proto_decision *decision, unsigned *at,
                     struct proto_note *note)
{
    bool found = false;

    *note = (struct proto_note){.node = REMAT_NONE};
    while (!found && *at < PROTO_MOST_NOTES) {
        switch ((*at)++) {
        case 0:
            found = describe_fields(decision->notes, note);
            break;
        case 1:
            found = describe_unmarked(decision, note);
            break;
        default:
            found = describe_version(decision->notes, note);
            break;
        }
    }
    return found;
}
