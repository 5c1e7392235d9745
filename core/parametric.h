/*
 * parametric.h: minimum cuts of one network under two costs at once. Private to
 * core.
 *
 * An edge costs bytes, joining the sink's side costs a vertex FLOPs; p * bytes
 * + q * FLOPs is to be least, for every p, q > 0. Only edges from the source
 * depend on q / p and they grow with it, so the sink sides are nested: the more
 * a FLOP costs, the smaller (Gallo, Grigoriadis & Tarjan, SIAM Journal on
 * Computing 18(1), 1989). Hence all answers fit into one order of the vertices.
 */
#ifndef REMAT_PARAMETRIC_H
#define REMAT_PARAMETRIC_H

#include "network.h"

/* Totals of finite bytes and of finite FLOPs must stay below this. */
#define REMAT_TRADE_MAX ((int64_t)1 << 61)

/* Products of two totals. Every capacity is at most p * bytes + q * FLOPs with
 * p, q <= 2^61 and bytes, FLOPs < 2^61, and so is every sum of capacities: less
 * than 2^123. Infinite ones are 2^125 and can take that much more. */
__extension__ typedef __int128 remat_wide;

/* Edges as in network.h, capacity in bytes or REMAT_INFINITE. */
struct remat_trade_network {
    uint32_t n_vertices; /* without source and sink */
    uint32_t n_edges;
    struct remat_edge *edges;
    int64_t *flops; /* from the source, by vertex; REMAT_INFINITE: may not be
                       on the sink's side */
    bool *at_sink;  /* must be on the sink's side */
};

struct remat_trade {
    int64_t bytes;  /* of the edges that are cut */
    int64_t flops;  /* of the vertices on the sink's side */
    bool is_vertex; /* a corner of the hull; else it lies on a side of it */
    uint32_t n_sink_side; /* the first so many of `order` */
};

struct remat_hull {
    bool infinite;              /* no finite cut: no points */
    uint32_t *order;            /* the vertices */
    uint32_t *place;            /* of a vertex in the order */
    struct remat_trade *points; /* by FLOPs, least first: nested sink sides */
    uint32_t n_points;
};

/* On a side of the hull points may lie in any number: at most so many of them
 * are listed, evenly chosen from one maximal chain of minimum cuts. */
enum {
    REMAT_MOST_BETWEEN = 64
};

/* All corners of the lower convex hull of (bytes, FLOPs), and points on its
 * sides. Two flows to begin with, then one for each corner and each side, on
 * what lies between the sink sides of two neighbours (Eisner & Severance,
 * Journal of the ACM 23(4), 1976). Every cut is checked against the value of
 * its flow: REMAT_E_BUG when they differ. REMAT_E_WEIGHT: a total is 2^61 or
 * more. O(V + E) memory and, if the flows are well divided, the time of one
 * flow times the logarithm of the number of points. */
REMAT_NODISCARD enum remat_status
remat_trade_solve(struct remat_job *job, const struct remat_trade_network *net,
                  struct remat_hull *hull, struct remat_error *err);

/* ---- between the files of the solver ------------------------------------ */

/* A part of the network: order[begin .. end). What comes before belongs to the
 * sink, what comes after to the source. */
struct remat_part {
    uint32_t begin;
    uint32_t end;
};

struct remat_parametric {
    struct remat_job *job;
    struct remat_error *err;
    const struct remat_trade_network *net;

    /* arcs of a vertex side by side, both ways; bytes 0 against an edge */
    const uint32_t *first;
    const uint32_t *head;
    const uint32_t *twin;
    const int64_t *bytes;
    uint32_t n_arcs;

    uint32_t *order;
    uint32_t *place;

    /* of the last flow, for its part */
    remat_wide *residual; /* by arc */
    remat_wide *supply;   /* still to come from the source, by vertex */
    remat_wide *demand;   /* still open to the sink, by vertex */
    uint32_t *dist;       /* to open demand; REMAT_NONE: cannot reach it */
    uint32_t *current;
    uint32_t *path;
    uint32_t *queue;
    uint64_t work; /* looks at arcs, not yet spent */
};

/* What moving a stretch of the order to the sink's side changes. */
struct remat_change {
    int64_t bytes;
    int64_t flops;
};

/* parametric_flow.c: a maximum flow for p * bytes + q * FLOPs on a part, and
 * the smallest sink side of it: reorders the part so that this comes first,
 * *middle is where it ends. */
REMAT_NODISCARD enum remat_status
remat_parametric_cut(struct remat_parametric *s, struct remat_part part,
                     int64_t p, int64_t q, uint32_t *middle);
struct remat_change remat_parametric_change(const struct remat_parametric *s,
                                            struct remat_part moved);
/* parametric_chain.c: after a flow by which both ends of the part are minimum
 * cuts: reorders it so that the sink side can grow along it through minimum
 * cuts, in as many steps as there are; stops[] are the ends of the steps. */
REMAT_NODISCARD enum remat_status
remat_parametric_chain(struct remat_parametric *s, struct remat_part part,
                       uint32_t *stops, uint32_t *n_stops);

#endif
