#include "heuristics/synthesis/level_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "heuristics/synthesis/capacity_graph.h"
#include "heuristics/synthesis/max_flow.h"

namespace collbench {
namespace {

/// How many hops ranks are from each other, and which links they may hang by.
class LevelDealer {
 public:
  /// `is_reduction`: edges lead from child to parent.
  LevelDealer(const Topology& topology, bool is_reduction)
      : ranks_(topology.hosts()),
        edges_(static_cast<std::size_t>(ranks_)),
        roots_by_depth_(edges_.size()) {
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      const Link& link = topology.links()[l];
      const Rank parent = is_reduction ? link.to : link.from;
      const Rank child = is_reduction ? link.from : link.to;
      if (parent >= ranks_ || child >= ranks_) continue;
      edges_[child].push_back({parent, topology.capacity(static_cast<LinkId>(l))});
    }
    std::vector<std::vector<Rank>> children(edges_.size());
    for (Rank child = 0; child < ranks_; ++child) {
      for (const Edge& edge : edges_[child]) children[edge.parent].push_back(child);
    }
    depth_.assign(edges_.size(), std::vector<int>(edges_.size(), -1));
    for (Rank root = 0; root < ranks_; ++root) {
      std::vector<int>& depth = depth_[root];
      depth[root] = 0;
      std::vector<Rank> reached{root};
      for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const Rank child : children[reached[i]]) {
          if (depth[child] >= 0) continue;
          depth[child] = depth[reached[i]] + 1;
          reached.push_back(child);
          auto& levels = roots_by_depth_[child];
          if (std::ssize(levels) < depth[child]) levels.resize(depth[child]);
          levels[depth[child] - 1].push_back(root);
        }
      }
      reaches_all_ = reaches_all_ && std::ssize(reached) == ranks_;
    }
  }

  bool reaches_all() const { return reaches_all_; }

  /// What rounds of one piece take at least, in seconds for a byte of one tree of each root.
  double least_seconds() const {
    std::vector<double> seconds;
    for (Rank child = 0; child < ranks_; ++child) {
      const auto& levels = roots_by_depth_[child];
      seconds.resize(std::max(seconds.size(), levels.size()), 0);
      for (std::size_t d = 0; d < levels.size(); ++d) {
        const auto roots = static_cast<double>(levels[d].size());
        seconds[d] = std::max(seconds[d], roots / rate_towards(child, levels[d]));
      }
    }
    return sum(seconds);
  }

  using Parents = std::vector<std::vector<Rank>>;  // by root, and tree of it
  /// So many trees of each root; none if they take more than `enough` seconds for a byte of each
  /// tree: in rounds of one piece, or else by the link that carries most in all.
  std::optional<Parents> deal(int trees, double enough, bool in_rounds) const {
    Parents parents(edges_.size() * trees, std::vector<Rank>(edges_.size(), -1));
    double of_fullest = 0;
    std::vector<double> seconds;
    for (Rank child = 0; child < ranks_; ++child) {
      const auto& levels = roots_by_depth_[child];
      seconds.resize(std::max(seconds.size(), levels.size()), 0);
      std::vector<std::int64_t> carried(edges_[child].size(), 0);
      for (std::size_t d = 0; d < levels.size(); ++d) {
        const double of_level = deal_level(child, levels[d], trees, parents, carried);
        seconds[d] = std::max(seconds[d], of_level);
      }
      for (std::size_t e = 0; e < carried.size(); ++e) {
        const double time = static_cast<double>(carried[e]) / edges_[child][e].capacity;
        of_fullest = std::max(of_fullest, time);
      }
      if ((in_rounds ? sum(seconds) : of_fullest) > enough) return std::nullopt;
    }
    return parents;
  }

 private:
  struct Edge {
    Rank parent;
    double capacity;
  };

  static double sum(const std::vector<double>& seconds) {
    double all = 0;
    for (const double each : seconds) all += each;
    return all;
  }

  bool is_nearer(Rank root, Rank parent, Rank child) const {
    return depth_[root][parent] == depth_[root][child] - 1;
  }

  double rate_towards(Rank child, const std::vector<Rank>& roots) const {
    double all = 0;
    for (const Edge& edge : edges_[child]) {
      const auto leads = [&](Rank root) { return is_nearer(root, edge.parent, child); };
      if (std::ranges::any_of(roots, leads)) all += edge.capacity;
    }
    return all;
  }

  /// `roots` are equally far from the child. Adds to what its edges carry.
  double deal_level(Rank child, const std::vector<Rank>& roots, int trees,
                    std::vector<std::vector<Rank>>& parents,
                    std::vector<std::int64_t>& carried) const {
    const std::vector<Edge>& edges = edges_[child];
    constexpr int source = 0;
    constexpr int sink = 1;
    const int first_edge = 2 + static_cast<int>(roots.size());
    MaxFlow<std::int64_t> flow(first_edge + static_cast<int>(edges.size()));
    struct Choice {
      Rank root;
      Rank parent;
      int arc;
    };
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const int vertex = 2 + static_cast<int>(i);
      flow.set_capacity(flow.add_arc(source, vertex), trees);
      for (std::size_t e = 0; e < edges.size(); ++e) {
        if (!is_nearer(roots[i], edges[e].parent, child)) continue;
        const int arc = flow.add_arc(vertex, first_edge + static_cast<int>(e));
        flow.set_capacity(arc, trees);
        choices.push_back({roots[i], edges[e].parent, arc});
      }
    }
    std::vector<int> out;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      out.push_back(flow.add_arc(first_edge + static_cast<int>(e), sink));
    }
    // The next number of trees that some edge can carry, until all have room.
    const std::int64_t wanted = trees * std::ssize(roots);
    double seconds = static_cast<double>(wanted) / rate_towards(child, roots);
    for (;;) {
      double next = std::numeric_limits<double>::infinity();
      for (std::size_t e = 0; e < edges.size(); ++e) {
        const double room = std::floor(seconds * edges[e].capacity * (1 + 1e-9));
        flow.set_capacity(out[e], static_cast<std::int64_t>(room));
        next = std::min(next, (room + 1) / edges[e].capacity);
      }
      if (flow.solve(source, sink, wanted) == wanted) break;
      seconds = next;
    }
    for (std::size_t e = 0; e < edges.size(); ++e) carried[e] += flow.flow(out[e]);
    std::size_t given = 0;  // of the root's trees; choices are by root
    for (std::size_t c = 0; c < choices.size(); ++c) {
      const auto& [root, parent, arc] = choices[c];
      if (c == 0 || choices[c - 1].root != root) given = static_cast<std::size_t>(root) * trees;
      for (std::int64_t i = flow.flow(arc); i > 0; --i) parents[given++][child] = parent;
    }
    return seconds;
  }

  int ranks_;
  std::vector<std::vector<Edge>> edges_;                        // by child
  std::vector<std::vector<int>> depth_;                         // by root, and rank
  std::vector<std::vector<std::vector<Rank>>> roots_by_depth_;  // by child, and depth from 1 on
  bool reaches_all_ = true;
};

}  // namespace

