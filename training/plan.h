// The plan of a training run: what all replicas agree on, whatever the strategy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "training/data/dataset.h"
#include "training/data/input_pipeline.h"
#include "training/model.h"
#include "training/optimizer.h"
#include "training/state_sharding.h"

namespace collbench {

/// What the loss of a sample counts. exact: 1 / global batch. tensorflow: the mean over the
/// replica's own samples, divided by the replicas, as Keras does; the same for equal shares, but a
/// ragged last batch then weights the samples of short shares more, and empty ones count as well.
enum class LossScaling : std::uint8_t { exact, tensorflow };

/// What all replicas agree on.
struct TrainingPlan {
  Model model;
  OptimizerSpec optimizer;
  std::string engine = "auto";
  DataType type = DataType::f32;
  std::int64_t global_batch = 64;
  int replicas = 1;  // of a worker: threads that share its part of each step
  int epochs = 1;
  std::int64_t steps = 0;  // per epoch; 0: one pass over the data
  std::uint64_t seed = 1;
  std::string buckets = "ddp";  // a rule of bucket_plan.h; auto is measured by bucket_tuner.h
  bool overlap = true;          // false: communication starts when the backward pass is over
  LossScaling loss_scaling = LossScaling::exact;
  bool central = false;           // rank 0 alone updates, and the others take its parameters
  bool mean_before_sum = false;   // gradients are divided by the replicas before their sum (tpu)
  DataType wire = DataType::f64;  // f16, bf16: gradients travel in it; else in their own type
  StateSharding state_sharding = StateSharding::none;
  AutoShard sharding = AutoShard::automatic;  // of the data
  bool drop_remainder = true;
  std::int64_t save_every = 0;      // steps between checkpoints; 0: at the end of each epoch
  Seconds timeout{60};              // a rank that is silent for so long counts as lost
  std::string data_digest;          // of the samples; "" where they are not compared
  std::string data_division;        // of the input pipeline; "" likewise
  std::int64_t steps_per_pass = 0;  // of the input pipeline; 0: the same for any workers
};

/// The type in which gradients of `type` travel where `wire` is asked for.
DataType wire_type(DataType type, DataType wire);
/// "exact" or "tf".
std::string loss_scaling_name(const TrainingPlan& plan);

/// What decides how training goes on, by name: equal values of all make a resumption exact.
std::vector<std::pair<std::string, std::string>> settings_of(const TrainingPlan& plan);

InputOptions input_of(const TrainingPlan& plan);
/// Throws as InputPipeline does.
std::int64_t steps_per_epoch(const TrainingPlan& plan, const Dataset& data, int replicas);

/// The least memory of the replicas: parameters, gradients, a copy in f64, and activations.
Bytes least_memory(const TrainingPlan& plan, int replicas);

/// Throws InvalidArgument if the plan contradicts itself or does not fit the data or `replicas`,
/// Unavailable for what the engine cannot do, and TransportError if it needs more memory than there
/// is.
void check(const TrainingPlan& plan, const Dataset& data, int replicas);

}  // namespace collbench
