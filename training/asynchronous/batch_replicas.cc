#include "training/asynchronous/batch_replicas.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "training/asynchronous/steady_time.h"
#include "training/data/input_pipeline.h"
#include "training/wire_type.h"

namespace collbench {
namespace {

/// to = a (op) b, element by element.
template <class Operation>
void combine(Region a, Region b, Region to, Operation operation) {
  const auto all = [&]<class T>(T* into) {
    const auto* first = reinterpret_cast<const T*>(a.data);
    std::transform(first, first + a.count, reinterpret_cast<const T*>(b.data), into, operation);
  };
  to.type == DataType::f64 ? all(reinterpret_cast<double*>(to.data))
                           : all(reinterpret_cast<float*>(to.data));
}

void copy(Region from, Region to) { std::copy_n(from.data, from.size().count, to.data); }

}  // namespace

class BatchReplicas::Replica {
 public:
  Replica(const TrainingPlan& plan, const Dataset& data, int number)
      : plan_(plan),
        input_(data, input_of(plan), plan.replicas, number),
        network_(find_engine(plan.engine, plan.type)
                     .make_network(plan.model, input_.largest(), plan.type)),
        moves_(static_cast<std::size_t>(network_->statistics().size().count)) {}

  Network& network() { return *network_; }
  Region moves() {
    const Region statistics = network_->statistics();
    return {moves_.data(), statistics.count, statistics.type};
  }
  const Score& score() const { return score_; }
  /// Adds another one's gradients, moves and score.
  void add(Replica& other) {
    combine(network_->gradients(), other.network().gradients(), network_->gradients(),
            std::plus<>());
    combine(moves(), other.moves(), moves(), std::plus<>());
    score_.loss += other.score_.loss;
    score_.correct += other.score_.correct;
  }
  Seconds forward_done() const { return forward_done_; }

  StepSize read(std::int64_t step) { return size_ = input_.read(step, images_, labels_); }
  void compute() {
    copy(network_->statistics(), moves());
    score_ = size_.mine > 0 ? network_->forward({images_, labels_}) : Score{};
    forward_done_ = steady_now();
    if (size_.mine > 0) {
      network_->backward(gradient_scale(plan_, size_, plan_.replicas), [](std::int64_t) {});
    } else {  // its share of a ragged end is empty
      network_->clear_gradients();
    }
    combine(network_->statistics(), moves(), moves(), std::minus<>());
  }

 private:
  const TrainingPlan& plan_;
  InputPipeline input_;
  std::unique_ptr<Network> network_;
  std::vector<std::byte> moves_;
  std::vector<float> images_;
  std::vector<int> labels_;
  StepSize size_;
  Score score_;
  Seconds forward_done_{0};
};

/// Replicas beyond the first wait on threads of their own for a step, and at its end.
class BatchReplicas::Team {
 public:
  Team(const TrainingPlan& plan, const Dataset& data)
      : failures_(static_cast<std::size_t>(plan.replicas)), together_(plan.replicas) {
    for (int number = 0; number < plan.replicas; ++number) {
      replicas_.push_back(std::make_unique<Replica>(plan, data, number));
    }
    for (std::size_t number = 1; number < replicas_.size(); ++number) {
      threads_.emplace_back([this, number] { serve(number); });
    }
  }
  ~Team() {
    if (threads_.empty()) return;
    step_ = -1;
    together_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  Replica& first() { return *replicas_.front(); }
  std::int64_t read(std::int64_t step) { return first().read(step_ = step).all; }
  void compute() {
    together_.arrive_and_wait();
    together_.arrive_and_wait();  // all have the variables
    attempt(0, [this] { first().compute(); });
    together_.arrive_and_wait();
    for (const std::exception_ptr& failure : failures_) {
      if (failure) std::rethrow_exception(failure);
    }
    if (replicas_.size() > 1) fold();
  }

 private:
  template <class Work>
  void attempt(std::size_t number, Work work) noexcept {
    try {
      if (!failures_[number]) work();
    } catch (...) {
      failures_[number] = std::current_exception();
    }
  }

  void serve(std::size_t number) {
    Replica& own = *replicas_[number];
    for (;;) {
      together_.arrive_and_wait();
      if (step_ < 0) return;
      attempt(number, [&] {
        own.read(step_);
        copy(first().network().parameters(), own.network().parameters());
        copy(first().network().statistics(), own.network().statistics());
      });
      together_.arrive_and_wait();
      attempt(number, [&] { own.compute(); });
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

  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::exception_ptr> failures_;
  std::barrier<> together_;
  std::int64_t step_ = 0;  // -1: no more; written by the first while the others wait
  std::vector<std::thread> threads_;
};

BatchReplicas::BatchReplicas(const TrainingPlan& plan, const Dataset& data)
    : team_(std::make_unique<Team>(plan, data)) {}
BatchReplicas::~BatchReplicas() = default;

Region BatchReplicas::parameters() { return team_->first().network().parameters(); }
Region BatchReplicas::statistics() { return team_->first().network().statistics(); }
Region BatchReplicas::gradients() { return team_->first().network().gradients(); }
Region BatchReplicas::moves() { return team_->first().moves(); }
std::int64_t BatchReplicas::read(std::int64_t step) { return team_->read(step); }

Score BatchReplicas::compute(StepTimes& times) {
  const Seconds begin = steady_now();
  team_->compute();
  const Seconds middle = team_->first().forward_done();
  times.forward = middle - begin;
  times.backward = steady_now() - middle;
  return team_->first().score();
}

}  // namespace collbench
