// peer.cpp: Boost's Boykov-Kolmogorov maximum flow, the peer of ours.
//
// In Boost's fastest layout: compressed rows, external property arrays. Every
// edge gets its reverse with capacity 0, as the algorithm demands.
#include "bench.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>

using Graph = boost::compressed_sparse_row_graph<
    boost::directedS, boost::no_property, boost::no_property,
    boost::no_property, std::uint32_t, std::uint32_t>;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

struct peer {
    Graph graph;
    std::uint32_t source;
    std::uint32_t sink;
    std::vector<std::int64_t> capacity;
    std::vector<std::int64_t> residual;
    std::vector<Edge> reverse;
    std::vector<Edge> predecessor;
    std::vector<boost::default_color_type> color;
    std::vector<std::uint32_t> distance;
};

struct peer *peer_new(const struct bench_network *n)
{
    const std::size_t n_arcs = 2 * static_cast<std::size_t>(n->n_edges);
    std::vector<std::uint32_t> arc(n_arcs); // sorted by tail: 2i edge, 2i+1 back
    std::vector<std::uint32_t> place(n_arcs);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends(n_arcs);
    const auto tail = [n](std::uint32_t a) {
        return a % 2 == 0 ? n->from[a / 2] : n->to[a / 2];
    };

    std::iota(arc.begin(), arc.end(), 0);
    std::stable_sort(arc.begin(), arc.end(),
                     [&](auto a, auto b) { return tail(a) < tail(b); });
    peer *p = new peer{};
    p->capacity.resize(n_arcs);
    for (std::uint32_t i = 0; i < n_arcs; i++) {
        const std::uint32_t a = arc[i];
        place[a] = i;
        ends[i] = {tail(a), tail(a ^ 1)};
        p->capacity[i] = a % 2 == 0 ? n->capacity[a / 2] : 0;
    }
    p->graph = Graph(boost::edges_are_sorted, ends.begin(), ends.end(),
                     n->n_vertices);
    std::vector<Edge> edges;
    for (auto range = boost::edges(p->graph); range.first != range.second;
         ++range.first)
        edges.push_back(*range.first);
    p->reverse.resize(n_arcs);
    for (std::uint32_t i = 0; i < n_arcs; i++)
        p->reverse[i] = edges[place[arc[i] ^ 1]];
    p->residual.resize(n_arcs);
    p->predecessor.resize(n->n_vertices);
    p->color.resize(n->n_vertices);
    p->distance.resize(n->n_vertices);
    p->source = n->source;
    p->sink = n->sink;
    return p;
}

std::int64_t peer_solve(struct peer *p)
{
    const auto vertex = boost::get(boost::vertex_index, p->graph);
    const auto edge = boost::get(boost::edge_index, p->graph);

    return boost::boykov_kolmogorov_max_flow(
        p->graph, boost::make_iterator_property_map(p->capacity.begin(), edge),
        boost::make_iterator_property_map(p->residual.begin(), edge),
        boost::make_iterator_property_map(p->reverse.begin(), edge),
        boost::make_iterator_property_map(p->predecessor.begin(), vertex),
        boost::make_iterator_property_map(p->color.begin(), vertex),
        boost::make_iterator_property_map(p->distance.begin(), vertex), vertex,
        p->source, p->sink);
}

void peer_free(struct peer *p)
{
    delete p;
}
