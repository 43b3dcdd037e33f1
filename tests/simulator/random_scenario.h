// Scenarios at random: matched messages that need not be an all-reduce, over a random network.
#pragma once

#include <cstdint>

#include "simulator/simulate.h"

namespace collbench {

/// 2 to 8 ranks, up to 6 rounds, with or without costs beyond alpha and beta, late ranks, equal
/// chunks; either way of posting. Equal seeds give equal scenarios.
Scenario random_scenario(std::uint64_t seed);

}  // namespace collbench
