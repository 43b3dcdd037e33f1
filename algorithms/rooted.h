// Broadcast and reduction to one rank as schedules: no all-reduces, but played by the same
// interpreter.
#pragma once

#include "algorithms/schedule.h"

namespace collbench {

/// A reduction to one rank, and a broadcast from the same rank.
struct RootedPhases {
  Schedule reduce;
  Schedule broadcast;
};

/// The whole buffer of `root` to every rank along a binomial tree: ceil(log2 n) rounds, the set of
/// ranks that have it doubling in each. Requires ranks >= 1 and 0 <= root < ranks.
Schedule binomial_broadcast(int ranks, Rank root);

/// The same, and before it the reduction along the same tree. ceil(log2 n) rounds each, 1 chunk.
RootedPhases binomial_phases(int ranks, Rank root);

/// Every rank sends its vector to the root, which adds in the order of ranks, and copies the result
/// to all. 1 round each, 1 chunk.
RootedPhases flat_phases(int ranks, Rank root);

/// Rank 0 folds what all send, in the order of ranks, and the others keep what they have:
/// TensorFlow's ReductionToOneDevice. Requires ranks >= 1.
Schedule reduce_to_one(int ranks);

}  // namespace collbench
