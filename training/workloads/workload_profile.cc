#include "training/workloads/workload_profile.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/local_replica.h"
#include "training/steady_time.h"
#include "training/step.h"

namespace collbench {
namespace {

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

struct ProfiledStep {
  StepTimes times;
  std::vector<Seconds> ready;  // of each layer's gradients, since the one before
};

template <class Time>
Seconds median(const std::vector<ProfiledStep>& steps, Time time) {
  std::vector<Seconds> values;
  for (const ProfiledStep& step : steps) values.push_back(time(step));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One replica without communication: what would sum its gradients notes when they are ready.
class ProfiledReplica final : private StepCompute, private GradientSum {
 public:
  ProfiledReplica(const TrainingPlan& plan, const Dataset& data, std::vector<std::int64_t> ends)
      : local_(plan, data, 1, 0), optimizer_(make_optimizer(plan)), ends_(std::move(ends)) {}

  ProfiledStep step(std::int64_t number) {
    number_ = number;
    ready_.clear();
    const StepTimes times = run_step(*this, *this, ends_.back(), true);
    return {times, ready_};
  }

 private:
  Seconds now() const override { return steady_now(); }
  void read() override { local_.read(number_); }
  void forward() override { local_.forward(); }
  void backward(const GradientsReady& ready) override {
    last_ = now();
    local_.backward(ready);
  }
  void update() override {
    optimizer_->update(local_.network().parameters(), local_.network().gradients());
  }
  void start_up_to(std::int64_t end) override {
    while (ready_.size() < ends_.size() && ends_[ready_.size()] <= end) {
      const Seconds before = std::exchange(last_, now());
      ready_.push_back(last_ - before);
    }
  }
  Spent wait() override { return {}; }

  LocalReplica local_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::int64_t> ends_;
  std::int64_t number_ = 0;
  std::vector<Seconds> ready_;
  Seconds last_{0};
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
  own.replicas = 1;
  check(own, data, 1);
  Workload workload = workload_of(plan.model);
  const std::vector<std::int64_t> ends = ends_of(workload);
  ProfiledReplica replica(own, data, ends);
  std::vector<ProfiledStep> profile;
  for (int step = 0; step < warm_up + steps; ++step) profile.push_back(replica.step(step));
  profile.erase(profile.begin(), profile.begin() + warm_up);
  workload.source = fmt::format("measured, median of {} steps", steps);
  MeasuredTimes& measured = workload.measured.emplace();
  measured.batch = samples;
  measured.device = fmt::format("engine {}, one replica", find_engine(plan.engine, plan.type).name);
  measured.optimizer = median(profile, [](const auto& step) { return step.times.optimizer; });
  const Seconds rest = median(profile, [](const ProfiledStep& step) {
    return std::accumulate(step.ready.begin(), step.ready.end(), step.times.backward,
                           std::minus<>());
  });
  Seconds backward = rest;
  for (std::size_t i = ends.size(); i-- > 0;) {
    LayerTimes& times = measured.layers.emplace_back();
    times.weight = median(profile, [i](const ProfiledStep& step) { return step.ready[i]; });
    if (i + 1 == ends.size()) times.input = rest;
    backward += times.weight;
  }
  const double forward_share =
      median(profile, [](const auto& step) { return step.times.forward; }) / backward;
  for (LayerTimes& times : measured.layers) {
    times.forward = (times.weight + times.input) * forward_share;
  }
  return workload;
}

}  // namespace collbench
