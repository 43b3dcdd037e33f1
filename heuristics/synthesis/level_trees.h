// Trees as shallow as the network, of which every link carries as much in every round: all-gather
// and reduce-scatter on tori, hypercubes and full meshes.
//
// Where shifts (shifts.h) map any rank to any other, the trees of all ranks are the images of those
// of one, and links that shifts map onto each other, one from each rank, carry the same. A rank d
// hops from the root is reached by one of the links that lead to it from d - 1 hops; which of them,
// in how many of the root's trees, is a flow: every level's ranks are dealt out to the kinds of
// links so that the fullest kind is as empty as can be. On every torus tried as many trees of each
// root as a rank has links are dealt out evenly in all levels, so that one piece of each takes the
// time of the bound and the fewest hops there are.
#pragma once

#include <vector>

#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// The fewest equally heavy trees whose rounds of one piece take no longer than `target` seconds a
/// byte, within `tolerance`; none if no number tried does. `shifts`: one for each rank, which maps
/// rank 0 there. Requires links that are alike in both directions.
TreePacking level_trees(const Topology& topology, CollectiveKind goal, const RankPaths& paths,
                        const std::vector<std::vector<Rank>>& shifts, double target,
                        double tolerance);

}  // namespace collbench
