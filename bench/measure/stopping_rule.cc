#include "bench/measure/stopping_rule.h"

#include <algorithm>

#include "bench/records/record.h"

namespace collbench {
namespace {

// Of the time of a case: the end of warming up, and that of timing; what remains is for batches
// without a barrier, the last check and the probe of the memory.
constexpr double warm_until = 0.2;
constexpr double timed_until = 0.65;

// Widths fall with the root of the length: a series that is so many times too wide halfway would
// need 64 times that half. Fewer samples than these say little about it.
constexpr double far_too_wide = 8;
constexpr int enough_to_tell = 30;

}  // namespace

int StoppingRule::batch_limit(Seconds pace) const {
  if (pace.count() <= 0) return longest_batch;
  const double fitting = std::min(longest_batch_time / pace, static_cast<double>(longest_batch));
  return std::max(static_cast<int>(fitting), 1);
}

int StoppingRule::next_warmup(int done, Seconds elapsed, Seconds pace) const {
  if (sampling_.warmup <= 0) return 0;
  if (done == 0) return 1;  // shows the pace
  const bool automatic = sampling_.iterations == 0;
  const Seconds end = sampling_.max_time * warm_until;
  if (automatic && elapsed >= end) return 0;
  const double expected = automatic ? std::min(sampling_.max_time / pace, static_cast<double>(most))
                                    : static_cast<double>(sampling_.iterations);
  const int wanted = std::max(sampling_.warmup,
                              static_cast<int>(std::min(expected, static_cast<double>(most)) / 10));
  int batch = std::min(wanted - done, batch_limit(pace));
  if (automatic) batch = std::min(batch, std::max(static_cast<int>((end - elapsed) / pace), 1));
  return std::max(batch, 0);
}

bool StoppingRule::within(double times, const std::vector<std::int64_t>& latency_ns) const {
  const Summary summary = summarize(latency_ns);
  const double half = (summary.interval_high_ns - summary.interval_low_ns) / 2;
  return half <= times * sampling_.target_interval * summary.median_ns;
}

int StoppingRule::next(const std::vector<std::int64_t>& latency_ns, Seconds elapsed,
                       Seconds pace) const {
  const auto done = static_cast<int>(latency_ns.size());
  const int limit = batch_limit(pace);
  if (sampling_.iterations > 0) return std::min(sampling_.iterations - done, limit);
  if (done < least) return std::min(least - done, limit);
  const Seconds end = sampling_.max_time * timed_until;
  const Seconds left = end - elapsed;
  if (left.count() <= 0) return 0;
  if (done < fewest) return std::min(fewest - done, limit);
  if (done >= most || within(1, latency_ns)) return 0;
  const bool can_tell = left <= end / 2 && done >= enough_to_tell && sampling_.target_interval > 0;
  if (can_tell && !within(far_too_wide, latency_ns)) return 0;
  // By half again as many, but not beyond the time that is left at the pace so far.
  int batch = std::min({std::max(done / 2, fewest), limit, most - done});
  if (pace.count() > 0) batch = static_cast<int>(std::min(left / pace, static_cast<double>(batch)));
  return std::max(batch, 1);
}

}  // namespace collbench
