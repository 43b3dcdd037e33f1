#include "training/asynchronous/batch_replicas.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "training/local_replica.h"
#include "training/steady_time.h"
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

/// A replica, and by how much a step has moved its statistics.
class BatchReplicas::Replica {
 public:
  Replica(const TrainingPlan& plan, const Dataset& data, int number)
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
  void add(Replica& other) {
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
  void forward() {
    together_.arrive_and_wait();
    together_.arrive_and_wait();  // all have the variables
    attempt(0, [this] { first().forward(); });
  }
  void backward() {
    attempt(0, [this] { first().backward(); });
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

  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::exception_ptr> failures_;
  std::barrier<> together_;
  std::int64_t step_ = 0;  // -1: no more; written by the first while the others wait
  std::vector<std::thread> threads_;
};

BatchReplicas::BatchReplicas(const TrainingPlan& plan, const Dataset& data)
    : team_(std::make_unique<Team>(plan, data)) {}
BatchReplicas::~BatchReplicas() = default;

Region BatchReplicas::parameters() { return team_->first().parameters(); }
Region BatchReplicas::statistics() { return team_->first().statistics(); }
Region BatchReplicas::gradients() { return team_->first().gradients(); }
Region BatchReplicas::moves() { return team_->first().moves(); }
const Score& BatchReplicas::score() const { return team_->first().score(); }

Seconds BatchReplicas::now() const { return steady_now(); }
void BatchReplicas::read() { samples_ = team_->read(step_); }
void BatchReplicas::forward() { team_->forward(); }
void BatchReplicas::backward(const GradientsReady& /*ready*/) { team_->backward(); }

}  // namespace collbench
