/*
 * Maximum flow and canonical cut on networks made by hand and at random, held
 * against every possible cut.
 */
#include "maxflow.h"
#include "mincut.h"
#include "suite.h"

#include <string.h>

enum {
    MAX_VERTICES = 14,
    MAX_EDGES = 64
};

struct hand {
    struct remat_job *job;
    struct remat_network net;
    struct remat_residual r;
    struct remat_flow flow;
    struct remat_error err;
    struct remat_edge edges[MAX_EDGES];
    bool *sink_side;
};

static void hand_init(struct hand *h, uint32_t n_vertices)
{
    memset(h, 0, sizeof *h);
    h->job = remat_job_new(NULL);
    h->net.n_vertices = n_vertices;
    h->net.edges = h->edges;
    h->net.source = 0;
    h->net.sink = n_vertices - 1;
}

static void edge(struct hand *h, uint32_t from, uint32_t to, int64_t capacity)
{
    ck_assert_uint_lt(h->net.n_edges, MAX_EDGES);
    h->edges[h->net.n_edges++] = (struct remat_edge){from, to, capacity};
}

/* Solves; true when the flow is finite. */
static bool solve(struct hand *h)
{
    ck_assert_int_eq(remat_residual_build(h->job, &h->net, &h->r, &h->err),
                     REMAT_OK);
    if (h->r.infinite)
        return false;
    ck_assert_int_eq(remat_maxflow(h->job, &h->r, &h->flow, &h->err), REMAT_OK);
    ck_assert_int_eq(
        remat_mincut_sink_side(h->job, &h->r, &h->sink_side, &h->err),
        REMAT_OK);
    return true;
}

static int64_t flow_on(const struct hand *h, uint32_t e)
{
    return h->r.residual[h->r.twin[h->r.arc[e]]];
}

/* Within capacity, conserved at every vertex between, value at both ends. */
static void check_flow(const struct hand *h)
{
    int64_t balance[MAX_VERTICES] = {0};

    for (uint32_t e = 0; e < h->net.n_edges; e++) {
        ck_assert_int_ge(flow_on(h, e), 0);
        ck_assert_int_le(flow_on(h, e), h->edges[e].capacity);
        balance[h->edges[e].from] -= flow_on(h, e);
        balance[h->edges[e].to] += flow_on(h, e);
    }
    for (uint32_t v = 1; v + 1 < h->net.n_vertices; v++)
        ck_assert_int_eq(balance[v], 0);
    ck_assert_int_eq(balance[0], -h->flow.value);
    ck_assert_int_eq(balance[h->net.sink], h->flow.value);
}

/* Capacity of the cut whose sink side is the set bits; -1: infinite. */
static int64_t cut_value(const struct hand *h, unsigned sink_side)
{
    int64_t sum = 0;

    for (uint32_t e = 0; e < h->net.n_edges; e++) {
        const struct remat_edge *x = &h->edges[e];

        if ((sink_side >> x->from & 1) != 0 || (sink_side >> x->to & 1) == 0)
            continue;
        if (x->capacity == REMAT_INFINITE)
            return -1;
        sum += x->capacity;
    }
    return sum;
}

/* The least finite cut, and the intersection of the sink sides of all cuts of
 * that value. False when there is none. */
static bool brute(const struct hand *h, int64_t *value, unsigned *sink_side)
{
    uint32_t n = h->net.n_vertices;
    bool found = false;

    for (unsigned side = 1u << (n - 1); side < 1u << n; side += 2) {
        int64_t this_value = cut_value(h, side);

        if (this_value < 0 || (found && this_value > *value))
            continue;
        if (!found || this_value < *value)
            *sink_side = side;
        else
            *sink_side &= side;
        *value = this_value;
        found = true;
    }
    return found;
}

static void check_against_brute(struct hand *h)
{
    int64_t value = 0;
    unsigned side = 0;
    bool is_finite = brute(h, &value, &side);

    ck_assert_int_eq(solve(h), is_finite);
    if (!is_finite)
        return;
    ck_assert_int_eq(h->flow.value, value);
    check_flow(h);
    for (uint32_t v = 0; v < h->net.n_vertices; v++)
        ck_assert_int_eq(h->sink_side[v], (side >> v & 1) != 0);
}

START_TEST(one_edge)
{
    struct hand h;

    hand_init(&h, 2);
    edge(&h, 0, 1, 7);
    check_against_brute(&h);
    ck_assert_int_eq(h.flow.value, 7);
    remat_job_free(h.job);
}
END_TEST

START_TEST(a_path_is_cut_at_its_last_bottleneck)
{
    struct hand h;

    hand_init(&h, 5);
    edge(&h, 0, 1, REMAT_INFINITE);
    edge(&h, 1, 2, 3);
    edge(&h, 2, 3, 3);
    edge(&h, 3, 4, REMAT_INFINITE);
    check_against_brute(&h);
    ck_assert(!h.sink_side[2]); /* the tie goes to the smaller sink side */
    ck_assert(h.sink_side[3]);
    remat_job_free(h.job);
}
END_TEST

