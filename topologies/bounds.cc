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

/// Places of hosts along an axis, and how far they are apart in the order of hosts.
struct CutAxis {
  int length = 1;
  int stride = 1;
};

/// Those of a grid that can be cut; of other networks the order of hosts.
std::vector<CutAxis> axes_of(const Topology& topology) {
  const Layout& layout = topology.layout();
  if (layout.kind != Layout::Kind::grid || layout.dims.empty()) return {{topology.hosts(), 1}};
  std::vector<CutAxis> axes;
  int stride = 1;
  for (const int length : layout.dims) {
    if (length > 1) axes.push_back({length, stride});
    stride *= length;
  }
  return axes;
}

/// Whether a host is in the first half when hosts are ordered by their place on the axis first.
bool is_in_first_half(const Topology& topology, CutAxis axis, Host host) {
  const int place = host / axis.stride % axis.length;
  const int beside = host % axis.stride + host / (axis.stride * axis.length) * axis.stride;
  return place * (topology.hosts() / axis.length) + beside < topology.hosts() / 2;
}

/// A link between two vertices.
struct CutLink {
  Vertex from = 0;
  Vertex to = 0;
  double capacity = 0;
  auto operator<=>(const CutLink&) const = default;
};
using CutLinks = std::vector<CutLink>;

CutLinks links_of(const Topology& topology, bool turned) {
  CutLinks links;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    if (link.from == link.to) continue;
    links.push_back({turned ? link.to : link.from, turned ? link.from : link.to,
                     topology.capacity(static_cast<LinkId>(i))});
  }
  std::ranges::sort(links);
  return links;
}

/// What the links across the middle of the axis carry; every vertex is a host.
double capacity_across(const Topology& topology, const CutLinks& links, CutAxis axis) {
  double across = 0;
  for (const auto& [from, to, capacity] : links) {
    if (is_in_first_half(topology, axis, from) && !is_in_first_half(topology, axis, to)) {
      across += capacity;
    }
  }
  return across;
}

/// The most that can cross the middle of the axis where switches may be on either side.
double flow_across(const Topology& topology, const CutLinks& links, CutAxis axis) {
  const int source = topology.vertices();
  const int sink = source + 1;
  FlowGraph graph(topology.vertices() + 2);
  double all = 0;
  for (const CutLink& link : links) all += link.capacity;
  const double unit = std::max(1.0, all / most_flow);
  // What a host can send and receive: what enters and leaves the network there is no more.
  std::vector<FlowRate> sent(static_cast<std::size_t>(topology.vertices()), 0);
  std::vector<FlowRate> received = sent;
  for (const CutLink& link : links) {
    const FlowRate capacity = std::llround(link.capacity / unit);
    add_flow_edge(graph, link.from, link.to, capacity);
    sent[static_cast<std::size_t>(link.from)] += capacity;
    received[static_cast<std::size_t>(link.to)] += capacity;
  }
  for (Host host = 0; host < topology.hosts(); ++host) {
    if (is_in_first_half(topology, axis, host)) {
      add_flow_edge(graph, source, host, sent[static_cast<std::size_t>(host)]);
    } else {
      add_flow_edge(graph, host, sink, received[static_cast<std::size_t>(host)]);
    }
  }
  return unit * static_cast<double>(boost::push_relabel_max_flow(graph, source, sink));
}

}  // namespace

bool links_join_routes(const Topology& topology) {
  const auto is_joined = [&](Host from, Host to) {
    std::vector<LinkId> route;
    topology.route(from, to, route);
    Vertex at = from;
    for (const LinkId id : route) {
      const Link& link = topology.links()[static_cast<std::size_t>(id)];
      if (link.from != at) return false;
      at = link.to;
    }
    return at == to;
  };
  const int n = topology.hosts();
  for (Host host = 0; host < n; ++host) {
    const Host next = (host + 1) % n;
    if (!is_joined(host, next) || !is_joined(next, host)) return false;
  }
  return true;
}

std::optional<Bisection> bisection(const Topology& topology, std::size_t most_links) {
  if (topology.hosts() < 2 || topology.links().size() > most_links) return {};
  if (!links_join_routes(topology)) return {};
  const auto across = topology.vertices() > topology.hosts() ? flow_across : capacity_across;
  const CutLinks there = links_of(topology, false);
  const CutLinks back = links_of(topology, true);
  std::optional<Bisection> least;
  for (const CutAxis& axis : axes_of(topology)) {
    const Bandwidth forth{across(topology, there, axis)};
    const Bisection cut{forth, there == back ? forth : Bandwidth{across(topology, back, axis)}};
    if (!least || cut.lesser() < least->lesser()) least = cut;
  }
  return least;
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
