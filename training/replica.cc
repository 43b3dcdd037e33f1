#include "training/replica.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/bucket_plan.h"
#include "training/bucket_reducer.h"
#include "training/bucket_tuner.h"
#include "training/engines/engine.h"
#include "training/evaluation.h"
#include "training/replica_check.h"

namespace collbench {
namespace {

/// The outcome of a step, over all ranks.
struct StepOutcome {
  Score score;
  std::int64_t samples = 0;
  Rank stopped_by = -1;
};

class Replica {
 public:
  Replica(const TrainingPlan& plan, const Dataset& data, Communicator& communicator,
          Communicator& summing)
      : plan_(plan),
        communicator_(communicator),
        tensors_(tensors_of(plan.model)),
        input_(data, input_of(plan), communicator.ranks(), communicator.rank()),
        network_(find_engine(plan.engine, plan.type)
                     .make_network(plan.model, input_.largest(), plan.type)),
        optimizer_(find_engine(plan.engine, plan.type)
                       .make_optimizer(plan.optimizer, parameters_of(plan.model), plan.type)),
        reducer_(summing, network_->gradients(),
                 plan_buckets(tunes() ? "ddp" : plan.buckets, tensors_, size_of(plan.type), {}),
                 wire_rule()) {
    network_->set_parameters(initial_parameters(plan.model, plan.seed));
  }

  /// Continues from `start`, or from the beginning if it is null, once all replicas are equal.
  void begin(const TrainingState* start) {
    if (start != nullptr) {
      network_->set_parameters(start->parameters);
      set_values(network_->statistics(), start->statistics);
      optimizer_->set_state(start->optimizer);
      if (tunes() && !start->buckets.empty()) {
        reducer_.set_buckets(start->buckets);
        tuned_ = true;
      }
    }
    const std::int64_t step = start == nullptr ? 0 : start->step;
    reducer_.run([&] { require_equal_replicas(*network_, tensors_, communicator_, step); });
  }

  std::int64_t steps_per_epoch() const {
    return plan_.steps > 0 ? plan_.steps : input_.steps_per_pass();
  }
  const std::vector<Bucket>& buckets() const { return reducer_.buckets(); }
  std::vector<double> parameters() const { return network_->copy_of_parameters(); }

  StepTimes step(std::int64_t number, bool wants_to_stop, StepOutcome& outcome) {
    StepTimes times;
    const Seconds begin = communicator_.now();
    Seconds last = begin;
    const auto lap = [&] {
      const Seconds before = std::exchange(last, communicator_.now());
      return last - before;
    };
    const StepSize size = input_.read(number, images_, labels_);
    times.input = lap();
    outcome.score = size.mine > 0 ? network_->forward({images_, labels_}) : Score{};
    times.forward = lap();
    compute_gradients(size);
    times.backward = lap();
    reducer_.start_up_to(parameter_count());
    const BucketReducer::Spent spent = reducer_.wait();
    times.communication = spent.time;
    times.busy = spent.processor;
    times.exposed = lap();
    update();
    times.optimizer = lap();
    reducer_.run([&] {
      exchange(outcome, wants_to_stop);
      require_equal_replicas(*network_, tensors_, communicator_, number + 1);
    });
    outcome.samples = size.all;
    times.checks = lap();
    times.whole = last - begin;
    if (tunes() && !tuned_ && tuner_.end_step()) tune();
    return times;
  }

  /// Makes the moving statistics of all replicas their mean.
  void average_statistics() {
    const Region statistics = network_->statistics();
    if (statistics.count == 0) return;
    reducer_.run([&] { communicator_.all_reduce(statistics, statistics, ReduceOp::avg); });
  }

