// The halves of an all-reduce that is a reduce-scatter followed by the mirrored all-gather.
#pragma once

#include "algorithms/schedule.h"

namespace collbench {

/// Rounds [0, rounds/2), which only reduce, and [rounds/2, rounds), which only copy.
/// Throws InvalidArgument if the schedule is not of that form (tree, one-shot, ...); checked on all
/// ranks where they are few, else on 64 of them.
Schedule reduce_scatter_half(const Schedule& schedule);
Schedule all_gather_half(const Schedule& schedule);

}  // namespace collbench
