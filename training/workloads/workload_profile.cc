#include "training/workloads/workload_profile.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/engine.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

Seconds median(std::vector<Seconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

const char* kind_of(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::dense:
      return "linear";
    case LayerKind::conv3x3:
      return "conv";
    default:
      return "bn";
  }
}

double flops_of(const LayerSpec& layer, const SampleShape& in, const SampleShape& out) {
  const auto outputs = static_cast<double>(out.size());
  switch (layer.kind) {
    case LayerKind::dense:
      return 2 * static_cast<double>(in.size()) * outputs;
    case LayerKind::conv3x3:
      return 2 * 9 * static_cast<double>(in.channels) * outputs;
    default:
      return 4 * outputs;
  }
}

/// Where the gradients of each layer end in the flat vector, in the order of readiness.
std::vector<std::int64_t> ends_of(const Workload& workload) {
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (auto layer = workload.layers.rbegin(); layer != workload.layers.rend(); ++layer) {
    ends.push_back(end = std::accumulate(layer->tensors.begin(), layer->tensors.end(), end));
  }
  return ends;
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

Workload workload_of(const Model& model) {
  Workload workload;
  workload.name = model.name;
  workload.sample = to_string(model.input);
  workload.source = "counted";
  const std::vector<SampleShape> shapes = shapes_of(model);
  const std::vector<Tensor> tensors = tensors_of(model);
  int last = -1;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    if (tensor->layer != last) {
      const auto place = static_cast<std::size_t>(last = tensor->layer);
      const LayerSpec& layer = model.layers[place];
      const SampleShape& out = shapes[place + 1];
      workload.layers.push_back({tensor->name.substr(0, tensor->name.find('/')),
                                 kind_of(layer),
                                 {},
                                 flops_of(layer, shapes[place], out),
                                 static_cast<double>(out.size())});
    }
    workload.layers.back().tensors.push_back(tensor->count);
  }
  return workload;
}

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
  Workload workload = workload_of(plan.model);
  const std::vector<std::int64_t> ends = ends_of(workload);
  InputPipeline input(data, input_of(own), 1, 0);
  Laps laps(ends.size());
  std::vector<float> images;
  std::vector<int> labels;
  for (int step = 0; step < warm_up + steps; ++step) {
    if (step == warm_up) laps = Laps(ends.size());
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
      for (; next < ends.size() && ends[next] <= end; ++next) {
        laps.ready[next].push_back(lap());
      }
    });
    laps.rest.push_back(lap());
    optimizer->update(network->parameters(), network->gradients());
    laps.optimizer.push_back(lap());
  }
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
  for (std::size_t i = ends.size(); i-- > 0;) {
    LayerTimes& times = measured.layers.emplace_back();
    times.weight = ready[i];
    if (i + 1 == ends.size()) times.input = median(laps.rest);
    times.forward = (times.weight + times.input) * forward_share;
  }
  return workload;
}

}  // namespace collbench
