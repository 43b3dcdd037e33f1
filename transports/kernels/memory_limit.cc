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
#include "transports/waiting.h"

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

// Reads and overwrites elements [begin, end) of every array; the sums stay finite.
using Pass = void (*)(std::span<float* const> arrays, std::size_t begin, std::size_t end);

template <int streams>
void plain_pass(std::span<float* const> stream, std::size_t begin, std::size_t end) {
  constexpr std::size_t block = 64;
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
void kernel_pass(std::span<float* const> arrays, std::size_t begin, std::size_t end) {
  const std::byte* sources[streams];
  std::byte* destinations[streams];
  for (int s = 0; s < streams; ++s) {
    sources[s] = destinations[s] = reinterpret_cast<std::byte*>(arrays[s] + begin);
  }
  reduce(DataType::f32, {ReduceOp::sum, 1}, sources, destinations,
         static_cast<std::int64_t>(end - begin));
}

/// The streams of one measurement and what its threads agree on.
struct PassTrial {
  PassTrial(int thread_count, int streams, std::span<float> memory, Pass pass_to_time)
      : threads(thread_count),
        pass(pass_to_time),
        length(memory.size() / static_cast<std::size_t>(streams)),
        begins(static_cast<std::size_t>(thread_count)),
        ends(static_cast<std::size_t>(thread_count)),
        barrier(thread_count) {
    for (int s = 0; s < streams; ++s) {
      arrays.push_back(memory.data() + static_cast<std::size_t>(s) * length);
    }
  }

  int threads;
  Pass pass;
  std::size_t length;  // of an array
  std::vector<float*> arrays;
  std::vector<Clock::time_point> begins;
  std::vector<Clock::time_point> ends;
  SpinBarrier barrier;
  Clock::duration best = Clock::duration::max();
  bool finished = false;
};

void run_thread(PassTrial& trial, int thread, Clock::time_point deadline) {
  take_short_turns();
  const std::size_t length = trial.length;
  const auto slice = [&](int t) {
    const std::size_t even =
        length * static_cast<std::size_t>(t) / static_cast<std::size_t>(trial.threads);
    return t == trial.threads ? length : even / 16 * 16;
  };
  const auto self = static_cast<std::size_t>(thread);
  while (!trial.finished) {
    for (std::size_t s = self; s < trial.arrays.size(); s += trial.begins.size()) {
      std::fill_n(trial.arrays[s], length, 1.0F);
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

Bandwidth best_rate(int threads, int streams, std::span<float> memory, Clock::time_point deadline,
                    Pass pass) {
  PassTrial trial(threads, streams, memory, pass);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(run_thread, std::ref(trial), t, deadline);
  for (std::thread& thread : all) thread.join();
  const auto bytes = static_cast<std::int64_t>(trial.length * sizeof(float));
  return Bytes{bytes} * (2 * streams) / std::max(Seconds(trial.best), Seconds(1e-9));
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
  constexpr auto most_streams = static_cast<std::int64_t>(8 * sizeof(float));
  const Bytes size{std::max(working_set.count, most_streams)};
  const std::shared_ptr<std::byte> memory = allocate_pages(size);
  const std::span floats(reinterpret_cast<float*>(memory.get()),
                         static_cast<std::size_t>(size.count) / sizeof(float));
  const auto begin = Clock::now();
  const auto share = std::chrono::duration_cast<Clock::duration>(budget / std::size(passes));
  Bandwidth best;
  int tried = 0;
  for (const auto& [streams, pass] : passes) {
    best = std::max(best, best_rate(threads, streams, floats, begin + share * ++tried, pass));
  }
  return best;
}

}  // namespace collbench
