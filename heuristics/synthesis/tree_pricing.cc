#include "heuristics/synthesis/tree_pricing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

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

/// The depth as a sum over all ranks, in which the deepest count most.
double deepness_of(const std::vector<Rank>& parents) {
  double sum = parents.empty() ? 1 : 0;
  for (const int depth : depths(parents)) sum += std::exp2(depth);
  return std::log2(sum);
}

}  // namespace

TreeLoads loads_of(const RankPaths& paths, const PackedTree& tree) {
  TreeLoads used;
  for_each_message(tree, [&](Rank from, Rank to) {
    paths.for_each_link(from, to,
                        [&](LinkId link, double share) { used.emplace_back(link, share); });
  });
  std::sort(used.begin(), used.end());
  TreeLoads loads;
  for (const auto& [link, share] : used) {
    if (loads.empty() || loads.back().first != link) loads.emplace_back(link, 0);
    loads.back().second += share;
  }
  return loads;
}

TreePricer::TreePricer(const Topology& topology, CollectiveKind goal, LateRanks late,
                       WayChoice choice)
    : topology_(topology),
      goal_(goal),
      late_(std::move(late)),
      ranks_(topology.hosts()),
      paths_(topology),
      choice_(choice),
      is_bidirectional_(late_.ranks.empty() && capacity_graph(topology).is_bidirectional()) {
  const std::size_t links = topology.links().size();
  for (std::size_t l = 0; l < (late_.ranks.empty() ? links : 2 * links); ++l) {
    const double capacity = topology.capacity(static_cast<LinkId>(l % links));
    capacity_.push_back(l < links ? capacity : capacity * late_.early_time);
    total_ += capacity_.back();
  }
  for (double& capacity : capacity_) capacity /= total_;
}

bool TreePricer::shares_trees() const {
  return goal_ != CollectiveKind::all_reduce && is_bidirectional_ && ranks_ > most_own_trees;
}

PairCosts TreePricer::pair_costs(std::span<const double> prices) const {
  return collbench::pair_costs(paths_, [&](LinkId link) { return prices[link]; });
}

double TreePricer::cost_of(const PackedTree& tree, const PairCosts& costs) const {
  double cost = 0;
  for_each_message(tree, [&](Rank from, Rank to) { cost += costs.at(from, to); });
  if (!std::isfinite(cost)) refuse_no_tree(topology_);
  return cost;
}

double TreePricer::price(const std::vector<double>& prices) {
  if (!late_.ranks.empty()) return price_late(prices);
  choose_ways(prices);
  const PairCosts costs = pair_costs(prices);
  if (is_bidirectional_ && !has_equal_roots()) {
    // Of a shared tree the directions of an edge add up to one message.
    return keep(spanning(costs, 0, 1e-9), costs) * (shares_trees() ? 0.5 : 1);
  }
  return price_every_root(costs);
}

