// The trees that a packing chooses from: those which are cheapest at some prices of the links.
//
// Column generation asks for them with prices of its linear program, the search for equal trees
// with prices that grow with what links carry already.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"
#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// How often each link carries what follows a tree, ascending.
using TreeLoads = std::vector<std::pair<LinkId, double>>;
TreeLoads loads_of(const RankPaths& paths, const PackedTree& tree);

/// Which way messages between two ranks take: that of the network, or the cheapest at the prices
/// that a tree is asked for with.
enum class WayChoice : std::uint8_t { of_network, cheapest };

/// Trees without weights, and what each loads. Thread safety: none.
class TreePricer {
 public:
  /// With `late` ranks every link stands twice: as used after they have come, and before. Ways are
  /// not chosen for them.
  TreePricer(const Topology& topology, CollectiveKind goal, LateRanks late = {},
             WayChoice choice = WayChoice::of_network);

  /// Adds the cheapest trees to those known; returns the time that these prices prove no packing
  /// can beat, where each link's price is that of all its capacity, a share of total(). Throws
  /// InvalidArgument if a rank cannot be reached without passing through others.
  double price(const std::vector<double>& prices);
  /// Adds one that may be a little dearer but is less deep, about `start`. Only where links are
  /// alike in both directions and roots are free; elsewhere it adds none and returns false.
  bool price_shallow(const std::vector<double>& prices, Rank start);

  /// The cost of a message between each pair of ranks.
  PairCosts pair_costs(std::span<const double> prices) const;
  /// The number of the tree that is known tree `number` but that one rank has another parent, where
  /// that saves most: `more` is what one message more costs and `less` what one less saves, `hop`
  /// what deepness does. It is `number` itself if nothing saves. Of equal moves
  /// `turn` says which. Requires moves_edges().
  std::size_t with_moved_edge(std::size_t number, const PairCosts& more, const PairCosts& less,
                              double hop, int turn);
  /// Whether trees load links edge by edge: those that roots share do not, and those with late
  /// ranks not alike.
  bool moves_edges() const { return late_.ranks.empty() && !shares_trees(); }

  const std::vector<PackedTree>& trees() const { return trees_; }
  const std::vector<TreeLoads>& loads() const { return loads_; }
  const std::vector<int>& ways() const { return ways_; }
  /// About the way, and the more ranks are far from the root the more: what single moves lessen.
  const std::vector<double>& deepness() const { return deepness_; }
  /// Of each link, as a share of total() bytes per second.
  const std::vector<double>& capacity() const { return capacity_; }
  double total() const { return total_; }
  int ranks() const { return ranks_; }

  /// Equal roots may share their trees, which makes programs small: a tree then loads both
  /// directions of an edge by the ranks on either side. It loses where links are not alike in both
  /// directions, so few ranks have trees of their own.
  bool shares_trees() const;
  /// How many sets of trees have to carry equal parts: one of each rank, or all together.
  int roots() const { return has_equal_roots() ? ranks_ : 1; }
  int root_of(const PackedTree& tree) const { return has_equal_roots() ? tree.root : 0; }
  /// The mean of both directions, which prices of shared trees are.
  void make_even(std::vector<double>& prices) const;

  /// `weighted` trees as a packing: those shared once for each root, all by root.
  TreePacking packing(std::vector<PackedTree> weighted) const;

 private:
  bool has_equal_roots() const { return goal_ != CollectiveKind::all_reduce && !shares_trees(); }
  void choose_ways(const std::vector<double>& prices);
  double cost_of(const PackedTree& tree, const PairCosts& costs) const;
  // The cheapest tree about each root, and what price() returns.
  double price_every_root(const PairCosts& costs);
  double price_late(const std::vector<double>& prices);
  // Empty if the ranks that are not late cannot add up without the others.
  std::vector<Rank> late_reduction(const PairCosts& early, const PairCosts& costs, Rank root) const;
  TreeLoads late_loads(const PackedTree& tree) const;
  PackedTree spanning(const PairCosts& costs, Rank start, double tolerance) const;
  double keep(PackedTree tree, const PairCosts& costs);
  std::size_t keep(PackedTree tree, TreeLoads loads);
  TreeLoads shared_loads(const std::vector<Rank>& parents) const;
  std::vector<PackedTree> of_all_roots(const std::vector<PackedTree>& shared) const;

  Topology topology_;
  CollectiveKind goal_;
  LateRanks late_;
  int ranks_;
  RankPaths paths_;
  WayChoice choice_;
  bool is_bidirectional_;
  std::vector<double> capacity_;
  double total_ = 0;
  std::vector<PackedTree> trees_;
  std::vector<TreeLoads> loads_;
  std::vector<int> ways_;
  std::vector<double> deepness_;
  using KnownTree = std::pair<Rank, TreeLoads>;
  struct HashOfTree {
    std::size_t operator()(const KnownTree& tree) const;
  };
  std::unordered_map<KnownTree, std::size_t, HashOfTree> known_;
};

}  // namespace collbench
