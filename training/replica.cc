#include "training/replica.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/engine.h"
#include "training/replica_check.h"
#include "transports/progress_lane.h"

namespace collbench {
namespace {

/// Sums buckets of gradients over the ranks, in order, on a thread of its own.
class BucketReducer {
 public:
  BucketReducer(Communicator& communicator, Region gradients, std::vector<Bucket> buckets)
      : communicator_(communicator), gradients_(gradients), buckets_(std::move(buckets)) {}

  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Starts what is complete once the first `end` elements are.
  void start_up_to(std::int64_t end) {
    while (tickets_.size() < buckets_.size()) {
      const Bucket bucket = buckets_[tickets_.size()];
      if (bucket.first + bucket.count > end) return;
      tickets_.push_back(lane_.start([this, bucket] { reduce(bucket); }));
    }
  }
  /// Returns the time spent in all-reduce since the last call.
  Seconds wait() {
    for (const std::uint64_t ticket : tickets_) lane_.wait(ticket);
    tickets_.clear();
    return std::exchange(busy_, Seconds{0});
  }
  /// Runs another collective where the communicator is used.
  void run(const std::function<void()>& task) { lane_.wait(lane_.start(task)); }

 private:
  void reduce(const Bucket& bucket) {
    const Seconds before = communicator_.now();
    const Region part = gradients_.part(bucket.first, bucket.count);
    communicator_.all_reduce(part, part, ReduceOp::sum);
    busy_ += communicator_.now() - before;
  }

  Communicator& communicator_;
  Region gradients_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint64_t> tickets_;
  Seconds busy_{0};    // written by the lane, read when it is idle
  ProgressLane lane_;  // last: its thread ends before what its tasks use
};

class Replica {
 public:
  Replica(const TrainingPlan& plan, const Dataset& data, Communicator& communicator)
      : plan_(plan),
        data_(data),
        communicator_(communicator),
        samples_(per_replica_batch(plan.global_batch, communicator.ranks())),
        tensors_(tensors_of(plan.model)),
        order_(data.size(), plan.global_batch, plan.seed),
        network_(find_engine(plan.engine, plan.type).make_network(plan.model, samples_, plan.type)),
        optimizer_(find_engine(plan.engine, plan.type)
                       .make_optimizer(plan.optimizer, parameters_of(plan.model), plan.type)),
        reducer_(communicator, network_->gradients(),
                 make_buckets(tensors_, size_of(plan.type), plan.buckets)) {
    network_->set_parameters(initial_parameters(plan.model, plan.seed));
    reducer_.run([this] { require_equal_replicas(*network_, tensors_, communicator_, 0); });
  }

  std::int64_t steps_per_epoch() const {
    return plan_.steps > 0 ? plan_.steps : order_.batches_per_pass();
  }
  const std::vector<Bucket>& buckets() const { return reducer_.buckets(); }
  std::vector<double> parameters() const { return network_->copy_of_parameters(); }

  StepTimes step(std::int64_t number, Score& score) {
    StepTimes times;
    const Seconds begin = communicator_.now();
    Seconds last = begin;
    const auto lap = [&] {
      const Seconds before = std::exchange(last, communicator_.now());
      return last - before;
    };
    order_.gather(data_, number, communicator_.rank() * samples_, samples_, images_, labels_);
    times.input = lap();
    score = network_->forward({images_, labels_});
    times.forward = lap();
    network_->backward(1.0 / static_cast<double>(plan_.global_batch), [this](std::int64_t end) {
      if (plan_.overlap) reducer_.start_up_to(end);
    });
    times.backward = lap();
    reducer_.start_up_to(tensors_.back().first + tensors_.back().count);
    times.communication = reducer_.wait();
    times.exposed = lap();
    optimizer_->update(network_->parameters(), network_->gradients());
    times.optimizer = lap();
    reducer_.run([&] {
      add_scores(score);
      require_equal_replicas(*network_, tensors_, communicator_, number + 1);
    });
    times.checks = lap();
    times.whole = last - begin;
    return times;
  }

