#include "training/workload_profile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/engine.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

Seconds median(std::vector<Seconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Layers with parameters in the order of readiness, and where each ends in the flat vector.
struct ReadyLayer {
  WorkloadLayer layer;
  std::int64_t end = 0;
};

std::vector<ReadyLayer> ready_layers(const std::vector<Tensor>& tensors) {
  std::vector<ReadyLayer> layers;
  int last = -1;
  for (const Tensor& tensor : tensors) {
    if (tensor.layer != last) {
      const std::string name = tensor.name.substr(0, tensor.name.find('/'));
      layers.push_back({{name, name.substr(0, name.find_last_of('_')), {}, 0, 0}, 0});
      last = tensor.layer;
    }
    std::vector<std::int64_t>& counts = layers.back().layer.tensors;
    counts.insert(counts.begin(), tensor.count);
    layers.back().end = tensor.first + tensor.count;
  }
  return layers;
}

/// Times of every step.
struct Laps {
  explicit Laps(std::size_t layers) : ready(layers) {}
  std::vector<Seconds> forward;
  std::vector<std::vector<Seconds>> ready;  // of each layer, since the one before
  std::vector<Seconds> rest;
  std::vector<Seconds> optimizer;
};

}  // namespace

Workload measure_workload(const TrainingPlan& plan, const Dataset& data, std::int64_t samples,
                          int steps) {
  require(steps >= 1, fmt::format("a profile takes at least 1 step, not {}", steps));
  constexpr int warm_up = 2;
  TrainingPlan own = plan;
  own.global_batch = samples;
  check(own, data, 1);
  const ComputeEngine& engine = find_engine(plan.engine, plan.type);
  const auto network = engine.make_network(plan.model, samples, plan.type);
  const auto optimizer =
      engine.make_optimizer(plan.optimizer, parameters_of(plan.model), plan.type);
  network->set_parameters(initial_parameters(plan.model, plan.seed));
  std::vector<ReadyLayer> layers = ready_layers(tensors_of(plan.model));
  InputPipeline input(data, input_of(own), 1, 0);
  Laps laps(layers.size());
  std::vector<float> images;
  std::vector<int> labels;
  for (int step = 0; step < warm_up + steps; ++step) {
    if (step == warm_up) laps = Laps(layers.size());
    input.read(step, images, labels);
    Clock::time_point last = Clock::now();
    const auto lap = [&last] {
      const Clock::time_point before = std::exchange(last, Clock::now());
      return Seconds(last - before);
    };
    network->forward({images, labels});
    laps.forward.push_back(lap());
    std::size_t next = 0;
    network->backward(1.0 / static_cast<double>(samples), [&](std::int64_t end) {
      for (; next < layers.size() && layers[next].end <= end; ++next) {
        laps.ready[next].push_back(lap());
      }
    });
    laps.rest.push_back(lap());
    optimizer->update(network->parameters(), network->gradients());
    laps.optimizer.push_back(lap());
  }
  Workload workload;
  workload.name = plan.model.name;
  workload.sample = to_string(plan.model.input);
  workload.source = fmt::format("measured, median of {} steps", steps);
  MeasuredTimes& measured = workload.measured.emplace();
  measured.batch = samples;
  measured.device = fmt::format("engine {}, one replica", engine.name);
  measured.optimizer = median(laps.optimizer);
  Seconds backward = median(laps.rest);
  std::vector<Seconds> ready;
  for (const std::vector<Seconds>& times : laps.ready)
    backward += ready.emplace_back(median(times));
  const double forward_share = median(laps.forward) / backward;
  for (std::size_t i = layers.size(); i-- > 0;) {
    workload.layers.push_back(std::move(layers[i].layer));
    LayerTimes& times = measured.layers.emplace_back();
    times.weight = ready[i];
    if (i + 1 == layers.size()) times.input = median(laps.rest);
    times.forward = (times.weight + times.input) * forward_share;
  }
  return workload;
}

}  // namespace collbench
