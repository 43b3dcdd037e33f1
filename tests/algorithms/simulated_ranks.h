// Plays a schedule on real numbers in one thread: the meaning of a schedule, word by word.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// One vector of floats per rank, all of equal length.
using Vectors = std::vector<std::vector<float>>;

/// What the ranks hold after the schedule: sends carry the values from before their round, and
/// every addition rounds to float. Requires a schedule without violations.
Vectors play(const Schedule& schedule, Vectors vectors);

/// `count` numbers per rank whose sums round differently in different orders.
Vectors random_vectors(int ranks, int count, std::uint64_t seed);

}  // namespace collbench