  /// All ranks must call it: their moving statistics become the means over the ranks.
  void average_statistics() {
    const Region statistics = network_->statistics();
    if (statistics.count == 0) return;
    reducer_.run([&] { communicator_.all_reduce(statistics, statistics, ReduceOp::avg); });
  }

  double accuracy_on(const Dataset& held_out) {
    Score total;
    const std::int64_t size = held_out.shape.size();
    for (std::int64_t first = 0; first < held_out.size(); first += samples_) {
      const std::int64_t count = std::min(samples_, held_out.size() - first);
      total.correct +=
          network_
              ->evaluate(
                  {{held_out.images.data() + first * size, static_cast<std::size_t>(count * size)},
                   {held_out.labels.data() + first, static_cast<std::size_t>(count)}})
              .correct;
    }
    return static_cast<double>(total.correct) / static_cast<double>(held_out.size());
  }

 private:
  void add_scores(Score& score) {
    double sums[2] = {score.loss, static_cast<double>(score.correct)};
    const Region region{reinterpret_cast<std::byte*>(sums), 2, DataType::f64};
    communicator_.all_reduce(region, region, ReduceOp::sum);
    score = {sums[0], static_cast<std::int64_t>(sums[1])};
  }

  const TrainingPlan& plan_;
  const Dataset& data_;
  Communicator& communicator_;
  std::int64_t samples_;
  std::vector<Tensor> tensors_;
  BatchOrder order_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> images_;
  std::vector<int> labels_;
  BucketReducer reducer_;
};

Progress progress_of(const Score& score, std::int64_t steps, std::int64_t samples,
                     Seconds elapsed) {
  const auto count = static_cast<double>(samples);
  return {steps, score.loss / count, static_cast<double>(score.correct) / count, elapsed};
}

}  // namespace

std::int64_t per_replica_batch(std::int64_t global_batch, int replicas) {
  require(global_batch % replicas == 0,
          fmt::format("The `global_batch_size` {} is not divisible by `num_replicas_in_sync` {}",
                      global_batch, replicas));
  return global_batch / replicas;
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
  BatchOrder(data.size(), plan.global_batch, plan.seed);
  check(plan.optimizer);
  find_engine(plan.engine, plan.type);
  const Bytes needed = least_memory(plan, replicas);
  const Bytes available = available_memory();
  if (needed > available) {
    const auto gibibytes = [](Bytes size) { return static_cast<double>(size.count) * 0x1p-30; };
    throw Unavailable(fmt::format(
        "{} replicas of {} need at least {:.1f} GiB of memory; {:.1f} GiB are available", replicas,
        plan.model.name, gibibytes(needed), gibibytes(available)));
  }
}

ReplicaReport train_replica(const TrainingPlan& plan, const Dataset& data, const Dataset& held_out,
                            Communicator& communicator,
                            const std::function<void(const Progress&)>& on_step) {
  check(plan, data, communicator.ranks());
  Replica replica(plan, data, communicator);
  ReplicaReport report;
  report.buckets = replica.buckets();
  const std::int64_t steps = replica.steps_per_epoch();
  for (int epoch = 0; epoch < plan.epochs; ++epoch) {
    Score total;
    const Seconds begin = communicator.now();
    for (std::int64_t i = 0; i < steps; ++i) {
      Score score;
      report.steps.push_back(replica.step(epoch * steps + i, score));
      total.loss += score.loss;
      total.correct += score.correct;
      const auto done = static_cast<std::int64_t>(report.steps.size());
      if (on_step) {
        on_step(progress_of(score, done, plan.global_batch, report.steps.back().whole));
      }
    }
    report.epochs.push_back(
        progress_of(total, steps, steps * plan.global_batch, communicator.now() - begin));
  }
  report.parameters = replica.parameters();
  replica.average_statistics();
  if (communicator.rank() == 0 && held_out.size() > 0) {
    report.held_out_accuracy = replica.accuracy_on(held_out);
  }
  return report;
}

}  // namespace collbench
