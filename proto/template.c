/*
 * template.c: names to marks and marks to names.
 */
#include "template.h"

#include "encode.h"
#include "json.h"
#include "marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE_BYTES = 96
};

bool proto_template_hide_names(struct remat_job *job)
{
    uint32_t n = remat_graph_n_nodes(job);
    char *marks = remat_job_alloc(job, n, PROTO_MARK_BYTES + 1);

    if (marks == NULL)
        return false;
    for (remat_node v = 0; v < n; v++, marks += PROTO_MARK_BYTES + 1) {
        proto_mark_name(v, marks);
        remat_graph_rename(job, v, marks);
    }
    return true;
}

/* The line names all that a reader relies on. */
static size_t write_line(char line[LINE_BYTES], const struct remat_job *job,
                         enum remat_outcome outcome)
{
    int n = snprintf(line, LINE_BYTES, "template 1 %s %" PRIu32 " %s\n",
                     PROTO_ENGINE, remat_graph_n_nodes(job),
                     proto_outcome_name(outcome));

    return (size_t)n;
}

void proto_template_begin(struct proto_text *text, const struct remat_job *job,
                          enum remat_outcome outcome)
{
    char line[LINE_BYTES];

    proto_text_add(text, line, write_line(line, job, outcome));
}

/* The length of the first line, 0 when it is none of this request's. */
static size_t read_line(const char *bytes, size_t length,
                        const struct remat_job *job,
                        enum remat_outcome *outcome)
{
    static const enum remat_outcome outcomes[] = {
        REMAT_PLAN, REMAT_INFINITE_FLOW, REMAT_INVALID_OUTPUT};

    for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++) {
        char line[LINE_BYTES];
        size_t n = write_line(line, job, outcomes[i]);

        *outcome = outcomes[i];
        if (n <= length && memcmp(bytes, line, n) == 0)
            return n;
    }
    return 0;
}

/* The next byte of `bytes` that begins a mark, or the end. */
static const char *find_mark(const char *at, const char *end)
{
    while (at < end && (unsigned char)*at < 0xFE)
        at++;
    return at;
}

static enum proto_filled fill_budget(struct proto_text *answer,
                                     const char *mark,
                                     const struct proto_own *own)
{
    struct remat_options options = *own->options;
    struct proto_json json;
    char hex[65];
    bool done;

    options.memory_limit_bytes = -1;
    options.compat = false;
    if (own->names->head == NULL || !proto_mark_options(mark, &options))
        return PROTO_NOT_FILLED;
    proto_json_begin(&json, answer->budget);
    done = proto_names_digest(own->names, answer->budget, &options, hex);
    proto_json_end(&json);
    if (!done)
        return PROTO_FILL_FAILED;
    proto_text_puts(answer, hex);
    return PROTO_FILLED;
}

static enum proto_filled fill_mark(struct proto_text *answer, const char *mark,
                                   const struct proto_own *own)
{
    const char *name;
    uint32_t node;

    if ((unsigned char)mark[0] == 0xFF) {
        node = proto_mark_node(mark);
        if (node >= remat_graph_n_nodes(own->job))
            return PROTO_NOT_FILLED;
        name = remat_graph_name(own->job, node);
        proto_text_escape(answer, name, strlen(name));
        return PROTO_FILLED;
    }
    if (mark[1] == 'b')
        return fill_budget(answer, mark, own);
    proto_text_puts(answer, own->names->digest);
    return PROTO_FILLED;
}

enum proto_filled proto_template_fill(struct proto_text *answer,
                                      const char *bytes, size_t length,
                                      const struct proto_own *own,
                                      enum remat_outcome *outcome)
{
    const char *end = bytes + length;
    const char *at = bytes + read_line(bytes, length, own->job, outcome);

    if (at == bytes)
        return PROTO_NOT_FILLED;
    for (;;) {
        const char *mark = find_mark(at, end);
        enum proto_filled filled;
        size_t n;

        proto_text_add(answer, at, (size_t)(mark - at));
        if (mark == end)
            break;
        n = proto_mark_length(mark, (size_t)(end - mark));
        filled = n == 0 ? PROTO_NOT_FILLED : fill_mark(answer, mark, own);
        if (filled != PROTO_FILLED)
            return filled;
        at = mark + n;
    }
    return answer->failed ? PROTO_FILL_FAILED : PROTO_FILLED;
}
