#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "heuristics/diagnosis/suspicion_list.h"

namespace collbench {

std::vector<Suspicion> curve_suspicions(std::span<const Bytes> sizes,
                                        std::span<const Seconds> expected) {
  SuspicionList found(sizes);
  const auto at = [&](Bytes bytes) {
    const auto place = std::lower_bound(sizes.begin(), sizes.end() - 1, bytes);
    return expected[static_cast<std::size_t>(place - sizes.begin())];  // beyond them the nearest
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
  for (LateRank& late : late_rank_curves(std::max(least_delay, 4 * latency))) {
    found.add_plain("straggler", 1, std::move(late.words), std::move(late.slower));
  }
  found.weigh(1, false);
  return found.take();
}

}  // namespace collbench
