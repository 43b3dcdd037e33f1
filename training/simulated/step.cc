#include "training/simulated/step.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "training/parameter_window.h"
#include "training/trace_slices.h"

namespace collbench {
namespace {

/// The two streams of a step.
class Timeline final : private StepCompute, private GradientSum {
 public:
  Timeline(const StepModel& model, double slowdown)
      : model_(model),
        slowdown_(slowdown),
        layers_(model.compute.layers.size()),
        there_(model.buckets.size()),
        window_(model.buckets, model.overlap,
                {[this](std::size_t bucket) { gather(bucket); },
                 [this](std::size_t bucket) { wait_until(there_[bucket]); }, [](std::size_t) {}}) {
    for (const Tensor& tensor : model.tensors) {
      Elements& layer = layers_[static_cast<std::size_t>(tensor.layer)];
      if (layer.count == 0) layer.first = tensor.first;
      layer.count += tensor.count;
    }
  }

  SimulatedStep play() {
    step_.times = run_step(*this, *this, elements_of(model_.tensors), model_.overlap);
    return std::move(step_);
  }

 private:
  Seconds now() const override { return now_; }
  int micro_batches() const override { return model_.accumulate; }
  void forward() override {
    step_.forward.clear();
    begin(StepPass::forward);
    for (const LayerTimes& layer : model_.compute.layers) {
      const auto number = static_cast<int>(step_.forward.size());
      need(number);
      const Seconds begin = now_;
      advance(layer.forward * slowdown_);
      step_.forward.push_back({number, begin, now_});
    }
    window_.end();
  }
  void backward(const GradientsReady& ready) override {
    step_.backward.clear();
    begin(StepPass::backward);
    const auto work = [this](int layer, Seconds time) {
      std::vector<LayerSpan>& spans = step_.backward;
      if (spans.empty() || spans.back().layer != layer) {
        need(layer);
        spans.push_back({layer, now_, now_});
      }
      advance(time * slowdown_);
      spans.back().end = now_;
    };
    play_backward(model_.compute, model_.tensors, work, [&](const Tensor& tensor) {
      if (!ready) return;
      advance(model_.costs.per_tensor);
      ready(tensor.first + tensor.count);
    });
    window_.end();
  }
  void update() override {
    const Seconds whole = model_.compute.optimizer * slowdown_;
    if (model_.sharding == StateSharding::none) return advance(whole);
    const auto elements = static_cast<double>(elements_of(model_.tensors)) * model_.workers;
    for (std::size_t i = 0; i < model_.buckets.size(); ++i) {
      advance(whole * (static_cast<double>(model_.buckets[i].count) / elements));
      if (model_.sharding == StateSharding::optimizer) gather(i);
    }
  }

  void begin(StepPass pass) {
    if (model_.sharding == StateSharding::full) window_.begin(pass);
  }
  void need(int layer) {
    const Elements& range = layers_[static_cast<std::size_t>(layer)];
    if (range.count > 0) window_.need(range.first, range.first + range.count);
  }
  void gather(std::size_t bucket) {
    step_.gathers.push_back(
        {bucket, launch(bucket, model_.all_gather[bucket], model_.element_bytes)});
    there_[bucket] = stream_free_;
  }
  void wait_until(Seconds time) {
    waited_ += std::max(time - now_, Seconds{0});
    now_ = std::max(now_, time);
  }

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
      step_.buckets.push_back(launch(next, model_.all_reduce[next], model_.wire_bytes));
    }
  }
  /// A collective of a bucket, on the communication stream.
  BucketSpan launch(std::size_t bucket, Seconds time, int element_bytes) {
    const Seconds ready = now_;
    advance(model_.costs.per_bucket);
    const Seconds start = std::max(now_, stream_free_);
    stream_free_ = start + time;
    spent_ += time;
    return {Bytes{model_.buckets[bucket].count * element_bytes}, ready, start, stream_free_};
  }
  Seconds waited() override { return std::exchange(waited_, Seconds{0}); }
  Spent wait() override {
    now_ = std::max(now_, stream_free_);
    return {std::exchange(spent_, Seconds{0})};
  }
  Spent publish() override { return wait(); }

  const StepModel& model_;
  double slowdown_;
  std::vector<Elements> layers_;  // where parameters of each lie; count 0 without any
  std::vector<Seconds> there_;    // when those of each bucket were gathered last
  ParameterWindow window_;
  SimulatedStep step_;
  Seconds now_{0};          // of the compute stream
  Seconds stream_free_{0};  // when the communication stream has done all that was launched
  Seconds spent_{0};        // in collectives
  Seconds waited_{0};       // by passes
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
  assert(model.sharding == StateSharding::none || model.all_gather.size() == model.buckets.size());
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
  step.times.waiting = model.alone() * std::max(0.0, slowest - sum / model.workers);
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
  // Behind it only the last all-gather of `optimizer` goes on.
  const bool publishes = model.sharding == StateSharding::optimizer && !step.gathers.empty();
  const Seconds updated =
      publishes ? std::min(step.times.whole, step.gathers.back().span.ready) : step.times.whole;
  trace.add(TraceRow::computation, "update", "optimizer", updated - step.times.optimizer, updated);
  const auto add = [&](const BucketSpan& span, const std::string& name, const char* category) {
    trace.add(TraceRow::all_reduces, name, category, span.start, span.end,
              fmt::format("{{\"bytes\":{},\"ready_us\":{:.3f}}}", span.bytes.count,
                          span.ready.count() * 1e6));
  };
  const bool shares = model.sharding != StateSharding::none;
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    add(step.buckets[i], fmt::format("bucket {}", i), shares ? "reduce-scatter" : "all-reduce");
  }
  for (const GatherSpan& gather : step.gathers) {
    add(gather.span, fmt::format("parameters of bucket {}", gather.bucket), "all-gather");
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
