/*
 * template.h: an answer without names, and answers made from it. Private to
 * proto.
 *
 * Every JSON answer comes about this way, whether its template is kept or not:
 * a request is solved and encoded under marks instead of names, and then the
 * marks are replaced. So what an answer says cannot depend on whether another
 * request, with other names, was answered before.
 *
 * A template is one line of what it is for and the document with its marks.
 */
#ifndef PROTO_TEMPLATE_H
#define PROTO_TEMPLATE_H

#include "decode.h"
#include "digest.h"
#include "text.h"

/* What a template is filled with. */
struct proto_own {
    const struct remat_job *job; /* the names under which nodes were added */
    const struct proto_names *names;
    const struct remat_options *options;
};

enum proto_filled {
    PROTO_FILLED,
    PROTO_NOT_FILLED, /* no template, or not one for this request */
    PROTO_FILL_FAILED /* no memory */
};

/* Calls all nodes of a sealed graph by their marks. False: no memory. */
bool proto_template_hide_names(struct remat_job *job);
/* The first line, for a document with that outcome. The document follows; its
 * text is written with keeps_marks. */
void proto_template_begin(struct proto_text *text, const struct remat_job *job,
                          enum remat_outcome outcome);
/* The answer that `length` bytes of a template stand for, and its outcome.
 * Takes any bytes, from wherever they were kept. O(answer). */
enum proto_filled proto_template_fill(struct proto_text *answer,
                                      const char *bytes, size_t length,
                                      const struct proto_own *own,
                                      enum remat_outcome *outcome);

#endif
