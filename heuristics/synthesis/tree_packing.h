// Trees over the ranks of a network whose loads fill its links: what a synthesised schedule plays.
//
// The vector is split over trees; a tree's weight is its share. An edge loads every link on the
// way between its ranks (rank_paths.h). All-reduce reduces along a tree to its root and broadcasts
// along another from there; all-gather broadcasts and reduce-scatter reduces, and every rank roots
// an equal share. Weights minimise the time of the fullest link:
//
//   minimise max over links of load / capacity   with weights that add up to 1 (of every root).
//
// Solved by column generation: prices of links say which trees are cheapest, which the linear
// program then weighs. Prices are smoothed towards those of the best bound so far (Wentges 1997).
#pragma once

#include <vector>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"
#include "topologies/topology.h"

namespace collbench {

struct PackedTree {
  Rank root = 0;
  double weight = 0;            // share of the vector, above 0
  std::vector<Rank> reduce;     // parent of each rank, -1 at the root; empty: does not reduce
  std::vector<Rank> broadcast;  // the same; empty: does not broadcast
};

struct TreePacking {
  CollectiveKind goal = CollectiveKind::all_reduce;
  int ranks = 0;
  std::vector<PackedTree> trees;  // by root
  double seconds_per_byte = 0;    // of the whole vector: of the fullest link
};

/// Packs until the time is within `tolerance` of `target` (seconds per byte, a bound) or cannot be
/// improved with the routes of the topology. Requires a goal without a root and at least 2 ranks.
/// Throws InvalidArgument if a rank cannot be reached without passing through others.
TreePacking pack_trees(const Topology& topology, CollectiveKind goal, double target,
                       double tolerance = 5e-4);

/// Trees of the fewest hops: of all-reduce one, from the middle of the network; otherwise one of
/// every root. Requires and throws as pack_trees().
TreePacking shallow_trees(const Topology& topology, CollectiveKind goal);

/// Bytes that cross each link per byte of the vector.
std::vector<double> link_loads(const Topology& topology, const std::vector<PackedTree>& trees);
/// The time of the fullest link, recomputed from the trees.
double seconds_per_byte(const Topology& topology, const std::vector<PackedTree>& trees);

}  // namespace collbench
