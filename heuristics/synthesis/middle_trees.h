// Trees for all-reduces where ranks are joined directly and the network has a middle: meshes,
// slices of tori, damaged ones.
//
// There an all-reduce is faster with roots of its own than as reduce-scatter and all-gather, and
// the packing is one of undirected trees: what goes up an edge comes down again. Each tree here is
// of the fewest hops from its root, so that a rank hangs from any neighbour that is a hop nearer,
// and roots are as near to the middle as links allow. Which neighbours they are is one flow, from
// (root, rank) through cables that carry as many trees as the bound gives them. Trees are dealt out
// to the ranks of one copy of what shifts repeat (shifts.h); the others are their images.
#pragma once

#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// Equally heavy trees for an all-reduce that take no longer than `target` seconds a byte, within
/// `tolerance`: the fewest of up to 512. None if none are found in a second or two, if links are
/// not alike in both directions, where there are switches, or beyond 1,024 ranks.
TreePacking middle_trees(const Topology& topology, double target, double tolerance);

}  // namespace collbench
