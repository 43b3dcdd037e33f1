// The executor against hand-written loops that make the same passes: what the interpreter costs.
//
// Both are timed in turn within one run, from the last arrival to the last completion, after every
// rank has rewritten its buffer. Counters: the medians in microseconds, and `ratio`, hand-written
// over executor (1: the executor costs nothing; the mark is 0.8).
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "algorithms/registry.h"
#include "bench/micro/handwritten.h"
#include "bench/micro/timed_ranks.h"
#include "core/quantile.h"
#include "transports/memory.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

using Samples = std::vector<double>;

constexpr int warm_up = 4;

struct Times {
  Samples executor_us;
  Samples handwritten_us;
};

// One all-reduce of all ranks: the latency is left in `samples` by the last to look.
class ExecutorRace {
 public:
  ExecutorRace(const std::string& name, int ranks, std::int64_t count, int iterations)
      : name_(name),
        ranks_(ranks),
        count_(count),
        iterations_(iterations),
        group_(ranks),
        ranks_timer_(ranks),
        world_(allocate_shm_world(ranks, {})) {}

  bool is_wrong() const { return wrong_; }

  Times run() {
    std::vector<std::thread> threads;
    for (Rank r = 0; r < ranks_; ++r) threads.emplace_back([this, r] { rank(r); });
    for (std::thread& thread : threads) thread.join();
    return times_;
  }

 private:
  void rank(Rank r) {
    pin_to_core(r, {});
    const std::shared_ptr<std::byte> data = allocate_pages(Bytes{4 * count_});
    const Region buffer{data.get(), count_, DataType::f32};
    group_.flags[static_cast<std::size_t>(r)].data = buffer.data;
    const auto communicator = make_schedule_communicator(
        make_schedule(name_, ranks_), make_shm_endpoint({.world = world_.get()}, r), name_);
    Handwritten handwritten(name_, group_, r);
    for (int i = -warm_up; i < iterations_; ++i) {
      const auto play = [&] { communicator->all_reduce(buffer, buffer, ReduceOp::sum); };
      timed(r, i, buffer, times_.executor_us, play);
      timed(r, i, buffer, times_.handwritten_us, [&] { handwritten.all_reduce(buffer); });
    }
    ranks_timer_.meet();
  }

  template <class Play>
  void timed(Rank r, int iteration, Region buffer, Samples& samples, Play play) {
    auto* const values = reinterpret_cast<float*>(buffer.data);
    const auto expected = static_cast<float>(ranks_ * (ranks_ + 1) / 2);
    ranks_timer_.time(
        r, iteration < 0 ? nullptr : &samples,
        [&] { std::fill_n(values, count_, static_cast<float>(r + 1)); }, play,
        [&] {
          if (std::count(values, values + count_, expected) != count_) wrong_.store(true);
        });
  }

  std::string name_;
  int ranks_;
  std::int64_t count_;
  int iterations_;
  HandwrittenGroup group_;
  TimedRanks ranks_timer_;
  std::shared_ptr<std::byte> world_;
  Times times_;
  std::atomic<bool> wrong_{false};
};

void executor_against_handwritten(benchmark::State& state, const std::string& name) {
  const auto ranks = static_cast<int>(state.range(0));
  const std::int64_t bytes = state.range(1);
  const auto iterations =
      static_cast<int>(std::clamp<std::int64_t>(400'000'000 / (bytes * ranks + 20'000), 15, 500));
  for (auto _ : state) {
    ExecutorRace race(name, ranks, bytes / 4, iterations);
    const Times times = race.run();
    if (race.is_wrong()) {
      state.SkipWithError("a sum is wrong");
      return;
    }
    const double executor = quantile(times.executor_us, 0.5);
    const double handwritten = quantile(times.handwritten_us, 0.5);
    state.SetIterationTime(executor * 1e-6);
    state.counters["executor_us"] = executor;
    state.counters["handwritten_us"] = handwritten;
    state.counters["ratio"] = handwritten / executor;
  }
}

[[maybe_unused]] const bool executors_registered = [] {
  for (const std::string name : {"ring", "tree", "halving-doubling"}) {
    benchmark::RegisterBenchmark(("Executor/" + name).c_str(), executor_against_handwritten, name)
        ->ArgsProduct({{2, 4, 8}, {4 << 10, 64 << 10, 1 << 20, 16 << 20}})
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(5)
        ->ReportAggregatesOnly(true);
  }
  return true;
}();

}  // namespace
}  // namespace collbench
