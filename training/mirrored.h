// The `mirrored` strategies: replicas are the ranks of a world, kept equal by an all-reduce of
// their gradients.
#pragma once

#include <string>
#include <vector>

#include "training/replica.h"
#include "transports/world/world.h"

namespace collbench {

/// Trains one replica on each rank of `world`, which gradient_world() describes as `spec`, and
/// returns the reports of those in this process, by rank. With plan.central it is
/// `central-storage`: gradients are summed on rank 0 alone, which holds the variables and updates
/// them, and all read them from there; that needs `spec.communicators` to be 2. Of the hooks,
/// `save` and `start` are for all replicas, the others are called on the thread of the first one
/// here. If one replica fails, all end, and the first failure is thrown. Throws InvalidArgument as
/// check().
std::vector<ReplicaReport> train_mirrored(World& world, const WorldSpec& spec,
                                          const TrainingPlan& plan, const Dataset& data,
                                          const Dataset& held_out, const ReplicaHooks& hooks = {});

/// The same with `replicas` threads of this process, which are one worker, over shared memory
/// unless `backend` names another back end, with the all-reduce `algorithm` as gradient_world()
/// takes it. On engines that compute on devices, gradients are summed there. Throws as
/// gradient_world() and start_world() do.
std::vector<ReplicaReport> train_mirrored(const TrainingPlan& plan, int replicas,
                                          const std::string& algorithm, const Dataset& data,
                                          const Dataset& held_out, const ReplicaHooks& hooks = {},
                                          const std::string& backend = usual_backend().name);

/// The reports of all ranks' replicas, with the times of all their steps; the rest is that of
/// `own`[0]. Collective.
std::vector<ReplicaReport> gather_reports(const std::vector<ReplicaReport>& own,
                                          Rendezvous& rendezvous);

}  // namespace collbench
