// Packings of networks that are too large or too uneven for the linear program: equally heavy
// trees, grown one after the other.
//
// A link's price rises exponentially with how full it is, and each tree is the cheapest at the
// prices that those before it leave (as in multiplicative weights: Plotkin, Shmoys, Tardos 1995;
// Garg, Koenemann 1998). Then trees are taken out and grown anew at steeper and steeper prices, as
// long as the network gets less full. A tree does not see what its own edges load while it grows,
// so in the end single edges that cross the fullest link are exchanged. What is left above the
// bound is the grain: a link that few trees cross is filled by whole trees only, so their number is
// doubled until it is small.
#pragma once

#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// The fewest trees within `tolerance` of `target` seconds per byte, or the best of at most `most`;
/// none if edges that lead both ways do not join all ranks, or `most` is less than one for each
/// rank where each roots an equal share. O(trees * ranks^2). Requires a goal without a root, at
/// least 2 ranks and most > 0.
TreePacking grown_trees(const Topology& topology, CollectiveKind goal, double target,
                        double tolerance, int most);

}  // namespace collbench