TreePacking level_trees(const Topology& topology, CollectiveKind goal, double target,
                        double tolerance) {
  constexpr int most_ranks = 1024;
  constexpr int most_trees = 16;  // of a root
  const int ranks = topology.hosts();
  TreePacking packing{goal, ranks, {}, 0};
  const bool is_sum_and_copy = goal == CollectiveKind::all_reduce;
  if (ranks > most_ranks || (is_sum_and_copy && !capacity_graph(topology).is_bidirectional())) {
    return packing;
  }
  const LevelDealer dealer(topology, goal == CollectiveKind::reduce_scatter);
  if (!dealer.reaches_all()) return packing;
  const double enough = target * ranks * (1 + tolerance) / (is_sum_and_copy ? 2 : 1);
  const bool fills_rounds = dealer.least_seconds() <= enough;
  // An all-reduce may have all its roots in the middle, half as many hops from the farthest rank.
  if (is_sum_and_copy && !fills_rounds) return packing;
  for (int trees = 1; trees <= most_trees; ++trees) {
    std::optional<LevelDealer::Parents> dealt = dealer.deal(trees, enough * trees, fills_rounds);
    if (!dealt) continue;
    packing.trees.clear();
    for (std::vector<Rank>& parents : *dealt) {
      packing.trees.push_back(
          tree_along(goal, std::move(parents), 1.0 / static_cast<double>(dealt->size())));
    }
    // Routes need not take the links that were dealt out.
    packing.seconds_per_byte = seconds_per_byte(topology, packing.trees);
    if (packing.seconds_per_byte <= target * (1 + tolerance)) return packing;
  }
  return {goal, ranks, {}, 0};
}

}  // namespace collbench
