// The `mirrored` strategy: replicas are threads of this process, kept equal by an all-reduce of
// their gradients over shared memory.
#pragma once

#include <string>
#include <vector>

#include "training/replica.h"

namespace collbench {

/// With plan.central it is `central-storage`: gradients are summed on rank 0 alone, which holds the
/// variables and updates them, and all read them from there.
/// Trains `replicas` replicas with the all-reduce `algorithm`, as gradient_schedule() takes it, and
/// returns their reports by rank. Of the hooks, `save` and `start` are for all replicas, the others
/// are called on the thread of replica 0. If one replica fails, all end, and the first failure is
/// thrown. Throws InvalidArgument as check() and gradient_schedule() do.
std::vector<ReplicaReport> train_mirrored(const TrainingPlan& plan, int replicas,
                                          const std::string& algorithm, const Dataset& data,
                                          const Dataset& held_out, const ReplicaHooks& hooks = {});

}  // namespace collbench
