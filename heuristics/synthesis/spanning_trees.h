// Cheapest spanning trees of complete graphs: what pricing asks when trees are packed.
#pragma once

#include <cassert>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/synthesis/rank_paths.h"

namespace collbench {

/// The cost of every ordered pair of ranks, row by row; infinity where there is no way.
struct PairCosts {
  int ranks = 0;
  std::vector<double> cost;
  double at(int from, int to) const { return cost[static_cast<std::size_t>(from) * ranks + to]; }
  double operator()(int from, int to) const { return at(from, to); }
  double& at(int from, int to) { return cost[static_cast<std::size_t>(from) * ranks + to]; }
};

/// The sum of price(link) over the way between each two ranks, and of `least`.
template <class Price>
PairCosts pair_costs(const RankPaths& paths, Price price, double least = 0) {
  const int ranks = paths.ranks();
  PairCosts costs;
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

/// The parents of the ranks in the tree of these edges, rooted where it is least deep, at `wanted`
/// if that is such a place.
std::vector<Rank> rooted_in_the_middle(const std::vector<std::vector<Rank>>& neighbours,
                                       Rank wanted);

struct NoTies {};

/// The same for trees whose edges cost as much in either direction: cost(a, b) is that of both, as
/// of both_ways(); rooted_in_the_middle() with `start` wanted. It grows from `start`, and of edges
/// whose costs differ by no more than `tolerance` takes that which ends least far from there, and
/// of those the one with the least ties(a, b). Asks for the cost of each pair once. O(ranks^2).
/// Source: Prim 1957.
template <class Cost, class Ties = NoTies>
std::vector<Rank> cheapest_spanning_tree(int ranks, const Cost& cost, Rank start = 0,
                                         double tolerance = 1e-9, const Ties& ties = {}) {
  constexpr bool has_ties = !std::is_same_v<Ties, NoTies>;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<double> key(ranks, infinite);
  std::vector<double> tie(ranks, infinite);
  std::vector<int> depth(ranks, 0);
  std::vector<Rank> joined(ranks, -1);
  std::vector<Rank> outside;
  std::vector<std::vector<Rank>> neighbours(ranks);
  // From the start on: ties fall alike from every start.
  for (int i = 1; i < ranks; ++i) outside.push_back((start + i) % ranks);
  Rank newest = start;
  while (!outside.empty()) {
    auto next = outside.begin();
    for (auto it = outside.begin(); it != outside.end(); ++it) {
      const Rank v = *it;
      const double cost_of_edge = cost(newest, v);
      double second = 0;
      bool is_tied = false;
      if constexpr (has_ties) {
        second = ties(newest, v);
        is_tied = cost_of_edge <= key[v] * (1 + tolerance) &&
                  std::pair(depth[newest] + 1, second) < std::pair(depth[v], tie[v]);
      }
      if (cost_of_edge < key[v] * (1 - tolerance) || is_tied) {
        key[v] = cost_of_edge;
        tie[v] = second;
        joined[v] = newest;
        depth[v] = depth[newest] + 1;
      }
      const bool is_as_cheap = key[v] <= key[*next] * (1 + tolerance) &&
                               std::pair(depth[v], tie[v]) < std::pair(depth[*next], tie[*next]);
      if (key[v] < key[*next] * (1 - tolerance) || is_as_cheap) next = it;
    }
    newest = *next;
    assert(key[newest] < infinite);
    outside.erase(next);
    neighbours[newest].push_back(joined[newest]);
    neighbours[joined[newest]].push_back(newest);
  }
  return rooted_in_the_middle(neighbours, start);
}

/// The same tree with another root.
std::vector<Rank> with_root(std::vector<Rank> parents, Rank root);

/// By rank, 0 at the root.
std::vector<int> depths(const std::vector<Rank>& parents);
/// Of the deepest rank; 0 if there is no tree.
int depth_of(const std::vector<Rank>& parents);

}  // namespace collbench
