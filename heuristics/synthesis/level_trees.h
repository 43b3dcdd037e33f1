// Trees as shallow as the network: all-gather and reduce-scatter where ranks are joined directly,
// as on tori, meshes, hypercubes and full meshes, damaged ones included.
//
// In a tree of the fewest hops a rank hangs from any neighbour that is a hop nearer to the root,
// and that choice binds no other rank. So every rank deals out by itself what reaches it, from all
// roots and level by level, to the links that lead to it: a flow, by which the fullest of them is
// as empty as can be in every round. On every torus tried as many trees of each root as a rank has
// links come out even, so that one piece of each takes the time of the bound and the fewest hops
// there are; on a mesh its corners are always busy while trees follow each other.
#pragma once

#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// Equally heavy trees of the fewest hops that take no longer than `target` seconds a byte, within
/// `tolerance`: the fewest that do so in rounds of one piece, where the levels allow that, or else
/// by what links carry in all (not for all-reduce, whose roots need not be everywhere). None if no
/// number tried does, or if not all ranks can be reached over links between ranks.
TreePacking level_trees(const Topology& topology, CollectiveKind goal, double target,
                        double tolerance);

}  // namespace collbench
