// The worlds in which gradients are summed.
#pragma once

#include <string>

#include "training/state_sharding.h"
#include "transports/world/backend.h"

namespace collbench {

/// A world of `ranks` ranks that sums gradients on a back end: by schedules, or by the back end
/// itself where it is a black box, which "auto" then stands for. `algorithm` is a name of the
/// registry, or "auto": what heuristics/policies/choose.h picks for each size with that many cores,
/// among the algorithms that keep replicas equal. The answer is the same on all ranks that pass
/// equal arguments. Unless `sharding` is none, its communicators also reduce-scatter and all-gather
/// by the halves of that all-reduce. Throws InvalidArgument as make_schedule() does, and for an
/// algorithm that may round differently on different ranks, or has no such halves; Unavailable for
/// a back end that has no other collective than all-reduces.
WorldSpec gradient_world(const std::string& algorithm, const Backend& backend, int ranks, int cores,
                         StateSharding sharding = StateSharding::none);

}  // namespace collbench
