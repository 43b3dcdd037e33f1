#include "training/simulated/step.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <ostream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "training/trace_slices.h"

namespace collbench {
namespace {

/// The two streams of a step.
class Timeline final : private StepCompute, private GradientSum {
 public:
  Timeline(const StepModel& model, double slowdown) : model_(model), slowdown_(slowdown) {}

  SimulatedStep play() {
    step_.times = run_step(*this, *this, elements_of(model_.tensors), model_.overlap);
    return std::move(step_);
  }

 private:
  Seconds now() const override { return now_; }
  int micro_batches() const override { return model_.accumulate; }
  void forward() override {
    step_.forward.clear();
    for (const LayerTimes& layer : model_.compute.layers) {
      const Seconds begin = now_;
      advance(layer.forward * slowdown_);
      step_.forward.push_back({static_cast<int>(step_.forward.size()), begin, now_});
    }
  }
  void backward(const GradientsReady& ready) override {
    step_.backward.clear();
    const auto work = [this](int layer, Seconds time) {
      std::vector<LayerSpan>& spans = step_.backward;
      if (spans.empty() || spans.back().layer != layer) spans.push_back({layer, now_, now_});
      advance(time * slowdown_);
      spans.back().end = now_;
    };
    play_backward(model_.compute, model_.tensors, work, [&](const Tensor& tensor) {
      if (!ready) return;
      advance(model_.costs.per_tensor);
      ready(tensor.first + tensor.count);
    });
  }
  void update() override { advance(model_.compute.optimizer * slowdown_); }

  /// Advances the compute stream, which is slower while a collective is in flight.
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

  void start_up_to(std::int64_t end) override {
    while (step_.buckets.size() < model_.buckets.size()) {
      const std::size_t next = step_.buckets.size();
      const Bucket& bucket = model_.buckets[next];
      if (bucket.first + bucket.count > end) return;
      const Seconds ready = now_;
      advance(model_.costs.per_bucket);
      const Seconds start = std::max(now_, stream_free_);
      stream_free_ = start + model_.all_reduce[next];
      spent_ += model_.all_reduce[next];
      step_.buckets.push_back(
          {Bytes{bucket.count * model_.element_bytes}, ready, start, stream_free_});
    }
  }
  Spent wait() override {
    now_ = std::max(now_, stream_free_);
    return {spent_};
  }

  const StepModel& model_;
  double slowdown_;
  SimulatedStep step_;
  Seconds now_{0};          // of the compute stream
  Seconds stream_free_{0};  // when the communication stream has done all that was launched
  Seconds spent_{0};        // in all-reduces
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

Slowness::Slowness(int workers, double jitter,
                   const std::vector<std::pair<int, double>>& slow_workers, std::uint64_t seed)
    : jitter_(jitter), seed_(seed), fixed_(static_cast<std::size_t>(workers), 1.0) {
  for (const auto& [worker, factor] : slow_workers) {
    fixed_[static_cast<std::size_t>(worker)] *= factor;
  }
}

double Slowness::of(int worker, std::int64_t step) const {
  const auto place = static_cast<std::size_t>(worker);
  if (jitter_ == 0) return fixed_[place];
  const std::uint64_t index = static_cast<std::uint64_t>(step) * fixed_.size() + place;
  RandomEngine engine = random_engine(seed_, "slowness", index);
  // Box and Muller 1958.
  const double radius = std::sqrt(-2 * std::log(1 - uniform(engine)));
  return fixed_[place] *
         std::exp(jitter_ * radius * std::cos(2 * std::numbers::pi * uniform(engine)));
}

std::vector<Seconds> ready_times(const ComputeProfile& compute, const std::vector<Tensor>& tensors,
                                 Seconds per_tensor) {
  std::vector<Seconds> ready;
  Seconds now{0};
  play_backward(
      compute, tensors, [&now](int, Seconds work) { now += work; },
      [&](const Tensor&) { ready.push_back(now += per_tensor); });
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
  step.times.waiting =
      model.compute.whole() * model.accumulate * std::max(0.0, slowest - sum / model.workers);
  return step;
}

void write_step_trace(std::ostream& out, const Workload& workload, const StepModel& model,
                      const SimulatedStep& step) {
  // Names need no escapes: parse_workload() refuses what would.
  TraceSlices trace(out);
  const auto layer_name = [&](const LayerSpan& span) -> const std::string& {
    return workload.layers[static_cast<std::size_t>(span.layer)].name;
  };
  for (const LayerSpan& span : step.forward) {
    trace.add(TraceRow::computation, layer_name(span), "forward", span.begin, span.end);
  }
  for (const LayerSpan& span : step.backward) {
    trace.add(TraceRow::computation, layer_name(span), "backward", span.begin, span.end);
  }
  trace.add(TraceRow::computation, "update", "optimizer", step.times.whole - step.times.optimizer,
            step.times.whole);
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const BucketSpan& bucket = step.buckets[i];
    trace.add(TraceRow::all_reduces, fmt::format("bucket {}", i), "all-reduce", bucket.start,
              bucket.end,
              fmt::format("{{\"bytes\":{},\"ready_us\":{:.3f}}}", bucket.bytes.count,
                          bucket.ready.count() * 1e6));
  }
  trace.finish(
      fmt::format("{{\"workers\":{},\"parameters\":{},\"step_us\":{:.3f},\"exposed_us\":{:.3f}}}",
                  model.workers, workload.parameters(), step.times.whole.count() * 1e6,
                  step.times.exposed.count() * 1e6));
}

std::vector<SimulatedStep> simulate_steps(const StepModel& model, int steps) {
  check(model.costs, model.workers);
  const Slowness slowness = slowness_of(model);
  std::vector<SimulatedStep> result;
  for (int step = 0; step < steps; ++step) result.push_back(simulate_step(model, slowness, step));
  return result;
}

}  // namespace collbench
