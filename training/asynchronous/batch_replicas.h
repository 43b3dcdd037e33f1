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
#include "training/plan.h"
#include "training/step.h"

namespace collbench {

/// plan.replicas of them; the first one is the caller's thread. Thread safety: one thread.
class BatchReplicas final : public StepCompute {
 public:
  /// `plan` and `data` must outlive it. Throws as InputPipeline and the engine do.
  BatchReplicas(const TrainingPlan& plan, const Dataset& data);
  ~BatchReplicas() override;

  void set_step(std::int64_t step) { step_ = step; }

  /// What forward() starts from, to be filled before it, and the results of backward().
  Region parameters();
  Region statistics();
  Region gradients();
  Region moves();

  const Score& score() const;
  std::int64_t samples() const { return samples_; }  // of all replicas

  Seconds now() const override;
  void read() override;
  void forward() override;
  /// Throws what the first replica that failed has thrown.
  void backward(const GradientsReady& ready) override;

 private:
  class Replica;
  class Team;
  std::unique_ptr<Team> team_;
  std::int64_t step_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace collbench
