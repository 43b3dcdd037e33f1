// When a case has been measured enough.
//
// A fixed number of iterations if asked for; otherwise until the 95 % interval of the median is
// narrow, the time is spent, or half of it has shown that the interval will stay far too wide. All
// times are wall-clock times since the case began, preparation of buffers included, because that is
// how long the user waits. Every rank applies the rule to the same numbers, so all stop together.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/records/case.h"

namespace collbench {

class StoppingRule {
 public:
  static constexpr int least = 5;    // timed iterations of an automatic run, however slow
  static constexpr int fewest = 10;  // of one whose time allows it
  static constexpr int most = 2000;
  static constexpr int longest_batch = 256;
  /// A stop signal is checked between batches.
  static constexpr Seconds longest_batch_time{0.2};

  explicit StoppingRule(const Sampling& sampling) : sampling_(sampling) {}

  /// How many iterations to time next, 0 to stop. `elapsed` is the time since the case began,
  /// `pace` that of an iteration of the last batch, 0 if there was none.
  int next(const std::vector<std::int64_t>& latency_ns, Seconds elapsed, Seconds pace) const;
  /// How many warm-up iterations to make before timing begins; `done` are made already.
  int next_warmup(int done, Seconds elapsed, Seconds pace) const;

 private:
  int batch_limit(Seconds pace) const;
  /// Whether the interval of the median is at most so many times as wide as asked for.
  bool within(double times, const std::vector<std::int64_t>& latency_ns) const;
  Sampling sampling_;
};

}  // namespace collbench
