#include "training/simulated/step.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

/// The two streams of a step.
class Timeline {
 public:
  Timeline(const StepModel& model, double slowdown) : model_(model), slowdown_(slowdown) {}

  SimulatedStep play() {
    const auto layers = static_cast<int>(model_.compute.layers.size());
    const Seconds earlier = (model_.compute.forward() + model_.compute.backward()) *
                            (slowdown_ * (model_.accumulate - 1));
    now_ = stream_free_ = earlier;
    for (int i = 0; i < layers; ++i) {
      const Seconds begin = now_;
      compute(at(i).forward);
      step_.forward.push_back({i, begin, now_});
    }
    const Seconds begin = now_;
    for (int i = layers; i-- > 0;) backward(i);
    const Seconds end = now_;
    if (!model_.overlap) {
      for (std::size_t i = 0; i < model_.buckets.size(); ++i) launch();
    }
    const Seconds drained = std::max(now_, stream_free_);
    StepTimes& times = step_.times;
    times.forward = model_.compute.forward() * (slowdown_ * model_.accumulate);
    times.backward =
        end - begin + model_.compute.backward() * (slowdown_ * (model_.accumulate - 1));
    times.exposed = drained - end;
    times.optimizer = model_.compute.optimizer * slowdown_;
    times.whole = drained + times.optimizer;
    return std::move(step_);
  }

 private:
  const LayerTimes& at(int layer) const {
    return model_.compute.layers[static_cast<std::size_t>(layer)];
  }

  /// Advances the compute stream, which is slower while a collective is in flight.
  void compute(Seconds work) { advance(work * slowdown_); }
  void advance(Seconds work) {
    const double stretch = 1 + model_.costs.interference;
    if (stream_free_ > now_) {
      const Seconds beside = std::min(work * stretch, stream_free_ - now_);
      now_ += beside;
      work -= beside / stretch;
      if (work.count() < 1e-15) return;
    }
    now_ += work;
  }

  void backward(int layer) {
    const Seconds begin = now_;
    compute(at(layer).weight);
    while (tensor_ < model_.tensors.size() && model_.tensors[tensor_].layer == layer) {
      advance(model_.costs.per_tensor);
      ready_ = model_.tensors[tensor_].first + model_.tensors[tensor_].count;
      ++tensor_;
      while (model_.overlap && next_is_complete()) launch();
    }
    compute(at(layer).input);
    step_.backward.push_back({layer, begin, now_});
  }

  bool next_is_complete() const {
    const std::size_t next = step_.buckets.size();
    return next < model_.buckets.size() &&
           model_.buckets[next].first + model_.buckets[next].count <= ready_;
  }

  void launch() {
    const std::size_t next = step_.buckets.size();
    const Seconds ready = now_;
    advance(model_.costs.per_bucket);
    BucketSpan& span = step_.buckets.emplace_back();
    span.bytes = bytes_of(next);
    span.ready = ready;
    span.start = std::max(now_, stream_free_);
    span.end = span.start + model_.all_reduce[next];
    stream_free_ = span.end;
    step_.times.communication += model_.all_reduce[next];
  }
  Bytes bytes_of(std::size_t bucket) const {
    return Bytes{model_.buckets[bucket].count * model_.element_bytes};
  }

  const StepModel& model_;
  double slowdown_;
  SimulatedStep step_;
  Seconds now_{0};          // of the compute stream
  Seconds stream_free_{0};  // when the communication stream has done all that was launched
  std::size_t tensor_ = 0;
  std::int64_t ready_ = 0;  // elements of the flat vector
};

}  // namespace

void check(const StepCosts& costs, int workers) {
  require(costs.per_tensor.count() >= 0 && costs.per_bucket.count() >= 0,
          "costs per tensor and per bucket cannot be negative");
  require(costs.crowding >= 0 && costs.crowding <= 100,
          fmt::format("crowding is a share from 0 to 100, not {}", costs.crowding));
  require(costs.interference >= 0 && costs.interference <= 100,
          fmt::format("interference is a share from 0 to 100, not {}", costs.interference));
  require(costs.jitter >= 0 && costs.jitter <= 2,
          fmt::format("jitter is a share from 0 to 2, not {}", costs.jitter));
  for (const auto& [worker, factor] : costs.slow_workers) {
    require(worker >= 0 && worker < workers,
            fmt::format("there is no worker {} among {}", worker, workers));
    require(factor > 0 && std::isfinite(factor),
            fmt::format("worker {} cannot compute {} times as long", worker, factor));
  }
}

std::vector<Seconds> ready_times(const ComputeProfile& compute, const std::vector<Tensor>& tensors,
                                 Seconds per_tensor) {
  std::vector<Seconds> ready;
  Seconds now{0};
  std::size_t tensor = 0;
  for (std::size_t layer = compute.layers.size(); layer-- > 0;) {
    now += compute.layers[layer].weight;
    while (tensor < tensors.size() && tensors[tensor].layer == static_cast<int>(layer)) {
      now += per_tensor;
      ready.push_back(now);
      ++tensor;
    }
    now += compute.layers[layer].input;
  }
  return ready;
}

SimulatedStep simulate_step(const StepModel& model, double slowdown) {
  assert(model.all_reduce.size() == model.buckets.size());
  return Timeline(model, slowdown).play();
}

Slowness slowness_of(const StepModel& model) {
  return {model.workers, model.costs.jitter, model.costs.slow_workers, model.costs.seed};
}

SimulatedStep simulate_step(const StepModel& model, const Slowness& slowness, std::int64_t number) {
  const double crowded = model.workers > 1 ? 1 + model.costs.crowding : 1;
  double slowest = 0;
  double sum = 0;
  for (int worker = 0; worker < model.workers; ++worker) {
    const double own = crowded * slowness.of(worker, number);
    slowest = std::max(slowest, own);
    sum += own;
  }
  SimulatedStep step = simulate_step(model, slowest);
  step.waiting =
      model.compute.whole() * model.accumulate * std::max(0.0, slowest - sum / model.workers);
  return step;
}

std::vector<SimulatedStep> simulate_steps(const StepModel& model, int steps) {
  check(model.costs, model.workers);
  const Slowness slowness = slowness_of(model);
  std::vector<SimulatedStep> result;
  for (int step = 0; step < steps; ++step) result.push_back(simulate_step(model, slowness, step));
  return result;
}

}  // namespace collbench
