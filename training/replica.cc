#include "training/replica.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/bucket_plan.h"
#include "training/bucket_reducer.h"
#include "training/bucket_tuner.h"
#include "training/evaluation.h"
#include "training/local_replica.h"
#include "training/replica_check.h"

namespace collbench {
namespace {

/// The outcome of a step, over all ranks.
struct StepOutcome {
  Score score;
  std::int64_t samples = 0;
  Rank stopped_by = -1;
};

class Replica final : private StepCompute {
 public:
  Replica(const TrainingPlan& plan, const Dataset& data, Communicator& communicator,
          Communicator& summing)
      : plan_(plan),
        communicator_(communicator),
        tensors_(tensors_of(plan.model)),
        local_(plan, data, communicator.ranks(), communicator.rank()),
        network_(local_.network()),
        optimizer_(make_optimizer(plan)),
        reducer_(summing, network_.gradients(),
                 plan_buckets(tunes() ? "ddp" : plan.buckets, tensors_, size_of(plan.type), {}),
                 wire_rule()) {}

  /// Continues from `start`, or from the beginning if it is null, once all replicas are equal.
  void begin(const TrainingState* start) {
    if (start != nullptr) {
      load(*start, network_);
      optimizer_->set_state(start->optimizer);
      if (tunes() && !start->buckets.empty()) {
        reducer_.set_buckets(start->buckets);
        tuned_ = true;
      }
    }
    const std::int64_t step = start == nullptr ? 0 : start->step;
    reducer_.run([&] { require_equal_replicas(network_, tensors_, communicator_, step); });
  }

  std::int64_t steps_per_epoch() const {
    return plan_.steps > 0 ? plan_.steps : local_.input().steps_per_pass();
  }
  const std::vector<Bucket>& buckets() const { return reducer_.buckets(); }
  std::vector<double> parameters() const { return network_.copy_of_parameters(); }

  StepTimes step(std::int64_t number, bool wants_to_stop, StepOutcome& outcome) {
    step_ = number;
    outcome_ = {};
    wants_to_stop_ = wants_to_stop;
    const StepTimes times = run_step(*this, reducer_, elements_of(tensors_), plan_.overlap);
    outcome = outcome_;
    if (tunes() && !tuned_ && tuner_.end_step()) tune();
    return times;
  }

  /// Makes the moving statistics of all replicas their mean.
  void average_statistics() {
    const Region statistics = network_.statistics();
    if (statistics.count == 0) return;
    reducer_.run([&] { communicator_.all_reduce(statistics, statistics, ReduceOp::avg); });
  }

