// What all ranks do together, timed from the last arrival to the last completion.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include <sched.h>

#include "core/units.h"

namespace collbench {

// A barrier of all ranks that yields, since std::barrier sleeps in the kernel.
class YieldingBarrier {
 public:
  explicit YieldingBarrier(int ranks) : ranks_(ranks) {}
  void wait() {
    const int now = round_.load();
    if (arrived_.fetch_add(1) + 1 == ranks_) {
      arrived_.store(0);
      round_.store(now + 1);
      return;
    }
    while (round_.load() == now) sched_yield();
  }

 private:
  int ranks_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

/// Thread safety: all ranks call time() alike, each from a thread of its own.
class TimedRanks {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TimedRanks(int ranks)
      : barrier_(ranks),
        begin_(static_cast<std::size_t>(ranks)),
        end_(static_cast<std::size_t>(ranks)) {}

  /// prepare(), play() of all ranks at once, check(). Rank 0 adds microseconds to `samples` unless
  /// null: from the last arrival to the last completion or, of plays that do not wait for each
  /// other, those of the slowest rank.
  template <class Prepare, class Play, class Check>
  void time(Rank rank, std::vector<double>* samples, Prepare prepare, Play play, Check check,
            bool waits = true) {
    prepare();
    barrier_.wait();
    begin_[static_cast<std::size_t>(rank)] = Clock::now();
    play();
    end_[static_cast<std::size_t>(rank)] = Clock::now();
    barrier_.wait();
    check();
    if (rank == 0 && samples != nullptr) samples->push_back(waits ? together_us() : slowest_us());
    barrier_.wait();
  }

  /// All ranks have called it.
  void meet() { barrier_.wait(); }

 private:
  using Microseconds = std::chrono::duration<double, std::micro>;

  double together_us() const {
    return Microseconds(*std::max_element(end_.begin(), end_.end()) -
                        *std::max_element(begin_.begin(), begin_.end()))
        .count();
  }
  double slowest_us() const {
    Clock::duration most{0};
    for (std::size_t r = 0; r < begin_.size(); ++r) most = std::max(most, end_[r] - begin_[r]);
    return Microseconds(most).count();
  }

  YieldingBarrier barrier_;
  std::vector<Clock::time_point> begin_;
  std::vector<Clock::time_point> end_;
};

}  // namespace collbench
