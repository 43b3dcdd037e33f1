// Fusion: a whole collective as one pass over memory, where peers' memory is addressable.
//
// Where a rank reduces a chunk from every other rank and, a round later, sends the result to every
// other rank, nothing reads the chunk in between. So the owner can
// fold one element of all N inputs and store it to all N outputs at once: each byte is read once
// and written once, the least traffic possible, instead of being written by the reduction and read
// again by the copies. The fold is the schedule's own, so the sums are the same bit by bit.
// `direct` (two-shot), `reduce-broadcast` and `parameter-server` have this shape; a ring has not.
// The halves of `direct` are passes too, which store to the owner alone, or copy from it.
//
// What is small enough each rank can show to all at once instead of sending it to each: the vector,
// where every rank folds all of them in one round, as in one-shot, or its own chunks; the share of
// an all-gather.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"

namespace collbench {

struct Fusion {
  /// Elements [first, first + count), folded from sources(piece) in that order, or copied from the
  /// only one, and stored to receivers(piece).
  struct Piece {
    Rank owner = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    int sources = 0;    // row of `lists`
    int receivers = 0;  // row of `lists`
  };
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 0;
  std::int64_t count = 0;  // elements of the vector
  bool in_place = true;
  /// Every rank shows what it has, and does the pieces that it receives, each for itself.
  bool shown = false;
  std::vector<Piece> pieces = {};             // non-empty, ascending
  std::vector<std::vector<Rank>> lists = {};  // of ranks, none twice
  std::vector<Elements> before = {};          // what each rank has before and after
  std::vector<Elements> after = {};
  /// Every rank owns the same number of chunks: any rank may then do any piece without shifting
  /// work that the schedule gives to one rank onto others.
  bool even = false;

  std::span<const Rank> sources(const Piece& piece) const {
    return lists[static_cast<std::size_t>(piece.sources)];
  }
  std::span<const Rank> receivers(const Piece& piece) const {
    return lists[static_cast<std::size_t>(piece.receivers)];
  }
  /// Where in the vector begins what a rank shows and, out of place, what its buffers hold; in
  /// place, both are the whole vector.
  std::int64_t first_before(Rank rank) const {
    return before[static_cast<std::size_t>(rank)].first;
  }
  std::int64_t first_of_input(Rank rank) const { return in_place ? 0 : first_before(rank); }
  std::int64_t first_of_output(Rank rank) const {
    return in_place ? 0 : after[static_cast<std::size_t>(rank)].first;
  }
};

/// What a rank shows to all at once is at most this.
constexpr std::int64_t most_shown_bytes = 2040;

/// The fusion of `schedule` for `count` elements; empty if it does not have a shape above.
/// Adjacent chunks with the same sources and receivers become one piece when the fusion is even
/// (its owner is then the first's). O(ranks^2); schedules above 512 ranks are left as they are.
std::optional<Fusion> fuse(const Schedule& schedule, std::int64_t count, int element_bytes,
                           const Collective& collective = {}, bool in_place = true);

}  // namespace collbench
