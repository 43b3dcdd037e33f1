// Which steps of a plan must follow which: what a rank may do instead of waiting.
//
// Steps follow each other where one writes what the other reads or writes, where they are the two
// ends of one transfer, and where both begin, or both end, transfers between the same two ranks.
// Everything else is free. Sums stay the same bit by bit: a fold writes what it folds, so the folds
// of an element keep their order.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/play/plan.h"

namespace collbench {

/// Steps this far apart, or farther, keep the order of the plan.
constexpr int step_window = 64;

/// For each step of the plan which earlier ones it must follow, of those within the window: bit
/// step_window - k stands for the k-th step before it. O(steps * step_window).
std::vector<std::uint64_t> step_order(const Plan& plan);

}  // namespace collbench
