// The `mirrored` strategy: replicas are threads of this process, kept equal by an all-reduce of
// their gradients over shared memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "training/replica.h"

namespace collbench {

/// What replica 0 tells while it trains; called on its thread.
using TrainingObserver = std::function<void(const Progress&)>;

/// Trains `replicas` replicas with the all-reduce `algorithm` (core spelling of the registry:
/// "ring", "tree:..."), and returns their reports by rank. If one fails, all end, and the first
/// failure is thrown. Throws InvalidArgument as check() and make_schedule() do, and for an
/// algorithm that does not leave equal bits on all ranks.
std::vector<ReplicaReport> train_mirrored(const TrainingPlan& plan, int replicas,
                                          const std::string& algorithm, const Dataset& data,
                                          const Dataset& held_out,
                                          const TrainingObserver& observer = {});

}  // namespace collbench
