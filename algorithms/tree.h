// All-reduce along given trees of ranks: sums flow to the root, the result flows back.
#pragma once

#include <string>
#include <vector>

#include "algorithms/rooted.h"
#include "algorithms/schedule.h"

namespace collbench {

/// Cuts the vector into as many equal parts as there are trees. Each part is reduced to the root of
/// its tree and broadcast, in `segments` equal pieces that follow each other as a train.
/// trees[i][r] is the parent of rank r in tree i, -1 for the root. Children are added in rank
/// order. 2 * height + segments - 1 rounds. Requires trees over equally many ranks, and segments
/// >= 1.
Schedule tree_all_reduce(std::string name, const std::vector<std::vector<Rank>>& trees,
                         int segments);

/// The two ways through one tree, each with its own train: height + segments - 1 rounds.
RootedPhases tree_phases(std::string name, const std::vector<Rank>& parents, int segments);

/// The position i places behind the root hangs below the position (i - 1) / 2 places behind it.
std::vector<Rank> binary_tree_parents(int ranks, Rank root);

/// The position i places behind the root hangs below the one before it.
std::vector<Rank> chain_parents(int ranks, Rank root);

/// The parents of both trees of a double binary tree over `ranks` ranks: every rank is a leaf of
/// one of them (for even n) and has at most two children in the other.
/// Source: Sanders, Speck, Traeff 2009; NCCL 2.4 uses the same trees between nodes.
std::vector<std::vector<Rank>> double_tree_parents(int ranks);

}  // namespace collbench
