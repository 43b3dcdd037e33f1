#include "topologies/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace collbench {
namespace {

/// Whole bytes a second: sums of fractions are not exact, and Boost asserts that no flow is lost.
using FlowRate = std::int64_t;
constexpr double most_flow = 4e18;  // of all links together; a larger unit beyond
using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, FlowRate,
        boost::property<boost::edge_residual_capacity_t, FlowRate,
                        boost::property<boost::edge_reverse_t, FlowTraits::edge_descriptor>>>>;

void add_flow_edge(FlowGraph& graph, int from, int to, FlowRate capacity) {
  const auto there = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, there, capacity);
  boost::put(boost::edge_capacity, graph, back, 0);
  boost::put(boost::edge_reverse, graph, there, back);
  boost::put(boost::edge_reverse, graph, back, there);
}

// Whether a host is in the first half: by its place on the longest axis, or by its number.
bool is_in_first_half(const Topology& topology, Host host) {
  const Layout& layout = topology.layout();
  if (layout.kind != Layout::Kind::grid || layout.dims.empty()) return host < topology.hosts() / 2;
  const auto longest = std::max_element(layout.dims.begin(), layout.dims.end());
  for (auto axis = layout.dims.begin(); axis != longest; ++axis) host /= *axis;
  return host % *longest < *longest / 2;
}

}  // namespace

std::optional<Bandwidth> bisection(const Topology& topology, std::size_t most_links) {
  if (topology.hosts() < 2 || topology.links().size() > most_links) return {};
  const int source = topology.vertices();
  const int sink = source + 1;
  FlowGraph graph(topology.vertices() + 2);
  double all = 0;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    all += topology.capacity(static_cast<LinkId>(i));
  }
  const double unit = std::max(1.0, all / most_flow);
  // What a host can send and receive: what enters and leaves the network there is no more.
  std::vector<FlowRate> sent(static_cast<std::size_t>(topology.vertices()), 0);
  std::vector<FlowRate> received = sent;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const FlowRate capacity = std::llround(topology.capacity(static_cast<LinkId>(i)) / unit);
    if (link.from == link.to) continue;
    add_flow_edge(graph, link.from, link.to, capacity);
    sent[static_cast<std::size_t>(link.from)] += capacity;
    received[static_cast<std::size_t>(link.to)] += capacity;
  }
  for (Host host = 0; host < topology.hosts(); ++host) {
    if (is_in_first_half(topology, host)) {
      add_flow_edge(graph, source, host, sent[static_cast<std::size_t>(host)]);
    } else {
      add_flow_edge(graph, host, sink, received[static_cast<std::size_t>(host)]);
    }
  }
  return Bandwidth{unit * static_cast<double>(boost::push_relabel_max_flow(graph, source, sink))};
}

std::optional<RingBound> ring_bound(const Topology& topology) {
  const int n = topology.hosts();
  if (n < 2) return {};
  std::vector<int> flows(topology.links().size(), 0);
  std::vector<LinkId> route;
  RingBound bound;
  for (Host host = 0; host < n; ++host) {
    topology.route(host, (host + 1) % n, route);
    for (const LinkId link : route) ++flows[link];
    bound.latency = std::max(bound.latency, summarize(topology, route).latency);
  }
  double rate = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i] > 0) rate = std::min(rate, topology.capacity(static_cast<LinkId>(i)) / flows[i]);
  }
  bound.rate = {rate};
  return bound;
}

}  // namespace collbench
