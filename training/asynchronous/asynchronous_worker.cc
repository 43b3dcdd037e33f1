#include "training/asynchronous/asynchronous_worker.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "core/start_threads.h"
#include "training/elements.h"
#include "training/local_replica.h"
#include "training/steady_time.h"

namespace collbench {
std::vector<VariableShard> place_variables(std::span<const Tensor> tensors, int element_bytes,
                                           int servers, Bytes least) {
  std::vector<VariableShard> shards;
  int next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const std::int64_t fitting = tensor.count * element_bytes / least.count;
    const std::int64_t parts = std::clamp<std::int64_t>(fitting, 1, servers);
    std::int64_t first = tensor.first;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t count = tensor.count / parts + (part < tensor.count % parts ? 1 : 0);
      shards.push_back({static_cast<int>(i), next, first, count});
      first += count;
      next = (next + 1) % servers;
    }
  }
  return shards;
}

Placement::Placement(std::span<const Tensor> tensors, int element_bytes, int servers)
    : shards_(static_cast<std::size_t>(servers)) {
  for (const VariableShard& shard : place_variables(tensors, element_bytes, servers)) {
    shards_[static_cast<std::size_t>(shard.server)].push_back(shard);
  }
}

std::int64_t Placement::elements(int server) const {
  std::int64_t sum = 0;
  for (const VariableShard& shard : shards(server)) sum += shard.count;
  return sum;
}

void Placement::pack(Region flat, int server, std::span<std::byte> packed) const {
  std::byte* to = packed.data();
  for (const VariableShard& shard : shards(server)) {
    const Region part = flat.part(shard.first, shard.count);
    to = std::copy_n(part.data, part.size().count, to);
  }
}

void Placement::unpack(std::span<const std::byte> packed, int server, Region flat) const {
  const std::byte* from = packed.data();
  for (const VariableShard& shard : shards(server)) {
    const Region part = flat.part(shard.first, shard.count);
    std::copy_n(from, part.size().count, part.data);
    from += part.size().count;
  }
}

namespace {

/// A replica, and by how much a step has moved its statistics.
class BatchReplica {
 public:
  BatchReplica(const TrainingPlan& plan, const Dataset& data, int number)
      : local_(plan, data, plan.replicas, number),
        moves_(static_cast<std::size_t>(statistics().size().count)) {}

  Region parameters() { return local_.network().parameters(); }
  Region statistics() { return local_.network().statistics(); }
  Region gradients() { return local_.network().gradients(); }
  Region moves() { return {moves_.data(), statistics().count, statistics().type}; }
  const Score& score() const { return score_; }

  StepSize read(std::int64_t step) { return local_.read(step); }
  void forward() {
    copy(statistics(), moves());
    score_ = local_.forward();
  }
  void backward() {
    local_.backward([](std::int64_t) {});
    combine(statistics(), moves(), moves(), std::minus<>());
  }
  /// Adds another one's gradients, moves and score.
  void add(BatchReplica& other) {
    combine(gradients(), other.gradients(), gradients(), std::plus<>());
    combine(moves(), other.moves(), moves(), std::plus<>());
    score_.loss += other.score_.loss;
    score_.correct += other.score_.correct;
  }

 private:
  LocalReplica local_;
  std::vector<std::byte> moves_;
  Score score_;
};

/// plan.replicas of them, threads that share the batch of each step, the first one being the
/// caller's; the others wait for a step, and at its end.
///
/// All compute with the variables that the worker has read, each its slice of the batch. The worker
/// sends the sum of their gradients, in the order of replicas, and the mean change of their moving
/// statistics: one update, whatever the number of replicas. This is the synchronous part of
/// TensorFlow's ParameterServerStrategy, whose workers may have several devices.
class BatchReplicas final : public StepCompute {
 public:
  BatchReplicas(const TrainingPlan& plan, const Dataset& data)
      : failures_(static_cast<std::size_t>(plan.replicas)), together_(plan.replicas) {
    for (int number = 0; number < plan.replicas; ++number) {
      replicas_.push_back(std::make_unique<BatchReplica>(plan, data, number));
    }
    try {
      const auto body = [this](int other) { serve(static_cast<std::size_t>(other) + 1); };
      start_threads(plan.replicas - 1, body, threads_);
    } catch (...) {
      end();
      throw;
    }
  }
  ~BatchReplicas() override { end(); }

