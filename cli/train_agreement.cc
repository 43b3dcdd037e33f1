#include "cli/train_agreement.h"

#include <cstdint>

#include <fmt/format.h>

#include "bench/records/environment.h"
#include "training/engines/engine.h"

namespace collbench {
namespace {

std::uint64_t digest(const void* data, std::size_t bytes, std::uint64_t hash) {
  const auto* begin = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ begin[i]) * 1099511628211U;  // FNV-1a
  return hash;
}

std::string digest(const Dataset& data) {
  std::uint64_t hash =
      digest(data.images.data(), data.images.size() * sizeof(float), 14695981039346656037U);
  hash = digest(data.labels.data(), data.labels.size() * sizeof(int), hash);
  return fmt::format("{:016x}", hash);
}

std::string layers_of(const Model& model) {
  std::string text = to_string(model.input);
  for (const Tensor& tensor : tensors_of(model)) {
    text += fmt::format(" {}:{}", tensor.name, tensor.count);
  }
  return text;
}

}  // namespace

std::vector<NamedValue> values_of(const Settings& settings, const TrainingPlan& plan,
                                  const Samples& samples) {
  return {{"version", collect_environment().at("version")},
          {"model", plan.model.name},
          {"tensors", layers_of(plan.model)},
          {"data type", std::string(to_string(plan.type))},
          {"engine", std::string(find_engine(plan.engine, plan.type).name)},
          {"optimizer", plan.optimizer.name},
          {"learning rate", fmt::format("{}", plan.optimizer.learning_rate)},
          {"momentum", fmt::format("{}", plan.optimizer.momentum)},
          {"global batch", std::to_string(plan.global_batch)},
          {"epochs", std::to_string(plan.epochs)},
          {"replicas of a worker", settings.text("replicas")},
          {"steps per epoch", std::to_string(plan.steps)},
          {"seed", std::to_string(plan.seed)},
          {"wire", settings.text("wire")},
          {"loss scaling", settings.text("loss-scaling")},
          {"sharding", to_string(plan.sharding)},
          {"drop-remainder", settings.text("drop-remainder")},
          {"checkpoint folder", settings.text("checkpoint")},
          {"checkpoint every", settings.text("save-every")},
          {"resume", settings.flag("resume") ? "yes" : "no"},
          {"algorithm", gradient_algorithm(settings)},
          {"buckets", settings.text("buckets")},
          {"data", samples.train.description},
          {"digest of the data", digest(samples.train)}};
}

}  // namespace collbench