START_TEST(flow_is_taken_back)
{
    /* the short path through 1 -> 4 has to be undone */
    struct hand h;

    hand_init(&h, 6);
    edge(&h, 0, 1, 1);
    edge(&h, 0, 2, 1);
    edge(&h, 1, 3, 1);
    edge(&h, 1, 4, 1);
    edge(&h, 2, 4, 1);
    edge(&h, 3, 5, 1);
    edge(&h, 4, 5, 1);
    check_against_brute(&h);
    ck_assert_int_eq(h.flow.value, 2);
    remat_job_free(h.job);
}
END_TEST

START_TEST(an_infinite_path_is_told)
{
    struct hand h;

    hand_init(&h, 4);
    edge(&h, 0, 1, REMAT_INFINITE);
    edge(&h, 1, 2, REMAT_INFINITE);
    edge(&h, 2, 3, REMAT_INFINITE);
    edge(&h, 0, 3, 5);
    ck_assert(!solve(&h));
    remat_job_free(h.job);
}
END_TEST

START_TEST(zero_capacities_are_crossed_for_nothing)
{
    struct hand h;

    hand_init(&h, 4);
    edge(&h, 0, 1, REMAT_INFINITE);
    edge(&h, 1, 2, 0);
    edge(&h, 2, 3, REMAT_INFINITE);
    check_against_brute(&h);
    ck_assert_int_eq(h.flow.value, 0);
    remat_job_free(h.job);
}
END_TEST

START_TEST(a_vertex_apart_is_on_the_source_side)
{
    struct hand h;

    hand_init(&h, 5);
    edge(&h, 0, 1, 2);
    edge(&h, 1, 4, 2);
    edge(&h, 2, 3, 9);
    check_against_brute(&h);
    ck_assert(!h.sink_side[2]);
    ck_assert(!h.sink_side[3]);
    remat_job_free(h.job);
}
END_TEST

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

START_TEST(random_networks_equal_every_cut)
{
    uint64_t state = 1;
    unsigned n_finite = 0;

    for (unsigned round = 0; round < 1500; round++) {
        struct hand h;
        uint32_t n = 3 + draw(&state, 9);
        uint32_t n_edges = 1 + draw(&state, 3 * n);

        hand_init(&h, n);
        for (uint32_t e = 0; e < n_edges && e < MAX_EDGES; e++) {
            uint32_t from = draw(&state, n - 1);
            uint32_t to = 1 + draw(&state, n - 1);
            int64_t capacity = draw(&state, 6);

            if (draw(&state, 4) == 0)
                capacity = REMAT_INFINITE;
            if (from != to)
                edge(&h, from, to, capacity);
        }
        check_against_brute(&h);
        n_finite += !h.r.infinite;
        remat_job_free(h.job);
    }
    ck_assert_uint_gt(n_finite, 500);
    ck_assert_uint_lt(n_finite, 1500);
}
END_TEST

START_TEST(weights_near_2_to_62_do_not_overflow)
{
    struct hand h;
    const int64_t most = REMAT_WEIGHT_MAX;

    /* four huge edges that sum past 2^63, and a small cut behind them */
    hand_init(&h, 7);
    for (uint32_t v = 1; v <= 4; v++) {
        edge(&h, 0, v, most);
        edge(&h, v, 5, most);
    }
    edge(&h, 5, 6, 1000);
    ck_assert(solve(&h));
    ck_assert_int_eq(h.flow.value, 1000);
    remat_job_free(h.job);
}
END_TEST

START_TEST(cuts_of_2_to_62_are_refused)
{
    struct hand h;

    hand_init(&h, 3);
    edge(&h, 0, 1, REMAT_WEIGHT_MAX);
    edge(&h, 1, 2, REMAT_WEIGHT_MAX);
    ck_assert_int_eq(remat_residual_build(h.job, &h.net, &h.r, &h.err),
                     REMAT_E_WEIGHT);
    ck_assert_int_eq(h.err.status, REMAT_E_WEIGHT);
    ck_assert_ptr_nonnull(strstr(h.err.detail, "2^62"));
    remat_job_free(h.job);
}
END_TEST

START_TEST(the_greatest_cut_below_2_to_62_is_found)
{
    struct hand h;

    hand_init(&h, 3);
    edge(&h, 0, 1, REMAT_WEIGHT_MAX - 1);
    edge(&h, 1, 2, REMAT_WEIGHT_MAX);
    ck_assert(solve(&h));
    ck_assert_int_eq(h.flow.value, REMAT_WEIGHT_MAX - 1);
    remat_job_free(h.job);
}
END_TEST

/* A spine of n finite edges joined by infinite ones; every fifth vertex hangs
 * at the source, others at the sink: the shape of a training step. */
