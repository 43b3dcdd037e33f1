#include "training/plan.h"

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/bucket_plan.h"
#include "training/engines/engine.h"

namespace collbench {

Bytes least_memory(const TrainingPlan& plan, int replicas) {
  std::int64_t activations = 0;  // of one sample
  SampleShape shape = plan.model.input;
  for (const LayerSpec& layer : plan.model.layers) {
    shape = output_of(layer, shape);
    activations += shape.size();
  }
  const Bytes value{size_of(plan.type)};
  const std::int64_t samples = per_replica_batch(plan.global_batch, replicas);
  const Bytes one = Bytes{8} * parameters_of(plan.model) + value * 2 * parameters_of(plan.model) +
                    value * samples * activations;
  return one * replicas;
}

void check(const TrainingPlan& plan, const Dataset& data, int replicas) {
  require(replicas >= 1, fmt::format("training needs at least 1 replica, not {}", replicas));
  require(plan.epochs >= 1, fmt::format("training takes at least 1 epoch, not {}", plan.epochs));
  require(plan.steps >= 0, fmt::format("an epoch cannot have {} steps", plan.steps));
  require(plan.global_batch >= 1,
          fmt::format("a global batch is at least 1, not {}", plan.global_batch));
  per_replica_batch(plan.global_batch, replicas);
  require(data.shape == plan.model.input,
          fmt::format("model {} takes samples of {}; those of {} are {}", plan.model.name,
                      to_string(plan.model.input), data.description, to_string(data.shape)));
  require(data.classes <= plan.model.classes,
          fmt::format("model {} has {} classes, but {} has {}", plan.model.name, plan.model.classes,
                      data.description, data.classes));
  InputPipeline(data, input_of(plan), replicas, 0);
  check(plan.optimizer);
  check_bucket_plan(plan.buckets, tensors_of(plan.model).size());
  const ComputeEngine& engine = find_engine(plan.engine, plan.type);
  if (plan.state_sharding != StateSharding::none) {
    require(!plan.central, "sharding divides what central storage keeps on one device: choose one");
    require(
        plan.buckets != "auto",
        "buckets auto are planned from the costs of all-reduces, and sharded training has none");
    if (engine.make_world != nullptr) {
      throw Unavailable(fmt::format(
          "engine {} keeps its parameters on its devices, where nothing reduce-scatters them; "
          "sharding needs an engine on the CPU",
          engine.name));
    }
  }
  if (engine.make_world != nullptr &&
      (plan.central || plan.mean_before_sum || size_of(plan.wire) < size_of(plan.type))) {
    throw Unavailable(fmt::format(
        "engine {} sums gradients on its devices as they are: no central storage, no mean before "
        "the sum, no narrower wire type",
        engine.name));
  }
  require_available(least_memory(plan, replicas),
                    fmt::format("{} replicas of {}", replicas, plan.model.name));
}

DataType wire_type(DataType type, DataType wire) {
  return size_of(wire) < size_of(type) ? wire : type;
}

std::string loss_scaling_name(const TrainingPlan& plan) {
  return plan.loss_scaling == LossScaling::exact ? "exact" : "tf";
}

std::vector<std::pair<std::string, std::string>> settings_of(const TrainingPlan& plan) {
  return {{"model", plan.model.name},
          {"data type", std::string(to_string(plan.type))},
          {"learning rate", fmt::format("{}", plan.optimizer.learning_rate)},
          {"momentum", fmt::format("{}", plan.optimizer.momentum)},
          {"optimizer", plan.optimizer.name},
          {"global batch", std::to_string(plan.global_batch)},
          {"steps per epoch", std::to_string(plan.steps)},
          {"seed", std::to_string(plan.seed)},
          {"autoshard", to_string(plan.sharding)},
          {"drop remainder", plan.drop_remainder ? "yes" : "no"},
          {"loss scaling", loss_scaling_name(plan)},
          {"wire", std::string(to_string(wire_type(plan.type, plan.wire)))},
          {"digest of the data", plan.data_digest},
          {"division of the data", plan.data_division}};
}

InputOptions input_of(const TrainingPlan& plan) {
  return {plan.global_batch, plan.seed, plan.sharding, plan.drop_remainder, plan.replicas};
}

std::int64_t steps_per_epoch(const TrainingPlan& plan, const Dataset& data, int replicas) {
  return plan.steps > 0 ? plan.steps
                        : InputPipeline(data, input_of(plan), replicas, 0).steps_per_pass();
}

}  // namespace collbench
