// Broadcast as a schedule: not an all-reduce, but played by the same interpreter.
#pragma once

#include "algorithms/schedule.h"

namespace collbench {

/// The whole buffer of `root` to every rank along a binomial tree: ceil(log2 n) rounds, the set of
/// ranks that have it doubling in each. Requires ranks >= 1 and 0 <= root < ranks.
Schedule binomial_broadcast(int ranks, Rank root);

}  // namespace collbench
