#include "training/replica.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "training/bucket_plan.h"
#include "training/bucket_reducer.h"
#include "training/bucket_tuner.h"
#include "training/elements.h"
#include "training/local_replica.h"
#include "training/replica_check.h"
#include "training/sharded_optimizer.h"
#include "training/sharded_parameters.h"
#include "transports/memory.h"

namespace collbench {
namespace {

// While rank 0 writes a checkpoint or evaluates: none of that makes it a lost rank.
constexpr std::chrono::milliseconds between_meetings{200};

/// The outcome of a step, over all ranks.
struct StepOutcome {
  Score score;
  std::int64_t samples = 0;
  Rank stopped_by = -1;
};

/// Runs the epochs of a plan on one replica.
class Replica final : private StepCompute {
 public:
  Replica(const TrainingPlan& plan, const Dataset& data, Communicator& communicator,
          Communicator& summing, const ReplicaHooks& hooks)
      : plan_(plan),
        communicator_(communicator),
        hooks_(hooks),
        tensors_(tensors_of(plan.model)),
        local_(plan, data, communicator.ranks(), communicator.rank()),
        network_(local_.network()),
        reducer_(summing, network_.gradients(),
                 plan_buckets(tunes() ? "ddp" : plan.buckets, tensors_, size_of(plan.type), {}),
                 wire_rule()) {}

  /// Goes on from hooks.start, or from the beginning, once all replicas are equal.
  ReplicaReport train(const Dataset& held_out) {
    begin();
    const std::int64_t per_epoch = plan_.steps > 0 ? plan_.steps : local_.input().steps_per_pass();
    report_.first_step = state_.step;
    epoch_began_ = now();
    while (state_.step < plan_.epochs * per_epoch && report_.stopped_by < 0) step(per_epoch);
    if (sharded_) sharded_->gather_all();
    report_.parameters = network_.copy_of_parameters();
    report_.buckets = reducer_.buckets();
    average_statistics();
    evaluate_held_out(held_out);
    return std::move(report_);
  }

 private:
  void begin() {
    if (hooks_.start != nullptr) {
      state_ = *hooks_.start;
      state_.finished = false;
      load(state_, network_);
      if (tunes() && !state_.buckets.empty()) {
        reducer_.set_buckets(state_.buckets);
        tuned_ = true;
      }
    }
    reducer_.run([&] { require_equal_replicas(network_, tensors_, communicator_, state_.step); });
    plan_.state_sharding == StateSharding::none ? mirror() : shard();
  }

  void mirror() {
    optimizer_ = make_optimizer(plan_);
    if (hooks_.start != nullptr) optimizer_->set_state(state_.optimizer);
  }

  void shard() {
    const auto make = [this](std::int64_t count) {
      return find_engine(plan_.engine, plan_.type)
          .make_optimizer(plan_.optimizer, count, plan_.type);
    };
    shares_.emplace(make, reducer_.buckets(), communicator_.rank(), communicator_.ranks());
    if (hooks_.start != nullptr) shares_->set_state(state_.optimizer);
    const auto fingerprint = [this](std::int64_t first, std::int64_t count) {
      return network_.fingerprint(first, count);
    };
    sharded_.emplace(plan_.state_sharding,
                     ReplicaVectors{network_.parameters(), network_.gradients(), fingerprint},
                     tensors_, communicator_, reducer_, plan_.overlap);
    network_.announce_parameters(
        [this](std::int64_t first, std::int64_t end) { sharded_->need(first, end); });
  }

  void step(std::int64_t per_epoch) {
    outcome_ = {};
    wants_to_stop_ = hooks_.stop_wanted && hooks_.stop_wanted();
    if (sharded_) sharded_->note_memory(report_.steps.empty());
    GradientSum& sum = sharded_ ? static_cast<GradientSum&>(*sharded_) : reducer_;
    const StepTimes times = run_step(*this, sum, elements_of(tensors_), plan_.overlap);
    if (report_.steps.empty()) note_memory();
    report_.steps.push_back(times);
    if (tunes() && !tuned_ && tuner_.end_step()) tune();
    ++state_.step;
    report_.stopped_by = outcome_.stopped_by;
    state_.epoch.loss += outcome_.score.loss;
    state_.epoch.correct += outcome_.score.correct;
    state_.epoch_samples += outcome_.samples;
    samples_ += outcome_.samples;
    if (hooks_.on_step) {
      hooks_.on_step(progress_of(outcome_.score, state_.step, outcome_.samples, times.whole));
    }
    const bool epoch_ends = state_.step % per_epoch == 0;
    if (epoch_ends) end_epoch(per_epoch);
    state_.finished = state_.step == plan_.epochs * per_epoch;
    const bool due = plan_.save_every > 0 ? state_.step % plan_.save_every == 0 : epoch_ends;
    if (hooks_.save && (due || state_.finished || report_.stopped_by >= 0)) save();
  }

