#include "bench/measure/stamps.h"

#include <algorithm>
#include <cassert>

namespace collbench {

void append_batch(std::span<const Stamp> stamps, int ranks, bool one_clock, Measurement& measured) {
  const auto n = static_cast<std::size_t>(ranks);
  assert(stamps.size() % n == 0);
  const std::size_t iterations = stamps.size() / n;
  for (std::size_t i = 0; i < iterations; ++i) {
    Stamp last = stamps[i];
    std::int64_t first_arrival = last.arrival_ns;
    std::int64_t longest = last.completion_ns - last.arrival_ns;
    for (std::size_t r = 1; r < n; ++r) {
      const Stamp& stamp = stamps[r * iterations + i];
      first_arrival = std::min(first_arrival, stamp.arrival_ns);
      last.arrival_ns = std::max(last.arrival_ns, stamp.arrival_ns);
      last.completion_ns = std::max(last.completion_ns, stamp.completion_ns);
      longest = std::max(longest, stamp.completion_ns - stamp.arrival_ns);
    }
    measured.latency_ns.push_back(one_clock ? last.completion_ns - last.arrival_ns : longest);
    measured.skew_ns.push_back(one_clock ? last.arrival_ns - first_arrival : 0);
  }
}

void append_rank_times(std::span<const Stamp> stamps, int ranks, Measurement& measured) {
  const auto n = static_cast<std::size_t>(ranks);
  assert(stamps.size() % n == 0);
  const std::size_t iterations = stamps.size() / n;
  for (std::size_t i = 0; i < iterations; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      const Stamp& stamp = stamps[r * iterations + i];
      measured.rank_time_ns.push_back(stamp.completion_ns - stamp.arrival_ns);
    }
  }
}

}  // namespace collbench