double TreePricer::price_every_root(const PairCosts& costs) {
  PairCosts turned = costs;
  for (Rank a = 0; a < ranks_; ++a) {
    for (Rank b = 0; b < ranks_; ++b) turned.at(a, b) = costs.at(b, a);
  }
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  for (Rank root = 0; root < ranks_; ++root) {
    PackedTree tree;
    tree.root = root;
    tree.waits = !late_.ranks.empty();
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

double TreePricer::price_late(const std::vector<double>& prices) {
  const std::size_t links = topology_.links().size();
  const PairCosts costs = pair_costs(std::span(prices).first(links));
  const PairCosts early = pair_costs(std::span(prices).last(links));
  double least = std::numeric_limits<double>::infinity();
  for (Rank root = 0; root < ranks_; ++root) {
    if (std::binary_search(late_.ranks.begin(), late_.ranks.end(), root)) continue;
    PackedTree tree{root, 0, late_reduction(early, costs, root), {}};
    if (tree.reduce.empty()) continue;
    tree.broadcast = cheapest_arborescence(costs, root);
    TreeLoads loads = late_loads(tree);
    double cost = 0;
    for (const auto& [link, messages] : loads) cost += prices[link] * messages;
    least = std::min(least, cost);
    keep(std::move(tree), std::move(loads));
  }
  require(std::isfinite(least),
          fmt::format("{}: without the late ranks the others cannot add up", topology_.name()));
  return std::min(least, price_every_root(costs));
}

std::vector<Rank> TreePricer::late_reduction(const PairCosts& early, const PairCosts& costs,
                                             Rank root) const {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double forbidden = 1e30;  // a number, so that there is a tree to look at
  // The ways of the late ranks, cheapest first from the root (Dijkstra 1959).
  std::vector<double> distance(ranks_, infinite);
  std::vector<Rank> next(ranks_, -1);
  std::vector<bool> is_done(ranks_, false);
  distance[root] = 0;
  for (int step = 0; step < ranks_; ++step) {
    Rank at = -1;
    for (Rank r = 0; r < ranks_; ++r) {
      if (!is_done[r] && (at < 0 || distance[r] < distance[at])) at = r;
    }
    is_done[at] = true;
    for (Rank r = 0; r < ranks_; ++r) {
      if (is_done[r] || distance[at] + costs.at(r, at) >= distance[r]) continue;
      distance[r] = distance[at] + costs.at(r, at);
      next[r] = at;
    }
  }
  PairCosts turned = early;
  for (Rank a = 0; a < ranks_; ++a) {
    for (Rank b = 0; b < ranks_; ++b) turned.at(a, b) = std::min(forbidden, early.at(b, a));
  }
  // Nothing is sent early to a late rank; ranks on the ways keep their parents.
  for (const Rank rank : late_.ranks) {
    for (Rank r = 0; r < ranks_; ++r) turned.at(rank, r) = forbidden;
  }
  for (const Rank rank : late_.ranks) {
    for (Rank at = rank; at != root && next[at] >= 0; at = next[at]) {
      for (Rank r = 0; r < ranks_; ++r) turned.at(r, at) = forbidden;
      turned.at(next[at], at) = 0;
    }
  }
  std::vector<Rank> parents = cheapest_arborescence(turned, root);
  for (Rank r = 0; r < ranks_; ++r) {
    if (r != root && turned.at(parents[r], r) == forbidden) return {};
  }
  return parents;
}

TreeLoads TreePricer::late_loads(const PackedTree& tree) const {
  const auto links = static_cast<LinkId>(topology_.links().size());
  const std::vector<bool> is_late = late_edges(tree, late_.ranks);
  std::map<LinkId, double> loads;
  for (Rank r = 0; r < ranks_; ++r) {
    if (r == tree.root) continue;
    for (const LinkId link : paths_.links(tree.broadcast[r], r)) loads[link] += 1;
    for (const LinkId link : paths_.links(r, tree.reduce[r])) {
      loads[is_late[r] ? link : link + links] += 1;
    }
  }
  return {loads.begin(), loads.end()};
}

bool TreePricer::price_shallow(const std::vector<double>& prices, Rank start) {
  constexpr double tolerance = 0.05;
  if (!is_bidirectional_ || has_equal_roots()) return false;
  choose_ways(prices);
  const PairCosts costs = pair_costs(prices);
  keep(spanning(costs, start % ranks_, tolerance), costs);
  return true;
}

PackedTree TreePricer::spanning(const PairCosts& costs, Rank start, double tolerance) const {
  return tree_along(CollectiveKind::all_reduce,
                    cheapest_spanning_tree(costs.ranks, both_ways(costs), start, tolerance));
}

double TreePricer::keep(PackedTree tree, const PairCosts& costs) {
  const double cost = cost_of(tree, costs);
  TreeLoads flat = shares_trees() ? shared_loads(tree.broadcast) : loads_of(paths_, tree);
  keep(std::move(tree), std::move(flat));
  return cost;
}

std::size_t TreePricer::HashOfTree::operator()(const KnownTree& tree) const {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;  // odd
  auto mixed = static_cast<std::uint64_t>(tree.first);
  for (const auto& [link, messages] : tree.second) {
    mixed = (mixed ^ static_cast<std::uint64_t>(link) ^ std::bit_cast<std::uint64_t>(messages)) *
            factor;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

std::size_t TreePricer::keep(PackedTree tree, TreeLoads loads) {
  const Rank key = has_equal_roots() || !is_bidirectional_ ? tree.root : 0;
  const auto [known, is_new] = known_.emplace(std::pair{key, loads}, trees_.size());
  if (!is_new) return known->second;
  ways_.push_back(way_of(tree));
  deepness_.push_back(deepness_of(tree.reduce) + deepness_of(tree.broadcast));
  trees_.push_back(std::move(tree));
  loads_.push_back(std::move(loads));
  return known->second;
}

void TreePricer::choose_ways(const std::vector<double>& prices) {
  if (choice_ == WayChoice::cheapest) paths_ = RankPaths(topology_, prices);
}

std::size_t TreePricer::with_moved_edge(std::size_t number, const PairCosts& more,
                                        const PairCosts& less, double hop, int turn) {
  PackedTree tree = trees_[number];
  double least = 0;
  Rank* moved = nullptr;
  Rank new_parent = -1;
  for (std::vector<Rank>* parents : {&tree.reduce, &tree.broadcast}) {
    if (parents->empty()) continue;
    const bool away = parents == &tree.broadcast;
    const std::vector<int> depth = depths(*parents);
    std::vector<bool> below(static_cast<std::size_t>(ranks_) * ranks_, false);  // rank, of rank
    std::vector<double> deep(ranks_, 0);                                        // of all below each
    for (Rank r = 0; r < ranks_; ++r) {
      for (Rank at = r; at >= 0; at = (*parents)[at]) {
        below[static_cast<std::size_t>(r) * ranks_ + at] = true;
        deep[at] += std::exp2(depth[r]);
      }
    }
    const double all = deep[tree.root];
    for (int i = 0; i < ranks_; ++i) {
      const Rank r = (turn + i) % ranks_;
      if (r == tree.root) continue;
      const Rank old = (*parents)[r];
      const double saved = away ? less.at(old, r) : less.at(r, old);
      // What a hop of all below r less or more makes of the tree's deepness.
      const auto by = [&](int hops) {
        return hop * std::log2(1 + deep[r] / all * (std::exp2(hops) - 1));
      };
      const double at_best = by(1 - depth[r]);
      for (int j = 0; j < ranks_; ++j) {
        const Rank p = (turn + j) % ranks_;
        if (p == old || below[static_cast<std::size_t>(p) * ranks_ + r]) continue;
        double costs = (away ? more.at(p, r) : more.at(r, p)) - saved;
        if (costs + at_best >= least) continue;
        costs += by(depth[p] + 1 - depth[r]);
        if (costs >= least) continue;
        least = costs;
        moved = &(*parents)[r];
        new_parent = p;
      }
    }
  }
  if (moved == nullptr) return number;
  *moved = new_parent;
  TreeLoads loads = loads_of(paths_, tree);
  return keep(std::move(tree), std::move(loads));
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
  packed.late = late_.ranks;
  if (packed.late.empty()) {
    packed.seconds_per_byte = seconds_per_byte(topology_, packed.trees);
    return packed;
  }
  const std::size_t links = topology_.links().size();
  std::vector<double> load(2 * links, 0);
  for (const PackedTree& tree : packed.trees) {
    for (const auto& [link, count] : late_loads(tree)) load[link] += count * tree.weight;
  }
  for (std::size_t l = 0; l < load.size(); ++l) {
    const double time = load[l] / topology_.capacity(static_cast<LinkId>(l % links));
    double& most = l < links ? packed.seconds_per_byte : packed.early_seconds_per_byte;
    most = std::max(most, time);
  }
  return packed;
}

}  // namespace collbench
