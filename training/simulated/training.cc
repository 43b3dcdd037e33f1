#include "training/simulated/training.h"

#include <algorithm>
#include <memory>
#include <queue>

#include "core/error.h"
#include "training/elements.h"
#include "training/local_replica.h"

namespace collbench {
namespace {

using RawValues = std::vector<std::byte>;

RawValues copy_of(Region region) { return {region.data, region.data + region.size().count}; }
void restore(const RawValues& from, Region to) { std::copy_n(from.data(), from.size(), to.data); }
/// Values that lie as those of `like` do.
Region shaped_as(RawValues& values, Region like) { return {values.data(), like.count, like.type}; }

/// The model that all simulated workers share, and what they have reached together.
class Trainee {
 public:
  /// Whose steps `replicas` share.
  Trainee(const TrainingPlan& plan, int replicas, const Dataset& data, const Dataset& held_out,
          int points)
      : plan_(plan),
        held_out_(held_out),
        own_batch_(per_replica_batch(plan.global_batch, replicas)),
        network_(make_network(plan, own_batch_)),
        optimizer_(make_optimizer(plan)) {
    plan_.replicas = replicas;
    for (int replica = 0; replica < replicas; ++replica) {
      inputs_.emplace_back(data, input_of(plan_), replicas, replica);
    }
    steps_ = plan.epochs * steps_per_epoch(plan_, data, replicas);
    for (std::int64_t step = 0; step < steps_; ++step) total_ += inputs_[0].size_of_step(step).all;
    interval_ = std::max<std::int64_t>(1, total_ / std::max(points, 1));
    note(Seconds{0});
  }

  std::int64_t steps() const { return steps_; }
  bool finished() const { return updates_ == steps_; }
  Region parameters() { return network_->parameters(); }
  Region gradients() { return network_->gradients(); }
  Region statistics() { return network_->statistics(); }

  /// The gradients of a replica's part of `step` with the parameters that the network holds. Its
  /// statistics move; the caller makes them those of the model again before update().
  void compute(int replica, std::int64_t step) {
    const StepSize size = inputs_[static_cast<std::size_t>(replica)].read(step, images_, labels_);
    if (size.mine == 0) return network_->clear_gradients();
    loss_ += network_->forward({images_, labels_}).loss;
    network_->backward(gradient_scale(plan_, size, plan_.replicas), [](std::int64_t) {});
    samples_ += size.mine;
    since_ += size.mine;
  }
  void update(Seconds now, double staleness) {
    optimizer_->update(network_->parameters(), network_->gradients());
    ++updates_;
    ++updates_since_;
    staleness_ += staleness;
    if (samples_ >= next_ || finished()) note(now);
  }
  std::vector<LossPoint> take_points() { return std::move(points_); }

 private:
  void note(Seconds now) {
    LossPoint& point = points_.emplace_back();
    point.time = now;
    point.updates = updates_;
    point.samples = samples_;
    if (since_ > 0) point.loss = mean_loss(loss_, since_);
    if (updates_since_ > 0) point.staleness = staleness_ / static_cast<double>(updates_since_);
    const Evaluation held_out = evaluate(*network_, held_out_, own_batch_);
    point.held_out_loss = held_out.loss;
    point.held_out_accuracy = held_out.accuracy;
    if (since_ == 0) point.loss = held_out.loss;
    loss_ = staleness_ = 0;
    since_ = updates_since_ = 0;
    next_ = samples_ + interval_;
  }

  TrainingPlan plan_;
  const Dataset& held_out_;
  std::int64_t own_batch_;  // at most
  std::unique_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<InputPipeline> inputs_;
  std::vector<float> images_;
  std::vector<int> labels_;
  std::int64_t steps_ = 0;
  std::int64_t total_ = 0;
  std::int64_t interval_ = 1;
  std::int64_t next_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t since_ = 0;
  std::int64_t updates_ = 0;
  std::int64_t updates_since_ = 0;
  double loss_ = 0;
  double staleness_ = 0;
  std::vector<LossPoint> points_;
};

/// One direction of the servers' links: each moves its share of a vector, in the order asked. The
/// worker's own link, which all shares of its vector pass, is as fast as one of a server.
class Queue {
 public:
  Queue(const ServerLink& link, Bytes size, int servers)
      : latency_(link.latency), whole_(size / link.rate), share_(whole_ / servers) {}
  /// When a vector that may start at `now` has arrived.
  Seconds pass(Seconds now) {
    free_ = std::max(free_, now) + share_;
    return std::max(free_, now + whole_) + latency_;
  }

 private:
  Seconds latency_;
  Seconds whole_;
  Seconds share_;
  Seconds free_{0};
};

/// A gradient that is about to be pushed, or that arrives at the server.
struct Event {
  Seconds time{0};
  std::int64_t number = 0;  // ties are played in this order
  int worker = 0;
  bool arrives = false;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

struct WorkerState {
  RawValues fetched;
  RawValues statistics;      // fetched, too
  std::int64_t version = 0;  // updates that the fetched parameters hold
  std::int64_t step = 0;
};

class AsynchronousRun {
 public:
  AsynchronousRun(Trainee& trainee, const StepModel& step, int servers, const ServerLink& link,
                  std::uint64_t seed)
      : trainee_(trainee),
        compute_(step.compute.forward() + step.compute.backward()),
        update_(step.compute.optimizer / servers),
        slowness_(step.workers, step.costs.jitter, step.costs.slow_workers, seed),
        pushes_(link, trainee.parameters().size(), servers),
        fetches_(link, trainee.parameters().size(), servers),
        states_(static_cast<std::size_t>(step.workers)) {}