static uint64_t steps_of_ladder(uint32_t n)
{
    struct remat_job *job = remat_job_new(NULL);
    struct remat_network net;
    struct remat_residual r;
    struct remat_flow flow;
    struct remat_error err;
    uint64_t n_steps;

    memset(&net, 0, sizeof net);
    net.n_vertices = 2 * n + 2;
    net.source = 2 * n;
    net.sink = 2 * n + 1;
    net.edges = remat_job_alloc(job, 5 * (size_t)n, sizeof *net.edges);
    for (uint32_t i = 0; i < n; i++) {
        net.edges[net.n_edges++] =
            (struct remat_edge){2 * i, 2 * i + 1, 1 + i % 7};
        if (i + 1 < n)
            net.edges[net.n_edges++] =
                (struct remat_edge){2 * i + 1, 2 * i + 2, REMAT_INFINITE};
        if (i % 5 == 0)
            net.edges[net.n_edges++] =
                (struct remat_edge){net.source, 2 * i, REMAT_INFINITE};
        if (i % 5 == 3)
            net.edges[net.n_edges++] =
                (struct remat_edge){2 * i + 1, net.sink, REMAT_INFINITE};
    }
    ck_assert_int_eq(remat_residual_build(job, &net, &r, &err), REMAT_OK);
    ck_assert_int_eq(remat_maxflow(job, &r, &flow, &err), REMAT_OK);
    n_steps = remat_job_steps(job);
    remat_job_free(job);
    return n_steps;
}

START_TEST(long_serial_networks_take_linear_effort)
{
    uint64_t small = steps_of_ladder(5000);
    uint64_t large = steps_of_ladder(50000);

    ck_assert_uint_gt(small, 5000);
    ck_assert_uint_lt(large, 12 * small);
}
END_TEST

/* n infinite edges in a row, each vertex fed from the source; one unit gets out
 * at the end. After that everything is cut off, and should not be searched
 * vertex by vertex. */
static uint64_t steps_of_dead_end(uint32_t n)
{
    struct remat_job *job = remat_job_new(NULL);
    struct remat_network net;
    struct remat_residual r;
    struct remat_flow flow;
    struct remat_error err;
    uint64_t n_steps;

    memset(&net, 0, sizeof net);
    net.n_vertices = n + 2;
    net.source = n;
    net.sink = n + 1;
    net.edges = remat_job_alloc(job, 2 * (size_t)n, sizeof *net.edges);
    for (uint32_t i = 0; i < n; i++) {
        net.edges[net.n_edges++] = (struct remat_edge){net.source, i, 5};
        net.edges[net.n_edges++] =
            i + 1 < n ? (struct remat_edge){i, i + 1, REMAT_INFINITE}
                      : (struct remat_edge){i, net.sink, 1};
    }
    ck_assert_int_eq(remat_residual_build(job, &net, &r, &err), REMAT_OK);
    ck_assert_int_eq(remat_maxflow(job, &r, &flow, &err), REMAT_OK);
    ck_assert_int_eq(flow.value, 1);
    n_steps = remat_job_steps(job);
    remat_job_free(job);
    return n_steps;
}

START_TEST(what_is_cut_off_is_given_up_at_once)
{
    uint64_t small = steps_of_dead_end(5000);
    uint64_t large = steps_of_dead_end(50000);

    ck_assert_uint_gt(small, 5000);
    ck_assert_uint_lt(large, 12 * small);
}
END_TEST

START_TEST(the_step_limit_stops_the_search)
{
    struct remat_limits limits;
    struct hand h;
    enum remat_status status;

    memset(&limits, 0, sizeof limits);
    limits.n_steps = 3;
    hand_init(&h, 4);
    remat_job_free(h.job);
    h.job = remat_job_new(&limits);
    edge(&h, 0, 1, 1);
    edge(&h, 1, 2, 1);
    edge(&h, 2, 3, 1);
    status = remat_residual_build(h.job, &h.net, &h.r, &h.err);
    if (status == REMAT_OK)
        status = remat_maxflow(h.job, &h.r, &h.flow, &h.err);
    ck_assert_int_eq(status, REMAT_E_STEPS);
    ck_assert_ptr_nonnull(strstr(h.err.detail, "3 steps"));
    remat_job_free(h.job);
}
END_TEST

SUITE("maxflow", one_edge, a_path_is_cut_at_its_last_bottleneck,
      flow_is_taken_back, an_infinite_path_is_told,
      zero_capacities_are_crossed_for_nothing,
      a_vertex_apart_is_on_the_source_side, random_networks_equal_every_cut,
      weights_near_2_to_62_do_not_overflow, cuts_of_2_to_62_are_refused,
      the_greatest_cut_below_2_to_62_is_found,
      long_serial_networks_take_linear_effort,
      what_is_cut_off_is_given_up_at_once, the_step_limit_stops_the_search)
