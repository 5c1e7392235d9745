/*
 * drawing.h: a flow network to be drawn. Private to proto.
 */
#ifndef PROTO_DRAWING_H
#define PROTO_DRAWING_H

#include "encode.h"

/* A network to draw: what is shown of it, and what became of the nodes. */
struct proto_drawing {
    const struct proto_decision *decision;
    const struct remat_network_view *network; /* or NULL: there is none */
    const char *around;                       /* a node's name, or NULL */
    uint32_t depth;
    const bool *shown;    /* by node; NULL: all */
    const uint8_t *state; /* enum proto_state by node */
};

enum proto_state {
    PROTO_STATE_NEITHER,
    PROTO_STATE_SAVED,
    PROTO_STATE_RECOMPUTED
};

/* Whether a vertex is shown; those of no node always are. */
bool proto_drawing_shows(const struct proto_drawing *drawing, uint32_t vertex);
/* Whether an edge is in the minimum cut. */
bool proto_drawing_cuts(const struct proto_drawing *drawing,
                        const struct remat_edge *edge);

#endif
