// A reduction to one rank as a schedule: not an all-reduce, but played by the same interpreter.
#pragma once

#include "algorithms/schedule.h"

namespace collbench {

/// Rank 0 folds what all send, in the order of ranks, and the others keep what they have:
/// TensorFlow's ReductionToOneDevice. Requires ranks >= 1.
Schedule reduce_to_one(int ranks);

}  // namespace collbench
