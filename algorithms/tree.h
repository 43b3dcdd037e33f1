// All-reduce along a given tree of ranks: sums flow to the root, the result flows back.
#pragma once

#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// Reduces the whole vector (1 chunk) to the root and broadcasts it, in 2 * height rounds.
/// parents[r] is the parent of rank r, -1 for the root. Children are added in rank order.
Schedule tree_all_reduce(const std::vector<Rank>& parents);

/// The parents of both trees of a double binary tree over `ranks` ranks: every rank is a leaf of
/// one of them (for even n) and has at most two children in the other.
/// Source: Sanders, Speck, Traeff 2009; NCCL 2.4 uses the same trees between nodes.
std::vector<std::vector<Rank>> double_tree_parents(int ranks);

}  // namespace collbench
