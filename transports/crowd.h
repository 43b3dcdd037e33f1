// Whether other threads want the cores: then sleeping costs less than staying awake, because a
// yield lets all of them have their turn first.
//
// This is measured because ranks in other containers or namespaces, and other users' processes,
// cannot be counted.
#pragma once

#include <chrono>

#include <sched.h>

namespace collbench {

/// Thread safety: belongs to one thread.
class Crowd {
 public:
  using Clock = std::chrono::steady_clock;

  /// A yield longer than `long_yield` means a crowd; after `lasts` it is tried again.
  Crowd(Clock::duration long_yield, Clock::duration lasts)
      : long_yield_(long_yield), lasts_(lasts) {}

  bool here(Clock::time_point now) const { return now < until_; }
  void give_way() {
    const Clock::time_point before = Clock::now();
    sched_yield();
    const Clock::time_point after = Clock::now();
    if (after - before > long_yield_) until_ = after + lasts_;
  }

 private:
  Clock::duration long_yield_;
  Clock::duration lasts_;
  Clock::time_point until_;
};

}  // namespace collbench
