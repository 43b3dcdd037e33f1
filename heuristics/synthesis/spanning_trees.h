// Cheapest spanning trees of complete graphs: what pricing asks when trees are packed.
#pragma once

#include <limits>
#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/synthesis/rank_paths.h"

namespace collbench {

/// The cost of every ordered pair of ranks, row by row; infinity where there is no way.
struct PairCosts {
  int ranks = 0;
  std::vector<double> cost;
  double at(int from, int to) const { return cost[static_cast<std::size_t>(from) * ranks + to]; }
  double& at(int from, int to) { return cost[static_cast<std::size_t>(from) * ranks + to]; }
};

/// The sum of price(link) over the way between each two ranks, and of `least`. In the memory of
/// `costs`, if some is given.
template <class Price>
PairCosts pair_costs(const RankPaths& paths, Price price, double least = 0, PairCosts costs = {}) {
  const int ranks = paths.ranks();
  costs.ranks = ranks;
  costs.cost.assign(static_cast<std::size_t>(ranks) * ranks,
                    std::numeric_limits<double>::infinity());
  for (Rank from = 0; from < ranks; ++from) {
    for (Rank to = 0; to < ranks; ++to) {
      const auto links = paths.links(from, to);
      if (links.empty()) continue;
      double cost = least;
      for (const LinkId link : links) cost += price(link);
      costs.at(from, to) = cost;
    }
  }
  return costs;
}

/// For trees both of whose directions count: the sum of both ways for each pair.
PairCosts both_ways(PairCosts costs);

/// The parent of each rank, -1 at the root, in the cheapest tree whose edges lead away from `root`.
/// Of equally cheap ones a shallow one, but not always the shallowest. Requires that every rank can
/// be reached. O(ranks^3) at worst. Source: Chu, Liu 1965; Edmonds 1967.
std::vector<Rank> cheapest_arborescence(const PairCosts& costs, Rank root);

/// The same for trees whose edges cost as much in either direction (both_ways()); rooted where the
/// tree is then least deep, at `start` if that is such a place. It grows from `start`, and of
/// edges whose costs differ by no more than `tolerance` takes that which ends least far from there,
/// and of those the one that costs least by `ties`, if given. O(ranks^2). Source: Prim 1957.
std::vector<Rank> cheapest_spanning_tree(const PairCosts& costs, Rank start = 0,
                                         double tolerance = 1e-9, const PairCosts* ties = nullptr);

/// The same tree with another root.
std::vector<Rank> with_root(std::vector<Rank> parents, Rank root);

/// By rank, 0 at the root.
std::vector<int> depths(const std::vector<Rank>& parents);
/// Edges below each rank, along its deepest branch.
std::vector<int> heights(const std::vector<Rank>& parents);
/// Of the deepest rank; 0 if there is no tree.
int depth_of(const std::vector<Rank>& parents);

}  // namespace collbench
