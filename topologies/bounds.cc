#include "topologies/bounds.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace collbench {
namespace {

// Dinic's algorithm on doubles: what is left of an edge below a billionth of it counts as nothing.
class MaximumFlow {
 public:
  explicit MaximumFlow(int vertices) : out_(vertices), level_(vertices), next_(vertices) {}

  void add_edge(int from, int to, double capacity) {
    out_[from].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({to, capacity, capacity * 1e-9});
    out_[to].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({from, 0, capacity * 1e-9});
  }

  double from(int source, int sink) {
    double total = 0;
    while (find_levels(source, sink)) {
      std::fill(next_.begin(), next_.end(), 0);
      for (double sent; (sent = push(source, sink)) > 0;) total += sent;
    }
    return total;
  }

 private:
  struct Edge {
    int to;
    double left;
    double least;
    bool is_open() const { return left > least; }
  };

  bool find_levels(int source, int sink) {
    std::fill(level_.begin(), level_.end(), -1);
    level_[source] = 0;
    std::queue<int> open;
    for (open.push(source); !open.empty(); open.pop()) {
      for (const int e : out_[open.front()]) {
        const Edge& edge = edges_[e];
        if (!edge.is_open() || level_[edge.to] >= 0) continue;
        level_[edge.to] = level_[open.front()] + 1;
        open.push(edge.to);
      }
    }
    return level_[sink] >= 0;
  }

  // One path, walked with a stack of its own: long chains of hosts would exhaust the program's.
  double push(int source, int sink) {
    std::vector<int> path;
    int at = source;
    while (at != sink) {
      bool is_dead = true;
      for (int& i = next_[at]; i < static_cast<int>(out_[at].size()); ++i) {
        const int e = out_[at][i];
        if (!edges_[e].is_open() || level_[edges_[e].to] != level_[at] + 1) continue;
        path.push_back(e);
        at = edges_[e].to;
        is_dead = false;
        break;
      }
      if (!is_dead) continue;
      if (path.empty()) return 0;
      at = edges_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[at];
    }
    double least = std::numeric_limits<double>::infinity();
    for (const int e : path) least = std::min(least, edges_[e].left);
    for (const int e : path) {
      edges_[e].left -= least;
      edges_[e ^ 1].left += least;
    }
    return least;
  }

  std::vector<Edge> edges_;  // an edge and its reverse stand side by side
  std::vector<std::vector<int>> out_;
  std::vector<int> level_;
  std::vector<int> next_;
};

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
  MaximumFlow flow(topology.vertices() + 2);
  double all = 1;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const double capacity = topology.capacity(static_cast<LinkId>(i));
    all += capacity;
    if (link.from != link.to) flow.add_edge(link.from, link.to, capacity);
  }
  for (Host host = 0; host < topology.hosts(); ++host) {
    if (is_in_first_half(topology, host)) {
      flow.add_edge(source, host, all);
    } else {
      flow.add_edge(host, sink, all);
    }
  }
  return Bandwidth{flow.from(source, sink)};
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
