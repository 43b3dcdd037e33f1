#include "heuristics/synthesis/tree_pricing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/capacity_graph.h"

namespace collbench {
namespace {

constexpr int most_own_trees = 24;  // ranks, of all-gather and reduce-scatter

/// How many ranks lie below each, itself included.
std::vector<int> subtree_sizes(const std::vector<Rank>& parents) {
  std::vector<int> size(parents.size(), 0);
  for (std::size_t r = 0; r < parents.size(); ++r) {
    for (Rank at = static_cast<Rank>(r); at >= 0; at = parents[at]) ++size[at];
  }
  return size;
}

}  // namespace

TreeLoads loads_of(const RankPaths& paths, const PackedTree& tree) {
  std::vector<LinkId> used;
  const auto use = [&](Rank from, Rank to) {
    const auto links = paths.links(from, to);
    used.insert(used.end(), links.begin(), links.end());
  };
  for (Rank r = 0; r < paths.ranks(); ++r) {
    if (r == tree.root) continue;
    if (!tree.broadcast.empty()) use(tree.broadcast[r], r);
    if (!tree.reduce.empty()) use(r, tree.reduce[r]);
  }
  std::sort(used.begin(), used.end());
  TreeLoads loads;
  for (const LinkId link : used) {
    if (loads.empty() || loads.back().first != link) loads.emplace_back(link, 0);
    loads.back().second += 1;
  }
  return loads;
}

TreePricer::TreePricer(const Topology& topology, CollectiveKind goal)
    : topology_(topology),
      goal_(goal),
      ranks_(topology.hosts()),
      paths_(topology),
      is_bidirectional_(capacity_graph(topology).is_bidirectional()) {
  for (std::size_t l = 0; l < topology.links().size(); ++l) {
    capacity_.push_back(topology.capacity(static_cast<LinkId>(l)));
    total_ += capacity_.back();
  }
  for (double& capacity : capacity_) capacity /= total_;
}

bool TreePricer::shares_trees() const {
  return goal_ != CollectiveKind::all_reduce && is_bidirectional_ && ranks_ > most_own_trees;
}

PairCosts TreePricer::pair_costs(const std::vector<double>& prices) const {
  PairCosts costs{ranks_, std::vector<double>(static_cast<std::size_t>(ranks_) * ranks_,
                                              std::numeric_limits<double>::infinity())};
  for (Rank from = 0; from < ranks_; ++from) {
    for (Rank to = 0; to < ranks_; ++to) {
      const auto links = paths_.links(from, to);
      if (links.empty()) continue;
      double cost = 0;
      for (const LinkId link : links) cost += prices[link];
      costs.at(from, to) = cost;
    }
  }
  return costs;
}

double TreePricer::cost_of(const PackedTree& tree, const PairCosts& costs) const {
  double cost = 0;
  for (Rank r = 0; r < ranks_; ++r) {
    if (r == tree.root) continue;
    if (!tree.broadcast.empty()) cost += costs.at(tree.broadcast[r], r);
    if (!tree.reduce.empty()) cost += costs.at(r, tree.reduce[r]);
  }
  require(std::isfinite(cost),
          fmt::format("{}: no tree of ranks: some reach each other only through others that "
                      "cannot be reached",
                      topology_.name()));
  return cost;
}

double TreePricer::price(const std::vector<double>& prices) {
  const PairCosts costs = pair_costs(prices);
  if (is_bidirectional_ && !has_equal_roots()) {
    // Of a shared tree the directions of an edge add up to one message.
    return keep(spanning(costs, 0, 1e-9), costs) * (shares_trees() ? 0.5 : 1);
  }
  PairCosts turned = costs;
  for (Rank a = 0; a < ranks_; ++a) {
    for (Rank b = 0; b < ranks_; ++b) turned.at(a, b) = costs.at(b, a);
  }
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  for (Rank root = 0; root < ranks_; ++root) {
    PackedTree tree;
    tree.root = root;
    if (goal_ != CollectiveKind::reduce_scatter) {
      tree.broadcast = cheapest_arborescence(costs, root);
    }
    if (goal_ != CollectiveKind::all_gather) tree.reduce = cheapest_arborescence(turned, root);
    const double cost = keep(std::move(tree), costs);
    sum += cost;
    least = std::min(least, cost);
  }
  return has_equal_roots() ? sum / ranks_ : least;
}

bool TreePricer::price_shallow(const std::vector<double>& prices, Rank start) {
  constexpr double tolerance = 0.05;
  if (!is_bidirectional_ || has_equal_roots()) return false;
  const PairCosts costs = pair_costs(prices);
  keep(spanning(costs, start % ranks_, tolerance), costs);
  return true;
}

PackedTree TreePricer::spanning(const PairCosts& costs, Rank start, double tolerance) const {
  PackedTree tree;
  tree.broadcast = cheapest_spanning_tree(costs, start, tolerance);
  tree.reduce = tree.broadcast;
  tree.root = static_cast<Rank>(std::find(tree.broadcast.begin(), tree.broadcast.end(), -1) -
                                tree.broadcast.begin());
  return tree;
}

double TreePricer::keep(PackedTree tree, const PairCosts& costs) {
  const double cost = cost_of(tree, costs);
  const Rank key = has_equal_roots() || !is_bidirectional_ ? tree.root : 0;
  TreeLoads flat = shares_trees() ? shared_loads(tree.broadcast) : loads_of(paths_, tree);
  if (known_.emplace(std::pair{key, flat}, trees_.size()).second) {
    ways_.push_back(way_of(tree));
    trees_.push_back(std::move(tree));
    loads_.push_back(std::move(flat));
  }
  return cost;
}

void TreePricer::make_even(std::vector<double>& prices) const {
  std::map<std::pair<Vertex, Vertex>, std::pair<double, int>> sums;
  const auto key = [](const Link& link) { return std::minmax(link.from, link.to); };
  for (std::size_t l = 0; l < prices.size(); ++l) {
    auto& [sum, count] = sums[key(topology_.links()[l])];
    sum += prices[l];
    ++count;
  }
  for (std::size_t l = 0; l < prices.size(); ++l) {
    const auto& [sum, count] = sums[key(topology_.links()[l])];
    prices[l] = sum / count;
  }
}

TreeLoads TreePricer::shared_loads(const std::vector<Rank>& parents) const {
  const std::vector<int> size = subtree_sizes(parents);
  std::map<LinkId, double> loads;
  for (Rank r = 0; r < ranks_; ++r) {
    if (parents[r] < 0) continue;
    const double from_below = static_cast<double>(size[r]) / ranks_;
    const bool gathers = goal_ == CollectiveKind::all_gather;
    const double up = gathers ? from_below : 1 - from_below;
    for (const LinkId link : paths_.links(r, parents[r])) loads[link] += up;
    for (const LinkId link : paths_.links(parents[r], r)) loads[link] += 1 - up;
  }
  return {loads.begin(), loads.end()};
}

std::vector<PackedTree> TreePricer::of_all_roots(const std::vector<PackedTree>& shared) const {
  std::vector<PackedTree> trees;
  for (Rank root = 0; root < ranks_; ++root) {
    for (const PackedTree& tree : shared) {
      PackedTree& own = trees.emplace_back();
      own.root = root;
      own.weight = tree.weight / ranks_;
      const bool gathers = goal_ == CollectiveKind::all_gather;
      (gathers ? own.broadcast : own.reduce) = with_root(tree.broadcast, root);
    }
  }
  return trees;
}

TreePacking TreePricer::packing(std::vector<PackedTree> weighted) const {
  TreePacking packed{goal_, ranks_, std::move(weighted), 0};
  if (shares_trees()) packed.trees = of_all_roots(packed.trees);
  std::stable_sort(packed.trees.begin(), packed.trees.end(),
                   [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });
  packed.seconds_per_byte = seconds_per_byte(topology_, packed.trees);
  return packed;
}

}  // namespace collbench
