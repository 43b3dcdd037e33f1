// Replays a workload with real communication: computing is waited for, gradients are all-reduced.
//
// For models that we do not compute. Waiting sleeps until the moment when the computation would be
// done, as a host does whose device computes, so replicas may outnumber cores.
#pragma once

#include <string>
#include <vector>

#include "training/bucket_plan.h"
#include "training/replica.h"
#include "training/simulated_compute.h"

namespace collbench {

struct ReplayPlan {
  ComputeProfile compute;
  std::vector<Tensor> tensors;
  std::vector<Bucket> buckets;
  DataType type = DataType::f32;  // of the gradients
  int steps = 10;
  bool overlap = true;
};

/// Replays as rank communicator.rank(). Gradients are ones, and every sum is checked: throws
/// WrongResult if one is not the number of ranks. Throws as Communicator does.
std::vector<StepTimes> replay_rank(const ReplayPlan& plan, Communicator& communicator);

/// On threads of this process, over shared memory, with the all-reduce `algorithm`; by rank.
/// If one fails, all end, and the first failure is thrown. Throws Unavailable if the gradients do
/// not fit into memory, and InvalidArgument as gradient_schedule() does.
std::vector<std::vector<StepTimes>> replay_threads(const ReplayPlan& plan, int replicas,
                                                   const std::string& algorithm);

}  // namespace collbench
