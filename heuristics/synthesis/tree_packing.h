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

#include <algorithm>
#include <limits>
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
  bool waits = false;           // for late ranks, with all of it
};

/// Ranks that join an all-reduce late. The others add up before what they can: an edge of a
/// reduction that has no late rank below it is used early, all others and the broadcast after.
/// Trees that wait are for what the others have no time for.
struct LateRanks {
  std::vector<Rank> ranks;  // ascending; empty: none is late
  double early_time = 0;    // what the early part may take, over what follows
};
/// Whether the edge from each rank to its parent is used after the late ranks have come.
std::vector<bool> late_edges(const PackedTree& tree, const std::vector<Rank>& late);

/// Calls use(from, to) for each message of a piece that is copied and added up along the tree.
template <class Use>
void for_each_message(const PackedTree& tree, const Use& use) {
  for (Rank r = 0; r < std::max(std::ssize(tree.broadcast), std::ssize(tree.reduce)); ++r) {
    if (r == tree.root) continue;
    if (!tree.broadcast.empty()) use(tree.broadcast[r], r);
    if (!tree.reduce.empty()) use(r, tree.reduce[r]);
  }
}

/// The rank that has no parent.
inline Rank top_of(const std::vector<Rank>& parents) {
  return static_cast<Rank>(std::ranges::find(parents, -1) - parents.begin());
}
/// The same way there and back, as far as the goal needs both.
PackedTree tree_along(CollectiveKind goal, std::vector<Rank> parents, double weight = 0);
/// Throws InvalidArgument: ranks cannot be reached without passing through others.
[[noreturn]] void refuse_no_tree(const Topology& topology);

/// Hops from the first leaf to the last.
int way_of(const PackedTree& tree);

struct TreePacking {
  CollectiveKind goal = CollectiveKind::all_reduce;
  int ranks = 0;
  std::vector<PackedTree> trees;      // by root
  double seconds_per_byte = 0;        // of the whole vector: of the fullest link
  double least_by_routes = 0;         // no trees over the topology's routes take less; 0: not known
  std::vector<Rank> late{};           // seconds_per_byte is then that after they have come, and
  double early_seconds_per_byte = 0;  // this before
};

/// `whole` is what is better played where messages of `packing` pass several links, or its trees
/// are thousands: equally heavy trees (whole_trees.h). Empty elsewhere, and where the packing is of
/// equal trees already, as on networks that look alike from many ranks (alike_trees.h).
///
/// Those of `fewer` fill links less evenly, but with fewer trees, cut into more pieces each, or
/// in no more hops: for vectors whose time is less that of bytes than that of messages.
struct Packings {
  TreePacking packing;
  TreePacking whole;
  std::vector<TreePacking> fewer{};
};

/// Packs until the time is within 0.05 % of `target` (seconds per byte, a bound) or cannot be
/// improved with the routes of the topology; among equally fast packings one of shallow trees.
/// `equal_trees`: the most for plans that have room for equal pieces only, and so many; 0 for
/// others. Where that packing takes longer than `worth_whole`, no other is made.
/// Requires a goal without a root and at least 2 ranks. Throws InvalidArgument if a rank
/// cannot be reached without passing through others.
Packings pack_trees(const Topology& topology, CollectiveKind goal, double target,
                    int equal_trees = 0,
                    double worth_whole = std::numeric_limits<double>::infinity());

/// Trees as a schedule plays them, equally heavy where messages pass several links, and how the
/// messages of each pair of ranks are to be spread over the ways that links offer, whatever the
/// routes of the topology. Pairs that no tree needs have no ways.
/// Without ways, trees are not faster than `enough`, and `packing.least_by_routes` says what no
/// ways can beat. Requires and throws as pack_trees().
struct RoutedPacking {
  TreePacking packing;
  Ways ways{};
};
RoutedPacking pack_with_ways(const Topology& topology, CollectiveKind goal, double target,
                             int equal_trees, double enough);

/// Trees for an all-reduce with late ranks, whose time is what follows when they have come; without
/// `whole` unless it `makes_whole`, which takes longest. Requires late ranks, but not all. Throws
/// InvalidArgument if the others cannot add up without them.
Packings pack_late_trees(const Topology& topology, const LateRanks& late, int equal_trees = 0,
                         bool makes_whole = true);

/// Trees of the fewest hops, one of every root, which share links as evenly as ties allow. Requires
/// and throws as pack_trees().
TreePacking shallow_trees(const Topology& topology, CollectiveKind goal);
/// The one of these trees that has the fewest hops, alone, for an all-reduce.
TreePacking shallowest_alone(const Topology& topology, const TreePacking& packing);

/// Bytes that cross each link per byte of the vector.
std::vector<double> link_loads(const Topology& topology, const std::vector<PackedTree>& trees);
/// The time of the fullest link, recomputed from the trees.
double seconds_per_byte(const Topology& topology, const std::vector<PackedTree>& trees);

}  // namespace collbench
