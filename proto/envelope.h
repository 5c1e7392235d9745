/*
 * envelope.h: bodies of jobs that are more than a plan request, read as one.
 * Private to proto.
 */
#ifndef PROTO_ENVELOPE_H
#define PROTO_ENVELOPE_H

#include "json.h"

/* Whether a body is a what-if's. */
bool proto_envelope_is(const json_t *body);
/* Makes a plan request of the tree, in its place: what tells a rank from others
 * is taken out, and a what-if ({"base", "what_if"}, whose base may be another
 * one) becomes the request that asks for the same: the innermost base with the
 * pass set_tags appended and the options laid over, for each level. What is no
 * object stays as it is, for the decoder to say so. *n_levels: of what-ifs.
 * False: a problem is set, or there is no memory. In a session; O(passes +
 * options + levels). */
bool proto_envelope_open(json_t *body, unsigned *n_levels,
                         struct proto_problem *problem);

/* A pointer into the request that stood `n_levels` deep below `front` in the
 * body becomes one into the body; of what was put together from several places
 * there is none. */
void proto_envelope_point(struct proto_problem *problem, const char *front,
                          unsigned n_levels);

#endif
