// The replicas of one worker of parameter servers: threads that share the batch of each step.
//
// All compute with the variables that the worker has read, each its slice of the batch. The worker
// sends the sum of their gradients, in the order of replicas, and the mean change of their moving
// statistics: one update, whatever the number of replicas. This is the synchronous
// part of TensorFlow's ParameterServerStrategy, whose workers may have several devices.
#pragma once

#include <cstdint>
#include <memory>

#include "training/data/dataset.h"
#include "training/engines/engine.h"
#include "training/replica.h"

namespace collbench {

/// plan.replicas of them; the first one is the caller's thread. Thread safety: one thread.
class BatchReplicas {
 public:
  /// `plan` and `data` must outlive it. Throws as InputPipeline and the engine do.
  BatchReplicas(const TrainingPlan& plan, const Dataset& data);
  ~BatchReplicas();

  /// The inputs of compute(), to be filled before it, and its results.
  Region parameters();
  Region statistics();
  Region gradients();
  Region moves();

  /// Takes the samples of a step; returns how many all replicas have.
  std::int64_t read(std::int64_t step);
  /// Forward and backward of what was read. Throws what the first replica that failed has thrown.
  Score compute(StepTimes& times);

 private:
  class Replica;
  class Team;
  std::unique_ptr<Team> team_;
};

}  // namespace collbench
