// One replica's network and its share of the data, which every strategy computes with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "training/data/input_pipeline.h"
#include "training/engines/engine.h"
#include "training/plan.h"
#include "training/training_state.h"

namespace collbench {

/// With the plan's initial parameters, for batches of up to `samples`. Throws as its engine does.
std::unique_ptr<Network> make_network(const TrainingPlan& plan, std::int64_t samples);
std::unique_ptr<Optimizer> make_optimizer(const TrainingPlan& plan);

/// Parameters and moving statistics of a state, to a network and from it.
void load(const TrainingState& state, Network& network);
void store(Network& network, TrainingState& state);

/// How well a model does on samples that it has not seen.
struct Evaluation {
  double loss = 0;  // mean over the samples
  double accuracy = 0;
};

/// In batches of up to `batch` samples, for which the network was made, with moving statistics.
/// Requires at least one sample. Calls `after_batch` behind each.
Evaluation evaluate(
    Network& network, const Dataset& held_out, std::int64_t batch,
    const std::function<void()>& after_batch = [] {});

/// What the summed loss of a replica's samples is multiplied by, of `replicas` that share a step.
double gradient_scale(const TrainingPlan& plan, const StepSize& size, int replicas);

/// Thread safety: one thread.
class LocalReplica {
 public:
  /// Replica `number` of `replicas` that share each step. `plan` and `data` must outlive it. Throws
  /// as InputPipeline and the engine do.
  LocalReplica(const TrainingPlan& plan, const Dataset& data, int replicas, int number);

  Network& network() { return *network_; }
  const InputPipeline& input() const { return input_; }

  /// Reads this replica's samples of a step.
  StepSize read(std::int64_t step);
  bool has_samples() const { return size_.mine > 0; }
  /// Score and gradients are 0 where this replica's share of a ragged last batch is empty.
  Score forward();
  /// Gradients of the plan's loss over the samples of all replicas.
  void backward(const GradientsReady& ready);

 private:
  const TrainingPlan& plan_;
  int replicas_;
  InputPipeline input_;
  std::unique_ptr<Network> network_;
  StepSize size_;
  std::vector<float> images_;
  std::vector<int> labels_;
};

}  // namespace collbench
