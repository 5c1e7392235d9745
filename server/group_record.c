/*
 * group_record.c: lines of text: the number of ranks and of documents; a name
 * of a document on each; the documents of the ranks by number.
 */
#include "group_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct srv_answer *srv_group_record_new(const char *const *documents,
                                        uint32_t n_documents,
                                        const uint32_t *of, uint32_t world_size)
{
    struct srv_text text = {0};

    srv_text_printf(&text, "%" PRIu32 " %" PRIu32 "\n", world_size,
                    n_documents);
    for (uint32_t i = 0; i < n_documents; i++)
        srv_text_printf(&text, "%s\n", documents[i]);
    for (uint32_t i = 0; i < world_size; i++)
        srv_text_printf(&text, "%" PRIu32 "\n", of[i]);
    return srv_text_answer(&text, "text/plain");
}

/* The number at *at, and behind it. */
static uint32_t read_number(const char **at)
{
    uint32_t n = 0;

    while (**at >= '0' && **at <= '9')
        n = n * 10 + (uint32_t)(*(*at)++ - '0');
    if (**at != '\0')
        (*at)++;
    return n;
}

static const char *skip_lines(const char *at, uint32_t n)
{
    while (n > 0 && at != NULL) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
        n--;
    }
    return at;
}

enum srv_record_match srv_group_record_match(const struct srv_answer *record,
                                             const struct proto_rank *rank,
                                             const char *document,
                                             uint32_t *world_size)
{
    const char *at = record->bytes;
    const size_t n_document = strlen(document);

    *world_size = read_number(&at);
    const uint32_t n_documents = read_number(&at);
    if (*world_size != rank->world_size)
        return SRV_RECORD_OTHER_WORLD;
    const char *number = skip_lines(at, n_documents + rank->rank);
    if (number == NULL)
        return SRV_RECORD_OTHER;
    const char *name = skip_lines(at, read_number(&number));
    if (name == NULL || strncmp(name, document, n_document) != 0 ||
        name[n_document] != '\n')
        return SRV_RECORD_OTHER;
    return SRV_RECORD_SAME;
}
