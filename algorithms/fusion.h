// Fusion: a whole all-reduce as one pass over memory, where peers' memory is addressable.
//
// Where a rank reduces a chunk from every other rank and, a round later, sends the result to every
// other rank, nothing reads the chunk in between. So the owner can
// fold one element of all N inputs and store it to all N outputs at once: each byte is read once
// and written once, the least traffic possible, instead of being written by the reduction and read
// again by the copies. The fold is the schedule's own, so the sums are the same bit by bit.
// `direct` (two-shot), `reduce-broadcast` and `parameter-server` have this shape; a ring has not.
//
// Where every rank folds all vectors by itself in one round, as in one-shot, and they are small,
// each rank can show its vector to all at once instead of sending it to each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

struct Fusion {
  /// Elements [first, first + count), reduced by `owner` in the order of sources(piece).
  struct Piece {
    Rank owner = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    int order = 0;  // row of `orders`
  };
  int ranks = 0;
  int rounds = 2;             // of the schedule; 1: every rank does every piece, for itself
  std::vector<Piece> pieces;  // non-empty, ascending, covering the buffer
  std::vector<std::vector<Rank>>
      orders;  // each a permutation of all ranks: the order of a left fold
  /// Every rank owns the same number of chunks: any rank may then do any piece without shifting
  /// work that the schedule gives to one rank onto others.
  bool even = false;

  std::span<const Rank> sources(const Piece& piece) const {
    return orders[static_cast<std::size_t>(piece.order)];
  }
};

/// Vectors up to this size are shown to all at once.
constexpr std::int64_t most_shown_bytes = 2040;

/// The fusion of `schedule` for `count` elements; empty if it does not have a shape above.
/// Adjacent chunks of one order become one piece when the fusion is even (its owner is then the
/// first's). O(ranks^2); schedules above 512 ranks are left as they are.
std::optional<Fusion> fuse(const Schedule& schedule, std::int64_t count, int element_bytes);

}  // namespace collbench
