#include "transports/kernels/memory_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "transports/kernels/kernels.h"
#include "transports/memory.h"

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

struct Array {
  explicit Array(std::size_t floats)
      : memory(allocate_pages({static_cast<std::int64_t>(floats * sizeof(float))})),
        length(floats) {
    std::fill_n(data(), length, 1.0F);
  }
  float* data() const { return reinterpret_cast<float*>(memory.get()); }

  std::shared_ptr<std::byte> memory;
  std::size_t length;
};

// Reads and overwrites elements [begin, end) of every array; the sums stay finite.
using Pass = void (*)(std::span<const Array> arrays, std::size_t begin, std::size_t end);

template <int streams>
void plain_pass(std::span<const Array> arrays, std::size_t begin, std::size_t end) {
  constexpr std::size_t block = 64;
  float* stream[streams];
  for (int s = 0; s < streams; ++s) stream[s] = arrays[static_cast<std::size_t>(s)].data();
  std::size_t i = begin;
  float sum[block];
  for (; i + block <= end; i += block) {
    for (std::size_t j = 0; j < block; ++j) sum[j] = stream[0][i + j];
    for (int s = 1; s < streams; ++s) {
      for (std::size_t j = 0; j < block; ++j) sum[j] += stream[s][i + j];
    }
    for (int s = 0; s < streams; ++s) std::copy_n(sum, block, stream[s] + i);
  }
  for (; i < end; ++i) {
    sum[0] = stream[0][i];
    for (int s = 1; s < streams; ++s) sum[0] += stream[s][i];
    for (int s = 0; s < streams; ++s) stream[s][i] = sum[0];
  }
}

template <int streams>
void kernel_pass(std::span<const Array> arrays, std::size_t begin, std::size_t end) {
  const std::byte* sources[streams];
  std::byte* destinations[streams];
  for (int s = 0; s < streams; ++s) {
    float* slice = arrays[static_cast<std::size_t>(s)].data() + begin;
    sources[s] = destinations[s] = reinterpret_cast<std::byte*>(slice);
  }
  reduce(DataType::f32, {ReduceOp::sum, 1}, sources, destinations,
         static_cast<std::int64_t>(end - begin));
}

/// The streams of one measurement and what its threads agree on.
struct PassTrial {
  PassTrial(int thread_count, int streams, std::size_t length, Pass pass_to_time)
      : threads(thread_count),
        pass(pass_to_time),
        begins(static_cast<std::size_t>(thread_count)),
        ends(static_cast<std::size_t>(thread_count)),
        barrier(thread_count) {
    for (int s = 0; s < streams; ++s) arrays.emplace_back(length);
  }

  int threads;
  Pass pass;
  std::vector<Array> arrays;
  std::vector<Clock::time_point> begins;
  std::vector<Clock::time_point> ends;
  SpinBarrier barrier;
  Clock::duration best = Clock::duration::max();
  bool finished = false;
};

void run_thread(PassTrial& trial, int thread, Clock::time_point deadline) {
  const std::size_t length = trial.arrays[0].length;
  const auto slice = [&](int t) {
    const std::size_t even =
        length * static_cast<std::size_t>(t) / static_cast<std::size_t>(trial.threads);
    return t == trial.threads ? length : even / 16 * 16;
  };
  const auto self = static_cast<std::size_t>(thread);
  while (!trial.finished) {
    for (std::size_t s = self; s < trial.arrays.size(); s += trial.begins.size()) {
      std::fill_n(trial.arrays[s].data(), length, 1.0F);
    }
    trial.barrier.wait();
    trial.begins[self] = Clock::now();
    trial.pass(trial.arrays, slice(thread), slice(thread + 1));
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

Bandwidth best_rate(int threads, int streams, Bytes working_set, Seconds budget, Pass pass) {
  const std::int64_t floats = working_set.count / static_cast<std::int64_t>(sizeof(float));
  const auto length = static_cast<std::size_t>(std::max<std::int64_t>(1, floats / streams));
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
  PassTrial trial(threads, streams, length, pass);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back(run_thread, std::ref(trial), t, deadline);
  }
  run_thread(trial, 0, deadline);
  for (std::thread& other : others) other.join();
  const Bytes traffic = Bytes{static_cast<std::int64_t>(length * sizeof(float))} * (2 * streams);
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
  constexpr std::pair<int, Pass> passes[] = {{2, plain_pass<2>}, {2, kernel_pass<2>},
                                             {4, plain_pass<4>}, {4, kernel_pass<4>},
                                             {8, plain_pass<8>}, {8, kernel_pass<8>}};
  Bandwidth best;
  for (const auto& [streams, pass] : passes) {
    best =
        std::max(best, best_rate(threads, streams, working_set, budget / std::size(passes), pass));
  }
  return best;
}

}  // namespace collbench
