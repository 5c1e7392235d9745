/*
 * drawing.c: what is shown of a network, and which of it is cut.
 */
#include "drawing.h"

bool proto_drawing_shows(const struct proto_drawing *drawing, uint32_t vertex)
{
    remat_node v = drawing->network->node[vertex];

    return drawing->shown == NULL || v == REMAT_NONE || drawing->shown[v];
}

bool proto_drawing_cuts(const struct proto_drawing *drawing,
                        const struct remat_edge *edge)
{
    const bool *sink_side = drawing->network->sink_side;

    return sink_side != NULL && !sink_side[edge->from] && sink_side[edge->to];
}