  void note_memory() {
    if (sharded_) {
      report_.memory = sharded_->memory();
      report_.memory.optimizer = shares_->memory();
    } else {
      report_.memory = {network_.memory_of(network_.parameters()),
                        network_.memory_of(network_.gradients()),
                        optimizer_->memory(),
                        {}};
    }
    report_.memory.buffers = report_.memory.buffers + reducer_.buffer();
    report_.expected_memory =
        expected_memory({plan_.state_sharding, tensors_, reducer_.buckets(), communicator_.rank(),
                         communicator_.ranks(), size_of(plan_.type), size_of(plan_.wire),
                         static_cast<int>(slot_names(plan_.optimizer).size()), plan_.overlap});
  }

  void end_epoch(std::int64_t per_epoch) {
    const Seconds began = std::exchange(epoch_began_, now());
    report_.epochs.push_back(
        progress_of(state_.epoch, per_epoch, state_.epoch_samples, epoch_began_ - began));
    report_.epochs.back().samples = std::exchange(samples_, 0);
    state_.epoch = {};
    state_.epoch_samples = 0;
  }

  /// Makes the moving statistics of all replicas their mean.
  void average_statistics() {
    const Region statistics = network_.statistics();
    if (statistics.count == 0) return;
    reducer_.run([&] { communicator_.all_reduce(statistics, statistics, ReduceOp::avg); });
  }

  /// Saves on rank 0, and throws on every rank if that fails.
  void save() {
    average_statistics();
    gather_state();
    std::future<void> saved;
    if (communicator_.rank() == 0) {
      store(network_, state_);
      state_.buckets = tuned_ ? reducer_.buckets() : std::vector<Bucket>();
      saved = std::async(std::launch::async, hooks_.save, std::cref(state_));
    }
    await_saved(saved);
    if (sharded_) sharded_->keep_shares();
  }

  /// Meets the other ranks again and again until rank 0 has written: a slow disk is no lost rank.
  void await_saved(std::future<void>& saved) {
    enum : std::int64_t { done, writing, failed };
    std::vector<std::int64_t> state{writing};
    while (state[0] == writing) {
      std::exception_ptr failure;
      state[0] = done;
      if (saved.valid()) {
        if (saved.wait_for(between_meetings) == std::future_status::timeout) {
          state[0] = writing;
        } else {
          try {
            saved.get();
          } catch (...) {
            failure = std::current_exception();
            state[0] = failed;
          }
        }
      }
      try {
        reducer_.run([&] { all_reduce(communicator_, state, ReduceOp::max); });
      } catch (const TransportError&) {
        if (!failure) throw;  // the others may have received the reason and ended before this rank
      }
      if (failure) std::rethrow_exception(failure);
    }
    if (state[0] == failed) {
      throw TransportError(
          fmt::format("rank 0 could not save the state after step {}", state_.step));
    }
  }

  /// On rank 0, which meets the others now and then: they wait until it has.
  void evaluate_held_out(const Dataset& held_out) {
    std::vector<std::int64_t> goes_on;
    const auto meet = [&](std::int64_t own) {
      goes_on = {own};
      reducer_.run([&] { all_reduce(communicator_, goes_on, ReduceOp::max); });
    };
    if (communicator_.rank() == 0 && held_out.size() > 0) {
      auto met = std::chrono::steady_clock::now();
      const auto meet_now_and_then = [&] {
        if (std::chrono::steady_clock::now() - met < between_meetings) return;
        meet(1);
        met = std::chrono::steady_clock::now();
      };
      report_.held_out_accuracy =
          evaluate(network_, held_out, local_.input().largest(), meet_now_and_then).accuracy;
    }
    do {
      meet(0);
    } while (goes_on[0] != 0);
  }