  void run() {
    for (int worker = 0; worker < std::ssize(states_); ++worker) start(worker, Seconds{0});
    while (!trainee_.finished()) {
      const Event event = events_.top();
      events_.pop();
      if (event.arrives) {
        apply(event);
      } else {
        schedule(pushes_.pass(event.time), event.worker, true);
      }
    }
  }

 private:
  void schedule(Seconds time, int worker, bool arrives) {
    events_.push({time, number_++, worker, arrives});
  }
  /// The worker takes the next step, if there is one; the server sends what it has at `now`, and
  /// the worker then computes with it.
  void start(int worker, Seconds now) {
    if (next_step_ == trainee_.steps()) return;
    WorkerState& state = states_[static_cast<std::size_t>(worker)];
    state.step = next_step_++;
    state.fetched = copy_of(trainee_.parameters());
    state.statistics = copy_of(trainee_.statistics());
    state.version = version_;
    const double factor = slowness_.of(worker, state.step);
    schedule(fetches_.pass(now) + compute_ * factor, worker, false);
  }
  void apply(const Event& event) {
    WorkerState& state = states_[static_cast<std::size_t>(event.worker)];
    const RawValues current = copy_of(trainee_.parameters());
    RawValues statistics = copy_of(trainee_.statistics());
    restore(state.fetched, trainee_.parameters());
    restore(state.statistics, trainee_.statistics());
    trainee_.compute(0, state.step);
    restore(current, trainee_.parameters());
    add_moves(statistics, state.statistics);
    server_free_ = std::max(server_free_, event.time) + update_;
    trainee_.update(server_free_, static_cast<double>(version_ - state.version));
    ++version_;
    start(event.worker, server_free_);
  }
  /// Moves the server's statistics as the worker's step has moved those that it had fetched.
  void add_moves(RawValues& servers, RawValues& fetched) {
    const Region moved = trainee_.statistics();
    combine(moved, shaped_as(fetched, moved), moved, std::minus<>());
    combine(shaped_as(servers, moved), moved, moved, std::plus<>());
  }

  Trainee& trainee_;
  Seconds compute_;
  Seconds update_;  // all servers update their shares side by side
  Slowness slowness_;
  Queue pushes_;
  Queue fetches_;
  std::vector<WorkerState> states_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t number_ = 0;
  std::int64_t version_ = 0;
  std::int64_t next_step_ = 0;
  Seconds server_free_{0};
};

/// The gradients of a step: the sum over all workers, each of which moves statistics of its own.
void compute_on_all(Trainee& trainee, std::int64_t step, std::vector<RawValues>& statistics) {
  RawValues sum;
  const Region gradients = trainee.gradients();
  for (std::size_t worker = 0; worker < statistics.size(); ++worker) {
    restore(statistics[worker], trainee.statistics());
    trainee.compute(static_cast<int>(worker), step);
    statistics[worker] = copy_of(trainee.statistics());
    if (worker > 0) combine(gradients, shaped_as(sum, gradients), gradients, std::plus<>());
    if (worker + 1 < statistics.size()) sum = copy_of(gradients);
  }
}

/// What is evaluated: the mean of the workers' statistics.
void set_mean(std::vector<RawValues>& statistics, Region to) {
  restore(statistics[0], to);
  for (std::size_t worker = 1; worker < statistics.size(); ++worker) {
    combine(to, shaped_as(statistics[worker], to), to, std::plus<>());
  }
  scale(to, 1.0 / static_cast<double>(statistics.size()));
}

}  // namespace

std::vector<LossPoint> train_simulated_mirrored(const TrainingPlan& plan, const StepModel& step,
                                                const Dataset& data, const Dataset& held_out,
                                                int points) {
  check(plan, data, 1);
  check(step.costs, step.workers);
  Trainee trainee(plan, step.workers, data, held_out, points);
  const Slowness slowness = slowness_of(step);
  std::vector<RawValues> statistics(static_cast<std::size_t>(step.workers),
                                    copy_of(trainee.statistics()));
  Seconds now{0};
  for (std::int64_t number = 0; number < trainee.steps(); ++number) {
    compute_on_all(trainee, number, statistics);
    set_mean(statistics, trainee.statistics());
    now += simulate_step(step, slowness, number).times.whole;
    trainee.update(now, 0);
  }
  return trainee.take_points();
}

std::vector<LossPoint> train_simulated_server(const TrainingPlan& plan, const StepModel& step,
                                              int servers, const ServerLink& link,
                                              const Dataset& data, const Dataset& held_out,
                                              int points) {
  check(plan, data, 1);
  require(servers >= 1, "parameter servers are at least 1");
  require(link.rate.bytes_per_second > 0, "a server's link needs a rate");
  Trainee trainee(plan, 1, data, held_out, points);
  AsynchronousRun(trainee, step, servers, link, plan.seed).run();
  return trainee.take_points();
}

}  // namespace collbench
