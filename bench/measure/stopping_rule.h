// When a case has been measured enough.
//
// A fixed number of iterations if asked for; otherwise until the 95 % interval of the median is
// narrow or the time is spent. Every rank applies the rule to the same numbers, so all stop alike.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/records/case.h"

namespace collbench {

class StoppingRule {
 public:
  static constexpr int fewest = 10;  // timed iterations of an automatic run
  static constexpr int most = 2000;  // of an automatic run
  static constexpr int longest_batch = 256;

  explicit StoppingRule(const Sampling& sampling) : sampling_(sampling) {}

  /// How many iterations to time next, 0 to stop, at most longest_batch. `elapsed` is the wall time
  /// since timing began, in which preparing buffers counts too: it may be four times max_time.
  int next(const std::vector<std::int64_t>& latency_ns, Seconds elapsed) const;
  /// Warm-up iterations for a case whose iterations take about `latency`, `done` of them included.
  int warmup(Seconds latency) const;

 private:
  int expected_iterations(Seconds latency) const;
  Sampling sampling_;
};

}  // namespace collbench