  /// Parameters and what the optimizer remembers, whole on rank 0 at least.
  void gather_state() {
    if (!sharded_) {
      if (communicator_.rank() == 0) state_.optimizer = optimizer_->state();
      return;
    }
    sharded_->gather_all();
    reducer_.run([&] { state_.optimizer = shares_->gather(communicator_); });
  }

  Seconds now() const override { return communicator_.now(); }
  void read() override { outcome_.samples = local_.read(state_.step).all; }
  void forward() override {
    if (sharded_) sharded_->begin(StepPass::forward);
    outcome_.score = local_.forward();
    if (!sharded_) return;
    if (!local_.has_samples()) sharded_->pass_over({});
    sharded_->end();
  }
  void backward(const GradientsReady& ready) override {
    const bool measures = tunes() && !tuned_ && local_.has_samples();
    if (measures) tuner_.begin_backward(now());
    if (sharded_) sharded_->begin(StepPass::backward);
    local_.backward([&](std::int64_t end) {
      if (measures) tuner_.ready(end, now());
      ready(end);
    });
    if (!sharded_) return;
    if (!local_.has_samples()) sharded_->pass_over(ready);
    sharded_->end();
  }
  void update() override {
    const Region parameters = network_.parameters();
    if (sharded_) {
      return sharded_->update([this](std::size_t bucket, Region share, Region gradients) {
        shares_->update(bucket, share, gradients);
      });
    }
    if (!plan_.central || communicator_.rank() == 0) {
      optimizer_->update(parameters, network_.gradients());
    }
    if (plan_.central) reducer_.run([&] { communicator_.broadcast(parameters, 0); });
  }
  void check() override {
    reducer_.run([&] {
      exchange();
      if (plan_.state_sharding == StateSharding::full) {
        require_equal_digests(sharded_->digest(), communicator_, state_.step + 1);
      } else {
        require_equal_replicas(network_, tensors_, communicator_, state_.step + 1);
      }
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
    return {plan_.wire, plan_.mean_before_sum ? 1.0 / communicator_.ranks() : 1.0,
            plan_.state_sharding != StateSharding::none};
  }

  /// Sums the scores, and finds the lowest rank that wants to stop: those of others add 0.
  void exchange() {
    const auto ranks = static_cast<std::size_t>(communicator_.ranks());
    sums_.assign(2 + ranks, 0);
    sums_[0] = outcome_.score.loss;
    sums_[1] = static_cast<double>(outcome_.score.correct);
    sums_[2 + static_cast<std::size_t>(communicator_.rank())] = wants_to_stop_ ? 1 : 0;
    all_reduce(communicator_, sums_, ReduceOp::sum);
    outcome_.score = {sums_[0], static_cast<std::int64_t>(sums_[1])};
    const auto wish = std::find(sums_.begin() + 2, sums_.end(), 1.0);
    if (wish != sums_.end()) outcome_.stopped_by = static_cast<Rank>(wish - sums_.begin() - 2);
  }

  const TrainingPlan& plan_;
  Communicator& communicator_;
  const ReplicaHooks& hooks_;
  std::vector<Tensor> tensors_;
  LocalReplica local_;
  Network& network_;
  std::unique_ptr<Optimizer> optimizer_;    // of all parameters; null where ranks share them
  std::optional<ShardedOptimizer> shares_;  // these two instead
  bool wants_to_stop_ = false;
  StepOutcome outcome_;
  TrainingState state_;
  ReplicaReport report_;
  Seconds epoch_began_{0};    // or this run in the middle of it
  std::int64_t samples_ = 0;  // taken since then
  std::vector<double> sums_;
  BucketTuner tuner_{tensors_};
  bool tuned_ = false;
  std::optional<ShardedParameters> sharded_;
  BucketReducer reducer_;  // last: its thread ends before what its tasks use
};

}  // namespace

Progress progress_of(const Score& score, std::int64_t steps, std::int64_t samples,
                     Seconds elapsed) {
  const auto count = static_cast<double>(samples);
  return {steps, mean_loss(score.loss, samples), static_cast<double>(score.correct) / count,
          elapsed, samples};
}

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
  Communicator& sums = summing == nullptr ? communicator : *summing;
  const auto replica = std::make_shared<Replica>(plan, data, communicator, sums, hooks);
  if (keep != nullptr) *keep = replica;
  return replica->train(held_out);
}

}  // namespace collbench
