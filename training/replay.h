// Replays a workload with real communication: computing is waited for, gradients are all-reduced.
//
// For models that we do not compute. Waiting sleeps until the moment when the computation would be
// done, as a host does whose device computes, so replicas may outnumber cores.
#pragma once

#include <vector>

#include "training/bucket_plan.h"
#include "training/replica.h"
#include "training/simulated/compute.h"
#include "training/state_sharding.h"
#include "transports/world/world.h"

namespace collbench {

struct ReplayPlan {
  ComputeProfile compute;
  std::vector<Tensor> tensors;
  std::vector<Bucket> buckets;
  DataType type = DataType::f32;  // of the gradients: f32, f64, f16 or bf16
  DataType wire = DataType::f64;  // f16, bf16: f32 or f64 travel in it; else in their own type
  int steps = 10;                 // after one to warm up, which is not reported
  bool overlap = true;
  StateSharding sharding = StateSharding::none;
  Seconds timeout{60};  // a rank that is silent for so long counts as lost
};

/// Throws InvalidArgument for a type that is none of these, or that cannot hold the number of
/// ranks.
void check(const ReplayPlan& plan, int ranks);

/// Replays as rank communicator.rank(). Gradients are ones, and every sum is checked: throws
/// WrongResult if one is not the number of ranks; likewise parameters that were gathered. What is
/// given up after use is checked in the step to warm up alone. Throws as check() and Communicator
/// do. Of the report there are only the steps.
ReplicaReport replay_rank(const ReplayPlan& plan, Communicator& communicator);

/// On every rank of a world, which gradient_world() describes as `spec`; the reports of the ranks
/// of this process, by rank. If one fails, all end, and the first failure is thrown. Throws
/// Unavailable if the gradients do not fit into memory.
std::vector<ReplicaReport> replay(const ReplayPlan& plan, World& world, const WorldSpec& spec);

}  // namespace collbench
