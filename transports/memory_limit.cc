#include "transports/memory_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

/// Threads meet here without sleeping; more threads than cores make progress by yielding.
class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_(threads) {}

  void wait() {
    const int phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins > 1000) std::this_thread::yield();
    }
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> phase_{0};
};

// Eight running sums make the loads of every stream independent of each other.
template <int streams>
void sum_and_overwrite(std::vector<std::vector<float>>& arrays, std::size_t begin,
                       std::size_t end) {
  constexpr std::size_t block = 64;
  float* stream[streams];
  for (int s = 0; s < streams; ++s) stream[s] = arrays[static_cast<std::size_t>(s)].data();
  for (std::size_t i = begin; i < end; i += block) {
    const std::size_t n = std::min(block, end - i);
    float sum[block];
    for (std::size_t j = 0; j < n; ++j) sum[j] = stream[0][i + j];
    for (int s = 1; s < streams; ++s) {
      for (std::size_t j = 0; j < n; ++j) sum[j] += stream[s][i + j];
    }
    for (int s = 0; s < streams; ++s) std::copy_n(sum, n, stream[s] + i);
  }
}

/// The streams of one measurement and what its threads agree on.
struct Trial {
  Trial(int thread_count, int stream_count, std::size_t length)
      : threads(thread_count),
        arrays(static_cast<std::size_t>(stream_count), std::vector<float>(length, 1.0F)),
        begins(static_cast<std::size_t>(thread_count)),
        ends(static_cast<std::size_t>(thread_count)),
        barrier(thread_count) {}

  int threads;
  std::vector<std::vector<float>> arrays;
  std::vector<Clock::time_point> begins;
  std::vector<Clock::time_point> ends;
  SpinBarrier barrier;
  Clock::duration best = Clock::duration::max();
  bool finished = false;
};

template <int streams>
void run_thread(Trial& trial, int thread, Clock::time_point deadline) {
  const std::size_t length = trial.arrays[0].size();
  const auto slice = [&](int t) {
    const std::size_t even =
        length * static_cast<std::size_t>(t) / static_cast<std::size_t>(trial.threads);
    return t == trial.threads ? length : even / 16 * 16;
  };
  const auto self = static_cast<std::size_t>(thread);
  while (!trial.finished) {
    for (int s = thread; s < streams; s += trial.threads) {
      std::fill_n(trial.arrays[static_cast<std::size_t>(s)].begin(), length, 1.0F);
    }
    trial.barrier.wait();
    trial.begins[self] = Clock::now();
    sum_and_overwrite<streams>(trial.arrays, slice(thread), slice(thread + 1));
    trial.ends[self] = Clock::now();
    trial.barrier.wait();
    if (thread == 0) {
      const auto begin = *std::min_element(trial.begins.begin(), trial.begins.end());
      const auto end = *std::max_element(trial.ends.begin(), trial.ends.end());
      trial.best = std::min(trial.best, end - begin);
      trial.finished = Clock::now() >= deadline;
    }
    trial.barrier.wait();
  }
}

template <int streams>
Bandwidth best_rate(int threads, Bytes working_set, Seconds budget) {
  const std::size_t bytes = static_cast<std::size_t>(working_set.count);
  const std::size_t length = std::max<std::size_t>(1, bytes / streams / sizeof(float));
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
  Trial trial(threads, streams, length);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back(run_thread<streams>, std::ref(trial), t, deadline);
  }
  run_thread<streams>(trial, 0, deadline);
  for (std::thread& other : others) other.join();
  const Bytes traffic{static_cast<std::int64_t>(2 * streams * length * sizeof(float))};
  return traffic / std::max(Seconds(trial.best), Seconds(1e-9));
}

}  // namespace

Bandwidth measure_memory_bandwidth(int threads, Bytes working_set, Seconds budget) {
  require(threads >= 1,
          "memory bandwidth: threads must be at least 1, not " + std::to_string(threads));
  require(
      working_set.count >= 1,
      "memory bandwidth: the working set must be at least 1 byte, not " + to_string(working_set));
  require(budget.count() > 0,
          "memory bandwidth: the time budget must be positive, not " + to_string(budget));
  const Bandwidth two = best_rate<2>(threads, working_set, budget / 3);
  const Bandwidth four = best_rate<4>(threads, working_set, budget / 3);
  const Bandwidth eight = best_rate<8>(threads, working_set, budget / 3);
  return std::max({two, four, eight});
}

}  // namespace collbench
