// Packed trees as an ordinary schedule: pieces of every tree's share follow each other along it.
//
// In every round each message edge of each tree carries one piece, of as many bytes as the tree's
// weight says, so that a link passes in every round what it passes of the whole vector, over the
// pieces: links are busy for the same part of every round, and no table of rounds is needed. Piece
// p crosses an edge `offset` rounds from the first leaf in round offset + p; reductions, broadcasts
// and pieces overlap. Every sum is made on the way to one root and copied from there, so all ranks
// end with the same bits.
//
// A rank cannot begin a round before it has all messages of the last, so a schedule in step leaves
// links idle for a latency per round. Pieces are therefore dealt out to tracks
// (algorithms/schedule.h), each of which keeps its own step: while the messages of one are under
// way, those of the others use the links. Links share their rate equally, so tracks of equal pieces
// would come into step with each other and all wait at once: their pieces differ.
#pragma once

#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/synthesis/pipelining.h"
#include "heuristics/synthesis/spanning_trees.h"
#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// For all-gather and reduce-scatter rank r has the r-th n-th of the chunks
/// (algorithms/collective.h). Requires a packing of trees. Memory: 16 bytes per end of an edge of a
/// tree.
Schedule packed_schedule(const TreePacking& packing, const Pipelining& pipelining,
                         const std::string& name);

/// Sum of the depths of the deepest tree's reduction and broadcast.
int longest_way(const TreePacking& packing);

/// Hops of the longest way that is used before late ranks come; 0 where none is late.
int early_way(const TreePacking& packing);

/// When the sums of a tree are passed on.
class SumRounds {
 public:
  /// What waits for late ranks begins with round `late_begin`: early_way() at least.
  SumRounds(const TreePacking& packing, int late_begin);

  /// By rank, the round after a piece's first in which its sum is passed on; at the root when it is
  /// complete. Each as late as it can be: a reduction is a broadcast backwards, and links that one
  /// fills evenly are filled so by the other. Trees that only reduce end together. With late ranks,
  /// each as early as it can be. Empty if the tree does not reduce.
  std::vector<int> of(const PackedTree& tree) const;

 private:
  std::vector<Rank> late_;
  int late_begin_;
  int longest_;  // way of all trees
};

/// Calls pass(from, to, offset, is_sum) for each edge of the tree, whose sums are passed on in the
/// rounds `sums`; copies go down at once.
template <class Pass>
void for_each_hop(const PackedTree& tree, const std::vector<int>& sums, const Pass& pass) {
  for (Rank r = 0; r < std::ssize(sums); ++r) {
    if (r != tree.root) pass(r, tree.reduce[r], sums[r], true);
  }
  const int begin = sums.empty() ? 0 : sums[tree.root];
  const std::vector<int> depth = depths(tree.broadcast);
  for (Rank r = 0; r < std::ssize(tree.broadcast); ++r) {
    if (r != tree.root) pass(tree.broadcast[r], r, begin + depth[r] - 1, false);
  }
}

}  // namespace collbench