  /// Saves on rank 0, and throws on every rank if that fails. `state` knows step and epoch.
  void save(const std::function<void(const TrainingState&)>& save, TrainingState& state) {
    average_statistics();
    std::exception_ptr failure;
    if (communicator_.rank() == 0) {
      store(network_, state);
      state.optimizer = optimizer_->state();
      state.buckets = tuned_ ? reducer_.buckets() : std::vector<Bucket>();
      try {
        save(state);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    std::int64_t failed = failure ? 1 : 0;
    const Region flag{reinterpret_cast<std::byte*>(&failed), 1, DataType::i64};
    try {
      reducer_.run([&] { communicator_.all_reduce(flag, flag, ReduceOp::max); });
    } catch (const TransportError&) {
      if (!failure) throw;  // the others may have received the reason and ended before this rank
    }
    if (failure) std::rethrow_exception(failure);
    if (failed != 0) {
      throw TransportError(
          fmt::format("rank 0 could not save the state after step {}", state.step));
    }
  }

  double accuracy_on(const Dataset& held_out) {
    return evaluate(network_, held_out, local_.input().largest()).accuracy;
  }

 private:
  Seconds now() const override { return communicator_.now(); }
  void read() override { outcome_.samples = local_.read(step_).all; }
  void forward() override { outcome_.score = local_.forward(); }
  void backward(const GradientsReady& ready) override {
    const bool measures = tunes() && !tuned_ && local_.has_samples();
    if (measures) tuner_.begin_backward(now());
    local_.backward([&](std::int64_t end) {
      if (measures) tuner_.ready(end, now());
      ready(end);
    });
  }
  void update() override {
    const Region parameters = network_.parameters();
    if (!plan_.central || communicator_.rank() == 0) {
      optimizer_->update(parameters, network_.gradients());
    }
    if (plan_.central) reducer_.run([&] { communicator_.broadcast(parameters, 0); });
  }
  void check() override {
    reducer_.run([&] {
      exchange();
      require_equal_replicas(network_, tensors_, communicator_, step_ + 1);
    });
  }

  void tune() {
    std::vector<Seconds> costs;
    for (const std::int64_t count : BucketTuner::probes(elements_of(tensors_))) {
      costs.push_back(reducer_.cost_of(count));
    }
    reducer_.set_buckets(tuner_.plan(costs, size_of(plan_.type), reducer_, communicator_));
    tuned_ = true;
  }

  bool tunes() const { return plan_.buckets == "auto"; }
  WireRule wire_rule() const {
    return {plan_.wire, plan_.mean_before_sum ? 1.0 / communicator_.ranks() : 1.0};
  }

  /// Sums the scores, and finds the lowest rank that wants to stop: those of others add 0.
  void exchange() {
    const auto ranks = static_cast<std::size_t>(communicator_.ranks());
    sums_.assign(2 + ranks, 0);
    sums_[0] = outcome_.score.loss;
    sums_[1] = static_cast<double>(outcome_.score.correct);
    sums_[2 + static_cast<std::size_t>(communicator_.rank())] = wants_to_stop_ ? 1 : 0;
    const Region region{reinterpret_cast<std::byte*>(sums_.data()), std::ssize(sums_),
                        DataType::f64};
    communicator_.all_reduce(region, region, ReduceOp::sum);
    outcome_.score = {sums_[0], static_cast<std::int64_t>(sums_[1])};
    const auto wish = std::find(sums_.begin() + 2, sums_.end(), 1.0);
    if (wish != sums_.end()) outcome_.stopped_by = static_cast<Rank>(wish - sums_.begin() - 2);
  }

  const TrainingPlan& plan_;
  Communicator& communicator_;
  std::vector<Tensor> tensors_;
  LocalReplica local_;
  Network& network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t step_ = 0;  // under way
  bool wants_to_stop_ = false;
  StepOutcome outcome_;
  std::vector<double> sums_;
  BucketTuner tuner_{tensors_};
  bool tuned_ = false;
  BucketReducer reducer_;
};

Progress progress_of(const Score& score, std::int64_t steps, std::int64_t samples,
                     Seconds elapsed) {
  const auto count = static_cast<double>(samples);
  return {steps, score.loss / count, static_cast<double>(score.correct) / count, elapsed, samples};
}

/// Runs the epochs of a plan on one replica.
class ReplicaRun {
 public:
  ReplicaRun(const TrainingPlan& plan, Replica& replica, Communicator& communicator,
             const ReplicaHooks& hooks)
      : plan_(plan),
        replica_(replica),
        communicator_(communicator),
        hooks_(hooks),
        steps_(replica.steps_per_epoch()),
        last_(plan.epochs * steps_) {
    if (hooks.start != nullptr) state_ = *hooks.start;
    state_.finished = false;
    report_.first_step = state_.step;
  }

  ReplicaReport finish() {
    epoch_began_ = communicator_.now();
    while (state_.step < last_ && report_.stopped_by < 0) step();
    report_.parameters = replica_.parameters();
    report_.buckets = replica_.buckets();
    return std::move(report_);
  }

 private:
  void step() {
    StepOutcome outcome;
    const bool wants_to_stop = hooks_.stop_wanted && hooks_.stop_wanted();
    report_.steps.push_back(replica_.step(state_.step, wants_to_stop, outcome));
    ++state_.step;
    report_.stopped_by = outcome.stopped_by;
    state_.epoch.loss += outcome.score.loss;
    state_.epoch.correct += outcome.score.correct;
    state_.epoch_samples += outcome.samples;
    samples_ += outcome.samples;
    if (hooks_.on_step) {
      hooks_.on_step(
          progress_of(outcome.score, state_.step, outcome.samples, report_.steps.back().whole));
    }
    const bool epoch_ends = state_.step % steps_ == 0;
    if (epoch_ends) end_epoch();
    state_.finished = state_.step == last_;
    const bool due = plan_.save_every > 0 ? state_.step % plan_.save_every == 0 : epoch_ends;
    if (hooks_.save && (due || state_.finished || report_.stopped_by >= 0)) {
      replica_.save(hooks_.save, state_);
    }
  }

  void end_epoch() {
    const Seconds now = communicator_.now();
    report_.epochs.push_back(
        progress_of(state_.epoch, steps_, state_.epoch_samples, now - epoch_began_));
    report_.epochs.back().samples = std::exchange(samples_, 0);
    epoch_began_ = now;
    state_.epoch = {};
    state_.epoch_samples = 0;
  }

  const TrainingPlan& plan_;
  Replica& replica_;
  Communicator& communicator_;
  const ReplicaHooks& hooks_;
  std::int64_t steps_;  // per epoch
  std::int64_t last_;
  TrainingState state_;
  ReplicaReport report_;
  Seconds epoch_began_{0};    // or this run in the middle of it
  std::int64_t samples_ = 0;  // taken since then
};

}  // namespace

void note_waiting(std::vector<ReplicaReport>& reports) {
  const auto together = [](const StepTimes& step) { return step.exposed + step.checks; };
  for (std::size_t i = 0; i < reports[0].steps.size(); ++i) {
    Seconds least = together(reports[0].steps[i]);
    for (const ReplicaReport& report : reports) least = std::min(least, together(report.steps[i]));
    for (ReplicaReport& report : reports) {
      report.steps[i].waiting = together(report.steps[i]) - least;
    }
  }
}

ReplicaReport train_replica(const TrainingPlan& plan, const Dataset& data, const Dataset& held_out,
                            Communicator& communicator, const ReplicaHooks& hooks,
                            std::shared_ptr<void>* keep, Communicator* summing) {
  check(plan, data, communicator.ranks());
  if (hooks.on_thread) hooks.on_thread(communicator.rank());
  const auto replica = std::make_shared<Replica>(plan, data, communicator,
                                                 summing == nullptr ? communicator : *summing);
  if (keep != nullptr) *keep = replica;
  replica->begin(hooks.start);
  ReplicaReport report = ReplicaRun(plan, *replica, communicator, hooks).finish();
  replica->average_statistics();
  if (communicator.rank() == 0 && held_out.size() > 0) {
    report.held_out_accuracy = replica->accuracy_on(held_out);
  }
  return report;
}

}  // namespace collbench
