#include <algorithm>

#include <fmt/format.h>

#include "heuristics/diagnosis/suspicion_list.h"

namespace collbench {

std::vector<Suspicion> curve_suspicions(std::span<const Bytes> sizes,
                                        std::span<const Seconds> expected) {
  SuspicionList found(sizes);
  const auto at = [&](Bytes bytes) {
    const auto place = std::lower_bound(sizes.begin(), sizes.end(), bytes);
    return expected[static_cast<std::size_t>(place - sizes.begin())];  // the first for less
  };
  const Seconds latency = *std::min_element(expected.begin(), expected.end());
  found.add_healthy("as it should be", 1, at);
  for (const double share : strengths(0.15, 0.75)) {
    found.add("network_slow", 1, fmt::format("{:.2f} of the rate", share),
              [&](Bytes bytes) { return latency + (at(bytes) - latency) * (1 / share); });
  }
  for (const double longer : strengths(2, 10)) {
    found.add("step_cost", 1, fmt::format("steps {:.1f} times as long", longer),
              [&](Bytes bytes) { return at(bytes) + latency * (longer - 1); });
  }
  for (const double us : strengths(60, 2e4)) {
    if (us < 4e6 * latency.count()) continue;
    found.add("straggler", 1, fmt::format("{:.0f} us late", us),
              [&](Bytes bytes) { return at(bytes) + Seconds{us * 1e-6}; });
  }
  found.weigh(1, false);
  return found.take();
}

}  // namespace collbench
