// The halves of an all-reduce that is a reduce-scatter followed by the mirrored all-gather.
//
// In either half chunks are numbered so that rank r has the r-th n-th of them. Where the all-reduce
// leaves ranks with other chunks, as a butterfly does, what travels in one message there may be
// several chunks apart here, and then goes as several messages of one round.
#pragma once

#include "algorithms/schedule.h"

namespace collbench {

/// Rounds [0, rounds/2), which only reduce, and [rounds/2, rounds), which only copy, cut by
/// share_partition() (collective.h). Throws InvalidArgument if the schedule is not of that form
/// (tree, one-shot, ...) or leaves ranks with unequal shares (halving-doubling of 6); checked on
/// all ranks where they are few or their chunks need other numbers, else on 64 of them.
Schedule reduce_scatter_half(const Schedule& schedule);
Schedule all_gather_half(const Schedule& schedule);

}  // namespace collbench