  /// Saves on rank 0, and throws on every rank if that fails. `state` knows step and epoch.
  void save(const std::function<void(const TrainingState&)>& save, TrainingState& state) {
    average_statistics();
    std::exception_ptr failure;
    if (communicator_.rank() == 0) {
      state.parameters = network_->copy_of_parameters();
      state.statistics = values_of(network_->statistics());
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
    return evaluate(*network_, held_out, input_.largest()).accuracy;
  }

 private:
  void update() {
    const Region parameters = network_->parameters();
    if (!plan_.central || communicator_.rank() == 0) {
      optimizer_->update(parameters, network_->gradients());
    }
    if (plan_.central) reducer_.run([&] { communicator_.broadcast(parameters, 0); });
  }

  void tune() {
    std::vector<Seconds> costs;
    for (const std::int64_t count : BucketTuner::probes(parameter_count())) {
      costs.push_back(reducer_.cost_of(count));
    }
    reducer_.set_buckets(tuner_.plan(costs, size_of(plan_.type), reducer_, communicator_));
    tuned_ = true;
  }

  bool tunes() const { return plan_.buckets == "auto"; }
  WireRule wire_rule() const {
    return {plan_.wire, plan_.mean_before_sum ? 1.0 / communicator_.ranks() : 1.0};
  }
  std::int64_t parameter_count() const { return tensors_.back().first + tensors_.back().count; }

  void compute_gradients(const StepSize& size) {
    if (size.mine == 0) {  // its share of a ragged end is empty: it adds nothing to the sum
      network_->clear_gradients();
      return;
    }
    const int ranks = communicator_.ranks();
    double scale = gradient_scale(plan_, size, ranks);
    if (plan_.mean_before_sum) scale *= ranks;
    const bool measures = tunes() && !tuned_;
    if (measures) tuner_.begin_backward(communicator_.now());
    network_->backward(scale, [this, measures](std::int64_t end) {
      if (measures) tuner_.ready(end, communicator_.now());
      if (plan_.overlap) reducer_.start_up_to(end);
    });
  }

  /// Sums the scores, and finds the lowest rank that wants to stop: those of others add 0.
  void exchange(StepOutcome& outcome, bool wants_to_stop) {
    const auto ranks = static_cast<std::size_t>(communicator_.ranks());
    sums_.assign(2 + ranks, 0);
    sums_[0] = outcome.score.loss;
    sums_[1] = static_cast<double>(outcome.score.correct);
    sums_[2 + static_cast<std::size_t>(communicator_.rank())] = wants_to_stop ? 1 : 0;
    const Region region{reinterpret_cast<std::byte*>(sums_.data()), std::ssize(sums_),
                        DataType::f64};
    communicator_.all_reduce(region, region, ReduceOp::sum);
    outcome.score = {sums_[0], static_cast<std::int64_t>(sums_[1])};
    const auto wish = std::find(sums_.begin() + 2, sums_.end(), 1.0);
    if (wish != sums_.end()) outcome.stopped_by = static_cast<Rank>(wish - sums_.begin() - 2);
  }

  const TrainingPlan& plan_;
  Communicator& communicator_;
  std::vector<Tensor> tensors_;
  InputPipeline input_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> images_;
  std::vector<int> labels_;
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

std::int64_t per_replica_batch(std::int64_t global_batch, int replicas) {
  return InputContext{1, 0, replicas}.get_per_replica_batch_size(global_batch);
}

double gradient_scale(const TrainingPlan& plan, const StepSize& size, int replicas) {
  const bool exact = plan.loss_scaling == LossScaling::exact;
  return 1.0 / static_cast<double>(exact ? size.all : size.mine * replicas);
}

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
          fmt::format("model {} tells {} classes apart; {} has {}", plan.model.name,
                      plan.model.classes, data.description, data.classes));
  for (int replica = 0; replica < replicas; ++replica) {
    InputPipeline(data, input_of(plan), replicas, replica);
  }
  check(plan.optimizer);
  check_bucket_plan(plan.buckets, tensors_of(plan.model).size());
  const ComputeEngine& engine = find_engine(plan.engine, plan.type);
  if (engine.make_world != nullptr &&
      (plan.central || plan.mean_before_sum || size_of(plan.wire) < size_of(plan.type))) {
    throw Unavailable(fmt::format(
        "engine {} sums gradients on its devices as they are: no central storage, no mean before "
        "the sum, no narrower wire type",
        engine.name));
  }
  const Bytes needed = least_memory(plan, replicas);
  const Bytes available = available_memory();
  if (needed > available) {
    const auto gibibytes = [](Bytes size) { return static_cast<double>(size.count) * 0x1p-30; };
    throw Unavailable(fmt::format(
        "{} replicas of {} need at least {:.1f} GiB of memory; {:.1f} GiB are available", replicas,
        plan.model.name, gibibytes(needed), gibibytes(available)));
  }
}

InputOptions input_of(const TrainingPlan& plan) {
  // Replicas of a worker of parameter servers share its batches, from whatever files these are.
  const bool shared = plan.replicas > 1 && plan.sharding == AutoShard::automatic;
  return {plan.global_batch, plan.seed, shared ? AutoShard::data : plan.sharding,
          plan.drop_remainder};
}

std::int64_t steps_per_epoch(const TrainingPlan& plan, const Dataset& data, int replicas) {
  return plan.steps > 0 ? plan.steps
                        : InputPipeline(data, input_of(plan), replicas, 0).steps_per_pass();
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
