#include "training/parameter_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/engine.h"
#include "training/evaluation.h"

namespace collbench {
namespace {

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

/// The variables of all servers. Thread safety: any number of threads.
class Servers {
 public:
  Servers(const TrainingPlan& plan, Region initial, int servers)
      : memory_(initial.data, initial.data + initial.size().count),
        variables_{memory_.data(), initial.count, initial.type} {
    for (const VariableShard& shard :
         place_variables(tensors_of(plan.model), size_of(plan.type), servers)) {
      shards_.push_back(std::make_unique<Shard>());
      shards_.back()->place = shard;
      shards_.back()->optimizer = find_engine(plan.engine, plan.type)
                                      .make_optimizer(plan.optimizer, shard.count, plan.type);
    }
  }

  /// Copies the variables; a shard is copied whole, but others may change meanwhile. Returns the
  /// number of updates begun before.
  std::int64_t read(Region into) {
    const std::int64_t version = updates_.load();
    for (const auto& shard : shards_) {
      const std::lock_guard lock(shard->mutex);
      const Region part = variables_.part(shard->place.first, shard->place.count);
      std::memcpy(into.part(shard->place.first, shard->place.count).data, part.data,
                  static_cast<std::size_t>(part.size().count));
    }
    return version;
  }

  /// Returns the number of updates begun before this one.
  std::int64_t update(Region gradients) {
    const std::int64_t version = updates_.fetch_add(1);
    for (const auto& shard : shards_) {
      const std::lock_guard lock(shard->mutex);
      shard->optimizer->update(variables_.part(shard->place.first, shard->place.count),
                               gradients.part(shard->place.first, shard->place.count));
    }
    return version;
  }

  std::vector<std::int64_t> bytes(int servers) const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(servers));
    for (const auto& shard : shards_) {
      all[static_cast<std::size_t>(shard->place.server)] +=
          shard->place.count * size_of(variables_.type);
    }
    return all;
  }

 private:
  struct Shard {
    std::mutex mutex;
    VariableShard place;
    std::unique_ptr<Optimizer> optimizer;
  };
  std::vector<std::byte> memory_;
  Region variables_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<std::int64_t> updates_{0};
};

/// What the workers share: the next closure, and the sums over those done.
class Coordinator {
 public:
  Coordinator(const TrainingPlan& plan, const Dataset& data, int workers, const ReplicaHooks& hooks)
      : hooks_(hooks),
        steps_(steps_per_epoch(plan, data, 1)),
        last_(plan.epochs * steps_),
        next_(workers) {}

  /// Each worker begins with the closure of its number; one that is not there is -1.
  std::int64_t first(int worker) const { return worker < last_ ? worker : -1; }
  /// The next closure, or -1.
  std::int64_t take() {
    const std::int64_t step = next_.fetch_add(1);
    return step < last_ && !failed_ ? step : -1;
  }
  void fail() { failed_ = true; }

  void done(const Score& score, std::int64_t samples, std::int64_t staleness, Seconds elapsed) {
    const std::lock_guard lock(mutex_);
    ++finished_;
    stale_ += staleness;
    most_stale_ = std::max(most_stale_, staleness);
    epoch_.loss += score.loss;
    epoch_.correct += score.correct;
    samples_ += samples;
    const auto progress = [](const Score& sum, std::int64_t steps, std::int64_t count,
                             Seconds took) {
      const auto all = static_cast<double>(count);
      return Progress{steps, sum.loss / all, static_cast<double>(sum.correct) / all, took, count};
    };
    if (hooks_.on_step) hooks_.on_step(progress(score, finished_, samples, elapsed));
    if (finished_ % steps_ != 0) return;
    const Seconds end = now();
    epochs_.push_back(progress(std::exchange(epoch_, {}), steps_, std::exchange(samples_, 0),
                               end - std::exchange(began_, end)));
  }

  void tell(ServerReport& report) {
    report.workers[0].epochs = epochs_;
    report.mean_staleness = static_cast<double>(stale_) / static_cast<double>(finished_);
    report.most_staleness = most_stale_;
  }

 private:
  const ReplicaHooks& hooks_;
  std::int64_t steps_;
  std::int64_t last_;
  std::atomic<std::int64_t> next_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::int64_t finished_ = 0;
  std::int64_t stale_ = 0;
  std::int64_t most_stale_ = 0;
  Score epoch_;
  std::int64_t samples_ = 0;
  std::vector<Progress> epochs_;
  Seconds began_ = now();
};

/// One worker's closures, one after the other.
ReplicaReport work(const TrainingPlan& plan, const Dataset& data, int worker, Servers& servers,
                   Coordinator& coordinator) {
  InputPipeline input(data, input_of(plan), 1, 0);
  const auto network =
      find_engine(plan.engine, plan.type).make_network(plan.model, input.largest(), plan.type);
  std::vector<float> images;
  std::vector<int> labels;
  ReplicaReport report;
  for (std::int64_t step = coordinator.first(worker); step >= 0; step = coordinator.take()) {
    StepTimes times;
    const Seconds begin = now();
    Seconds last = begin;
    const auto lap = [&] {
      const Seconds before = std::exchange(last, now());
      return last - before;
    };
    const StepSize size = input.read(step, images, labels);
    times.input = lap();
    const std::int64_t seen = servers.read(network->parameters());
    times.communication = lap();
    const Score score = network->forward({images, labels});
    times.forward = lap();
    network->backward(1.0 / static_cast<double>(size.all), [](std::int64_t) {});
    times.backward = lap();
    const std::int64_t staleness = servers.update(network->gradients()) - seen;
    times.optimizer = lap();
    times.exposed = times.communication;
    times.whole = last - begin;
    report.steps.push_back(times);
    coordinator.done(score, size.all, staleness, times.whole);
  }
  return report;
}

}  // namespace

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

ServerReport train_parameter_server(const TrainingPlan& plan, int workers, int servers,
                                    const Dataset& data, const Dataset& held_out,
                                    const ReplicaHooks& hooks) {
  require(servers >= 1, "There must be at least one ps.");
  require(workers >= 1, "There must be at least one worker.");
  check(plan, data, 1);
  const auto first =
      find_engine(plan.engine, plan.type).make_network(plan.model, plan.global_batch, plan.type);
  first->set_parameters(initial_parameters(plan.model, plan.seed));
  Servers variables(plan, first->parameters(), servers);
  Coordinator coordinator(plan, data, workers, hooks);
  ServerReport report;
  report.workers.resize(static_cast<std::size_t>(workers));
  std::exception_ptr failure;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      try {
        report.workers[static_cast<std::size_t>(worker)] =
            work(plan, data, worker, variables, coordinator);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        coordinator.fail();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  coordinator.tell(report);
  report.server_bytes = variables.bytes(servers);
  variables.read(first->parameters());
  report.workers[0].parameters = first->copy_of_parameters();
  if (held_out.size() > 0) {
    report.workers[0].held_out_accuracy = evaluate(*first, held_out, plan.global_batch).accuracy;
  }
  return report;
}

}  // namespace collbench