  BatchReplica& first() { return *replicas_.front(); }
  void set_step(std::int64_t step) { step_ = step; }
  std::int64_t samples() const { return samples_; }  // of all replicas

  Seconds now() const override { return steady_now(); }
  void read() override { samples_ = first().read(step_).all; }
  void forward() override {
    together_.arrive_and_wait();
    together_.arrive_and_wait();  // all have the variables
    attempt(0, [this] { first().forward(); });
  }
  /// Throws what the first replica that failed has thrown.
  void backward(const GradientsReady& /*ready*/) override {
    attempt(0, [this] { first().backward(); });
    together_.arrive_and_wait();
    for (const std::exception_ptr& failure : failures_) {
      if (failure) std::rethrow_exception(failure);
    }
    if (replicas_.size() > 1) fold();
  }

 private:
  void end() {
    step_ = -1;
    // The first arrives, and those that could not be started.
    (void)together_.arrive(std::ssize(replicas_) - std::ssize(threads_));
    for (std::thread& thread : threads_) thread.join();
  }

  template <class Work>
  void attempt(std::size_t number, Work work) noexcept {
    try {
      if (!failures_[number]) work();
    } catch (...) {
      failures_[number] = std::current_exception();
    }
  }

  void serve(std::size_t number) {
    BatchReplica& own = *replicas_[number];
    for (;;) {
      together_.arrive_and_wait();
      if (step_ < 0) return;
      attempt(number, [&] {
        own.read(step_);
        copy(first().parameters(), own.parameters());
        copy(first().statistics(), own.statistics());
      });
      together_.arrive_and_wait();
      attempt(number, [&] {
        own.forward();
        own.backward();
      });
      together_.arrive_and_wait();
    }
  }

  /// Into the first replica.
  void fold() {
    for (std::size_t number = 1; number < replicas_.size(); ++number) {
      first().add(*replicas_[number]);
    }
    scale(first().moves(), 1.0 / static_cast<double>(replicas_.size()));
  }

  std::vector<std::unique_ptr<BatchReplica>> replicas_;
  std::vector<std::exception_ptr> failures_;
  std::barrier<> together_;
  std::int64_t samples_ = 0;
  std::int64_t step_ = 0;  // -1: no more; written by the first while the others wait
  std::vector<std::thread> threads_;
};

/// The servers in place of an all-reduce: they hold the parameters, and apply the gradients.
class ServerSum final : public GradientSum {
 public:
  ServerSum(SharedVariables& variables, BatchReplicas& replicas)
      : variables_(variables), replicas_(replicas) {}
  void fetch() override {
    variables_.read(replicas_.first().parameters(), replicas_.first().statistics());
  }
  void start_up_to(std::int64_t /*end*/) override {}
  Spent wait() override {
    const Seconds begin = steady_now();
    staleness_ = variables_.update(replicas_.first().gradients(), replicas_.first().moves());
    return {steady_now() - begin};  // with the optimizer, on the servers
  }
  std::int64_t staleness() const { return staleness_; }

 private:
  SharedVariables& variables_;
  BatchReplicas& replicas_;
  std::int64_t staleness_ = 0;
};

}  // namespace

void work_asynchronously(const TrainingPlan& plan, const Dataset& data, SharedVariables& variables,
                         const NextClosure& next) {
  BatchReplicas replicas(plan, data);
  ServerSum servers(variables, replicas);
  ClosureResult result;
  for (std::optional<std::int64_t> step = next(nullptr); step; step = next(&result)) {
    replicas.set_step(*step);
    const StepTimes times = run_step(replicas, servers, 0, false);
    result = {*step, replicas.first().score(), replicas.samples(), servers.staleness(), times};
  }
}

}  // namespace collbench
